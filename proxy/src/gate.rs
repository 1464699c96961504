//! The one place that everything passes: each request before it is forwarded, each answer and each watch
//! event before its first byte is released.
//!
//! One mutex guards it. A passing that a stop matches closes the gate under that mutex, so nothing else
//! passes in between; who has passed forwards in the same poll of its task, and all tasks of a trial
//! share one thread, so what has passed has been forwarded. A closed gate blocks nobody: who waits is
//! parked and woken by [`Gate::open`].
//!
//! In order, a passing waits for an open gate, then is shown to the holds, then to the stops, each once.
//! The passing that a stop matched goes through at the next `open` without being shown to stops again.
//!
//! Last, a passing is shown to those who decide what becomes of it ([`Fate`]): it goes on, a request is answered without
//! the cluster, or the connection is cut there.
//!
//! No policy: what to stop at, what to hold and what becomes of it are closures from outside. They run under the mutex and
//! must not call the gate. Bytes on an upgraded connection (101) do not pass the gate.

use std::{
    collections::BTreeMap,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use tokio::sync::{Notify, oneshot};
use trace::{Answer, Call, CallId, Delivery};

mod fate;
mod ticket;
pub(crate) use fate::IsInjected;
pub use fate::{Decider, Deciding, Fate, Injected};
pub(crate) use ticket::{Ticket, Waits};

/// Something that is about to pass.
#[derive(Debug, Clone, Copy)]
pub enum Passing<'a> {
    /// A request, received in full, before it is forwarded.
    Request(&'a Call),
    /// An answer, before its first byte is released. For a watch it is the head (`fate` and `body` say
    /// nothing yet).
    Response(&'a Call, &'a Answer),
    /// A watch event, before its first byte is released. Carries the decoded object.
    Delivery(&'a Call, &'a Delivery),
}

impl Passing<'_> {
    /// The call that it belongs to.
    pub fn call(&self) -> &Call {
        match self {
            Passing::Request(call) | Passing::Response(call, _) | Passing::Delivery(call, _) => {
                call
            }
        }
    }

    fn to_owned(self) -> Passed {
        match self {
            Passing::Request(call) => Passed::Request(call.clone()),
            Passing::Response(call, answer) => Passed::Response(call.clone(), answer.clone()),
            Passing::Delivery(call, delivery) => Passed::Delivery(call.clone(), delivery.clone()),
        }
    }
}

/// A copy of something that came to the gate.
#[derive(Debug, Clone, PartialEq)]
pub enum Passed {
    /// See [`Passing::Request`].
    Request(Call),
    /// See [`Passing::Response`].
    Response(Call, Answer),
    /// See [`Passing::Delivery`].
    Delivery(Call, Delivery),
}

