//! Watch caches that are behind, in front of any cluster.
//!
//! The subject is served as by an API server whose caches stand at an older revision ([`caches`]): reads that any state may
//! answer come from there, and of watches nothing newer than it is delivered. What must be fresh goes to the store as ever:
//! reads without a revision, and writes. A client that streams its first list (WatchList) without a revision gets a
//! consistent one by right. It is answered with 503 (by an embedded cluster of a release without that feature each
//! streamed list with 422), and client-go falls back to a list that any state may answer (`plans/src/stale_read.rs`).

mod asked;
mod caches;
mod shown;

use std::{sync::Arc, time::Duration};

use plans::{Behind, CatchUp, FirstRead, StaleState, schedule::is_streamed_list, stale_read};
use proxy::{Deciding, Fate, Gate, Hold, Injected, Passing};
use serde_json::json;
use trace::{Call, Event, Revision, Verb};

use self::caches::Cached;
pub(in crate::trial) use self::caches::Caches;
use super::{Standing, Trial};

/// The caches are behind.
struct Lag {
    cached: Cached,
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
    let streams_lists = trial.setup.ground.streams_lists();
    let cached = Cached { behind: stale.behind.clone(), at, streams_lists };
    let (held, refused) = guarded(trial.proxy.gate(), &cached);
    trial.caches.set(Some(cached.clone()));
    Ok(Box::new(Lag {
        cached,
        catch_up: stale.catch_up,
        stepped: 0,
        incarnation: trial.started,
        _held: held,
        _refused: refused,
    }))
}

/// Keeps from passing what a server with these caches does not show yet, or does not stream.
fn guarded(gate: &Gate, cached: &Cached) -> (Hold, Deciding) {
    let (holds, refuses) = (cached.clone(), cached.clone());
    let held = gate.hold(move |passing| match passing {
        Passing::Delivery(call, delivery) => {
            holds.covers(call.resource.as_ref())
                && delivery.revision.is_some_and(|revision| revision > holds.at)
        }
        _ => false,
    });
    let refused = gate.decide(move |passing| match passing {
        Passing::Request(call) if refuses.covers(call.resource.as_ref()) => refusal(&refuses, call),
        _ => Fate::Pass,
    });
    (held, refused)
}

/// How streamed lists end that the caches don't answer: a server without the feature refuses all of them; before others a
/// load balancer may stand.
fn refusal(cached: &Cached, call: &Call) -> Fate {
    match FirstRead::of(call) {
        _ if !cached.streams_lists && is_streamed_list(call) => Fate::Answer(no_watch_list()),
        Some(FirstRead::Streamed) => Fate::Answer(unavailable()),
        _ => Fate::Pass,
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
        trial.first_work_left_to(self.incarnation)
    }

    fn user_stepped(&mut self) {
        self.stepped += 1;
    }

    fn end(self: Box<Self>, trial: &mut Trial<'_>) -> Result<(), String> {
        trial.caches.set(None);
        let behind = &self.cached.behind;
        let (read, from_cache, waits) = trial.recorder.with(|history| {
            let since = &history.records[history.last_start()..];
            let calls = || since.iter().filter_map(|record| self.meant(&record.event));
            let waiting = stale_read::not_fallen_back(history);
            let waits = waiting.iter().any(|resource| behind.covers(resource));
            let listed = calls().any(|call| call.verb == Verb::List);
            (listed, calls().any(|call| self.cached.show(&call.method, &call.uri)), waits)
        });
        let what = match &behind.resource {
            Some(resource) => resource.to_string(),
            None => "anything".to_owned(),
        };
        match (from_cache, read, waits) {
            (true, ..) => Ok(()),
            (false, true, _) => Err(format!(
                "the restarted controller did not read {what} from a cache: its first lists are consistent"
            )),
            (false, false, true) => Err(format!(
                "the restarted controller did not list {what}: it waits for the streamed list that was refused"
            )),
            (false, false, false) => Err(format!("the restarted controller did not list {what}")),
        }
    }
}

impl Lag {
    /// A call of the subject to what is behind.
    fn meant<'e>(&self, event: &'e Event) -> Option<&'e Call> {
        let Event::Call(call) = event else { return None };
        (self.cached.covers(call.resource.as_ref()) && call.actor.is_subject()).then_some(call)
    }
}

#[cfg(test)]
mod tests;
