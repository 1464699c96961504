//! Reads of one object.

use std::sync::Arc;

use serde_json::Value;
use trace::{Answer, Call, GroupResource, Revision};

use super::{
    Look, Rule,
    content::{self, differs, revision},
    said,
    selector::Scope,
};

impl Look<'_> {
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
            (404, _) => {
                let absent = versions.any(|object| object.is_none());
                (absent || !self.is_served(call, resource, since), "nothing".to_owned())
            }
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
    pub(super) fn of_no_such_type(
        &mut self,
        call: &Call,
        resource: &GroupResource,
        held: Option<&Value>,
    ) {
        let Some(held) = held else { return self.unseen("reads of what the store does not hold") };
        let key = content::key(resource, held);
        let text = format!("{} shows {key}, which the store never had", said(call));
        self.object(Rule::Content, text);
    }
}
