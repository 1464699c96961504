//! Reads that end: lists and gets.

use std::collections::BTreeSet;

use serde_json::Value;
use trace::{Answer, Call, GroupResource, ObjectKey, Revision};

use super::{Look, Rule, Store, said, selector::Scope};

impl Look<'_> {
    pub(super) fn listed(&mut self, call: &Call, since: Revision, answer: &Answer) {
        let scope = Scope::of(call);
        let (Some(resource), true) = (&scope.resource, answer.status == 200) else { return };
        let Some(revision) = answer.revision else {
            return self.unseen("lists without a revision");
        };
        if !self.store.has(resource) || resource.is_bookkeeping() {
            return self.unseen("lists of what the store does not hold");
        }
        let asked = match scope.revision {
            // A page of a list that began before.
            _ if scope.continues => None,
            Some(Revision(0)) => None,
            Some(asked) if scope.exact || scope.paged => (revision != asked)
                .then(|| (Rule::AskedRevision, format!("exactly {} was asked for", asked.0))),
            Some(asked) => (revision < asked).then(|| {
                (Rule::AskedRevision, format!("no state before {} was asked for", asked.0))
            }),
            None => (revision < since)
                .then(|| (Rule::ConsistentRead, format!("the store was at {} already", since.0))),
        };
        if let Some((rule, why)) = asked {
            self.object(rule, format!("{} shows {}: {why}", said(call), revision.0));
        }
        if revision > self.now {
            let text = format!("{} shows {}, which is yet to come", said(call), revision.0);
            self.object(Rule::Snapshot, text);
            return;
        }
        let items = answer.body.json().and_then(|body| body.get("items")?.as_array());
        match items {
            Some(_) if scope.opaque || revision < self.store.since() => {
                self.unseen("lists whose state is not known");
            }
            Some(items) => self.is_snapshot(call, &scope, revision, items),
            None => self.unseen("lists whose items were not kept"),
        }
    }

    fn is_snapshot(&mut self, call: &Call, scope: &Scope, revision: Revision, items: &[Value]) {
        let Some(resource) = &scope.resource else { return };
        let of = |object: &Value| (key(resource, object), revision_text(object));
        let shown: BTreeSet<(ObjectKey, String)> = items.iter().map(of).collect();
        let stored: BTreeSet<(ObjectKey, String)> =
            self.store.listed(scope, revision).map(|(_, object)| of(object)).collect();
        let extra = shown.difference(&stored).next().cloned();
        let missing = stored.difference(&shown).next().cloned();
        let whole = !scope.paged && !scope.continues;
        let wrong = match (extra, missing) {
            (Some((key, at)), _) => Some(format!("{key} at {at} is no part of it")),
            (None, Some((key, _))) if whole => Some(format!("{key} is missing")),
            _ => None,
        };
        if let Some(wrong) = wrong {
            let text = format!("{} is not the state at {}: {wrong}", said(call), revision.0);
            self.object(Rule::Snapshot, text);
        }
        if let Some((rule, text)) =
            items.iter().find_map(|item| differs(self.store, resource, item))
        {
            self.object(rule, text);
        }
    }

    pub(super) fn got(&mut self, call: &Call, since: Revision, answer: &Answer) {
        let (Some(resource), Some(key)) = (&call.resource, call.object_key()) else { return };
        if !self.store.has(resource) || resource.is_bookkeeping() || !call.subresource.is_empty() {
            return self.unseen("gets of what the store does not hold");
        }
        let from = match Scope::of(call).revision {
            None => since,
            Some(least) => least.max(self.store.since()),
        };
        let mut versions = self.store.between(&key, from, self.now);
        let (possible, shows) = match (answer.status, answer.body.json()) {
            (404, _) => (versions.any(|object| object.is_none()), "nothing".to_owned()),
            (200, Some(object)) => {
                let shown = revision(object);
                let same = |stored: Option<&std::sync::Arc<Value>>| {
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
        let object = answer.body.json().filter(|_| answer.status == 200);
        if let Some((rule, text)) = object.and_then(|object| differs(self.store, resource, object))
        {
            self.object(rule, text);
        }
    }
}

/// Whether an object says otherwise than what was stored at its revision; of another version or form only its metadata is
/// compared.
pub fn differs(store: &Store, resource: &GroupResource, shown: &Value) -> Option<(Rule, String)> {
    let key = key(resource, shown);
    let stored = store.at(&key, revision(shown)?)?;
    if revision(stored) != revision(shown) {
        return None; // told where it is looked for
    }
    let metadata = |object: &Value, field: &str| object["metadata"][field].clone();
    let fields = ["uid", "labels", "annotations", "finalizers", "deletionTimestamp", "generation"];
    let other =
        fields.into_iter().find(|field| !same(&metadata(shown, field), &metadata(stored, field)));
    let whole = shown["apiVersion"] == stored["apiVersion"] && shown["kind"] == stored["kind"];
    let parts = ["spec", "status", "data", "stringData", "rules", "subsets", "endpoints"];
    let part = || {
        let unlike = |part: &str| Some(format!("{part}{}", unlike(&shown[part], &stored[part])?));
        parts.into_iter().filter(|_| whole).find_map(unlike)
    };
    let field = other.map(|field| format!("metadata.{field}")).or_else(part)?;
    let text = format!("{field} of {key} is not what was stored at {}", revision_text(shown));
    Some((Rule::Content, text))
}

/// Whether two values say the same in every encoding.
fn same(some: &Value, other: &Value) -> bool {
    unlike(some, other).is_none()
}

/// Where two values don't say the same, whatever the encoding: protobuf has no difference between what is empty and what is
/// not there, and no type names of objects within objects (kubernetes-api.md §1.4).
fn unlike(some: &Value, other: &Value) -> Option<String> {
    match (some, other) {
        (Value::Object(one), Value::Object(two)) => {
            let names: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
            names.into_iter().find_map(|name| {
                let (one, two) = (one.get(name), two.get(name));
                let lost = one.is_none() || two.is_none();
                if lost && matches!(name.as_str(), "kind" | "apiVersion") {
                    return None;
                }
                let below = unlike(one.unwrap_or(&Value::Null), two.unwrap_or(&Value::Null))?;
                Some(format!(".{name}{below}"))
            })
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            let mut both = one.iter().zip(two).enumerate();
            both.find_map(|(at, (one, two))| Some(format!("[{at}]{}", unlike(one, two)?)))
        }
        _ => {
            let same = some == other || (is_empty(some) && is_empty(other));
            (!same).then(String::new)
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(is_empty),
    }
}

/// `metadata.resourceVersion`.
pub fn revision(object: &Value) -> Option<Revision> {
    Revision::parse(object["metadata"]["resourceVersion"].as_str()?)
}

fn revision_text(object: &Value) -> String {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned()
}

fn key(resource: &GroupResource, object: &Value) -> ObjectKey {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    ObjectKey::new(resource.clone(), &text("namespace"), &text("name"))
}
