//! Which places to crash a history has.

use std::sync::Arc;

use serde_json::{Value, json};
use trace::{
    Answer, Body, Change, Commit, Fate, GroupResource, ObjectKey, Record, StepEvent, Verb,
};

use super::*;
use crate::fixture;

/// Builds a history; a second passes with each record.
#[derive(Default)]
struct Builder {
    history: History,
    calls: u64,
    revision: u64,
}

impl Builder {
    fn record(mut self, event: Event) -> Builder {
        let sequence = self.history.records.len() as u64;
        let at = Time(sequence as i64 * 1_000_000_000);
        self.history.records.push(Record { sequence, at, real_us: 0, event });
        self
    }

    /// The subject sends something; the calls are numbered from 1.
    fn call(mut self, verb: Verb, resource: &str, connection: u64) -> Builder {
        self.calls += 1;
        let call = fixture::call(self.calls, verb, resource, connection);
        self.record(Event::Call(call))
    }

    fn commit(self, actor: Actor, resource: &str, call: Option<u64>) -> Builder {
        self.change(actor, resource, call, Change::Created, json!({}))
    }

    fn change(
        mut self,
        actor: Actor,
        resource: &str,
        call: Option<u64>,
        change: Change,
        object: Value,
    ) -> Builder {
        self.revision += 1;
        let commit = Commit {
            revision: Revision(self.revision),
            change,
            key: ObjectKey::new(GroupResource::new("", resource), "default", "o"),
            object: Arc::new(object),
            actor,
            call: call.map(CallId),
            heartbeat: false,
        };
        self.record(Event::Commit(commit))
    }

    /// A pod that gets no time is marked, and goes, in one request.
    fn pod_goes(self, actor: Actor) -> Builder {
        let pod = json!({"metadata": {"deletionGracePeriodSeconds": 0}});
        let marked = self.change(actor.clone(), "pods", None, Change::Updated, pod.clone());
        marked.change(actor, "pods", None, Change::Deleted, pod)
    }

    /// A write of the subject: received, committed, answered.
    fn write(self, resource: &str) -> Builder {
        let builder = self.call(Verb::Create, resource, 1);
        let call = builder.calls;
        builder.commit(Actor::Subject(0), resource, Some(call)).answer(call)
    }

    fn answer(self, call: u64) -> Builder {
        let call = CallId(call);
        let (revision, body) = (None, Body::None);
        let answer =
            Answer { call, fate: Fate::Answered, status: 201, revision, body, injected: false };
        self.record(Event::Answer(answer))
    }

    fn user(self) -> Builder {
        self.commit(Actor::User, "foos", None)
    }

    fn step(self, operation: u32, state: StepState) -> Builder {
        let cursor = Cursor { operation, document: 0 };
        self.record(Event::Step(StepEvent { cursor, title: String::new(), state }))
    }

    fn crash_points(self) -> CrashPoints {
        crash_points(&self.history, StartPoint::default(), &|_| None)
    }
}

/// `moment @revision`, and how long the step had been under way.
fn shown(points: &CrashPoints) -> Vec<String> {
    let show = |point: &CrashPoint| {
        let begun = point.begun.map_or(String::new(), |begun| format!(" +{}s", begun.as_secs()));
        let dropped = match point.dropped.len() {
            0 => String::new(),
            n => format!(" without {n}"),
        };
        let at = match &point.at {
            Moment::Step { cursor, .. } => format!("step {cursor}"),
            Moment::Settled => "settled".to_owned(),
            Moment::Environment { write, occurrence } => format!("{write} #{occurrence}"),
            Moment::Delivery { event } => event.to_string(),
            Moment::Request { request, .. } => request.to_string(),
            Moment::Committed { call, occurrence } => {
                format!("{}#{occurrence}", call.resource.resource)
            }
        };
        format!("{at} @{}{begun}{dropped}", point.revision)
    };
    points.points.iter().map(show).collect()
}

#[test]
fn every_commit_and_every_user_step() {
    let points = Builder::default()
        .step(0, StepState::Started)
        .user()
        .step(1, StepState::Done)
        .write("pods")
        .call(Verb::Get, "pods", 1)
        .call(Verb::Get, "pods", 1)
        .write("pods")
        .crash_points();
    assert_eq!(shown(&points), ["step 1.0 @1", "pods#1 @2", "pods#2 @3"]);
    // Gaps between reads lead nowhere that the gap before did not.
    assert_eq!(points.pruned.0, [(Rule::NoWriteBetween, 2)].into());
}

