//! Watch caches that are behind, in front of any cluster.
//!
//! The subject is served as by an API server whose caches stand at an older revision: lists that any state may answer
//! come from there (as an exact list of that revision, of which the cluster is asked), and of watches nothing newer than
//! it is delivered. What must be fresh goes to the store as ever: lists without a revision, gets, writes. A client that
//! streams its first list (WatchList) gets a consistent one by right; it is told what a server without that feature says,
//! and falls back to a list that any state may answer (kubernetes-api.md §8.3).

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::Uri;
use plans::{Behind, CatchUp, StaleState};
use proxy::{Deciding, Fate, Hold, Injected, Passing, Target};
use serde_json::json;
use tower::{ServiceExt, util::BoxCloneSyncService};
use trace::{Call, Event, GroupResource, Revision, Verb};

use super::{Standing, Trial};
use crate::trial::restarted::FIRST_WORK;

/// How far the caches of the API server that a subject talks to are behind, if they are.
#[derive(Clone, Default)]
pub(in crate::trial) struct Caches(Arc<Mutex<Option<Cached>>>);

/// Where they stand.
#[derive(Clone)]
struct Cached {
    /// Of which type; none: of all.
    resource: Option<GroupResource>,
    at: Revision,
}

impl Cached {
    fn covers(&self, resource: Option<&GroupResource>) -> bool {
        let Some(resource) = resource.filter(|resource| !resource.is_bookkeeping()) else {
            return false;
        };
        self.resource.as_ref().is_none_or(|behind| behind == resource)
    }
}

impl Caches {
    /// The same API as an API server with these caches serves it.
    pub fn before(&self, upstream: proxy::Upstream) -> proxy::Upstream {
        let this = self.clone();
        BoxCloneSyncService::new(upstream.map_request(move |mut request: http::Request<_>| {
            if let Some(uri) = this.answered_from(request.method().as_str(), request.uri()) {
                *request.uri_mut() = uri;
            }
            request
        }))
    }

    fn set(&self, cached: Option<Cached>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = cached;
    }

    /// A list that a cache answers, as a question to the store; none for everything else.
    fn answered_from(&self, method: &str, uri: &Uri) -> Option<Uri> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let target = Target::parse(method, uri.path(), uri.query());
        let listed = target.verb == Verb::List && target.subresource.is_empty();
        (listed && cached.covers(target.resource.as_ref())).then_some(())?;
        let at = revision_of(uri.query().unwrap_or_default(), cached.at)?;
        let query = uri.query().unwrap_or_default();
        let kept = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| {
            !matches!(&**name, "resourceVersion" | "resourceVersionMatch" | "limit" | "continue")
        });
        let mut exact = form_urlencoded::Serializer::new(String::new());
        exact.extend_pairs(kept);
        exact.append_pair("resourceVersion", &at.0.to_string());
        exact.append_pair("resourceVersionMatch", "Exact");
        format!("{}?{}", uri.path(), exact.finish()).parse().ok()
    }
}

/// At which revision a cache at `cached` answers a list with this query; none: it does not, the store does (API concepts,
/// `resourceVersion` and `resourceVersionMatch` of lists).
fn revision_of(query: &str, cached: Revision) -> Option<Revision> {
    let mut asked = String::new();
    let (mut exact, mut limited) = (false, false);
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "continue" if !value.is_empty() => return None,
            "resourceVersion" => asked = value.into_owned(),
            "resourceVersionMatch" => exact = value == "Exact",
            "limit" => limited = !value.is_empty() && value != "0",
            _ => {}
        }
    }
    match Revision::parse(&asked)? {
        _ if exact => None,
        Revision(0) => Some(cached),
        // The older meaning of a limit with a revision: exactly that one.
        _ if limited => None,
        least => Some(least.max(cached)),
    }
}

/// The caches are behind.
struct Lag {
    resource: Option<GroupResource>,
    catch_up: CatchUp,
    /// Steps that the user did since.
    stepped: u32,
    /// Which start of the subject meets them.
    incarnation: u32,
    _held: Hold,
    _refused: Deciding,
}

/// Sets the caches back, just before the subject is started.
pub(super) fn before_start(
    stale: &StaleState,
    trial: &mut Trial<'_>,
    behind: Option<Revision>,
) -> Result<Box<dyn Standing>, String> {
    let at = match behind {
        Some(at) => at,
        None => revision_up_to(&stale.behind, trial)?,
    };
    let cached = Cached { resource: stale.behind.resource.clone(), at };
    let (holds, refuses) = (cached.clone(), cached.clone());
    let gate = trial.proxy.gate();
    let held = gate.hold(move |passing| match passing {
        Passing::Delivery(call, delivery) => {
            holds.covers(call.resource.as_ref())
                && delivery.revision.is_some_and(|revision| revision > holds.at)
        }
        _ => false,
    });
    let refused = gate.decide(move |passing| match passing {
        Passing::Request(call) if refuses.covers(call.resource.as_ref()) && streams(call) => {
            Fate::Answer(no_watch_list())
        }
        _ => Fate::Pass,
    });
    trial.caches.set(Some(cached));
    Ok(Box::new(Lag {
        resource: stale.behind.resource.clone(),
        catch_up: stale.catch_up,
        stepped: 0,
        incarnation: trial.started,
        _held: held,
        _refused: refused,
    }))
}

/// Whether a watch asks for a consistent list first (KEP-3157).
fn streams(call: &Call) -> bool {
    call.verb == Verb::Watch
        && form_urlencoded::parse(query(call).as_bytes())
            .any(|(name, value)| name == "sendInitialEvents" && value == "true")
}