/// Asked about each passing, once, in order.
pub type Filter = Box<dyn FnMut(&Passing<'_>) -> bool + Send>;

/// When to close the gate.
pub struct Stop {
    /// Says `true` at the passing before which everything is to stop.
    pub matches: Filter,
}

/// A stop matched, and the gate is closed.
#[derive(Debug, Clone, PartialEq)]
pub struct Stopped {
    /// What it matched. It has not passed.
    pub at: Passed,
}

/// See the module. Cloning shares it.
#[derive(Clone, Default)]
pub struct Gate {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    /// Notified when something begins to wait.
    arrived: Notify,
}

#[derive(Default)]
struct State {
    closed: bool,
    next: u64,
    stops: BTreeMap<u64, (Filter, oneshot::Sender<Stopped>)>,
    holds: BTreeMap<u64, Filter>,
    deciders: BTreeMap<u64, Decider>,
    waiting: BTreeMap<u64, Waiter>,
}

/// A parked ticket.
struct Waiter {
    call: CallId,
    reason: Reason,
    waker: Waker,
    waits: Waits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Closed,
    Held(u64),
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Wakes all that are `wanted`. From here on they count as under way, not as held,
    /// though their tasks have not run yet.
    fn wake(&mut self, wanted: impl Fn(&Waiter) -> bool) {
        self.waiting.retain(|_, waiter| {
            let wake = wanted(waiter);
            if wake {
                waiter.waits.set_held(false);
                waiter.waker.wake_by_ref();
            }
            !wake
        });
    }
}

impl Gate {
    /// Closes the gate at the first passing that matches. The future gives what it was; dropping it
    /// takes the stop away (and leaves the gate as it is).
    pub fn arm(&self, stop: Stop) -> Armed {
        let (sender, stopped) = oneshot::channel();
        let mut state = self.lock();
        let number = state.number();
        state.stops.insert(number, (stop.matches, sender));
        Armed { gate: self.clone(), number, stopped }
    }

    /// Closes the gate: nothing passes until [`Gate::open`].
    pub fn close(&self) {
        self.lock().closed = true;
    }

    /// Opens the gate. Those that waited pass in the order in which they came.
    pub fn open(&self) {
        let mut state = self.lock();
        state.closed = false;
        state.wake(|waiter| waiter.reason == Reason::Closed);
    }

    /// Whether the gate is closed.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Holds each passing for which `filter` says `true`, until the handle is released or dropped. Events
    /// of one watch that follow a held one wait behind it, and follow it in order.
    pub fn hold(&self, filter: impl FnMut(&Passing<'_>) -> bool + Send + 'static) -> Hold {
        let mut state = self.lock();
        let number = state.number();
        state.holds.insert(number, Box::new(filter));
        Hold { gate: self.clone(), number }
    }

    /// Lets what this call has waiting here pass once, whatever holds it, even while the gate is closed.
    /// `false` if it has nothing waiting.
    pub fn let_through(&self, call: CallId) -> bool {
        let mut state = self.lock();
        let mut found = false;
        for waiter in state.waiting.values().filter(|waiter| waiter.call == call) {
            waiter.waits.let_through();
            found = true;
        }
        state.wake(|waiter| waiter.call == call);
        found
    }

    /// The calls that have something waiting here, in the order in which it came.
    pub fn waiting(&self) -> Vec<CallId> {
        self.lock().waiting.values().map(|waiter| waiter.call).collect()
    }

    /// Returns as soon as `count` passings wait here.
    pub async fn until_waiting(&self, count: usize) {
        self.until(|state| state.waiting.len() >= count).await;
    }

    async fn until(&self, reached: impl Fn(&State) -> bool) {
        loop {
            let arrival = self.inner.arrived.notified();
            if reached(&self.lock()) {
                return;
            }
            arrival.await;
        }
    }

    /// Runs `change` while nothing can pass.
    pub(crate) fn locked<T>(&self, change: impl FnOnce() -> T) -> T {
        let _state = self.lock();
        change()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change under the lock is complete before anything that can panic (a filter) runs.
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Gate")
            .field("closed", &state.closed)
            .field("stops", &state.stops.len())
            .field("holds", &state.holds.len())
            .field("waiting", &state.waiting.len())
            .finish()
    }
}

/// A stop that waits for its match; see [`Gate::arm`].
#[must_use = "dropping it disarms the stop"]
#[derive(Debug)]
pub struct Armed {
    gate: Gate,
    number: u64,
    stopped: oneshot::Receiver<Stopped>,
}

impl Future for Armed {
    type Output = Stopped;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Stopped> {
        match Pin::new(&mut self.stopped).poll(cx) {
            Poll::Ready(Ok(stopped)) => Poll::Ready(stopped),
            // The sender lives in the gate, which lives in `self`, until it has sent: only a filter
            // that panicked leads here, and then the stop never matches.
            Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        self.gate.lock().stops.remove(&self.number);
    }
}

/// Some passings are held; see [`Gate::hold`].
#[must_use = "dropping it releases what it holds"]
#[derive(Debug)]
pub struct Hold {
    gate: Gate,
    number: u64,
}

impl Hold {
    /// How many passings this holds now; events that wait behind a held one are not counted.
    pub fn count(&self) -> usize {
        self.gate.lock().held_by(self.number)
    }

    /// Returns as soon as this holds `count` passings.
    pub async fn until_held(&self, count: usize) {
        self.gate.until(|state| state.held_by(self.number) >= count).await;
    }

    /// The calls of which this holds something, in the order in which it came.
    pub fn calls(&self) -> Vec<CallId> {
        let state = self.gate.lock();
        let held =
            state.waiting.values().filter(|waiter| waiter.reason == Reason::Held(self.number));
        held.map(|waiter| waiter.call).collect()
    }

    /// Lets go on what this holds of one call: on to the holds that came later and to the stops. The next of the same
    /// call is held again. `false` if it holds nothing of it.
    pub fn let_go(&self, call: CallId) -> bool {
        let mut state = self.gate.lock();
        let wanted =
            |waiter: &Waiter| waiter.call == call && waiter.reason == Reason::Held(self.number);
        let found = state.waiting.values().any(wanted);
        state.wake(wanted);
        found
    }

    /// Lets everything go on that this holds, and holds nothing more.
    pub fn release(self) {}
}

impl State {
    fn held_by(&self, hold: u64) -> usize {
        self.waiting.values().filter(|waiter| waiter.reason == Reason::Held(hold)).count()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        state.holds.remove(&self.number);
        state.wake(|waiter| waiter.reason == Reason::Held(self.number));
    }
}
