//! Refusals, and answers that are not the cluster's.

use std::sync::Arc;

use serde_json::Value;
use trace::{Answer, Call, Fate, GroupResource, ObjectKey, Revision, Verb};

use super::{
    Look, Rule, content,
    definition::{Defined, Definition},
    endpoint, said,
    selector::Scope,
    writes::is_dry,
};

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

/// Subresources whose refusals say something of the object; others are answered by a node, or are about other objects too.
const OF_THE_OBJECT: [&str; 8] =
    ["", "status", "scale", "eviction", "approval", "ephemeralcontainers", "finalize", "resize"];

impl Look<'_> {
    /// A refusal has its reason in the store, or one that the store does not have. Who may do what (401, 403), what is
    /// valid (400, 405, 406, 413, 415, 422), and whether a server is well (429, 5xx) can't be told from a history: of
    /// these only the mention of a namespace that ends is looked at.
    pub(super) fn refused(&mut self, call: &Call, since: Revision, answer: &Answer) {
        let scope = Scope::of(call);
        let Some(resource) = scope.resource else { return };
        if answer.fate != Fate::Answered {
            return;
        }
        let of_the_object = OF_THE_OBJECT.contains(&&*call.subresource);
        if !self.store.has(&resource) || resource.is_bookkeeping() || !of_the_object {
            return self.unseen("refusals of what the store does not hold");
        }
        // A webhook refuses with what it likes, and none is asked about reads.
        if self.hooked.contains(&call.id) || (call.verb.is_write() && is_dry(call)) {
            return self.unseen("refusals that may be a webhook's, or of dry runs");
        }
        // A read that takes an older state may be refused for that.
        let takes_older = call.verb == Verb::Get && scope.revision.is_some();
        let since = if takes_older { self.store.since() } else { since };
        let status = answer.body.json().map(|body| &**body).unwrap_or(&Value::Null);
        let possible = match answer.status {
            404 => self.misses(call, &resource, since),
            409 => self.conflicts_with(call, since, status["reason"].as_str()),
            410 => expires(call),
            403 if is_cause(status, "NamespaceTerminating") => self.ends_namespace(call, since),
            _ => return self.unseen("refusals of which the store says nothing"),
        };
        if !possible {
            let (said, code) = (said(call), answer.status);
            let text = format!(
                "{said} is refused with {code} {}, for which there was no reason",
                status["reason"].as_str().unwrap_or_default()
            );
            self.object(Rule::Refusal, text);
        }
    }

    /// Whether something that the request names was not there: the object, its namespace, or the place of its type.
    fn misses(&self, call: &Call, resource: &GroupResource, since: Revision) -> bool {
        let absent =
            |key: &ObjectKey| self.store.between(key, since, self.now).any(|state| state.is_none());
        let named = Scope::of(call).object_key();
        // Only what is created needs its namespace; lists of one that is not there are empty.
        let namespace =
            (named.is_none() && call.verb == Verb::Create && !call.namespace.is_empty())
                .then(|| namespace(call));
        let untold = namespace.as_ref().is_some_and(|key| !self.store.has(&key.resource));
        untold
            || named.iter().chain(&namespace).any(absent)
            || !self.is_served(call, resource, since)
    }

    /// Whether the type, its version and the subresource are known to have been served all the time.
    pub(super) fn is_served(&self, call: &Call, resource: &GroupResource, since: Revision) -> bool {
        match Definition::of(self.store, resource, &call.version, since, self.now) {
            Defined::So(definition) => definition.serves(&call.subresource),
            Defined::Otherwise => false,
            // What is kept in a version is served in it; a subresource is where one was answered.
            Defined::Nowhere => match &*call.subresource {
                "" => self.store.keeps_as(resource, &Scope::of(call).api_version),
                _ => self.served.contains(&endpoint(call)),
            },
        }
    }

    /// Whether a write may be refused with a conflict for this reason. A read never is.
    fn conflicts_with(&self, call: &Call, since: Revision, reason: Option<&str>) -> bool {
        if !call.verb.is_write() {
            return false;
        }
        // Names that the server makes may be taken, and of many objects each may be the one.
        let Some(key) = meant(call) else { return true };
        match reason {
            Some("AlreadyExists") => {
                self.store.between(&key, since, self.now).any(|object| object.is_some())
            }
            Some("Conflict") if !matches!(&*call.subresource, "" | "status" | "scale") => true,
            // Nothing is compared where nothing was. What built-in types hand out may be taken.
            Some("Conflict") if call.verb == Verb::Create => {
                key.resource.is_built_in() || self.has_quota(&key, since)
            }
            Some("Conflict") => {
                self.competes(call, &key, since) || self.refuses_otherwise(call, &key, since)
            }
            _ => true,
        }
    }

    /// Whether a state of the object is not the one that the write names, or another write came between.
    fn competes(&self, call: &Call, key: &ObjectKey, since: Revision) -> bool {
        let named = Named::of(call);
        let other = |state: Option<&Arc<Value>>| state.is_none_or(|state| !named.is(state));
        let mut states = self.store.between(key, since, self.now);
        states.next().is_some_and(other) || states.next().is_some()
    }

    /// Whether there are reasons for a conflict other than a competing write: a field of another manager, where the write
    /// does not take it; a namespace that is still emptied; a quota that others use up.
    fn refuses_otherwise(&self, call: &Call, key: &ObjectKey, since: Revision) -> bool {
        (call.content_type.contains("apply-patch") && !call.uri.contains("force=true"))
            || (call.verb == Verb::Delete && *key.resource.resource == *"namespaces")
            || self.has_quota(key, since)
    }

    fn has_quota(&self, key: &ObjectKey, since: Revision) -> bool {
        let quotas = GroupResource::new("", "resourcequotas");
        self.store.of_type(&quotas).any(|(quota, _)| {
            quota.namespace == key.namespace
                && self.store.between(quota, since, self.now).any(|state| state.is_some())
        })
    }

    /// Whether the namespace of what was to be created was ending.
    fn ends_namespace(&self, call: &Call, since: Revision) -> bool {
        let namespace = namespace(call);
        let ends = |state: &Arc<Value>| {
            state["metadata"]["deletionTimestamp"].is_string()
                || state["status"]["phase"] == "Terminating"
        };
        !self.store.has(&namespace.resource)
            || self.store.between(&namespace, since, self.now).flatten().any(ends)
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
            410 if call.verb == Verb::List && expires(call) => None,
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

/// Whether what is asked for may be too old to be had: an exact state, or what happened since one (API concepts, *410
/// Gone*).
fn expires(call: &Call) -> bool {
    let scope = Scope::of(call);
    match call.verb {
        Verb::List => scope.continues() || scope.is_exact(),
        Verb::Watch => scope.revision.is_some_and(|revision| revision.0 > 0) && !scope.streams_list,
        _ => false,
    }
}

fn is_cause(status: &Value, reason: &str) -> bool {
    let causes = status["details"]["causes"].as_array();
    causes.is_some_and(|causes| causes.iter().any(|cause| cause["reason"] == *reason))
}

fn namespace(call: &Call) -> ObjectKey {
    ObjectKey::new(GroupResource::new("", "namespaces"), "", &call.namespace)
}

/// The object that a write is about.
fn meant(call: &Call) -> Option<ObjectKey> {
    let scope = Scope::of(call);
    if call.verb != Verb::Create || !call.subresource.is_empty() {
        return scope.object_key();
    }
    let name = call.body.json()?["metadata"]["name"].as_str()?;
    Some(ObjectKey::new(scope.resource?, &call.namespace, name))
}
