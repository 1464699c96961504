//! Runs of Bar/Foo that follow their schedules, and such that part from them.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use trace::{
    Actor, Answer, Body, Call, CallId, Change, Commit, ConnectionId, Event, Fate, GroupResource,
    History, ObjectKey, Record, Revision, Time, Verb,
};

use super::*;
use crate::traces::{self, Read};

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
            "Terminating": "internal",
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
    let schedule = Schedule::of(&slide(), &binding()).unwrap();
    for text in texts {
        let trace = traces::read(text, "trace").unwrap().into_trace().expect("one run");
        assert_eq!(Schedule::of(&trace, &binding()).unwrap(), schedule, "{text}");
    }
    let Read::Graph(graph) =
        traces::read(include_str!("../traces/fixtures/ns.dot"), "ns.dot").unwrap()
    else {
        panic!("a graph")
    };
    let two = |state: &State| values::at(state, "fooObjs.2").is_some();
    let path = graph.shortest(two).expect("it is reached");
    assert_eq!(Schedule::of(&graph.trace(&path), &binding()).unwrap().plan(), schedule.plan());
}

#[test]
fn crashes_count_requests_from_the_last_one_on() {
    let schedule = Schedule::of(&slide(), &binding()).unwrap();
    insta::assert_snapshot!(schedule.plan(), @"killed before the first update or patch of bars.example.com (status), started again at once");
    let text = serde_json::to_string(&schedule).unwrap();
    assert!(text.contains(r#""fooObjs":"<<[generateName |-> \"foo-\"]>>""#), "{text}");
    assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), schedule);
}

#[test]
fn a_run_along_the_trace_agrees_and_may_go_on() {
    let schedule = Schedule::of(&slide(), &binding()).unwrap();
    let run = Run::default().create_foo().crash().create_foo();
    assert_eq!(run.follow(&schedule), None);
    assert_eq!(run.mark_created().follow(&schedule), None);
}

#[test]
fn the_first_place_at_which_they_part_is_named() {
    let schedule = Schedule::of(&slide(), &binding()).unwrap();
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

#[test]
fn names_that_do_not_fit_are_told_with_the_nearest() {
    let mut wrong = binding();
    let bound = wrong.actions.remove("CreateObject").unwrap();
    wrong.actions.insert("CreateObjects".to_owned(), bound);
    assert_eq!(
        Schedule::of(&slide(), &wrong).unwrap_err().to_string(),
        "step 2 is the action \"CreateObject\", which is not bound: did you mean \"CreateObjects\"?"
    );
    let mut wrong = binding();
    wrong.variables.insert("foos".to_owned(), "foos".to_owned());
    assert_eq!(
        Schedule::of(&slide(), &wrong).unwrap_err().to_string(),
        "the binding names the variable \"foos\", which the trace does not have: did you mean \"fooObjs\"?"
    );
}
