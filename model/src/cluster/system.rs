//! The steps of a cluster.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use trace::GroupResource;

use crate::System;
use controllers::{Kinds, View};

use super::{
    api::Wrote,
    events::{Modifiers, Step, When},
    history::{History, Read},
    kinds::{self, node_key},
    kubelet::Sync,
    looks::{Asked, Candidate, First, Look, Looking},
    memo::Memo,
    objects::{Content, Id, Objects},
    setup::{ClientSetup, Granularity, Setup, SetupError, complete, key_of},
    state::{Budgets, Client, Environment, State},
    store::{Store, Views},
    time::{Ageing, NOW},
};

mod act;
mod readers;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A controller begins, or goes on.
    Acts(Act),
    /// A kubelet starts and ends pods.
    Syncs(Arc<Sync>),
    /// From now on a controller may read what is stored now, though newer is stored: where one alone may be behind.
    Behind {
        /// Which: its place in the setup.
        client: u16,
        /// Its name.
        name: Arc<str>,
    },
    /// A controller dies between two requests, and starts again.
    Crash {
        /// Which: its place in the setup.
        client: u16,
        /// Its name.
        name: Arc<str>,
    },
    /// A controller starts again.
    Restart {
        /// Which: its place in the setup.
        client: u16,
        /// Its name.
        name: Arc<str>,
    },
    /// Something happens that no controller does.
    Event {
        /// What: its place in the setup.
        event: u16,
        /// In which of the ways that there are.
        choice: u16,
        /// What, in words.
        told: Arc<str>,
    },
    /// Nothing happens for a while.
    Tick {
        /// For how long.
        seconds: u32,
    },
}

/// What a controller does in one step.
#[derive(Debug, Clone)]
pub struct Act {
    /// Which controller: its place in the setup.
    pub client: u16,
    /// What it reads.
    pub read: Read,
    /// How far that is behind, in words; none if it is not.
    pub behind: Option<Arc<str>>,
    /// About which key, and the request that comes next.
    pub candidate: Arc<Candidate>,
    /// What of it takes place.
    pub part: Part,
    /// What goes wrong.
    pub fault: Option<Fault>,
}

/// What of a request takes place in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The controller reads what decides about it.
    Looks,
    /// It is carried out.
    Sends,
    /// The answer arrives.
    Hears,
}

/// What goes wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is refused with 409.
    Conflict,
    /// It is carried out, and answered with 504.
    LostAnswer,
}

impl PartialEq for Act {
    fn eq(&self, other: &Act) -> bool {
        (self.client, self.part, self.fault) == (other.client, other.part, other.fault)
            && self.read == other.read
            && self.candidate.first.hash == other.candidate.first.hash
            && self.candidate.key == other.candidate.key
    }
}

impl Eq for Act {}

impl Action {
    /// The place of the controller that takes this step; none if something else happens.
    pub fn client(&self) -> Option<usize> {
        match self {
            Action::Acts(act) => Some(usize::from(act.client)),
            Action::Syncs(sync) => Some(usize::from(sync.client)),
            _ => None,
        }
    }
}

/// A cluster that can be explored.
#[derive(Debug)]
pub struct Cluster {
    /// What it consists of.
    pub setup: Setup,
    /// All objects that were seen.
    pub objects: Objects,
    kinds: Kinds,
    nodes: GroupResource,
    /// Tells clusters of one process apart.
    number: u64,
    start: Store,
    looks: Memo<Arc<Look>>,
    firsts: Memo<Arc<First>>,
    pub(super) nexts: Memo<Option<Arc<Asked>>>,
    pub(super) writes: Memo<Wrote>,
    pub(super) ranked: Memo<Id>,
    aged: Memo<Id>,
}

/// How many results of a kind are kept at most.
const RESULTS: usize = 1 << 20;

thread_local! {
    /// Of the cluster of this number, views that were made last.
    static VIEWS: RefCell<Option<(u64, Views)>> = const { RefCell::new(None) };
}

