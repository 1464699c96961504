//! Refusals, and answers that are not the cluster's.

use std::sync::Arc;

use serde_json::Value;
use trace::{Answer, Call, GroupResource, ObjectKey, Revision, Verb};

use super::{Look, Rule, content, said, selector::Scope};

/// Which state of an object a write says that it is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Named {
    /// `metadata.resourceVersion`, or that of a delete's preconditions.
    pub revision: Option<Revision>,
    uid: Option<String>,
}

impl Named {
    pub fn of(call: &Call) -> Named {
        let Some(body) = call.body.json() else { return Named::default() };
        let text =
            |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let (revision, uid) = match (call.verb, body.as_array()) {
            (Verb::Delete, _) => {
                let named = &body["preconditions"];
                (text(&named["resourceVersion"]), text(&named["uid"]))
            }
            (Verb::Patch, Some(steps)) => {
                let of = |step: &&Value| step["path"] == "/metadata/resourceVersion";
                (steps.iter().rfind(of).and_then(|step| text(&step["value"])), None)
            }
            // Another uid in a patch is an invalid change, not a precondition.
            (Verb::Patch, None) => (text(&body["metadata"]["resourceVersion"]), None),
            (Verb::Update, _) => {
                let named = &body["metadata"];
                (text(&named["resourceVersion"]), text(&named["uid"]))
            }
            _ => (None, None),
        };
        // Zero names none (`Update` of the generic registry).
        let revision = revision.and_then(|text| Revision::parse(&text));
        Named { revision: revision.filter(|revision| revision.0 > 0), uid }
    }

    /// Whether that is this state.
    pub fn is(&self, state: &Value) -> bool {
        self.revision.is_none_or(|named| content::revision(state) == Some(named))
            && self.uid.as_deref().is_none_or(|named| state["metadata"]["uid"] == *named)
    }
}

impl Look<'_> {
    pub(super) fn refused(&mut self, call: &Call, since: Revision, answer: &Answer) {
        let reason = answer.body.json().map(|body| body["reason"].clone()).unwrap_or_default();
        let Some(key) = meant(call) else { return };
        let mut versions = self.store.between(&key, since, self.now);
        let possible = match (answer.status, reason.as_str().unwrap_or_default()) {
            // Its namespace may be what is not there.
            (404, _) => call.verb == Verb::Create || versions.any(|object| object.is_none()),
            (409, "AlreadyExists") => versions.any(|object| object.is_some()),
            // Names and addresses that are handed out may be taken.
            (409, "Conflict") if call.verb != Verb::Create => {
                self.competes(call, &key, since) || self.refuses_otherwise(call, &key)
            }
            _ => true,
        };
        if !possible {
            let text = format!(
                "{} is refused with {} {reason}, for which there was no reason",
                said(call),
                answer.status
            );
            self.object(Rule::Refusal, text);
        }
    }

    /// Whether a state of the object is not the one that the write names, or another write came between.
    fn competes(&self, call: &Call, key: &ObjectKey, since: Revision) -> bool {
        let named = Named::of(call);
        let other = |state: Option<&Arc<Value>>| state.is_none_or(|state| !named.is(state));
        let mut states = self.store.between(key, since, self.now);
        states.next().is_some_and(other) || states.next().is_some()
    }

    /// Whether there are reasons for a conflict other than a competing write: a field of another manager, a webhook that
    /// says so, a namespace that is still emptied, a quota that others use up.
    fn refuses_otherwise(&self, call: &Call, key: &ObjectKey) -> bool {
        call.content_type.contains("apply-patch")
            || self.hooked.contains(&call.id)
            || *key.resource.resource == *"namespaces"
            || self.store.has(&GroupResource::new("", "resourcequotas"))
    }

    /// An answer of a plan: one that a cluster could have given to this request.
    pub(super) fn injected(&mut self, call: &Call, since: Revision, answer: &Answer) {
        let scope = Scope::of(call);
        let why = match answer.status {
            // Any server may be too busy, ending, or cut off from its store, and what stands before it without a server.
            401 | 403 | 429 | 500 | 503 | 504 => None,
            422 if scope.streams_list => match self.minor {
                // WatchList is on by default (KEP-3157).
                32 | 34.. => Some("servers of this release stream lists"),
                _ => None,
            },
            410 if scope.continues() || scope.is_exact() => None,
            // The head of a watch; its only event is an error.
            200 if call.verb == Verb::Watch => match scope.revision {
                Some(revision) if revision.0 > 0 && !scope.streams_list => None,
                _ => Some("a watch that begins anew has no revision that could be too old"),
            },
            409 if self.conflicts(call, since) => None,
            409 => Some("a conflict needs a competing write"),
            200..300 => Some("only the cluster can say that something was done or is so"),
            _ => Some("no cluster says that to such a request"),
        };
        if let Some(why) = why {
            let text = format!("{} is answered with {}: {why}", said(call), answer.status);
            self.object(Rule::Injected, text);
        }
    }

    /// Whether the object is there already, or somebody else wrote it since it was what the write names.
    fn conflicts(&self, call: &Call, since: Revision) -> bool {
        let Some(key) = meant(call) else { return false };
        match call.verb {
            Verb::Create => self.store.between(&key, since, self.now).any(|state| state.is_some()),
            verb => verb.is_write() && self.competes(call, &key, since),
        }
    }
}

/// The object that a write is about.
fn meant(call: &Call) -> Option<ObjectKey> {
    let scope = Scope::of(call);
    if call.verb != Verb::Create {
        return scope.object_key();
    }
    let name = call.body.json()?["metadata"]["name"].as_str()?;
    Some(ObjectKey::new(scope.resource?, &call.namespace, name))
}
