//! What comes of a step of a controller.

use std::sync::Arc;

use controllers::{Controller, Request, request::Memory};
use trace::ObjectKey;
use xxhash_rust::xxh3::xxh3_128;

use super::{Act, Cluster, Fault, Part};
use crate::cluster::{
    api::{Answer, Api, Traces},
    history::Consistency,
    looks::{self, Asked, Candidate},
    objects,
    objects::Content,
    setup::Granularity,
    state::{Client, State, Work},
    store::Store,
    time::NOW,
};

/// How many requests a step may take that takes all there are: one that takes more never ends.
const REQUESTS_MAX: usize = 10_000;

/// Whether a request writes something that a refusal with 409 fits.
pub(super) fn may_conflict(request: &Request) -> bool {
    is_write(request) && !matches!(request, Request::Create { .. } | Request::CreatePod { .. })
}

/// Whether a request changes what is stored, and is answered over the network.
pub(super) fn is_write(request: &Request) -> bool {
    !matches!(
        request,
        Request::List { .. }
            | Request::GetScale { .. }
            | Request::Remember { .. }
            | Request::Review { .. }
    )
}

/// A reconcile under way.
struct Reconcile {
    key: Arc<ObjectKey>,
    seen: Store,
    answers: Vec<Answer>,
    next: Option<Arc<Asked>>,
}

impl Reconcile {
    fn begin(candidate: &Candidate, seen: &Store) -> Reconcile {
        let (key, next) = (candidate.key.clone(), Some(candidate.first.clone()));
        Reconcile { key, seen: seen.clone(), answers: Vec::new(), next }
    }
}

impl Cluster {
    /// The state after a controller took a step.
    pub(super) fn perform(&self, state: &State, act: &Act) -> State {
        let at = usize::from(act.client);
        let client = &state.clients[at];
        let reconcile = match &client.work {
            Some(work) => Reconcile {
                key: work.key.clone(),
                seen: work.seen.clone(),
                answers: work.answers.to_vec(),
                next: Some(work.next.clone()),
            },
            None => {
                Reconcile::begin(&act.candidate, &state.history.store(&self.objects, &act.read))
            }
        };
        match self.setup.granularity {
            Granularity::Request => self.in_parts(state, act, reconcile),
            Granularity::Write | Granularity::Step => {
                let (store, reconcile) = self.one(state, act, reconcile);
                let goes_on = self.setup.granularity == Granularity::Write;
                self.came_to(state, act, store, goes_on.then_some(reconcile))
            }
            Granularity::Reconcile => {
                let store = self.whole(state, act, reconcile).0;
                self.came_to(state, act, store, None)
            }
            Granularity::Drain => self.drain(state, act, reconcile),
        }
    }

    /// The API server of this cluster, given what is known of objects.
    pub fn api<'a>(&'a self, known: &'a dyn Fn(&ObjectKey) -> Traces) -> Api<'a> {
        Api {
            objects: &self.objects,
            now: NOW,
            known,
            writes: &self.writes,
            admission: self.setup.admission.as_deref(),
        }
    }

    /// Carries out a request on a store of a state, in which others may know objects that are gone.
    fn carry_out(&self, state: &State, store: &Store, request: &Asked) -> (Store, Answer) {
        self.api(&|key| self.traces(state, store, key)).carry_out(store, request)
    }

    /// What anybody knows of objects of a key, on the way from a state to `store`.
    pub(super) fn traces(&self, state: &State, store: &Store, key: &ObjectKey) -> Traces {
        let mut traces = Traces::default();
        let stored = state.known().chain([store]).filter_map(|known| known.get(&self.objects, key));
        for (stored, seen) in stored.filter_map(|stored| Some((stored, stored.seen()?))) {
            traces.add(&seen.meta.uid, stored.version);
        }
        let runs = state.clients.iter().flat_map(|client| client.runs.iter());
        for run in runs.filter(|run| run.key == *key) {
            traces.add(&run.uid, 0);
        }
        traces
    }

    /// The next request, and what is stored afterwards.
    fn one(&self, state: &State, act: &Act, mut of: Reconcile) -> (Store, Reconcile) {
        let base = self.base(state, act);
        let base = &base;
        let Some(request) = &of.next else { return (base.clone(), of) };
        let (store, answer) = match act.fault {
            Some(Fault::Conflict) => (base.clone(), Answer::Refused(409, "Conflict")),
            Some(Fault::LostAnswer) => {
                (self.carry_out(state, base, request).0, Answer::Refused(504, "Timeout"))
            }
            None => self.carry_out(state, base, request),
        };
        of.answers.push(answer);
        of.next = self.next_request(act.client, &of.key, &of.seen, &of.answers);
        (store, of)
    }