impl Cluster {
    /// A cluster that can be explored.
    ///
    /// # Errors
    /// If an object is of a type that models don't have, or two have one key.
    pub fn new(setup: Setup) -> Result<Cluster, SetupError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let objects = Objects::default();
        let mut start = Store::of(&objects, []);
        for object in &setup.objects {
            let key = key_of(object)?;
            if start.id(&objects, &key).is_some() {
                return Err(SetupError::Twice(super::words::name(&key)));
            }
            start = start.with(&objects, &key, Some(complete(&key, object)));
        }
        Ok(Cluster {
            setup,
            objects,
            kinds: kinds::served(),
            nodes: kinds::KindId::NODE.resource(),
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            start,
            looks: Memo::new(RESULTS),
            firsts: Memo::new(RESULTS),
            nexts: Memo::new(RESULTS),
            writes: Memo::new(RESULTS),
            ranked: Memo::new(RESULTS),
            aged: Memo::new(RESULTS),
        })
    }

    pub(super) fn client(&self, at: u16) -> &ClientSetup {
        &self.setup.clients[usize::from(at)]
    }

    /// What controllers see of a store.
    pub(super) fn view(&self, store: &Store) -> View {
        VIEWS.with_borrow_mut(|views| {
            let known = views.take().filter(|(number, _)| *number == self.number);
            let fresh = || (self.number, Views::new(&self.objects, &self.kinds));
            let mut known = known.unwrap_or_else(fresh);
            let view = known.1.of(&self.objects, store);
            *views = Some(known);
            view
        })
    }

    /// What a controller would do on a store.
    pub fn look(&self, of: &ClientSetup, store: &Store) -> Arc<Look> {
        let looking = Looking {
            objects: &self.objects,
            nodes: self.nodes.clone(),
            controller: of.controller,
            now: NOW,
            all_ties: self.setup.all_ties,
        };
        let view = || self.view(store);
        let digest = super::looks::digest(&self.objects, of.controller, store);
        let key = digest.rotate_left(11) ^ (u128::from(of.controller as u8) << 64);
        self.looks.get(key, || {
            Arc::new(looking.look(store, view, |key, work_out| self.firsts.get(key, work_out)))
        })
    }

    /// The keys with which a client would begin something on a store now.
    fn candidates<'s>(
        &self,
        at: u16,
        client: &'s Client,
        look: &'s Look,
    ) -> impl Iterator<Item = &'s Arc<Candidate>> + use<'s> {
        let by_clock = self.client(at).period().is_some();
        look.candidates.iter().filter(move |candidate| {
            !by_clock || client.due.iter().all(|(key, _)| *key != *candidate.key)
        })
    }

    fn acts(&self, state: &State, into: &mut Vec<Action>) {
        for (at, client) in state.clients.iter().enumerate() {
            let client_at = at as u16;
            if self.is_like_a_later_one(state, client_at) {
                continue;
            }
            if let Some(work) = &client.work {
                let one = Candidate { key: work.key.clone(), first: work.next.clone() };
                self.act(state, client_at, &state.history.latest(), &Arc::new(one), into);
                continue;
            }
            for read in self.reader(state, client_at).visible(&state.history) {
                let store = state.history.store(&self.objects, &read);
                self.acts_on(state, client_at, (&read, &store), into);
            }
        }
    }

    /// A step of a client, and the same going wrong.
    fn act(
        &self,
        state: &State,
        client: u16,
        read: &Read,
        candidate: &Arc<Candidate>,
        into: &mut Vec<Action>,
    ) {
        let work = state.clients[usize::from(client)].work.as_deref();
        let part = match (self.setup.granularity, work.map(|work| &work.sent)) {
            (Granularity::Request, None) => Part::Looks,
            (Granularity::Request, Some(Some(_))) => Part::Hears,
            _ => Part::Sends,
        };
        let (budgets, request) = (state.environment.budgets, &candidate.first.request);
        let sends = part == Part::Sends;
        let conflicts = sends && budgets.conflicts > 0 && act::may_conflict(request);
        let loses = sends && budgets.lost_answers > 0 && act::is_write(request);
        let behind = state.history.told(read);
        let behind: Option<Arc<str>> = (!behind.is_empty()).then(|| behind.into());
        let faults =
            [(true, None), (conflicts, Some(Fault::Conflict)), (loses, Some(Fault::LostAnswer))];
        for (_, fault) in faults.into_iter().filter(|(possible, _)| *possible) {
            let (read, behind, candidate) = (read.clone(), behind.clone(), candidate.clone());
            into.push(Action::Acts(Act { client, read, behind, candidate, part, fault }));
        }
    }

    /// What a controller does in a step, in words.
    fn told(&self, act: &Act) -> String {
        let Candidate { key, first } = &*act.candidate;
        let what = match act.part {
            Part::Looks => format!("looks at {}, to {}", super::words::name(key), first.told),
            Part::Sends => first.told.to_string(),
            Part::Hears => format!("hears of {}", first.told),
        };
        let behind = act.behind.as_deref().unwrap_or("");
        let wrong = match act.fault {
            None => "",
            Some(Fault::Conflict) => ", refused with 409",
            Some(Fault::LostAnswer) => ", the answer is lost",
        };
        format!("{}: {what}{behind}{wrong}", self.client(act.client).name)
    }
}

