//! Deliveries of one type that wait at the gate, each until it is known that it may go on.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use proxy::{Gate, Hold, Passing};
use trace::{CallId, GroupResource, Revision};

/// Holds them until it is dropped.
pub(super) struct HeldDeliveries {
    hold: Hold,
    /// What waits of each watch: its revision.
    waiting: Arc<Mutex<BTreeMap<CallId, Revision>>>,
}

impl HeldDeliveries {
    /// Holds deliveries of this type, as far as `wanted` says so of their revision.
    pub fn of(
        resource: GroupResource,
        gate: &Gate,
        wanted: impl Fn(Revision) -> bool + Send + 'static,
    ) -> HeldDeliveries {
        let waiting: Arc<Mutex<BTreeMap<CallId, Revision>>> = Arc::default();
        let waits = waiting.clone();
        let hold = gate.hold(move |passing| match passing {
            Passing::Delivery(call, delivery) if call.resource.as_ref() == Some(&resource) => {
                let Some(revision) = delivery.revision else { return false };
                waits.lock().unwrap_or_else(PoisonError::into_inner).insert(call.id, revision);
                wanted(revision)
            }
            _ => false,
        });
        HeldDeliveries { hold, waiting }
    }

    /// The watches of which something waits.
    pub fn calls(&self) -> Vec<CallId> {
        self.hold.calls()
    }

    /// Lets those go on whose revision may; the next of the same watch is held again. Whether there were any.
    pub fn lets_go(&self, may: impl Fn(Revision) -> bool) -> bool {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut any = false;
        for call in self.hold.calls() {
            if waiting.get(&call).is_some_and(|revision| may(*revision)) {
                any |= self.hold.let_go(call);
            }
        }
        any
    }
}