    /// A step on what is stored now, in which nothing goes wrong.
    fn simple(&self, state: &State, client: u16, candidate: &Arc<Candidate>) -> Act {
        let (read, candidate) = (state.history.latest(), candidate.clone());
        Act { client, read, behind: None, candidate, part: Part::Sends, fault: None }
    }

    /// What a write of this step follows.
    fn base(&self, state: &State, act: &Act) -> Store {
        match self.setup.consistency {
            Consistency::OptimisticLinear | Consistency::Causal => {
                state.history.store(&self.objects, &act.read)
            }
            _ => state.store().clone(),
        }
    }

    /// All requests about one key, and how many.
    fn whole(&self, state: &State, act: &Act, of: Reconcile) -> (Store, usize) {
        let (mut store, mut of) = self.one(state, act, of);
        let mut count = 1;
        while let Some(request) = &of.next {
            let (after, answer) = self.carry_out(state, &store, request);
            store = after;
            of.answers.push(answer);
            of.next = self.next_request(act.client, &of.key, &of.seen, &of.answers);
            count += 1;
            if count == REQUESTS_MAX {
                break;
            }
        }
        (store, count)
    }

    /// All that there is to do: key after key, each on what is stored then.
    fn drain(&self, state: &State, act: &Act, first: Reconcile) -> State {
        let (store, mut count) = self.whole(state, act, first);
        let mut state = self.came_to(state, act, store, None);
        while count < REQUESTS_MAX {
            let client = &state.clients[usize::from(act.client)];
            let look = self.look(self.client(act.client), state.store());
            let Some(next) = self.candidates(act.client, client, &look).next() else { break };
            let of = Reconcile::begin(next, state.store());
            let act = self.simple(&state, act.client, next);
            let (store, more) = self.whole(&state, &act, of);
            count += more;
            let before = state.store().clone();
            state = self.shortened(self.came_to(&state, &act, store, None));
            if *state.store() == before && self.client(act.client).period().is_none() {
                break;
            }
        }
        state
    }

    /// Looking, being carried out, and hearing of it are three steps.
    fn in_parts(&self, state: &State, act: &Act, mut of: Reconcile) -> State {
        let work = state.clients[usize::from(act.client)].work.as_deref();
        let (store, sent) = match work.map(|work| &work.sent) {
            None => (state.store().clone(), None),
            Some(None) => {
                let (store, done) = self.one(state, act, of);
                of = Reconcile { next: None, ..done };
                let answer = of.answers.pop();
                of.next = work.map(|work| work.next.clone());
                (store, answer)
            }
            Some(Some(answer)) => {
                of.answers.push(answer.clone());
                of.next = self.next_request(act.client, &of.key, &of.seen, &of.answers);
                (state.store().clone(), None)
            }
        };
        let mut state = self.came_to(state, act, store, Some(of));
        if let Some(answer) = sent {
            let mut clients = state.clients.to_vec();
            let client = &mut clients[usize::from(act.client)];
            if let Some(work) = client.work.take() {
                client.work = Some(Arc::new(Work { sent: Some(answer), ..(*work).clone() }));
            }
            state.clients = clients.into();
        }
        state
    }

    /// The state after a step came to `store`, with what is left of the reconcile.
    fn came_to(&self, state: &State, act: &Act, store: Store, of: Option<Reconcile>) -> State {
        let at = usize::from(act.client);
        let mut clients = state.clients.to_vec();
        let client = &mut clients[at];
        if client.work.is_none() {
            client.read = self.reader(state, act.client).after(&state.history, &act.read);
            if let Some(node) = &self.client(act.client).node {
                let seen = state.history.store(&self.objects, &act.read);
                client.runs = self.runs_after(node, client, &seen, &act.candidate.first.request);
            }
        }
        client.work = of.and_then(|of| {
            let Reconcile { key, seen, answers, next } = of;
            Some(Arc::new(Work { key, seen, answers: answers.into(), next: next?, sent: None }))
        });
        if client.work.is_none() {
            self.wait(act, client, &store);
        }
        let mut environment = state.environment.clone();
        if let Some(fault) = act.fault {
            let budgets = &mut Arc::make_mut(&mut environment).budgets;
            match fault {
                Fault::Conflict => budgets.conflicts -= 1,
                Fault::LostAnswer => budgets.lost_answers -= 1,
            }
        }
        let history = match store == self.base(state, act) {
            true => state.history.clone(),
            false => self.append(state, &mut clients, store, &act.read),
        };
        State { history, clients: clients.into(), environment }
    }

