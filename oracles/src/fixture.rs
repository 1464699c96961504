//! Small histories for tests: a workload that creates a Bar, and a controller that makes a Foo for it.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};
use trace::{
    Actor, Body, Call, CallId, Change, Commit, ConnectionId, Cursor, Event, History, ObjectKey,
    ProcessEvent, ProcessHappening, Record, Revision, Settled, StepEvent, StepState, Time, Verb,
};

use crate::{
    baseline::{Baseline, learn},
    run::{Planned, Run, Trial},
};

/// Builds one run step by step, keeping the store for its settles.
#[derive(Clone, Default)]
pub(crate) struct Builder {
    start: Vec<(ObjectKey, Arc<Value>)>,
    start_cursor: Cursor,
    store: BTreeMap<ObjectKey, Arc<Value>>,
    records: Vec<Record>,
    revision: u64,
    planned: Vec<Planned>,
}

pub(crate) const SUBJECT: Actor = Actor::Subject(0);

impl Builder {
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Begins on the world of another run, as a fork does.
    pub fn fork_of(other: &Builder, operation: u32) -> Builder {
        Builder {
            start: other.store.iter().map(|(key, object)| (key.clone(), object.clone())).collect(),
            start_cursor: Cursor { operation, document: 0 },
            store: other.store.clone(),
            revision: other.revision,
            ..Builder::default()
        }
    }

    pub fn event(mut self, event: Event) -> Builder {
        let sequence = self.records.len() as u64;
        self.records.push(Record { sequence, at: Time(0), real_us: 0, event });
        self
    }

    /// Plans a crash without carrying it out.
    pub fn planned(mut self, text: &str) -> Builder {
        let (family, text) = ("intermediate-state".into(), text.into());
        self.planned.push(Planned { family, text, when_settled: false });
        self
    }

    /// The last planned crash is one when all had settled.
    pub fn when_settled(mut self) -> Builder {
        self.planned.iter_mut().last().expect("a planned crash").when_settled = true;
        self
    }

    /// A planned crash that happens here, and the subject's next start and first call.
    pub fn crash(self, text: &str) -> Builder {
        let index = self.planned.len() as u32;
        self.planned(text).event(Event::Perturbed { index, text: text.into() }).started().called()
    }

    pub fn started(self) -> Builder {
        let what = ProcessHappening::Started { command: vec!["bar-foo".into()], pid: 1 };
        self.event(Event::Process(ProcessEvent { actor: SUBJECT, incarnation: 0, what }))
    }

    pub fn called(self) -> Builder {
        let call = Call {
            id: CallId(1),
            actor: SUBJECT,
            incarnation: 0,
            connection: ConnectionId(1),
            verb: Verb::List,
            resource: None,
            version: "v1".into(),
            namespace: String::new(),
            name: String::new(),
            subresource: String::new(),
            method: "GET".into(),
            uri: "/".into(),
            content_type: String::new(),
            user_agent: String::new(),
            body: Body::None,
            raw: None,
        };
        self.event(Event::Call(call))
    }

    pub fn step(self, operation: u32, state: StepState) -> Builder {
        let cursor = Cursor { operation, document: 0 };
        let title = format!("step {operation}");
        self.event(Event::Step(StepEvent { cursor, title, state }))
    }

    /// Creates or updates.
    pub fn put(mut self, actor: Actor, key: &str, mut object: Value) -> Builder {
        let key: ObjectKey = key.parse().expect("a key");
        self.revision += 1;
        let old = self.store.get(&key);
        let uid = old
            .map_or(json!(format!("uid-{}", self.revision)), |old| old["metadata"]["uid"].clone());
        object["metadata"]["name"] = json!(key.name);
        object["metadata"]["namespace"] = json!(key.namespace);
        object["metadata"]["uid"] = uid;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        let change = if old.is_some() { Change::Updated } else { Change::Created };
        let object = Arc::new(object);
        self.store.insert(key.clone(), object.clone());
        self.commit(change, key, object, actor)
    }

    pub fn delete(mut self, actor: Actor, key: &str) -> Builder {
        let key: ObjectKey = key.parse().expect("a key");
        self.revision += 1;
        let object = self.store.remove(&key).expect("an object to delete");
        self.commit(Change::Deleted, key, object, actor)
    }

    fn commit(self, change: Change, key: ObjectKey, object: Arc<Value>, actor: Actor) -> Builder {
        let revision = Revision(self.revision);
        let (call, heartbeat) = (None, false);
        self.event(Event::Commit(Commit { revision, change, key, object, actor, call, heartbeat }))
    }

    pub fn settle(self, operation: u32, end: bool) -> Builder {
        let settled = Settled {
            cursor: Cursor { operation, document: 0 },
            end,
            revision: Revision(self.revision),
            pending: Vec::new(),
            state: self.store.values().cloned().collect(),
        };
        self.event(Event::Settled(settled))
    }

    pub fn run(self) -> Run {
        self.trial().run
    }

    pub fn trial(self) -> Trial {
        let run = Run {
            start: Arc::new(self.start),
            start_cursor: self.start_cursor,
            generated_names: Vec::new(),
            history: Arc::new(History { records: self.records }),
        };
        Trial { run, perturbations: self.planned, at_most: None }
    }
}

/// `models.md` §4: a Bar's controller creates one Foo and writes its name into the Bar's status.
impl Builder {
    pub fn bar(self) -> Builder {
        self.step(0, StepState::Started)
            .put(Actor::User, "bars.example.com/default/bar", bar(json!({})))
            .step(0, StepState::Done)
    }

    pub fn foo(self, suffix: &str) -> Builder {
        self.put(SUBJECT, &format!("foos.example.com/default/foo-{suffix}"), foo())
    }

    pub fn mark(self, suffix: &str) -> Builder {
        let status = json!({"objRef": {"name": format!("foo-{suffix}")}});
        self.put(SUBJECT, "bars.example.com/default/bar", bar(status))
    }
}

pub(crate) fn bar(status: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Bar", "metadata": {}, "status": status})
}

pub(crate) fn foo() -> Value {
    let metadata = json!({"generateName": "foo-"});
    json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": metadata})
}

/// An undisturbed run, with this suffix for its Foo.
pub(crate) fn undisturbed(suffix: &str) -> Builder {
    Builder::new().started().called().bar().foo(suffix).mark(suffix).settle(1, true)
}

/// Three undisturbed runs.
pub(crate) fn bar_foo_baseline() -> Baseline {
    let runs = ["abcde", "xyzxy", "m2m2m"].map(|suffix| undisturbed(suffix).run());
    agreed(&runs)
}

/// What runs agree on that agree.
#[track_caller]
pub(crate) fn agreed(runs: &[Run]) -> Baseline {
    let learnt = learn(runs, &[]);
    assert_eq!(learnt.disagreements, []);
    learnt.baseline
}