/// What an API server says whose WatchList feature is off, as 1.33 has it by default (`ValidateListOptions` of
/// apimachinery).
fn no_watch_list() -> Injected {
    let why =
        "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
    let message =
        format!("ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: {why}");
    let cause = json!({
        "reason": "FieldValueForbidden",
        "message": format!("Forbidden: {why}"),
        "field": "sendInitialEvents",
    });
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": "Invalid",
        "details": {"group": "meta.k8s.io", "kind": "ListOptions", "causes": [cause]},
        "code": 422,
    });
    Injected { status: 422, body: Arc::new(body) }
}

/// The revision that a plan means, in a run from the beginning.
fn revision_up_to(behind: &Behind, trial: &Trial<'_>) -> Result<Revision, String> {
    let found = trial.recorder.with(|history| {
        let (began, before) = (trial.first_revision, &trial.before);
        plans::stale_views::revision_of(behind, began, before, history.commits())
    });
    found.ok_or_else(|| format!("{behind}: that did not happen before the restart"))
}

impl Standing for Lag {
    fn is_due(&mut self, trial: &Trial<'_>) -> bool {
        let stepped = match self.catch_up {
            CatchUp::Quiet => true,
            CatchUp::AfterUserStep(steps) => self.stepped >= steps,
        };
        stepped && self.time_left(trial).is_zero()
    }

    fn time_left(&self, trial: &Trial<'_>) -> Duration {
        // What is done later than that, it does with caches that stay behind over user steps.
        let Some(since) = trial.acts_since(self.incarnation) else { return FIRST_WORK };
        FIRST_WORK.saturating_sub(trial.cluster.now().since(since))
    }

    fn user_stepped(&mut self) {
        self.stepped += 1;
    }

    fn end(self: Box<Self>, trial: &mut Trial<'_>) -> Result<(), String> {
        trial.caches.set(None);
        let (read, from_cache) = trial.recorder.with(|history| {
            let since = &history.records[history.last_start()..];
            let lists = || since.iter().filter_map(|record| self.list(&record.event));
            (lists().next().is_some(), lists().any(may_come_from_cache))
        });
        let what = || match &self.resource {
            Some(resource) => resource.to_string(),
            None => "anything".to_owned(),
        };
        match (read, from_cache) {
            (_, true) => Ok(()),
            (false, _) => Err(format!("the restarted controller did not list {}", what())),
            (true, false) => Err(format!(
                "the restarted controller did not list {} from a cache: its first lists are consistent",
                what()
            )),
        }
    }
}

impl Lag {
    /// A list of what is behind.
    fn list<'e>(&self, event: &'e Event) -> Option<&'e Call> {
        let Event::Call(call) = event else { return None };
        let meant = self.resource.as_ref().is_none_or(|of| call.resource.as_ref() == Some(of));
        (meant && call.actor.is_subject() && call.verb == Verb::List).then_some(call)
    }
}

fn may_come_from_cache(list: &Call) -> bool {
    revision_of(query(list), Revision(0)).is_some()
}

fn query(call: &Call) -> &str {
    call.uri.split_once('?').map_or("", |(_, query)| query)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caches(resource: Option<&str>, at: u64) -> Caches {
        let resource = resource.map(|text| text.parse().expect("a type"));
        let caches = Caches::default();
        caches.set(Some(Cached { resource, at: Revision(at) }));
        caches
    }

    #[test]
    fn only_what_a_cache_may_answer_comes_from_it() {
        let check = |uri: &str, expect: Option<&str>| {
            let uri: Uri = uri.parse().expect("a uri");
            let answered = caches(Some("pods"), 7).answered_from("GET", &uri);
            assert_eq!(answered.map(|uri| uri.to_string()).as_deref(), expect, "{uri}");
        };
        let exact =
            |at: u64| format!("/api/v1/pods?resourceVersion={at}&resourceVersionMatch=Exact");
        check("/api/v1/pods?limit=500&resourceVersion=0", Some(&exact(7)));
        check("/api/v1/pods?resourceVersion=0&resourceVersionMatch=NotOlderThan", Some(&exact(7)));
        check("/api/v1/pods?resourceVersion=5", Some(&exact(7)));
        check("/api/v1/pods?resourceVersion=9", Some(&exact(9)));
        // Consistent, exact, a page of one that began, or no list at all.
        check("/api/v1/pods", None);
        check("/api/v1/pods?resourceVersion=", None);
        check("/api/v1/pods?resourceVersion=5&resourceVersionMatch=Exact", None);
        check("/api/v1/pods?resourceVersion=5&limit=500", None);
        check("/api/v1/pods?limit=500&continue=abc", None);
        check("/api/v1/pods?watch=true&resourceVersion=0", None);
        check("/api/v1/namespaces/default/pods/a?resourceVersion=0", None);
        check("/api/v1/secrets?resourceVersion=0", None);
        let labels = "/api/v1/pods?labelSelector=a%3Db&resourceVersion=0";
        let asked = "/api/v1/pods?labelSelector=a%3Db&resourceVersion=7&resourceVersionMatch=Exact";
        check(labels, Some(asked));
    }

    #[test]
    fn all_types_but_leases_and_events_are_behind_together() {
        let caches = caches(None, 7);
        let asked = |uri: &str| caches.answered_from("GET", &uri.parse().expect("a uri")).is_some();
        assert!(asked("/api/v1/secrets?resourceVersion=0"));
        assert!(!asked("/apis/coordination.k8s.io/v1/leases?resourceVersion=0"));
    }
}
