//! One state for all that nobody can tell apart.
//!
//! Stores that nobody will read are dropped. Revisions are ranks: of an object of which somebody knows two versions, the
//! older one is revision 1 and the newer one 2. A revision is only ever compared with another one of the same object,
//! so nobody can tell.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;
use trace::ObjectKey;

use super::{
    api::{Answer, Known},
    history::{Consistency, Cursor, Past, REVISIONS_MAX},
    objects::{Content, Id, Objects},
    state::{Client, State, Work},
    store::Store,
    system::Cluster,
};

impl Cluster {
    /// The state that stands for all those that can't be told from it.
    pub(super) fn normal(&self, state: State) -> State {
        self.with_ranks(self.without_unread(state))
    }

    /// A state in the midst of a step of many writes, whose history has no room for as many again.
    pub(super) fn shortened(&self, state: State) -> State {
        match state.history.newest() < REVISIONS_MAX / 2 {
            true => state,
            false => self.without_unread(state),
        }
    }

    fn without_unread(&self, mut state: State) -> State {
        let behind = state.history.behind.filter(|(client, writes)| {
            *writes <= self.setup.lag_max && self.may_go_back(&state, *client)
        });
        state.history.behind = behind;
        let kept = self.readable(&state);
        if kept != state.history.all() {
            state.history = state.history.only(kept);
            state.clients = state.clients.iter().map(|client| moved(client, kept)).collect();
        }
        // Nobody can be behind any more: what a client read does not matter.
        if self.setup.one_behind
            && state.environment.budgets.lags == 0
            && state.history.behind.is_none()
            && state.history.newest() == 0
        {
            let read = self.started(&state.history).read;
            let of = |client: &Client| Client { read: read.clone(), ..client.clone() };
            state.clients = state.clients.iter().map(of).collect();
        }
        // Whoever knows nothing is as if it had just started, where that lets it read all.
        let as_new = |client: &Client| {
            self.reads_all() && client.read.as_ref().is_some_and(Cursor::is_nothing)
        };
        if state.clients.iter().any(as_new) {
            let of = |client: &Client| match as_new(client) {
                true => Client { read: None, ..client.clone() },
                false => client.clone(),
            };
            state.clients = state.clients.iter().map(of).collect();
        }
        state
    }

    /// Whether a client that starts may read anything.
    pub(super) fn reads_all(&self) -> bool {
        match self.setup.consistency {
            Consistency::Synchronous
            | Consistency::MonotonicSession
            | Consistency::PerKind { resettable: false } => false,
            Consistency::ResettableSession
            | Consistency::OptimisticLinear
            | Consistency::Causal
            | Consistency::PerKind { resettable: true } => true,
        }
    }

    /// Whether a client may read anything now, or after it has started again.
    fn reads_all_again(&self, state: &State) -> bool {
        let budgets = state.environment.budgets;
        self.reads_all() && (budgets.restarts > 0 || budgets.crashes > 0)
    }

    /// Whether a client may ever read the revision at place 0, if that is not the newest.
    pub(super) fn may_go_back(&self, state: &State, client: u16) -> bool {
        let again = self.reads_all_again(state);
        match &state.clients[usize::from(client)].read {
            None => again || self.reads_all(),
            Some(cursor) => again || !cursor.of_all().has(0),
        }
    }

    /// The places of revisions that somebody may ever read.
    fn readable(&self, state: &State) -> Past {
        let (setup, history) = (&self.setup, &state.history);
        let maxima = history.maxima();
        if setup.one_behind {
            return if history.behind.is_some() { maxima.with(0) } else { maxima };
        }
        if setup.consistency == Consistency::Synchronous {
            return maxima;
        }
        let oldest = history.newest().saturating_sub(setup.lag_max.min(REVISIONS_MAX - 2));
        let window = history.all().without(oldest.checked_sub(1).map_or(Past::NONE, Past::up_to));
        // Whoever writes may go back.
        let is_linear_branch = setup.consistency == Consistency::OptimisticLinear;
        if is_linear_branch || self.reads_all_again(state) {
            return window;
        }
        let unknown = |client: &Client| match &client.read {
            Some(cursor) => window.without(cursor.of_all()),
            None if self.reads_all() => window,
            None => Past::NONE,
        };
        let unknown = state.clients.iter().map(unknown).fold(Past::NONE, Past::and);
        let beside = history.beside_another();
        maxima.and(unknown).and(beside.both(window))
    }

