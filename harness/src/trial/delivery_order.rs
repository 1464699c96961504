//! Answers and watch events that come to the subject one at a time: each waits until the subject is quiet.
//!
//! What two of its threads do about two things that come together depends on the machine; of what comes alone, only
//! one thread makes something, as a rule. What waits at a quiet moment is a round: it goes in the order of paths, before
//! anything that it brings about. The order of a watch's events stays as it is.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use proxy::{Gate, Hold, Passing};
use trace::{CallId, Verb};

/// What waits, by call: its place in a round.
type Places = Arc<Mutex<BTreeMap<CallId, Place>>>;

/// Method, path, and the number of the call for those that are alike.
type Place = (String, String, CallId);

/// Holds all that comes to the subject.
pub(super) struct InTurn {
    hold: Hold,
    places: Places,
    round: VecDeque<CallId>,
}

impl InTurn {
    /// From now on everything waits for [`InTurn::next`].
    pub fn new(gate: &Gate) -> InTurn {
        let places = Places::default();
        let seen = places.clone();
        let hold = gate.hold(move |passing| match passing {
            Passing::Request(_) => false,
            // The head of a watch says nothing, and before it has passed nobody takes the events.
            Passing::Response(call, answer) if call.verb == Verb::Watch && answer.status == 200 => {
                false
            }
            Passing::Response(call, _) | Passing::Delivery(call, _) => {
                let place = (call.method.clone(), call.uri.clone(), call.id);
                seen.lock().unwrap_or_else(PoisonError::into_inner).insert(call.id, place);
                true
            }
        });
        InTurn { hold, places, round: VecDeque::new() }
    }

    /// The subject is quiet: lets the next one come to it. `false` if nothing waits.
    pub fn next(&mut self) -> bool {
        // Some may be gone, with their connections.
        while let Some(call) = self.round.pop_front() {
            if self.hold.let_go(call) {
                return true;
            }
        }
        self.round = self.waiting();
        self.round.pop_front().is_some_and(|call| self.hold.let_go(call))
    }

    fn waiting(&self) -> VecDeque<CallId> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let mut calls = self.hold.calls();
        calls.sort_by_key(|call| places.get(call).cloned());
        calls.into()
    }
}
