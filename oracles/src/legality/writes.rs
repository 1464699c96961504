//! Writes that succeed.

use std::sync::Arc;

use serde_json::Value;
use trace::{Answer, Call, Fate, ObjectKey, Revision, Verb};

use super::{Look, Rule, content, refusals::Named, said, selector::Scope};

impl<'h> Look<'h> {
    pub(super) fn wrote(&mut self, call: &Call, since: Revision, answer: &Answer) {
        let scope = Scope::of(call);
        let (Some(resource), true) = (&scope.resource, answer.fate == Fate::Answered) else {
            return;
        };
        if !self.store.has(resource) || resource.is_bookkeeping() || is_dry(call) {
            return self.unseen("writes to what the store does not hold");
        }
        if !matches!(call.subresource.as_str(), "" | "status") {
            return self.unseen("writes to subresources");
        }
        match (answer.status, call.verb) {
            (200..300, Verb::Delete | Verb::DeleteCollection) => {
                self.deleted(call, &scope, since, answer);
            }
            (200..300, _) => self.succeeded(call, &scope, since, answer),
            _ => {}
        }
    }

    fn succeeded(&mut self, call: &Call, scope: &Scope, since: Revision, answer: &Answer) {
        let Some(body) = answer.body.json().filter(|body| is_object(body)) else { return };
        let (Some(written), Some(resource)) = (content::revision(body), &scope.resource) else {
            return;
        };
        let key = content::key(resource, body);
        // What it made, or what was there if it changed nothing; an object that goes is shown as it was.
        let known = self.store.between(&key, since, self.now).flatten();
        let mut known = known.map(|object| content::revision(object));
        if !known.any(|revision| revision == Some(written)) {
            let text = format!("{} says {}, which the store does not have", said(call), written.0);
            return self.object(Rule::Write, text);
        }
        if answer.status == 201 {
            self.began(call, &key, since, written);
        }
        let before = self.before(&key, since, written);
        self.is_based(call, before.and_then(|before| content::revision(before)), written);
        self.keeps(call, scope, body, (before.map(|before| &**before), since));
        // The last write of an object that goes is in no state of the store.
        if !self.store.between(&key, since, self.now).skip(1).any(|state| state.is_none())
            && let Some((rule, text)) = content::differs(self.store, scope, body, None)
        {
            self.object(rule, text);
        }
    }

    /// Each creation has a beginning of its own.
    fn began(&mut self, call: &Call, key: &ObjectKey, since: Revision, written: Revision) {
        let began = written > since && self.store.created(key, written);
        if !began || !self.created.insert((key.clone(), written)) {
            let text = format!("{} creates {key} at {}, which it didn't", said(call), written.0);
            self.object(Rule::Write, text);
        }
    }

    /// What the object was before this write, which made the revision or changed nothing.
    fn before(
        &self,
        key: &ObjectKey,
        since: Revision,
        written: Revision,
    ) -> Option<&'h Arc<Value>> {
        match written > since {
            true => self.store.at(key, Revision(written.0 - 1)),
            false => self.store.at(key, written),
        }
    }

    /// A write that says on what it is based is on top of that, or changes nothing of it.
    fn is_based(&mut self, call: &Call, before: Option<Revision>, written: Revision) {
        let (Some(based_on), Some(before)) = (Named::of(call).revision, before) else { return };
        if based_on != before && based_on != written {
            let (said, based_on, before) = (said(call), based_on.0, before.0);
            let text = format!("{said} succeeds on {based_on}, when the object was at {before}");
            self.object(Rule::Write, text);
        }
    }
}

/// Whether it says that nothing be written; deletes may say so in their body.
pub fn is_dry(call: &Call) -> bool {
    let options =
        call.body.json().filter(|_| matches!(call.verb, Verb::Delete | Verb::DeleteCollection));
    !call.is_write() || options.is_some_and(|options| !content::is_empty(&options["dryRun"]))
}

/// Neither a sentence about what was done nor rows of a table.
pub fn is_object(body: &Value) -> bool {
    body["kind"] != "Status" && body["kind"] != "Table"
}
