//! What is learnt from a history.

use serde_json::json;
use trace::{
    Actor, Answer, Body, Call, CallId, Change, Commit, Delivery, Fate, ProcessEvent, Record,
    Revision, StepEvent, StepState, Time, Verb,
};

use super::*;
use crate::{fixture, moment::By};

/// Something that happens, in few words. Objects are `foos`, `bars`, … in `default`; the value is what they say.
#[derive(Clone, Copy)]
enum Happens {
    /// The subject is started; kills are not told apart.
    Start,
    /// The clock jumps.
    Quiet,
    /// The workload comes to this operation.
    Step(u32),
    /// The subject asks: verb, type, query.
    Ask(Verb, &'static str, &'static str),
    /// The subject creates or updates an object, and is answered: on this connection.
    Write(u64, &'static str, u32),
    /// The same, without an answer so far.
    Send(u64, &'static str, u32),
    /// What was sent on this connection is answered.
    Answered(u64),
    /// The user does the same.
    User(&'static str, u32),
    /// The user deletes it.
    UserDeletes(&'static str),
    /// The last change of this type reaches the subject's watch.
    Deliver(&'static str),
}

use Happens::{Answered, Ask, Deliver, Quiet, Send, Start, Step, User, UserDeletes, Write};

/// Builds a history; its objects are all called `o-abcde`, a generated name.
#[derive(Default)]
struct Builder {
    history: History,
    calls: u64,
    starts: u32,
    objects: BTreeMap<&'static str, (Revision, u32)>,
    revision: u64,
    watches: BTreeMap<&'static str, CallId>,
    sent: BTreeMap<u64, CallId>,
}

impl Builder {
    fn record(&mut self, event: Event) {
        let sequence = self.history.records.len() as u64;
        self.history.records.push(Record { sequence, at: Time(0), real_us: 0, event });
    }

    fn call(&mut self, verb: Verb, resource: &str, query: &str, connection: u64) -> CallId {
        self.calls += 1;
        let id = CallId(self.calls);
        self.record(Event::Call(Call {
            incarnation: self.starts.saturating_sub(1),
            uri: format!("/api/v1/namespaces/default/{resource}?{query}"),
            ..fixture::call(self.calls, verb, resource, connection)
        }));
        id
    }

    fn answer(&mut self, call: CallId) {
        let (revision, body) = (None, Body::None);
        let answer =
            Answer { call, fate: Fate::Answered, status: 200, revision, body, injected: false };
        self.record(Event::Answer(answer));
    }

    /// `value`: what the object says from now on; none: it is gone.
    fn commit(
        &mut self,
        by: Actor,
        call: Option<CallId>,
        resource: &'static str,
        value: Option<u32>,
    ) {
        self.revision += 1;
        let revision = Revision(self.revision);
        let old = self.objects.remove(resource);
        let change = match (old, value) {
            (None, _) => Change::Created,
            (Some(_), Some(_)) => Change::Updated,
            (Some(_), None) => Change::Deleted,
        };
        let says = value.or(old.map(|(_, says)| says)).unwrap_or_default();
        self.objects.extend(value.map(|value| (resource, (revision, value))));
        let metadata = json!({"resourceVersion": revision.to_string()});
        self.record(Event::Commit(Commit {
            revision,
            change,
            key: ObjectKey::new(GroupResource::new("", resource), "default", "o-abcde"),
            object: Arc::new(json!({"metadata": metadata, "says": says})),
            actor: by,
            call,
            heartbeat: false,
        }));
    }

    fn send(&mut self, connection: u64, resource: &'static str, value: u32) -> CallId {
        let known = self.objects.contains_key(resource);
        let verb = if known { Verb::Update } else { Verb::Create };
        let call = self.call(verb, resource, "", connection);
        self.commit(Actor::Subject(0), Some(call), resource, Some(value));
        self.sent.insert(connection, call);
        call
    }

    fn happens(&mut self, what: Happens) {
        match what {
            Start => {
                let (actor, incarnation) = (Actor::Subject(0), self.starts);
                let what = ProcessHappening::Started { command: vec![], pid: 1 };
                self.starts += 1;
                self.record(Event::Process(ProcessEvent { actor, incarnation, what }));
            }
            Quiet => self.record(Event::Clock { from: Time(0) }),
            Step(operation) => {
                let cursor = Cursor { operation, document: 0 };
                let (title, state) = (String::new(), StepState::Done);
                self.record(Event::Step(StepEvent { cursor, title, state }));
            }
            Ask(verb, resource, query) => {
                let call = self.call(verb, resource, query, 9);
                if verb == Verb::Watch {
                    self.watches.insert(resource, call);
                } else {
                    self.answer(call);
                }
            }
            Write(connection, resource, value) => {
                let call = self.send(connection, resource, value);
                self.answer(call);
            }
            Send(connection, resource, value) => drop(self.send(connection, resource, value)),
            Answered(connection) => self.answer(self.sent[&connection]),
            User(resource, value) => self.commit(Actor::User, None, resource, Some(value)),
            UserDeletes(resource) => self.commit(Actor::User, None, resource, None),
            Deliver(resource) => {
                let revision = self.objects.get(resource).map_or(self.revision, |it| it.0.0);
                let delivery = Delivery {
                    watch: self.watches[resource],
                    index: 0,
                    kind: DeliveryKind::Modified,
                    revision: Some(Revision(revision)),
                    object_name: "default/o-abcde".into(),
                    object: None,
                };
                self.record(Event::Delivery(delivery));
            }
        }
    }
}

/// The subject sees everything but `hiddens`.
/// Looks at a run in which this happens.
fn observed<T>(events: &[Happens], look: impl FnOnce(&Observed<'_>) -> T) -> T {
    let mut builder = Builder::default();
    for event in events {
        builder.happens(*event);
    }
    look(&Observed {
        history: &builder.history,
        before: &[],
        cursor: Cursor::default(),
        sees: &|key, _| *key.resource.resource != *"hiddens",
        generated: &|name| name.strip_suffix("abcde").map(str::to_owned),
    })
}

fn learnt(events: &[Happens]) -> Schedule {
    let schedule = observed(events, Schedule::learn);
    // Plain data: as JSON it is the same.
    let text = serde_json::to_string(&schedule).unwrap();
    assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), schedule, "{text}");
    schedule
}

const WATCH: Happens = Ask(Verb::Watch, "foos", "");

#[test]
fn reads_by_type() {
    let check = |events: &[Happens], expect: &[&str]| {
        let schedule = learnt(events);
        let lines = schedule.types.iter().map(|(resource, reading)| {
            let scopes: Vec<String> = reading.scopes.iter().map(ToString::to_string).collect();
            let watched = if reading.watched { " watched" } else { "" };
            format!("{resource} {:?}{watched}: {}", reading.first, scopes.join("; "))
        });
        assert_eq!(lines.collect::<Vec<_>>(), expect);
    };
    let list = |query| Ask(Verb::List, "foos", query);
    let watch = |query| Ask(Verb::Watch, "foos", query);
    check(&[list(""), watch("")], &["foos Some(Consistent) watched: all in default"]);
    check(&[list("resourceVersion=0"), list("")], &["foos Some(Any): all in default"]);
    check(&[watch("sendInitialEvents=true")], &["foos Some(Streamed) watched: all in default"]);
    let streamed = "sendInitialEvents=true&resourceVersion=0";
    check(&[watch(streamed)], &["foos Some(Any) watched: all in default"]);
    let later = "sendInitialEvents=true&resourceVersion=7";
    check(&[watch(later)], &["foos None watched: all in default"]);
    check(&[watch("resourceVersion=0")], &["foos Some(Any) watched: all in default"]);
    let none = "sendInitialEvents=false&resourceVersion=0";
    check(&[watch(none)], &["foos None watched: all in default"]);
    check(&[watch("")], &["foos None watched: all in default"]);
    check(&[watch("resourceVersion=7")], &["foos None watched: all in default"]);
    check(
        &[list("labelSelector=app%3Dweb"), list("fieldSelector=metadata.name%3Do")],
        &[
            "foos Some(Consistent): all in default with metadata.name=o; all in default with app=web",
        ],
    );
    // What another run names otherwise selects all.
    check(&[list("labelSelector=of%3Do-abcde")], &["foos Some(Consistent): all in default"]);
    // Gets are reads by name, and bookkeeping is none.
    check(
        &[Ask(Verb::Get, "foos", ""), list(""), Ask(Verb::List, "events", "")],
        &["foos Some(Consistent): all in default"],
    );
}

#[test]
fn reads_of_other_runs_are_added() {
    let mut schedule = learnt(&[Ask(Verb::List, "foos", ""), User("foos", 1)]);
    let other = [
        Ask(Verb::List, "foos", "resourceVersion=0"),
        Ask(Verb::Watch, "bars", ""),
        User("foos", 1),
        User("foos", 2),
    ];
    observed(&other, |other| schedule.add_reads(other));
    let of = |name: &str| &schedule.types[&GroupResource::new("", name)];
    assert_eq!(of("foos").first, Some(FirstRead::Any));
    assert!(of("bars").watched && !of("foos").watched);
    assert_eq!(schedule.changes.len(), 1, "changes are those of one run");
}

#[test]
fn changes_and_which_of_them_the_subject_can_tell() {
    let events = [
        User("foos", 1),
        Step(1),
        Write(1, "foos", 2),
        User("foos", 2),
        User("hiddens", 1),
        UserDeletes("foos"),
    ];
    let schedule = learnt(&events);
    let lines = schedule.changes.iter().map(|change| {
        let apart = if change.apart { "" } else { ", as before" };
        format!("{} {}{apart}", change.cursor, change.what)
    });
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [
            "0.0 the first creation of foos/default/o-* by the user",
            "1.0 the first update of foos/default/o-* by the controller",
            "1.0 the first update of foos/default/o-* by the user, as before",
            "1.0 the first creation of hiddens/default/o-* by the user, as before",
            "1.0 the first deletion of foos/default/o-* by the user",
        ]
    );
}

#[test]
fn the_causal_order_of_writes() {
    /// For each write: what was known to its sender, and which writes were under way with it.
    fn check(events: &[Happens], expect: &[(Range<usize>, &[usize])]) {
        let writes = learnt(events).writes;
        let found: Vec<(Range<usize>, &[usize])> =
            writes.iter().map(|write| (write.known.clone(), &*write.concurrent)).collect();
        assert_eq!(found, expect);
    }
    let told = |value| [User("foos", value), Deliver("foos")];
    let [user, deliver] = told(1);
    // Delivered before written; what comes later is not known.
    check(&[Start, WATCH, user, deliver, Write(1, "bars", 1), deliver], &[(0..1, &[])]);
    // One after the other, and both at once.
    check(&[Start, Write(1, "foos", 1), Write(2, "bars", 1)], &[(0..0, &[]), (0..0, &[])]);
    check(
        &[Start, Send(1, "foos", 1), Send(2, "bars", 1), Answered(2), Answered(1)],
        &[(0..0, &[]), (0..0, &[0])],
    );
    // On one connection answers come in order.
    check(&[Start, Send(1, "foos", 1), Send(1, "bars", 1)], &[(0..0, &[]), (0..0, &[])]);
    // A process knows nothing of what came to the one before it.
    let second = [Start, WATCH, user, deliver, Write(1, "bars", 1), Start, WATCH, deliver];
    let events: Vec<Happens> = second.into_iter().chain([Write(3, "bars", 2)]).collect();
    check(&events, &[(0..1, &[]), (1..2, &[])]);
}

#[test]
fn deliveries_say_which_change_they_show() {
    let events = [Start, WATCH, User("foos", 1), User("bars", 1), Deliver("foos"), User("foos", 2)];
    let deliveries = learnt(&events).deliveries;
    assert_eq!(deliveries.len(), 1);
    assert_eq!(deliveries[0].object, "default/o-*");
    assert_eq!(deliveries[0].change, Some(0));
}

#[test]
fn reconciles_are_inferred() {
    /// For each: deliveries that it may be because of, reads, writes.
    fn check(events: &[Happens], expect: &[(Range<usize>, usize, &[usize])]) {
        let reconciles = learnt(events).reconciles;
        let found = reconciles
            .iter()
            .map(|reconcile| (reconcile.told.clone(), reconcile.reads.len(), &*reconcile.writes));
        assert_eq!(found.collect::<Vec<_>>(), expect);
    }
    const GET: Happens = Ask(Verb::Get, "bars", "");
    let begin = [Start, Ask(Verb::List, "foos", ""), WATCH, User("foos", 1), Deliver("foos")];
    let check = |events: &[Happens], expect: &[(Range<usize>, usize, &[usize])]| {
        check(&[&begin, events].concat(), expect);
    };
    check(&[], &[]);
    check(&[GET, Write(1, "bars", 1), Write(1, "bars", 2)], &[(0..1, 1, &[0, 1])]);
    // A quiet moment ends it, and so does what somebody else does; what it did itself does not.
    check(&[GET, Quiet, Quiet, GET], &[(0..1, 1, &[]), (1..1, 1, &[])]);
    check(&[GET, User("foos", 2), Deliver("foos"), GET], &[(0..1, 1, &[]), (1..2, 1, &[])]);
    check(&[Write(1, "foos", 2), Deliver("foos"), GET], &[(0..1, 1, &[0])]);
    // Lists belong to it in its middle only.
    let list = Ask(Verb::List, "bars", "");
    check(&[list, GET, list, GET, list], &[(0..1, 3, &[])]);
}

#[test]
fn which_changes_take_back_which() {
    /// `earlier-later`, and what lies between.
    fn check(events: &[Happens], expect: &[(usize, usize, usize)]) {
        let cancellations = learnt(events).cancellations;
        let found = cancellations.iter().map(|pair| (pair.earlier, pair.later, pair.between));
        assert_eq!(found.collect::<Vec<_>>(), expect);
    }
    let (new, other) = (User("foos", 1), User("foos", 2));
    check(&[new, UserDeletes("foos")], &[]); // nobody watches
    check(&[WATCH, new, UserDeletes("foos")], &[(0, 1, 0)]);
    check(&[WATCH, new, other], &[(0, 1, 0)]);
    check(&[WATCH, new, new], &[]); // an update that changes nothing
    check(&[WATCH, new, UserDeletes("foos"), new], &[(0, 1, 0), (1, 2, 0)]);
    // The nearest first.
    check(&[WATCH, new, other, new], &[(0, 1, 0), (1, 2, 0), (0, 2, 1)]);
    // Other objects in between count for nothing, and neither do those that it does not see.
    check(&[WATCH, new, User("bars", 1), other], &[(0, 2, 0)]);
    check(&[Ask(Verb::Watch, "hiddens", ""), User("hiddens", 1), User("hiddens", 2)], &[]);
}

#[test]
fn writes_say_what_they_changed() {
    let events = [Start, User("foos", 1), Write(1, "foos", 2), Write(1, "bars", 1)];
    let schedule = learnt(&events);
    let changes: Vec<&[usize]> = schedule.writes.iter().map(|write| &*write.changes).collect();
    assert_eq!(changes, [[1], [2]]);
    assert_eq!(schedule.changes[1].what.change.by, Some(By::Subject));
}