    /// A controller that goes by the clock looks at the key again when its time has come.
    fn wait(&self, act: &Act, client: &mut Client, store: &Store) {
        let Some(period) = self.client(act.client).period() else { return };
        let others = client.due.iter().filter(|(key, _)| {
            *key != *act.candidate.key && store.id(&self.objects, key).is_some()
        });
        let seconds = u32::try_from(period.as_secs()).unwrap_or(u32::MAX);
        let mut due: Vec<(ObjectKey, u32)> =
            others.cloned().chain([((*act.candidate.key).clone(), seconds)]).collect();
        due.sort();
        client.due = due.into();
    }

    /// What a client asks for after some answers, in words too; none if it is done.
    fn next_request(
        &self,
        client: u16,
        key: &ObjectKey,
        seen: &Store,
        answers: &[Answer],
    ) -> Option<Arc<Asked>> {
        let controller = self.client(client).controller;
        let mut fed = Vec::with_capacity(256);
        fed.extend(looks::digest(&self.objects, controller, seen).to_le_bytes());
        fed.push(controller as u8);
        fed.extend(key.to_string().as_bytes());
        for answer in answers {
            answer.feed(&mut fed);
        }
        self.nexts.get(xxh3_128(&fed), || {
            let view = self.view(seen);
            looks::after(controller, &self.objects, &view, (key, NOW), answers)
        })
    }

    /// The work with the request that follows from what it knows.
    pub(in crate::cluster) fn with_next(&self, at: usize, work: Work) -> Work {
        let next = match work.answers.is_empty() {
            // Its first request is that of a look.
            true => {
                let look = self.look(self.client(at as u16), &work.seen);
                let mut found = look.candidates.iter();
                let is =
                    |one: &&Arc<Candidate>| one.key == work.key && one.first.told == work.next.told;
                found.find(is).map(|one| one.first.clone())
            }
            false => self.next_request(at as u16, &work.key, &work.seen, &work.answers),
        };
        let next = next.unwrap_or_else(|| work.next.clone());
        Work { next, ..work }
    }

    /// The state after all that takes place at once.
    pub(super) fn at_once(&self, mut state: State) -> State {
        let clients = self.setup.clients.iter().enumerate();
        let at_once: Vec<u16> =
            clients.filter(|(_, one)| one.at_once).map(|(at, _)| at as u16).collect();
        let mut count = 0;
        'again: while count < REQUESTS_MAX {
            for &at in &at_once {
                let look = self.look(self.client(at), state.store());
                let client = &state.clients[usize::from(at)];
                let Some(one) = self.candidates(at, client, &look).next() else { continue };
                let act = self.simple(&state, at, one);
                let of = Reconcile::begin(one, state.store());
                let (store, more) = self.whole(&state, &act, of);
                if store == *state.store() {
                    continue;
                }
                state = self.shortened(self.came_to(&state, &act, store, None));
                count += more;
                continue 'again;
            }
            break;
        }
        state
    }

    /// The store without what a controller forgets when it starts again.
    pub(super) fn without_memories(&self, controller: Controller, store: &Store) -> Store {
        let own = |memory: &Memory| match memory {
            Memory::Scaled(_) => controller == Controller::Autoscaler,
            Memory::GoesAt(_) => controller == Controller::TaintEviction,
            Memory::SilentSince(_) => controller == Controller::NodeLifecycle,
            Memory::MissedUntil(_) => controller == Controller::PodGc,
            Memory::NoSlices => controller == Controller::EndpointSliceMirroring,
        };
        let forgotten = |id: &objects::Id| match &self.objects.get(*id).content {
            Content::Memory(memory) => own(memory),
            Content::Object { .. } => false,
        };
        if !store.ids().iter().any(forgotten) {
            return store.clone();
        }
        Store::of(&self.objects, store.ids().iter().copied().filter(|id| !forgotten(id)))
    }
}