    fn with_ranks(&self, state: State) -> State {
        let mut alone = state.known().all(|store| store == state.store());
        alone &= state.clients.iter().all(|client| client.work.is_none());
        if alone && state.store().ids().iter().all(|id| self.objects.get(*id).version <= 1) {
            return state;
        }
        let ranks = Ranks::of(&self.objects, &state);
        if ranks.is_empty() {
            return state;
        }
        let rank = |store: &Store| store.map(&self.objects, |id, _| self.ranked(&ranks, id));
        let history = state.history.map(rank);
        let clients = state.clients.iter().enumerate().map(|(at, client)| {
            let work = client.work.as_deref().map(|work| {
                let answers = work.answers.iter().map(|answer| self.answer(&ranks, answer));
                let sent = work.sent.as_ref().map(|answer| self.answer(&ranks, answer));
                let work = Work {
                    seen: rank(&work.seen),
                    answers: answers.collect(),
                    sent,
                    ..work.clone()
                };
                Arc::new(self.with_next(at, work))
            });
            Client { work, ..client.clone() }
        });
        State { history, clients: clients.collect(), environment: state.environment.clone() }
    }

    fn answer(&self, ranks: &Ranks, answer: &Answer) -> Answer {
        let of = |known: &Known| Known::of(&self.objects, self.ranked(ranks, known.id));
        match answer {
            Answer::Written(known) => Answer::Written(known.as_ref().map(of)),
            Answer::Listed(all) => Answer::Listed(all.iter().map(of).collect()),
            Answer::Scale(known) => Answer::Scale(of(known)),
            Answer::Refused(code, reason) => Answer::Refused(*code, reason),
        }
    }

    fn ranked(&self, ranks: &Ranks, id: Id) -> Id {
        let stored = self.objects.get(id);
        let Some(rank) = ranks.of_version(&stored.key, stored.version) else { return id };
        let key = stored.hash.rotate_left(7) ^ u128::from(rank);
        self.ranked.get(key, || match &stored.content {
            Content::Memory(_) => id,
            Content::Object { value, .. } => {
                let mut value = value.clone();
                value["metadata"]["resourceVersion"] = json!(rank.to_string());
                self.objects.add(&stored.key, value)
            }
        })
    }
}

fn moved(client: &Client, kept: Past) -> Client {
    Client { read: client.read.as_ref().map(|read| read.within(kept)), ..client.clone() }
}

/// The ranks of versions, of objects of which they are others than the versions themselves.
struct Ranks(BTreeMap<ObjectKey, Vec<u32>>);

impl Ranks {
    fn of(objects: &Objects, state: &State) -> Ranks {
        let mut versions: BTreeMap<&ObjectKey, Vec<u32>> = BTreeMap::new();
        let mut add = |id: Id| {
            let stored = objects.get(id);
            if stored.version > 0 {
                versions.entry(&stored.key).or_default().push(stored.version);
            }
        };
        let mut before: Option<&Store> = None;
        for store in state.known() {
            if before != Some(store) {
                store.ids().iter().copied().for_each(&mut add);
            }
            before = Some(store);
        }
        let works = state.clients.iter().filter_map(|client| client.work.as_deref());
        for answer in works.flat_map(|work| work.answers.iter().chain(&work.sent)) {
            match answer {
                Answer::Written(known) => known.iter().for_each(|known| add(known.id)),
                Answer::Listed(all) => all.iter().for_each(|known| add(known.id)),
                Answer::Scale(known) => add(known.id),
                Answer::Refused(..) => {}
            }
        }
        let differing = versions.into_iter().filter_map(|(key, mut versions)| {
            versions.sort_unstable();
            versions.dedup();
            let same = versions.iter().zip(1..).all(|(version, rank)| *version == rank);
            (!same).then(|| (key.clone(), versions))
        });
        Ranks(differing.collect())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn of_version(&self, key: &ObjectKey, version: u32) -> Option<u32> {
        let versions = self.0.get(key)?;
        let at = versions.binary_search(&version).ok()?;
        u32::try_from(at + 1).ok()
    }
}