impl Cluster {
    /// Whether no controller has anything to do.
    pub fn is_stable(&self, state: &State) -> bool {
        let mut acts = Vec::new();
        self.acts(state, &mut acts);
        acts.is_empty()
    }

    /// The ways in which those events can happen now of which this is true.
    fn events(&self, state: &State, which: impl Fn(Modifiers) -> bool, into: &mut Vec<Action>) {
        let events = self.setup.events.iter().enumerate();
        for (at, _) in events.filter(|(_, event)| which(event.modifiers())) {
            for (choice, one) in self.choices(state, at).into_iter().enumerate() {
                let (event, choice) = (at as u16, choice as u16);
                into.push(Action::Event { event, choice, told: one.told });
            }
        }
    }

    fn choices(&self, state: &State, event: usize) -> Vec<super::events::Choice> {
        let progress = state.environment.events[event];
        let known = |key: &trace::ObjectKey| self.traces(state, state.store(), key);
        self.setup.events[event].choices(&self.api(&known), state.store(), progress)
    }

    fn failures(&self, state: &State, into: &mut Vec<Action>) {
        let budgets = state.environment.budgets;
        for (at, client) in state.clients.iter().enumerate() {
            let (name, at) = (self.setup.clients[at].name.clone(), at as u16);
            if budgets.crashes > 0 && client.work.is_some() {
                into.push(Action::Crash { client: at, name: name.clone() });
            }
            let is_kubelet = self.client(at).node.is_some();
            let is_old = || {
                let controller = self.client(at).controller;
                *client != self.started(&state.history)
                    || self.without_memories(controller, state.store()) != *state.store()
            };
            if budgets.restarts > 0
                && client.work.is_none()
                && (is_kubelet || is_old())
                && !self.is_like_a_later_one(state, at)
            {
                into.push(Action::Restart { client: at, name: name.clone() });
            }
            if self.may_fall_behind(state, at) {
                into.push(Action::Behind { client: at, name });
            }
        }
    }

    /// In how many seconds a controller has something to do that does not look by the clock; none if never.
    fn is_waited_for(&self, state: &State) -> Option<u32> {
        let clients = self.setup.clients.iter().filter(|client| client.period().is_none());
        let due = clients.filter_map(|client| self.look(client, state.store()).due);
        due.map(|due| u32::try_from(due.as_millis().div_ceil(1000)).unwrap_or(u32::MAX)).min()
    }

