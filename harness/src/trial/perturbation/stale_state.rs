//! Watch caches that are behind, in front of any cluster.
//!
//! The subject is served as by an API server whose caches stand at an older revision: lists that any state may answer
//! come from there (as an exact list of that revision, of which the cluster is asked), and of watches nothing newer than
//! it is delivered. What must be fresh goes to the store as ever: lists without a revision, gets, writes. A client that
//! streams its first list (WatchList) gets a consistent one by right. It is answered with 503 (by an embedded cluster of a
//! release without that feature with 422), and client-go falls back to a list that any state may answer
//! (`plans/src/stale_read.rs`).

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::Uri;
use plans::{Behind, CatchUp, FirstRead, StaleState, stale_read};
use proxy::{Deciding, Fate, Hold, Injected, Passing, Target};
use serde_json::json;
use tower::{ServiceExt, util::BoxCloneSyncService};
use trace::{Call, Event, GroupResource, Revision, Verb};

use super::{Standing, Trial};
use crate::{campaign::setup::Ground, trial::restarted::FIRST_WORK};

/// How far the caches of the API server that a subject talks to are behind, if they are.
#[derive(Clone, Default)]
pub(in crate::trial) struct Caches(Arc<Mutex<Option<Cached>>>);

/// Where they stand.
#[derive(Clone)]
struct Cached {
    behind: Behind,
    /// The last revision that they have.
    at: Revision,
}

impl Cached {
    fn covers(&self, resource: Option<&GroupResource>) -> bool {
        resource.is_some_and(|resource| self.behind.covers(resource))
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
    behind: Behind,
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
    let cached = Cached { behind: stale.behind.clone(), at };
    let (holds, refuses) = (cached.clone(), cached.clone());
    let gate = trial.proxy.gate();
    let held = gate.hold(move |passing| match passing {
        Passing::Delivery(call, delivery) => {
            holds.covers(call.resource.as_ref())
                && delivery.revision.is_some_and(|revision| revision > holds.at)
        }
        _ => false,
    });
    let refusal = refusal(trial);
    let refused = gate.decide(move |passing| match passing {
        Passing::Request(call)
            if refuses.covers(call.resource.as_ref())
                && FirstRead::of(call) == Some(FirstRead::Streamed) =>
        {
            Fate::Answer(refusal.clone())
        }
        _ => Fate::Pass,
    });
    trial.caches.set(Some(cached));
    Ok(Box::new(Lag {
        behind: stale.behind.clone(),
        catch_up: stale.catch_up,
        stepped: 0,
        incarnation: trial.started,
        _held: held,
        _refused: refused,
    }))
}

/// How streamed lists end: an embedded cluster says of which release it is; of others nothing is taken for granted, and a
/// load balancer may stand before any.
fn refusal(trial: &Trial<'_>) -> Injected {
    match &trial.setup.ground {
        Ground::Embedded(world) if !stale_read::has_watch_list(world.release().minor()) => {
            no_watch_list()
        }
        Ground::Embedded(_) | Ground::Remote(_) => unavailable(),
    }
}

/// What a load balancer says that has no API server behind it at the moment. Without `Retry-After`: client-go would wait.
fn unavailable() -> Injected {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "no API server is available", "reason": "ServiceUnavailable", "code": 503,
    });
    Injected { status: 503, body: Arc::new(body) }
}

/// What an API server says whose WatchList feature is off (`ValidateListOptions` of apimachinery; before 1.27 in other
/// words).
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
        let (read, from_cache, waits) = trial.recorder.with(|history| {
            let since = &history.records[history.last_start()..];
            let lists = || since.iter().filter_map(|record| self.list(&record.event));
            let waiting = stale_read::not_fallen_back(history);
            let waits = waiting.iter().any(|resource| self.behind.covers(resource));
            (lists().next().is_some(), lists().any(may_come_from_cache), waits)
        });
        let what = match &self.behind.resource {
            Some(resource) => resource.to_string(),
            None => "anything".to_owned(),
        };
        match (from_cache, read, waits) {
            (true, ..) => Ok(()),
            (false, true, _) => Err(format!(
                "the restarted controller did not list {what} from a cache: its first lists are consistent"
            )),
            (false, false, true) => Err(format!(
                "the restarted controller did not list {what}: it waits for the streamed list that was refused"
            )),
            (false, false, false) => Err(format!("the restarted controller did not list {what}")),
        }
    }
}

impl Lag {
    /// A list of what is behind.
    fn list<'e>(&self, event: &'e Event) -> Option<&'e Call> {
        let Event::Call(call) = event else { return None };
        let meant = call.resource.as_ref().is_some_and(|resource| self.behind.covers(resource));
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
        let behind = Behind { resource, up_to: None, before: false };
        caches.set(Some(Cached { behind, at: Revision(at) }));
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
