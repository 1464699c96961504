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
    history::{Consistency, Place, Reader},
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

    fn without_unread(&self, mut state: State) -> State {
        let newest = state.history.newest();
        let reader = |client: &Client| self.reader(client).oldest(newest);
        let restarts =
            state.environment.budgets.restarts > 0 || state.environment.budgets.crashes > 0;
        let fresh = Reader { of: self.setup.consistency, next: None, lag_max: self.setup.lag_max };
        let again = match self.setup.consistency {
            Consistency::ResettableSession if restarts => Some(fresh.oldest(newest)),
            // Whoever writes may go back.
            Consistency::OptimisticLinear => Some(0),
            _ => None,
        };
        let oldest = state.clients.iter().map(reader).chain(again).min().unwrap_or(newest);
        if oldest > 0 {
            state.history = state.history.from(oldest);
            state.clients = state.clients.iter().map(|client| moved(client, oldest)).collect();
        }
        state
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

fn moved(client: &Client, by: Place) -> Client {
    Client { next: client.next.map(|next| next.saturating_sub(by)), ..client.clone() }
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
