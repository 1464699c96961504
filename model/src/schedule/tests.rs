//! Schedules of Bar/Foo: their plans, and recorded runs held against them.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use trace::{
    Actor, Answer, Body, Call, CallId, Change, Commit, ConnectionId, Event, Fate, GroupResource,
    History, ObjectKey, Record, Revision, Settled, Time, Verb,
};

use super::*;
use crate::traces::{self, Action, Read, Value};

/// The binding of Bar/Foo, as its file has it.
fn binding() -> Binding {
    let put = json!({"verb": ["update", "patch"], "resource": "bars.example.com", "subresource": "status"});
    let post = json!({"verb": "create", "resource": "foos.example.com"});
    let binding = json!({
        "actions": {
            "Start": "internal",
            "CreateObject": {"request": post},
            "MarkCreated": {"request": put},
            "RebootDuringCreation": {"crashBefore": post},
            "RebootDuringMarkingCreation": {"crashBefore": put},
        },
        "variables": {"fooObjs": "foos", "barObj.created": "created"},
    });
    serde_json::from_value(binding).expect("a binding")
}

/// Stands for CEL.
fn project(expression: &str, objects: &[Arc<Json>]) -> Result<Json, String> {
    let of = |kind: &'static str| objects.iter().filter(move |object| object["kind"] == kind);
    match expression {
        "foos" => {
            let foos = of("Foo").map(|foo| &foo["metadata"]["generateName"]);
            Ok(foos.map(|name| json!({"generateName": name})).collect())
        }
        "created" => Ok(of("Bar").any(|bar| bar["status"]["objRef"].is_object()).into()),
        other => Err(format!("no such expression: {other}")),
    }
}

fn slide() -> Trace {
    let text = include_str!("../traces/fixtures/ns.panel.txt");
    traces::read(text, "ns.panel.txt").unwrap().into_trace().expect("one run")
}

/// A recorded run, call by call.
#[derive(Default)]
struct Run {
    history: History,
    revision: u64,
    calls: u64,
}

impl Run {
    fn push(&mut self, event: Event) {
        let sequence = self.history.records.len() as u64;
        self.history.records.push(Record { sequence, at: Time(0), real_us: 0, event });
    }

    /// The controller's write; answered unless it dies before that.
    fn write(mut self, verb: Verb, key: &ObjectKey, subresource: &str, object: Json) -> Run {
        self.calls += 1;
        let id = CallId(self.calls);
        let call = Call {
            id,
            actor: Actor::Subject(0),
            incarnation: 0,
            connection: ConnectionId(1),
            verb,
            resource: Some(key.resource.clone()),
            version: "v1".into(),
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            subresource: subresource.to_owned(),
            method: String::new(),
            uri: String::new(),
            content_type: String::new(),
            user_agent: String::new(),
            body: Body::None,
            raw: None,
        };
        self.push(Event::Call(call));
        self.revision += 1;
        let revision = Revision(self.revision);
        let change = if verb == Verb::Create { Change::Created } else { Change::Updated };
        let (actor, key, object) = (Actor::Subject(0), key.clone(), Arc::new(object));
        let commit =
            Commit { revision, change, key, object, actor, call: Some(id), heartbeat: false };
        self.push(Event::Commit(commit));
        let revision = Some(revision);
        let (fate, body) = (Fate::Answered, Body::None);
        self.push(Event::Answer(Answer {
            call: id,
            fate,
            status: 200,
            revision,
            body,
            injected: false,
        }));
        self
    }

    fn create_foo(self) -> Run {
        let number = self.revision;
        let foo = json!({"kind": "Foo", "metadata": {"generateName": "foo-"}});
        let key = key("foos.example.com", &format!("foo-{number}"));
        self.write(Verb::Create, &key, "", foo)
    }

    fn mark_created(self) -> Run {
        let bar = json!({"kind": "Bar", "status": {"objRef": {"name": "foo-1"}}});
        self.write(Verb::Update, &key("bars.example.com", "bar"), "status", bar)
    }

    /// All is quiet.
    fn rest(mut self) -> Run {
        let cursor = trace::Cursor { operation: 0, document: 0 };
        let (revision, end) = (Revision(self.revision), true);
        self.push(Event::Settled(Settled {
            cursor,
            end,
            revision,
            pending: vec![],
            state: vec![],
        }));
        self
    }

    fn crash(mut self) -> Run {
        self.push(Event::Perturbed { index: 0, text: "killed".to_owned() });
        self
    }

    fn follow(&self, schedule: &Schedule) -> Option<String> {
        let before = [(key("bars.example.com", "bar"), Arc::new(json!({"kind": "Bar"})))];
        let run = Followed { before: &before, history: &self.history, project: &project };
        schedule.follow(&run).expect("expressions are known").map(|parted| parted.to_string())
    }
}

