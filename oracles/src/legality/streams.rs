//! Watch streams: what each shows is a prefix of what happened after its beginning.

use std::collections::BTreeSet;

use serde_json::Value;
use trace::{Change, Delivery, DeliveryKind, ObjectKey, Revision};

use super::{Problem, Rule, Store, content, selector::Scope};

/// One watch.
pub struct Stream {
    scope: Scope,
    /// Everything that it showed, in order.
    shown: Vec<Delivery>,
    /// The newest revision that it was asked to begin after, or showed.
    newest: Revision,
    failed: bool,
}

impl Stream {
    pub fn new(scope: Scope) -> Stream {
        let newest = scope.revision.unwrap_or_default();
        Stream { scope, shown: vec![], newest, failed: false }
    }

    /// An error came: it is over.
    pub fn fails(&mut self) {
        self.failed = true;
    }

    /// It shows this.
    pub fn shows(&mut self, store: &Store, delivery: &Delivery, now: Revision) -> Option<Problem> {
        if self.failed {
            return Some((Rule::AfterError, "an event after an error".to_owned()));
        }
        self.shown.push(delivery.clone());
        let revision = delivery.revision?;
        if revision > now {
            let text = format!("revision {} is yet to come, {} is the newest", revision.0, now.0);
            return Some((Rule::StreamOrder, text));
        }
        // What a bookmark names has been shown, so it is not older than an event (KEP-956; `cacheWatcher` sends only what
        // is newer than where it began).
        if delivery.kind == DeliveryKind::Bookmark && revision < self.newest {
            let text = format!("a bookmark at {} after {}", revision.0, self.newest.0);
            return Some((Rule::Bookmark, text));
        }
        self.newest = self.newest.max(revision);
        let object = delivery.object.as_ref()?;
        // Rows, not objects.
        self.scope.opaque |= object["kind"] == "Table";
        match delivery.kind {
            DeliveryKind::Added | DeliveryKind::Modified => {
                content::differs(store, &self.scope, object, None)
            }
            DeliveryKind::Deleted => content::differs_from_last(store, &self.scope, object),
            DeliveryKind::Bookmark | DeliveryKind::Error => None,
        }
    }

    /// It is over, or the history is: what it showed as a whole. Received at `since`, over by `now`.
    pub fn ends(self, store: &Store, since: Revision, now: Revision) -> Option<Problem> {
        let resource = self.scope.resource.clone()?;
        if self.scope.is_opaque(store) {
            return None;
        }
        if !store.has(&resource) {
            let shown = self.shown.iter().find(|shown| shown.kind != DeliveryKind::Bookmark)?;
            let text = format!("{}: the store never had any {resource}", name(shown));
            return Some((Rule::StreamOrder, text));
        }
        let begun = match self.scope.revision {
            Some(revision) if revision.0 > 0 && !self.scope.streams_list => {
                return self.follows(store, revision, &self.shown);
            }
            // Initial events may show any state that is new enough.
            Some(least) => least,
            None if self.scope.streams_list => since,
            None => Revision(0),
        };
        let mut first = None;
        for revision in store.revisions(&resource, now) {
            // A state lasts until the next change of the type.
            let lasts_until = store.after(&resource, revision).next();
            let lasts_until = lasts_until.map_or(now, |(next, _)| Revision(next.revision.0 - 1));
            if lasts_until < begun {
                break;
            }
            match self.begins_with(store, revision, begun) {
                None => return None,
                problem => first = first.or(problem),
            }
        }
        first
    }

    /// Whether it shows the state at a revision, and then what happened after it.
    fn begins_with(&self, store: &Store, revision: Revision, least: Revision) -> Option<Problem> {
        let mut left: BTreeSet<(String, Revision)> =
            store.listed(&self.scope, revision).map(|(key, object)| shown(key, object)).collect();
        for (at, delivery) in self.shown.iter().enumerate() {
            if left.is_empty() && !is_marker(delivery) {
                return self.follows(store, revision, &self.shown[at..]);
            }
            if is_marker(delivery) {
                if !left.is_empty() {
                    let text =
                        format!("{} initial events are missing before their end", left.len());
                    return Some((Rule::InitialEventsEnd, text));
                }
                if delivery.revision.is_some_and(|end| end < least) {
                    let text = format!("the initial events end before revision {}", least.0);
                    return Some((Rule::InitialEventsEnd, text));
                }
                if delivery.revision.is_some_and(|end| end < revision) {
                    let text = format!("the state at {} ends before that", revision.0);
                    return Some((Rule::InitialEventsEnd, text));
                }
                // The marker is a bookmark as well: up to its revision nothing is owed.
                return self.follows(store, revision, &self.shown[at..]);
            }
            let shown = (delivery.object_name.clone(), delivery.revision.unwrap_or_default());
            if delivery.kind != DeliveryKind::Added || !left.remove(&shown) {
                let text = format!("{} is no part of the state at {}", name(delivery), revision.0);
                return Some((Rule::StreamOrder, text));
            }
        }
        None
    }

    /// Whether these are what happened after a revision, as far as they go.
    fn follows(&self, store: &Store, from: Revision, shown: &[Delivery]) -> Option<Problem> {
        let resource = self.scope.resource.as_ref()?;
        if from < store.since() {
            return None;
        }
        let mut expected = store.after(resource, from).filter_map(|(logged, before)| {
            let was = before.is_some_and(|before| self.scope.selects(&logged.key, before));
            let is =
                logged.change != Change::Deleted && self.scope.selects(&logged.key, &logged.object);
            let kind = match (was, is) {
                (false, false) => return None,
                (false, true) => DeliveryKind::Added,
                (true, true) => DeliveryKind::Modified,
                (true, false) => DeliveryKind::Deleted,
            };
            Some((kind, logged.revision, object_name(&logged.key)))
        });
        let mut next = expected.next();
        for delivery in shown {
            let revision = delivery.revision.unwrap_or_default();
            if delivery.kind == DeliveryKind::Bookmark {
                if let Some((_, owed, object)) =
                    next.as_ref().filter(|(_, owed, _)| *owed <= revision)
                {
                    let text = format!(
                        "a bookmark at {} before {object} at {} was shown",
                        revision.0, owed.0
                    );
                    return Some((Rule::Bookmark, text));
                }
                continue;
            }
            let found = (delivery.kind, revision, delivery.object_name.clone());
            if next.as_ref() != Some(&found) {
                let wanted = next.map_or("nothing".to_owned(), |(kind, revision, object)| {
                    format!("{kind:?} {object} at {}", revision.0)
                });
                let text = format!("{} where {wanted} comes next", name(delivery));
                return Some((Rule::StreamOrder, text));
            }
            next = expected.next();
        }
        None
    }
}

/// As deliveries name it.
fn object_name(key: &ObjectKey) -> String {
    match &*key.namespace {
        "" => key.name.to_string(),
        namespace => format!("{namespace}/{}", key.name),
    }
}

fn shown(key: &ObjectKey, object: &Value) -> (String, Revision) {
    (object_name(key), content::revision(object).unwrap_or_default())
}

fn name(delivery: &Delivery) -> String {
    let revision = delivery.revision.unwrap_or_default();
    format!("{:?} {} at {}", delivery.kind, delivery.object_name, revision.0)
}

/// Whether it ends the initial events (KEP-3157).
fn is_marker(delivery: &Delivery) -> bool {
    let annotations = |object: &Value| object["metadata"]["annotations"].clone();
    delivery.kind == DeliveryKind::Bookmark
        && delivery
            .object
            .as_ref()
            .is_some_and(|object| annotations(object)["k8s.io/initial-events-end"] == "true")
}
