//! One passing's way through the gate.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};

use trace::CallId;

use super::{Fate, Gate, Passing, Reason, State, Stopped, Waiter, fate};

/// What a parked ticket, the gate and the accounts share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waits {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    held: AtomicBool,
    let_through: AtomicBool,
}

impl Waits {
    /// Whether it is parked at a closed gate or by a hold, and nobody has let it go yet.
    pub(crate) fn is_held(&self) -> bool {
        self.shared.held.load(Ordering::Relaxed)
    }

    pub(super) fn set_held(&self, held: bool) {
        self.shared.held.store(held, Ordering::Relaxed);
    }

    pub(super) fn let_through(&self) {
        self.shared.let_through.store(true, Ordering::Relaxed);
    }
}

/// What one passing has been through. Dropping it takes it out of the line.
#[derive(Debug)]
pub(crate) struct Ticket {
    gate: Gate,
    waits: Waits,
    /// Its place in line, from its first wait on.
    place: Option<u64>,
    /// The last hold that was asked.
    asked_hold: u64,
    /// Stops were asked; it goes through when the gate is next open.
    asked_stops: bool,
}

impl Ticket {
    pub(crate) fn new(gate: &Gate) -> Ticket {
        Ticket {
            gate: gate.clone(),
            waits: Waits::default(),
            place: None,
            asked_hold: 0,
            asked_stops: false,
        }
    }

    /// Shared with the accounts.
    pub(crate) fn waits(&self) -> Waits {
        self.waits.clone()
    }

    /// Ready once it is known what becomes of the passing. `cut` is read under the gate's lock: what belongs to a
    /// connection that was cut never passes.
    pub(crate) fn poll_pass(
        &mut self,
        context: &mut Context<'_>,
        passing: Passing<'_>,
        cut: &AtomicBool,
    ) -> Poll<Fate> {
        self.poll(context, passing.call().id, Some(passing), cut)
    }

    /// Ready once the gate is open; for what says nothing that holds and stops could be asked about.
    pub(crate) fn poll_open(
        &mut self,
        context: &mut Context<'_>,
        call: CallId,
        cut: &AtomicBool,
    ) -> Poll<()> {
        self.poll(context, call, None, cut).map(drop)
    }

    fn poll(
        &mut self,
        context: &mut Context<'_>,
        call: CallId,
        passing: Option<Passing<'_>>,
        cut: &AtomicBool,
    ) -> Poll<Fate> {
        let gate = self.gate.clone();
        let mut state = gate.lock();
        if cut.load(Ordering::Relaxed) {
            return Poll::Pending;
        }
        let Some(reason) = self.why_wait(&mut state, passing) else {
            self.leave(&mut state);
            let decided = passing.map(|passing| fate::decided(&mut state, &passing));
            return Poll::Ready(decided.unwrap_or_default());
        };
        self.park(&mut state, call, reason, context.waker());
        drop(state);
        gate.inner.arrived.notify_waiters();
        Poll::Pending
    }

    fn why_wait(&mut self, state: &mut State, passing: Option<Passing<'_>>) -> Option<Reason> {
        if self.waits.shared.let_through.load(Ordering::Relaxed) {
            return None;
        }
        // Polled for another reason than that it was let go.
        if let Some(waiter) = self.place.and_then(|place| state.waiting.get(&place)) {
            return Some(waiter.reason);
        }
        if state.closed {
            return Some(Reason::Closed);
        }
        let passing = passing?;
        let asked = self.asked_hold;
        for (hold, filter) in state.holds.range_mut(asked + 1..) {
            self.asked_hold = *hold;
            if filter(&passing) {
                return Some(Reason::Held(*hold));
            }
        }
        if !std::mem::replace(&mut self.asked_stops, true) && ask_stops(state, passing) {
            state.closed = true;
            return Some(Reason::Closed);
        }
        None
    }

    fn park(&mut self, state: &mut State, call: CallId, reason: Reason, waker: &Waker) {
        let place = match self.place {
            Some(place) => place,
            None => state.number(),
        };
        self.place = Some(place);
        self.waits.set_held(true);
        let (waker, waits) = (waker.clone(), self.waits.clone());
        state.waiting.insert(place, Waiter { call, reason, waker, waits });
    }

    fn leave(&mut self, state: &mut State) {
        if let Some(place) = self.place.take() {
            state.waiting.remove(&place);
        }
        self.waits.set_held(false);
    }
}

/// Shows the passing to every stop; those that match have done their work.
fn ask_stops(state: &mut State, passing: Passing<'_>) -> bool {
    let mut matched = Vec::new();
    for (number, (filter, _)) in &mut state.stops {
        if filter(&passing) {
            matched.push(*number);
        }
    }
    for number in &matched {
        if let Some((_, sender)) = state.stops.remove(number) {
            // Nobody waits for it any more: the gate closes all the same, as it was asked to.
            let _ = sender.send(Stopped { at: passing.to_owned() });
        }
    }
    !matched.is_empty()
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.place.is_some() {
            let gate = self.gate.clone();
            self.leave(&mut gate.lock());
        }
    }
}
