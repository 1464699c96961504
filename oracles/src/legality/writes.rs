//! Writes, and answers that are not the cluster's.

use serde_json::Value;
use trace::{Answer, Call, Fate, Revision, Verb};

use super::{Look, Rule, answers, said, selector::Scope};

impl Look<'_> {
    pub(super) fn wrote(&mut self, call: &Call, since: Revision, answer: &Answer) {
        let (Some(resource), true) = (&call.resource, answer.fate == Fate::Answered) else {
            return;
        };
        if !self.store.has(resource) || resource.is_bookkeeping() || !call.is_write() {
            return self.unseen("writes to what the store does not hold");
        }
        if !matches!(call.subresource.as_str(), "" | "status") {
            return self.unseen("writes to subresources");
        }
        match answer.status {
            200..300 => self.succeeded(call, since, answer),
            404 | 409 => self.refused(call, since, answer),
            _ => {}
        }
    }

    fn succeeded(&mut self, call: &Call, since: Revision, answer: &Answer) {
        let Some(body) = answer.body.json().filter(|body| body["kind"] != "Status") else { return };
        let (Some(written), Some(resource)) = (answers::revision(body), &call.resource) else {
            return;
        };
        let text = |field: &str| body["metadata"][field].as_str().unwrap_or_default().to_owned();
        let key = trace::ObjectKey::new(resource.clone(), &text("namespace"), &text("name"));
        // What it made, or what was there if it changed nothing; an object that goes is shown as it was.
        let known = self.store.between(&key, since, self.now).flatten();
        let mut known = known.map(|object| answers::revision(object));
        if !known.any(|revision| revision == Some(written)) && call.verb != Verb::Delete {
            let text = format!("{} says {}, which the store does not have", said(call), written.0);
            return self.object(Rule::Write, text);
        }
        let made = written > since;
        if call.verb == Verb::Update
            && made
            && let Some(based_on) = based_on(call)
        {
            let before = self.store.at(&key, Revision(written.0 - 1));
            let before = before.and_then(|object| answers::revision(object));
            if before.is_some_and(|before| before != based_on) {
                let text = format!(
                    "{} succeeds on {}, when the object was at {}",
                    said(call),
                    based_on.0,
                    before.unwrap_or_default().0
                );
                self.object(Rule::Write, text);
            }
        }
    }

    fn refused(&mut self, call: &Call, since: Revision, answer: &Answer) {
        let reason = answer.body.json().map(|body| body["reason"].clone()).unwrap_or_default();
        let key = match call.verb {
            Verb::Create => created(call),
            _ => call.object_key(),
        };
        let Some(key) = key else { return };
        let mut versions = self.store.between(&key, since, self.now);
        let possible = match (answer.status, reason.as_str().unwrap_or_default()) {
            // Its namespace may be what is not there.
            (404, _) => call.verb == Verb::Create || versions.any(|object| object.is_none()),
            (409, "AlreadyExists") => versions.any(|object| object.is_some()),
            (409, "Conflict") if call.verb == Verb::Update => match based_on(call) {
                Some(based_on) => {
                    versions.any(|object| {
                        object.is_none_or(|object| answers::revision(object) != Some(based_on))
                    }) || other_uid(call, versions)
                }
                None => true,
            },
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

    /// An answer of a plan: one that a cluster could have given to this request.
    pub(super) fn injected(&mut self, call: &Call, answer: &Answer) {
        let scope = Scope::of(call);
        let why = match answer.status {
            // Any server may be too busy, ending, or cut off from its store.
            401 | 403 | 429 | 500 | 503 | 504 => None,
            // A server without WatchList (KEP-3157; off by default in 1.33).
            422 if scope.streams_list => None,
            410 if scope.continues || scope.exact => None,
            // The head of a watch; its only event is an error.
            200 if call.verb == Verb::Watch => match scope.revision {
                Some(revision) if revision.0 > 0 && !scope.streams_list => None,
                _ => Some("a watch that begins anew has no revision that could be too old"),
            },
            409 => Some("a conflict needs a competing write"),
            200..300 => Some("only the cluster can say that something was done or is so"),
            _ => Some("no cluster says that to such a request"),
        };
        if let Some(why) = why {
            let text = format!("{} is answered with {}: {why}", said(call), answer.status);
            self.object(Rule::Injected, text);
        }
    }
}

/// The revision that an update says it is based on.
fn based_on(call: &Call) -> Option<Revision> {
    answers::revision(call.body.json()?)
}

/// Whether the uid that an update names is none that the object had.
fn other_uid<'s>(
    call: &Call,
    mut versions: impl Iterator<Item = Option<&'s std::sync::Arc<Value>>>,
) -> bool {
    let uid = call.body.json().map(|body| body["metadata"]["uid"].clone()).unwrap_or_default();
    uid.is_string()
        && versions.any(|object| object.is_none_or(|object| object["metadata"]["uid"] != uid))
}

fn created(call: &Call) -> Option<trace::ObjectKey> {
    let name = call.body.json()?["metadata"]["name"].as_str()?;
    Some(trace::ObjectKey::new(call.resource.clone()?, &call.namespace, name))
}