fn key(resource: &str, name: &str) -> ObjectKey {
    let resource: GroupResource = resource.parse().unwrap();
    ObjectKey::new(resource, "default", name)
}

#[test]
fn all_formats_of_a_trace_give_one_schedule() {
    let texts = [
        include_str!("../traces/fixtures/ns.itf.json"),
        include_str!("../traces/fixtures/ns.quint.itf.json"),
        include_str!("../traces/fixtures/ns.tlc.json"),
        include_str!("../traces/fixtures/ns.tlc218.json"),
        include_str!("../traces/fixtures/ns.txt"),
    ];
    let schedule = Schedule::of("ns", &slide(), &binding()).unwrap();
    for text in texts {
        let trace = traces::read(text, "trace").unwrap().into_trace().expect("one run");
        assert_eq!(Schedule::of("ns", &trace, &binding()).unwrap(), schedule, "{text}");
    }
    let Read::Graph(graph) =
        traces::read(include_str!("../traces/fixtures/ns.dot"), "ns.dot").unwrap()
    else {
        panic!("a graph")
    };
    let two = |state: &State| values::at(state, "fooObjs.2").is_some();
    let path = graph.shortest(two).expect("it is reached");
    assert_eq!(
        Schedule::of("ns", &graph.trace(&path), &binding()).unwrap().plan(),
        schedule.plan()
    );
}

#[test]
fn crashes_count_requests_from_the_last_one_on() {
    let schedule = Schedule::of("ns", &slide(), &binding()).unwrap();
    insta::assert_snapshot!(schedule.plan(), @"killed before the first update or patch of bars.example.com (status), started again at once");
    let text = serde_json::to_string(&schedule).unwrap();
    assert!(text.contains(r#""fooObjs":"<<[generateName |-> \"foo-\"]>>""#), "{text}");
    assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), schedule);
}

#[test]
fn a_run_along_the_trace_agrees_and_may_go_on() {
    let schedule = Schedule::of("ns", &slide(), &binding()).unwrap();
    let run = Run::default().create_foo().crash().create_foo();
    assert_eq!(run.follow(&schedule), None);
    assert_eq!(run.mark_created().follow(&schedule), None);
}

#[test]
fn the_first_place_at_which_they_part_is_named() {
    let schedule = Schedule::of("ns", &slide(), &binding()).unwrap();
    let check = |run: Run, expect: &str| assert_eq!(run.follow(&schedule).as_deref(), Some(expect));
    check(
        Run::default().create_foo().mark_created(),
        "unexpected action: update of bars.example.com/default/bar (status) (MarkCreated), where the model goes on with step \
         3 (RebootDuringMarkingCreation)",
    );
    check(
        Run::default().create_foo().crash(),
        "missing action: step 5 (CreateObject, create of foos.example.com) never came",
    );
    check(
        Run::default().create_foo().crash().mark_created(),
        "unexpected action: update of bars.example.com/default/bar (status) (MarkCreated), where the model goes on with step \
         5 (CreateObject)",
    );
    let other = key("foos.example.com", "foo-1");
    let foo = json!({"kind": "Foo", "metadata": {"generateName": "other-"}});
    check(
        Run::default().write(Verb::Create, &other, "", foo),
        r#"inconsistent state after step 2 (CreateObject): fooObjs is <<[generateName |-> "foo-"]>> in the model, and [{"generateName":"other-"}] in the cluster"#,
    );
    let config = json!({"kind": "ConfigMap"});
    check(
        Run::default().create_foo().write(Verb::Create, &key("configmaps", "a"), "", config),
        "unexpected action: create of configmaps/default/a, where the model goes on with step 3 (RebootDuringMarkingCreation)",
    );
    let lease = json!({"kind": "Lease"});
    let lease =
        |run: Run| run.write(Verb::Update, &key("leases.coordination.k8s.io", "a"), "", lease);
    assert_eq!(lease(Run::default().create_foo()).crash().create_foo().follow(&schedule), None);
}

/// A trace of these actions, with the number of Foos after each, and a binding that says what they are.
fn schedule(actions: &[(&str, usize)], bound: Json) -> Schedule {
    let foos = |number: usize| {
        let foo = Value::record([("generateName", Value::text("foo-"))]);
        State::from([("fooObjs".to_owned(), Value::Seq(vec![foo; number]))])
    };
    let states = [0].into_iter().chain(actions.iter().map(|(_, number)| *number)).map(foos);
    let named = actions.iter().map(|(name, _)| Some(Action::named(*name)));
    let trace = Trace::new(states.collect(), named.collect(), None).expect("a trace");
    let binding = json!({"actions": bound, "variables": {"fooObjs": "foos"}});
    Schedule::of("m", &trace, &serde_json::from_value(binding).expect("a binding"))
        .expect("it fits")
}

