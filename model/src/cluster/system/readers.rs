//! Who reads what: clients and what they know, and the one that may be behind.

use super::{Action, Cluster};
use crate::cluster::{
    history::{Consistency, Cursor, History, Read, Reader},
    looks,
    state::{Client, State},
    store::Store,
};

impl Cluster {
    /// What decides what a client may read.
    pub(in crate::cluster) fn reader<'s>(&self, state: &'s State, at: u16) -> Reader<'s> {
        let setup = &self.setup;
        Reader {
            of: setup.consistency,
            cursor: state.clients[usize::from(at)].read.as_ref(),
            lag_max: setup.lag_max,
            one_behind: setup.one_behind.then_some(state.history.is_behind(at)),
            kinds: looks::reads(self.client(at).controller),
        }
    }

    /// A client that starts: it has read all that is stored, unless it may read anything then.
    pub(in crate::cluster) fn started(&self, history: &History) -> Client {
        let setup = &self.setup;
        let reads_newest = setup.consistency != Consistency::Synchronous && !self.reads_all();
        let read = reads_newest.then(|| Cursor::Past(history.all()));
        Client { read, ..Client::default() }
    }

    /// The steps of a client that reads this.
    pub(super) fn acts_on(
        &self,
        state: &State,
        at: u16,
        (read, store): (&Read, &Store),
        into: &mut Vec<Action>,
    ) {
        let (client, setup) = (&state.clients[usize::from(at)], self.client(at));
        let look = self.look(setup, store);
        let Some(node) = &setup.node else {
            let mut first = None;
            for one in self.candidates(at, client, &look) {
                // Chance may leave several ways to deal with the first key.
                let first = first.get_or_insert(&one.key);
                if setup.in_order && **first != one.key {
                    break;
                }
                self.act(state, at, read, one, into);
            }
            return;
        };
        let own = self.of_node(node, store, &look.candidates);
        for one in &own {
            self.act(state, at, read, one, into);
        }
        if own.is_empty() {
            into.extend(self.sync(node, at, client, (read, store)));
        }
    }

    /// Of instances of one controller that are in the same state only the last one takes steps: those of the others lead to
    /// the same, but for the names of instances.
    pub(super) fn is_like_a_later_one(&self, state: &State, at: u16) -> bool {
        let is_behind = |at: usize| state.history.is_behind(at as u16);
        let (at, setup) = (usize::from(at), self.client(at));
        let alike = |other: usize| {
            let of = &self.setup.clients[other];
            (of.controller, &of.node, of.at_once) == (setup.controller, &setup.node, setup.at_once)
                && state.clients[other] == state.clients[at]
                && !is_behind(other)
        };
        setup.node.is_none() && !is_behind(at) && (at + 1..state.clients.len()).any(alike)
    }

    /// Whether a client may go on with what is stored now when newer is stored, and would then do something with it.
    pub(super) fn may_fall_behind(&self, state: &State, at: u16) -> bool {
        let (client, setup) = (&state.clients[usize::from(at)], self.client(at));
        let history = &state.history;
        let is_possible = self.setup.one_behind
            && setup.lags
            && history.behind.is_none()
            && state.environment.budgets.lags > 0
            && history.newest() == 0
            && client.work.is_none()
            && !self.is_like_a_later_one(state, at)
            && self.may_go_back(state, at);
        if !is_possible {
            return false;
        }
        let look = self.look(setup, state.store());
        match &setup.node {
            None => !look.candidates.is_empty(),
            Some(node) => {
                !self.of_node(node, state.store(), &look.candidates).is_empty()
                    || self.runs(node, state.store()).is_some_and(|runs| !runs.is_empty())
            }
        }
    }

    /// The history after a write that came to `store`, by somebody who read `read`; who read what is lost by it knows
    /// nothing.
    pub(super) fn append(
        &self,
        state: &State,
        clients: &mut [Client],
        store: Store,
        read: &Read,
    ) -> History {
        let of = self.setup.consistency;
        let (mut history, kept) = state.history.followed_by(of, &self.objects, store, read);
        if let Some((_, writes)) = &mut history.behind
            && self.setup.lag_max < u16::MAX
        {
            *writes += 1;
        }
        if let Some(kept) = kept {
            for client in clients {
                let known = client.read.take();
                let is_kept =
                    |known: &Cursor| known.of_all().last().is_none_or(|last| kept.has(last));
                client.read = known.filter(is_kept).map(|known| known.within(kept));
            }
        }
        history
    }
}
