//! Reads that end: lists and gets.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;
use trace::{Answer, Call, GroupResource, ObjectKey, Revision};

use super::{
    Look, Problem, Rule,
    content::{self, differs, revision, revision_text},
    said,
    selector::Scope,
};

impl Look<'_> {
    pub(super) fn listed(&mut self, call: &Call, since: Revision, answer: &Answer) {
        let scope = Scope::of(call);
        let (Some(resource), true) = (&scope.resource, answer.status == 200) else { return };
        let Some(shown) = answer.revision else {
            return self.unseen("lists without a revision");
        };
        let body = answer.body.json();
        let items = body.and_then(|body| body.get("items")?.as_array());
        if !self.store.has(resource) {
            let held = items.and_then(|items| items.iter().find(|item| revision(item).is_some()));
            return self.of_no_such_type(call, resource, held);
        }
        if resource.is_bookkeeping() {
            return self.unseen("lists of bookkeeping");
        }
        if let Some((rule, why)) = self.not_asked_for(&scope, since, shown) {
            self.object(rule, format!("{} shows {}: {why}", said(call), shown.0));
        }
        if let Some(token) = body.and_then(|body| body["metadata"]["continue"].as_str()) {
            self.pages.insert(token.to_owned(), shown);
        }
        if shown > self.now {
            let text = format!("{} shows {}, which is yet to come", said(call), shown.0);
            self.object(Rule::Snapshot, text);
            return;
        }
        match (items, body) {
            (Some(_), _) if scope.is_opaque(self.store) || shown < self.store.since() => {
                self.unseen("lists whose state is not known");
            }
            (Some(items), Some(body)) => self.is_snapshot(call, &scope, shown, body, items),
            _ => self.unseen("lists whose items were not kept"),
        }
    }

    /// Why a list may not show the state of this revision.
    fn not_asked_for(&self, scope: &Scope, since: Revision, shown: Revision) -> Option<Problem> {
        if scope.continues() {
            // A token that came with a 410 goes on in the present state.
            let first = self.pages.get(&scope.token).filter(|first| **first != shown)?;
            let why = format!("the list that it continues is one of {}", first.0);
            return Some((Rule::Snapshot, why));
        }
        match scope.revision {
            Some(Revision(0)) => None,
            Some(asked) if scope.is_exact() => (shown != asked)
                .then(|| (Rule::AskedRevision, format!("exactly {} was asked for", asked.0))),
            Some(asked) => (shown < asked).then(|| {
                (Rule::AskedRevision, format!("no state before {} was asked for", asked.0))
            }),
            None => (shown < since)
                .then(|| (Rule::ConsistentRead, format!("the store was at {} already", since.0))),
        }
    }

    fn is_snapshot(
        &mut self,
        call: &Call,
        scope: &Scope,
        at: Revision,
        body: &Value,
        items: &[Value],
    ) {
        let Some(resource) = &scope.resource else { return };
        let of = |object: &Value| (content::key(resource, object), revision_text(object));
        let shown: BTreeSet<(ObjectKey, String)> = items.iter().map(of).collect();
        let stored: BTreeSet<(ObjectKey, String)> =
            self.store.listed(scope, at).map(|(_, object)| of(object)).collect();
        let extra = shown.difference(&stored).next().cloned();
        let missing = stored.difference(&shown).next().cloned();
        let goes_on = body["metadata"]["continue"].as_str().is_some_and(|token| !token.is_empty());
        let whole = !scope.continues() && !goes_on;
        let wrong = match (extra, missing) {
            (Some((key, at)), _) => Some(format!("{key} at {at} is no part of it")),
            (None, Some((key, _))) if whole => Some(format!("{key} is missing")),
            _ => None,
        };
        if let Some(wrong) = wrong {
            let text = format!("{} is not the state at {}: {wrong}", said(call), at.0);
            self.object(Rule::Snapshot, text);
        }
        let other = items.iter().find_map(|item| differs(self.store, scope, item, Some(body)));
        if let Some((rule, text)) = other {
            self.object(rule, text);
        }
    }

    pub(super) fn got(&mut self, call: &Call, since: Revision, answer: &Answer) {
        let scope = Scope::of(call);
        let (Some(resource), Some(key)) = (&scope.resource, scope.object_key()) else { return };
        let object = answer.body.json().filter(|_| answer.status == 200);
        if !self.store.has(resource) {
            let held = object.filter(|object| revision(object).is_some());
            return self.of_no_such_type(call, resource, held.map(|object| &**object));
        }
        if resource.is_bookkeeping() {
            return self.unseen("gets of bookkeeping");
        }
        let from = match scope.revision {
            None => since,
            Some(least) => least.max(self.store.since()),
        };
        let mut versions = self.store.between(&key, from, self.now);
        let (possible, shows) = match (answer.status, object) {
            (404, _) => (versions.any(|object| object.is_none()), "nothing".to_owned()),
            (200, Some(object)) => {
                let shown = revision(object);
                let same = |stored: Option<&Arc<Value>>| {
                    stored.is_some_and(|stored| revision(stored) == shown)
                };
                (versions.any(same), format!("revision {}", shown.unwrap_or_default().0))
            }
            _ => return,
        };
        if !possible {
            let text = format!(
                "{} shows {shows}, which it was at no time from {} to {}",
                said(call),
                from.0,
                self.now.0
            );
            return self.object(Rule::ConsistentRead, text);
        }
        let other = object.and_then(|object| differs(self.store, &scope, object, None));
        if let Some((rule, text)) = other {
            self.object(rule, text);
        }
    }

    /// Of a type of which the store never held an object nothing can be shown. What has no revision is not from the store:
    /// reviews, and the state of components.
    fn of_no_such_type(&mut self, call: &Call, resource: &GroupResource, held: Option<&Value>) {
        let Some(held) = held else { return self.unseen("reads of what the store does not hold") };
        let key = content::key(resource, held);
        let text = format!("{} shows {key}, which the store never had", said(call));
        self.object(Rule::Content, text);
    }
}