    /// In how many seconds somebody has something to do, if nothing happens before; none if never.
    fn due(&self, state: &State) -> Option<u32> {
        let all = state.clients.iter().zip(&self.setup.clients);
        let by_clock = all.filter(|(_, setup)| setup.period().is_some());
        let due = by_clock
            .filter_map(|(client, _)| client.due.iter().map(|(_, seconds)| *seconds).min())
            .chain(self.is_waited_for(state));
        let events = self.setup.events.iter().zip(&state.environment.events);
        let events = events
            .filter_map(|(event, progress)| event.due(&self.objects, state.store(), *progress));
        let due = due.chain(events).min()?.max(1);
        state.environment.seconds.is_none_or(|left| due <= left).then_some(due)
    }

    fn tick(&self, state: &State, seconds: u32) -> State {
        let ageing = Ageing::new(Duration::from_secs(seconds.into()), self.setup.horizon);
        let older = state.store().map(&self.objects, |_, stored| {
            let key = stored.hash ^ u128::from(seconds).rotate_left(90);
            self.aged.get(key, || match &stored.content {
                Content::Object { value, .. } => {
                    self.objects.add(&stored.key, ageing.object(value))
                }
                Content::Memory(memory) => {
                    self.objects.add_memory(&stored.key, ageing.memory(memory))
                }
            })
        });
        let history = History::new(older);
        let clients = state.clients.iter().map(|client| {
            let due = client.due.iter().filter(|(_, left)| *left > seconds);
            let due = due.map(|(key, left)| (key.clone(), left - seconds)).collect();
            Client { due, read: self.started(&history).read, ..client.clone() }
        });
        let left = state.environment.seconds.map(|left| left - seconds);
        let events = self.setup.events.iter().zip(&state.environment.events);
        let events = events.map(|(event, progress)| event.waited(*progress, seconds)).collect();
        let environment = Environment { seconds: left, events, ..(*state.environment).clone() };
        State { clients: clients.collect(), history, environment: Arc::new(environment) }
    }

    fn happens(&self, state: &State, event: usize, choice: usize) -> Option<State> {
        let choice = self.choices(state, event).into_iter().nth(choice)?;
        let mut environment = (*state.environment).clone();
        environment.events[event] = choice.progress;
        let mut clients = state.clients.to_vec();
        let history = match choice.store == *state.store() {
            true => state.history.clone(),
            false => self.append(state, &mut clients, choice.store, &state.history.latest()),
        };
        Some(State { history, clients: clients.into(), environment: Arc::new(environment) })
    }

    fn starts_again(&self, state: &State, at: u16, spend: impl FnOnce(&mut Budgets)) -> State {
        let mut environment = (*state.environment).clone();
        spend(&mut environment.budgets);
        let mut clients = state.clients.to_vec();
        clients[usize::from(at)] = Client::default();
        let mut kept = self.without_memories(self.client(at).controller, state.store());
        if let Some(node) = &self.client(at).node {
            kept = kept.with(&self.objects, &node_key(node), None);
        }
        let history = match kept == *state.store() {
            true => state.history.clone(),
            false => self.append(state, &mut clients, kept, &state.history.latest()),
        };
        clients[usize::from(at)] = self.started(&history);
        State { history, clients: clients.into(), environment: Arc::new(environment) }
    }

    /// The state after what the controllers do at once, and what is kept of the run.
    fn followed(&self, before: &State, state: State, by: &str, told: &str) -> State {
        let state = self.normal(self.at_once(state));
        if self.setup.monitors.is_empty() {
            return state;
        }
        let step = Step { before: before.store(), after: state.store(), by, told };
        let monitors = self.setup.monitors.iter().zip(&state.environment.monitors);
        let kept = monitors.map(|(monitor, kept)| monitor.step(&self.objects, *kept, &step));
        let environment = Environment { monitors: kept.collect(), ..(*state.environment).clone() };
        State { environment: Arc::new(environment), ..state }
    }