#[test]
fn bookkeeping_is_no_place() {
    let points = Builder::default().write("events").write("pods").crash_points();
    assert_eq!(shown(&points), ["pods#1 @2"]);
    assert_eq!(points.bookkeeping, 1);
}

#[test]
fn a_step_is_the_world_that_the_user_left() {
    // The subject was quick: it reacted before the user had heard.
    let points = Builder::default().user().write("pods").step(1, StepState::Done).crash_points();
    assert_eq!(shown(&points), ["pods#1 @2", "step 1.0 @1"]);
}

#[test]
fn a_step_under_way_has_an_age() {
    let points = Builder::default().step(0, StepState::Started).write("pods").crash_points();
    assert_eq!(shown(&points), ["pods#1 @1 +2s"]);
}

#[test]
fn what_lies_before_a_perturbation_is_known_already() {
    let perturbed = Event::Perturbed { index: 0, text: String::new() };
    let points = Builder::default().write("pods").record(perturbed).write("pods").crash_points();
    assert_eq!(shown(&points), ["pods#1 @2"]);
}

#[test]
fn writes_under_way_together_may_be_missing() {
    let together = |builder: Builder| {
        let builder = builder.call(Verb::Create, "pods", 1).call(Verb::Create, "secrets", 2);
        builder.commit(Actor::Subject(0), "pods", Some(1))
    };
    let both = together(Builder::default()).commit(Actor::Subject(0), "secrets", Some(2));
    let points = both.answer(1).answer(2).crash_points();
    assert_eq!(shown(&points), ["pods#1 @1", "secrets#1 @2", "secrets#1 @0 without 1"]);
    assert_eq!(points.points[2].kept.len(), 1);

    // Somebody else's write in between: that world can't be made, and is said to be missing.
    let foreign = together(Builder::default()).user().commit(Actor::Subject(0), "secrets", Some(2));
    let points = foreign.answer(1).answer(2).crash_points();
    assert_eq!(shown(&points), ["pods#1 @1", "secrets#1 @3"]);
    assert_eq!(points.left_out, 1);
}

#[test]
fn one_call_with_several_commits_is_one_place() {
    let points = Builder::default()
        .call(Verb::DeleteCollection, "pods", 1)
        .commit(Actor::Subject(0), "pods", Some(1))
        .commit(Actor::Subject(0), "pods", Some(1))
        .answer(1)
        .crash_points();
    assert_eq!(shown(&points), ["pods#1 @2"]);
    assert_eq!(points.within_calls, 1);
}

fn started() -> Event {
    Event::Process(trace::ProcessEvent {
        actor: Actor::Subject(0),
        incarnation: 0,
        what: ProcessHappening::Started { command: vec![], pid: 1 },
    })
}

#[test]
fn writes_of_built_in_controllers_count_while_the_subject_runs() {
    let by = |name: &str| Actor::Environment(name.into());
    let points = Builder::default()
        .commit(by("kubelet"), "pods", None)
        .record(started())
        .commit(by("kubelet"), "pods", None)
        .commit(by("namespace-controller"), "pods", None)
        .commit(by("crd-finalizer"), "foos", None)
        .commit(by("kubelet"), "pods", None)
        .crash_points();
    let write = "create of pods/default/o by the kubelet";
    let expect = [format!("{write} #1 @2"), format!("{write} #2 @5")];
    assert_eq!(shown(&points), expect);
    assert_eq!(points.within_calls, 1);
}

#[test]
fn a_pod_that_gets_no_time_goes_in_one_request() {
    let by = Actor::Environment("kubelet".into());
    let points = Builder::default().record(started()).pod_goes(by).crash_points();
    assert_eq!(shown(&points), ["delete of pods/default/o by the kubelet #1 @2"]);
    assert_eq!(points.within_calls, 1);

    // What the user deletes is one write.
    let points = Builder::default().pod_goes(Actor::User).write("pods").step(1, StepState::Done);
    assert_eq!(shown(&points.crash_points()), ["pods#1 @3", "step 1.0 @2"]);
}
