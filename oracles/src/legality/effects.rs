//! What a write that succeeded must have left: what was meant is shown, what was deleted is gone or goes.

use serde_json::Value;
use trace::{Answer, Call, GroupResource, ObjectKey, Revision, Verb};

use super::{
    Look, Rule, content, definition::Definition, kept::Kept, meant::Meant, refusals::Named, said,
    selector::Scope,
};

impl Look<'_> {
    /// What was sent is what is shown, where nobody else may change it.
    pub(super) fn keeps(
        &mut self,
        call: &Call,
        scope: &Scope,
        shown: &Value,
        (before, since): (Option<&Value>, Revision),
    ) {
        let policies =
            GroupResource::new("admissionregistration.k8s.io", "mutatingadmissionpolicies");
        if self.changed.contains(&call.id) || self.store.has(&policies) {
            return self.unseen("writes that others may have changed");
        }
        // Of another version or form it says less, or the same elsewhere.
        if shown["apiVersion"] != *scope.api_version {
            return self.unseen("writes that are shown in another form");
        }
        let Some(resource) = &scope.resource else { return };
        let in_this_version = |object: &&Value| object["apiVersion"] == *scope.api_version;
        let before = before.filter(in_this_version).filter(|_| call.verb != Verb::Create);
        let is_custom = !resource.is_built_in();
        let wrong = match Meant::by(call, before) {
            Meant::Nothing => return self.unseen("writes whose effect is not known"),
            Meant::Refusal(_) if !is_custom => {
                return self.unseen("writes whose effect is not known");
            }
            Meant::Refusal(place) => Some(format!("its test of {place} does not hold")),
            Meant::Whole(object) => self.kept(call, resource, since).whole(&object, before, shown),
            Meant::Part(object) => self.kept(call, resource, since).part(&object, shown),
        };
        if let Some(wrong) = wrong {
            let text = format!("{} succeeds, and {wrong}", said(call));
            self.object(Rule::Write, text);
        }
    }

    fn kept<'k>(
        &'k self,
        call: &'k Call,
        resource: &'k GroupResource,
        since: Revision,
    ) -> Kept<'k> {
        let defined = Definition::of(self.store, resource, &call.version, since, self.now);
        Kept::new(self.store, call, resource, defined)
    }

    /// What is deleted is gone, or marked as going.
    pub(super) fn deleted(&mut self, call: &Call, scope: &Scope, since: Revision, answer: &Answer) {
        let Some(body) = answer.body.json() else { return };
        let Some(resource) = &scope.resource else { return };
        let (keys, at_once): (Vec<ObjectKey>, bool) = match body["items"].as_array() {
            Some(items) => (items.iter().map(|item| content::key(resource, item)).collect(), false),
            None => (scope.object_key().into_iter().collect(), body["kind"] == "Status"),
        };
        for key in keys {
            let states = || self.store.between(&key, since, self.now);
            let gone = states().skip(1).any(|state| state.is_none());
            let mut marks = states().flatten().map(|state| &state["metadata"]["deletionTimestamp"]);
            if !gone && (at_once || !marks.any(Value::is_string)) {
                let text = format!("{} succeeds, and {key} stays", said(call));
                return self.object(Rule::Write, text);
            }
            let named = Named::of(call);
            if call.verb == Verb::Delete && !states().flatten().any(|state| named.is(state)) {
                let text = format!("{} succeeds, and {key} never was what it names", said(call));
                return self.object(Rule::Write, text);
            }
        }
    }
}