    /// Whether something that is urgent, or comes first, can happen: then nothing else does.
    fn preempting(&self, state: &State, into: &mut Vec<Action>) -> bool {
        self.events(state, |of| of.when == When::First, into);
        if into.is_empty() {
            self.events(state, |of| of.when == When::Anytime && of.is_urgent, into);
        }
        !into.is_empty()
    }
}

impl System for Cluster {
    type State = State;
    type Action = Action;

    fn initial(&self) -> Vec<State> {
        let setup = &self.setup;
        let monitors = setup.monitors.iter();
        let environment = Environment {
            budgets: setup.budgets,
            events: vec![0; setup.events.len()].into(),
            monitors: monitors.map(|one| one.begin(&self.objects, &self.start)).collect(),
            seconds: setup.seconds,
        };
        let history = History::new(self.start.clone());
        let state = State {
            clients: vec![self.started(&history); setup.clients.len()].into(),
            history,
            environment: Arc::new(environment),
        };
        vec![self.normal(self.at_once(state))]
    }

    fn actions(&self, state: &State, into: &mut Vec<Action>) {
        if self.preempting(state, into) {
            return;
        }
        self.acts(state, into);
        let stable = into.is_empty();
        self.failures(state, into);
        self.events(state, |of| of.when == When::Anytime, into);
        if stable {
            self.events(state, |of| of.when == When::Stable, into);
            // Once all is as old as the horizon, nothing changes by waiting.
            let matters = |seconds: &u32| self.tick(state, *seconds) != *state;
            if !self.is_waited_for(state).is_some_and(|seconds| matters(&seconds)) {
                self.events(state, |of| of.when == When::Settled, into);
            }
            let due = self.due(state).filter(matters);
            into.extend(due.map(|seconds| Action::Tick { seconds }));
        }
    }

    fn next(&self, state: &State, action: &Action) -> Option<State> {
        let name = |client: u16| &*self.client(client).name;
        let (next, by, told) = match action {
            Action::Acts(act) => {
                (self.perform(state, act), name(act.client), &*act.candidate.first.told)
            }
            Action::Syncs(sync) => (self.synced(state, sync), name(sync.client), &*sync.told),
            Action::Behind { client, .. } => {
                let mut state = state.clone();
                state.history.behind = Some((*client, 0));
                Arc::make_mut(&mut state.environment).budgets.lags -= 1;
                (state, "", "")
            }
            Action::Crash { client, .. } => {
                (self.starts_again(state, *client, |left| left.crashes -= 1), "", "")
            }
            Action::Restart { client, .. } => {
                (self.starts_again(state, *client, |left| left.restarts -= 1), "", "")
            }
            Action::Event { event, choice, told } => {
                let at = usize::from(*event);
                let next = self.happens(state, at, usize::from(*choice))?;
                (next, self.setup.events[at].name(), &**told)
            }
            Action::Tick { seconds } => (self.tick(state, *seconds), "", ""),
        };
        Some(self.followed(state, next, by, told))
    }

    fn label(&self, action: &Action) -> String {
        match action {
            Action::Acts(act) => self.told(act),
            Action::Syncs(sync) => sync.told.to_string(),
            Action::Behind { name, .. } => format!("{name}: falls behind"),
            Action::Crash { name, .. } => format!("{name}: crashes and starts again"),
            Action::Restart { name, .. } => format!("{name}: starts again"),
            Action::Event { told, .. } => told.to_string(),
            Action::Tick { seconds } => format!("{seconds} s pass"),
        }
    }

    fn heap_bytes(&self, state: &State) -> usize {
        let clients = state.clients.len() * size_of::<Client>() + size_of::<Environment>();
        // Earlier stores and views of reconciles are shared with other states.
        clients + 32 + state.store().bytes()
    }
}
