//! Schedules other than the usual one, turn by turn: which of the keys that wait is looked at next, and which of several
//! reconciles under way sends its next request.
//!
//! Upstream's controllers run side by side, and most have several workers (the garbage collector twenty). In its first
//! turn a reconcile looks: it begins on the world as it is, and is put aside where it wants to write. Each further
//! turn sends one request. So what has happened since it looked is between its look and its writes, as with workers
//! that are slower than others. Left out: that one reconcile reads its objects one after the other.
//!
//! As in upstream's queues, a key whose reconcile is under way waits until that is over.
//!
//! No perturbation asks for another schedule yet: tests use `Server::take_turn`.

use std::sync::Arc;

use controllers::{Controller, Next, Request};
use trace::{ObjectKey, Revision, Time};

use super::{Environment, Item, answer, events, wire};
use crate::{server::Live, webhooks::Calls};

/// What can happen next.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Whose turn it would be.
    pub controller: &'static str,
    /// With which key.
    pub key: ObjectKey,
    /// What it would send; none where it has yet to look.
    pub next: Option<Box<Request>>,
}

impl Environment {
    /// All turns that could be next, in the order in which their keys came.
    pub(crate) fn turns(&self) -> Vec<Turn> {
        let turn = |(controller, key): &Item, next| {
            let controller = controller.name();
            Turn { controller, key: key.clone(), next }
        };
        let begun = self.working.iter().chain(&self.aside).map(|working| {
            let next = match working.next() {
                Next::Request(request) => Some(request),
                Next::Requests(requests) => requests.into_iter().next().map(Box::new),
                Next::Done { .. } | Next::Failed(_) => None,
            };
            turn(&working.item, next)
        });
        let waiting = self.queue.values().filter(|item| !self.is_begun(item));
        begun.chain(waiting.map(|item| turn(item, None))).collect()
    }

    fn is_begun(&self, item: &Item) -> bool {
        self.working.iter().chain(&self.aside).any(|working| working.item == *item)
    }

    /// The reconcile of this key becomes the one under way. Whether it had looked before; none if there is nothing to
    /// do with the key.
    fn take_up(&mut self, item: &Item, now: Time, revision: Revision) -> Option<bool> {
        self.put_aside();
        if let Some(at) = self.aside.iter().position(|working| working.item == *item) {
            self.working = Some(self.aside.remove(at));
            return Some(true);
        }
        let (place, _) = *self.places.get(item)?;
        self.begin(place, item.clone(), now, revision);
        Some(false)
    }

    fn put_aside(&mut self) {
        self.aside.extend(self.working.take());
    }
}

/// Lets a controller go on with a key, for one turn. Whether there was anything to do.
pub(crate) fn take(live: &mut Live, controller: Controller, key: &ObjectKey) -> bool {
    let (now, revision) = (live.world.now, live.world.revision());
    let mut environment = live.world.environment.as_mut().map(Arc::make_mut);
    let item = (controller, key.clone());
    let looked = environment.as_mut().and_then(|found| found.take_up(&item, now, revision));
    let Some(mut may_send) = looked else { return false };
    while let Some(environment) = live.world.environment.as_mut().map(Arc::make_mut)
        && let Some(working) = environment.working.clone()
    {
        match working.next() {
            Next::Requests(requests) => environment.sends(requests),
            Next::Request(request) if may_send => {
                may_send = false;
                let sent = wire::send(live, controller, &request, &mut Calls::exempt(now));
                answer(live, working, &request, sent);
            }
            Next::Request(_) => environment.put_aside(),
            Next::Done { requeue_after } => environment.done(now, requeue_after),
            Next::Failed(_) => environment.failed(now),
        }
    }
    // What it has to tell, it tells at once.
    while events::step(live, &mut Calls::exempt(now)).is_some() {}
    true
}