/// The state behind an internal action, a crash or no action at all is held against the cluster's before the next write, or
/// at rest.
#[test]
fn the_last_state_is_compared() {
    let post = json!({"verb": "create", "resource": "foos.example.com"});
    let bound =
        json!({"Make": {"request": post}, "Think": "internal", "Die": {"crashAfter": post}});
    let check = |actions: &[(&str, usize)], run: Run, expect: Option<&str>| {
        let parted = run.follow(&schedule(actions, bound.clone()));
        assert_eq!(parted.as_deref(), expect, "{actions:?}");
    };
    let made = || Run::default().create_foo();
    check(&[("Make", 1), ("Think", 1)], made().rest(), None);
    check(&[("Make", 1), ("Think", 1)], made().create_foo().rest(), None);
    let two = "fooObjs is <<[generateName |-> \"foo-\"], [generateName |-> \"foo-\"]>> in the model, and \
               [{\"generateName\":\"foo-\"}] in the cluster";
    let think = format!("inconsistent state after step 2 (Think): {two}");
    for run in [made().rest(), made(), made().create_foo()] {
        check(&[("Make", 1), ("Think", 2)], run, Some(&think));
    }
    let die = format!("inconsistent state after step 2 (Die): {two}");
    check(&[("Make", 1), ("Die", 2)], made().crash().rest(), Some(&die));
    check(&[("Make", 1), ("Die", 1)], made().crash().rest(), None);
    check(&[], Run::default().rest(), None);
    let none = "inconsistent state at the beginning, where the model stays: fooObjs is \
                <<[generateName |-> \"foo-\"]>> in the model, and [] in the cluster";
    let wrong = schedule(&[], json!({}));
    let wrong = Schedule {
        first: schedule(&[("Think", 1)], json!({"Think": "internal"})).steps[0].then.clone(),
        ..wrong
    };
    assert_eq!(Run::default().rest().follow(&wrong).as_deref(), Some(none));
}

#[test]
fn what_can_not_be_seen_proves_nothing() {
    let mut unseen = schedule(&[("Think", 0)], json!({"Think": "internal"}));
    unseen.binding.variables.clear();
    let history = History::default();
    let run = Followed { before: &[], history: &history, project: &project };
    assert!(unseen.follow(&run).unwrap_err().contains("bind an action or a variable"));
}

#[test]
fn a_trace_that_stands_still_ends_there() {
    let mut trace = slide();
    let last = trace.states.len() - 1;
    trace.actions.push(None);
    trace.loop_ = Some(last);
    assert_eq!(Schedule::of("ns", &trace, &binding()), Schedule::of("ns", &slide(), &binding()));
}

/// A crash counts what its own request means, whatever the actions before it say of theirs.
#[test]
fn crashes_count_all_requests_they_could_be_about() {
    let of = |name: &str| json!({"verb": "create", "resource": "foos.example.com", "name": name});
    let any = json!({"verb": ["create"], "resource": "foos.example.com"});
    let put = json!({"verb": "update", "resource": "bars.example.com"});
    let plan = |actions: &[&str]| {
        let bound = json!({
            "A": {"request": of("a")}, "B": {"request": of("b")}, "Put": {"request": put},
            "Before": {"crashBefore": any}, "After": {"crashAfter": any},
            "BeforeB": {"crashBefore": of("b")},
        });
        let actions: Vec<(&str, usize)> = actions.iter().map(|name| (*name, 0)).collect();
        let plan =
            serde_json::to_value(schedule(&actions, bound).plan()).expect("a plan").to_string();
        plan.split("\"occurrence\":").skip(1).map(|rest| rest[..1].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(plan(&["A", "B", "Before"]), ["3"]);
    assert_eq!(plan(&["A", "B", "After"]), ["2"]);
    assert_eq!(plan(&["A", "Put", "After"]), ["2"]);
    assert_eq!(plan(&["After"]), ["1"]);
    assert_eq!(plan(&["A", "B", "BeforeB"]), ["2"]);
    assert_eq!(plan(&["A", "Before", "A", "Before"]), ["2", "2"]);
}

#[test]
fn names_that_do_not_fit_are_told_with_the_nearest() {
    let mut wrong = binding();
    let bound = wrong.actions.remove("CreateObject").unwrap();
    wrong.actions.insert("CreateObjects".to_owned(), bound);
    assert_eq!(
        Schedule::of("ns", &slide(), &wrong).unwrap_err().to_string(),
        "step 2 is the action \"CreateObject\", which is not bound: did you mean \"CreateObjects\"?"
    );
    let mut wrong = binding();
    wrong.variables.insert("foos".to_owned(), "foos".to_owned());
    assert_eq!(
        Schedule::of("ns", &slide(), &wrong).unwrap_err().to_string(),
        "the binding names the variable \"foos\", which the trace does not have: did you mean \"fooObjs\"?"
    );
}
