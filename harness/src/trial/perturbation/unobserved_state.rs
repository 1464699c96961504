//! Deliveries of one type that are held from one event until a later one.
//!
//! In the embedded world each change is recorded, with who made it, before anybody sees it. Of another cluster that is known
//! at quiet moments only: until the event has come, deliveries of the type wait for the next of them.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use plans::{Moment, Occurred, Release, UnobservedState, moment::MomentCounter};
use proxy::{Deciding, Fate, Injected, Passing};
use serde_json::json;
use trace::{
    Actor, Call, CallId, ConnectionId, Event, GroupResource, History, Recorder, Revision, Verb,
};

use super::{Standing, Trial};
use crate::trial::held_deliveries::HeldDeliveries;

/// What has happened of a plan, read from the record when it matters.
#[derive(Clone)]
struct Progress {
    recorder: Recorder,
    /// Whether who changed what is known only afterwards.
    observed: bool,
    shared: Arc<Mutex<Counted>>,
}

struct Counted {
    /// Records looked at.
    seen: usize,
    from: MomentCounter,
    until: MomentCounter,
    /// The revisions of both.
    began: Option<Revision>,
    ended: Option<Revision>,
}

impl Progress {
    /// Counts from the last start of the subject on: what a plan says after a restart is the same on a fork of its world
    /// and in a run from the beginning.
    fn new(recorder: &Recorder, observed: bool, from: Moment, until: &Occurred) -> Progress {
        let seen = recorder.with(History::last_start);
        let until = MomentCounter::new(Moment::Delivery { event: until.clone() });
        let from = MomentCounter::new(from);
        let counted = Counted { seen, from, until, began: None, ended: None };
        let shared = Arc::new(Mutex::new(counted));
        Progress { recorder: recorder.clone(), observed, shared }
    }

    /// When it began and ended, as revisions.
    fn revisions(&self) -> (Option<Revision>, Option<Revision>) {
        let mut counted = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let Counted { seen, from, until, began, ended } = &mut *counted;
        self.recorder.with(|history| {
            let written = if self.observed { written(history) } else { BTreeSet::new() };
            for record in &history.records[*seen..] {
                let Event::Commit(commit) = &record.event else { continue };
                let mut commit = commit.clone();
                if self.observed {
                    let mine = written.contains(&commit.revision);
                    commit.actor = if mine { Actor::Subject(0) } else { Actor::User };
                }
                let commit = &commit;
                if from.committed(commit) {
                    began.get_or_insert(commit.revision);
                }
                if until.committed(commit) && began.is_some() {
                    ended.get_or_insert(commit.revision);
                }
            }
            *seen = history.records.len();
        });
        (*began, *ended)
    }
}

/// Revisions that the subject's writes made, as it was told.
fn written(history: &History) -> BTreeSet<Revision> {
    let writes = history.calls().filter(|call| call.actor.is_subject() && call.is_write());
    let writes: BTreeSet<CallId> = writes.map(|call| call.id).collect();
    let answers = history.records.iter().filter_map(|record| match &record.event {
        Event::Answer(answer) if writes.contains(&answer.call) => answer.revision,
        _ => None,
    });
    answers.collect()
}

/// Holds, or waits to do so.
struct Unobserved {
    progress: Progress,
    resource: GroupResource,
    release: Release,
    held: HeldDeliveries,
}

/// Sets up the hold: it begins with the event.
pub(super) fn set_up(plan: &UnobservedState, trial: &mut Trial<'_>) -> Box<dyn Standing> {
    let observed = trial.cluster.server().is_none();
    let progress = Progress::new(&trial.recorder, observed, plan.from.clone(), &plan.until);
    let resource = plan.until.change.resource.clone();
    let counts = progress.clone();
    let held = HeldDeliveries::of(resource.clone(), trial.proxy.gate(), move |revision| {
        counts.observed || counts.revisions().0.is_some_and(|began| revision >= began)
    });
    let release = plan.release;
    Box::new(Unobserved { progress, resource, release, held })
}

impl Standing for Unobserved {
    fn has_begun(&mut self, _: &Trial<'_>) -> bool {
        self.progress.revisions().0.is_some()
    }

    fn lets_go(&mut self) -> bool {
        if !self.progress.observed {
            return false;
        }
        let (began, _) = self.progress.revisions();
        self.held.lets_go(|revision| began.is_none_or(|began| revision < began))
    }

    fn is_due(&mut self, _: &Trial<'_>) -> bool {
        self.progress.revisions().1.is_some()
    }

    fn end(self: Box<Self>, trial: &mut Trial<'_>) -> Result<(), String> {
        let Unobserved { progress, resource, release, held } = *self;
        let held = held.calls();
        let (_, ended) = progress.revisions();
        let Some(ended) = ended else {
            // Told alike for all plans: they are counted by it. The plan says which event.
            return Err("the second event comes only after the user has waited for the controller, or not at all".to_owned());
        };
        if held.is_empty() {
            return Err(format!("no watch of {resource} was open then"));
        }
        if release == Release::Relist {
            for connection in connections(&trial.recorder, &held) {
                trial.proxy.cut_connection(connection);
            }
            trial.deciding.push(expires_before(trial, resource, ended));
        }
        Ok(())
    }
}

/// On which connections these calls came.
fn connections(recorder: &Recorder, calls: &[CallId]) -> Vec<ConnectionId> {
    recorder.with(|history| {
        let mine = history.calls().filter(|call| calls.contains(&call.id));
        mine.map(|call| call.connection).collect()
    })
}

/// From now on the server holds no event before this one: a watch that would begin earlier is told so.
fn expires_before(trial: &Trial<'_>, resource: GroupResource, oldest: Revision) -> Deciding {
    trial.proxy.gate().decide(move |passing| match passing {
        Passing::Request(call) if call.resource.as_ref() == Some(&resource) => match from(call) {
            Some(from) if from < oldest => Fate::Answer(expired(from, oldest)),
            _ => Fate::Pass,
        },
        _ => Fate::Pass,
    })
}

/// The revision that a watch goes on from; none if it begins anew, or the call is no watch.
fn from(call: &Call) -> Option<Revision> {
    let (_, query) = call.uri.split_once('?').filter(|_| call.verb == Verb::Watch)?;
    let value =
        |wanted: &str| form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == wanted);
    if value("sendInitialEvents").is_some_and(|(_, value)| value == "true") {
        return None;
    }
    Revision::parse(&value("resourceVersion")?.1).filter(|revision| revision.0 > 0)
}

/// What apiserver sends to a watch that begins too early: one event, and the stream ends (kubernetes-api.md §3).
fn expired(asked: Revision, oldest: Revision) -> Injected {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("too old resource version: {} ({})", asked.0, oldest.0),
        "reason": "Expired", "code": 410,
    });
    Injected { status: 200, body: Arc::new(json!({"type": "ERROR", "object": status})) }
}
