//! The account of one call, from its receipt to its last byte.

use trace::{Answer, Body, Call, CallId, Fate, Flight};

use super::Upgrade;
use crate::gate::Waits;

/// A call from its receipt to its last byte.
pub(super) struct Account {
    pub(super) call: CallId,
    /// For people: `update configmaps default/a`.
    pub(super) text: String,
    pub(super) forwarded: bool,
    /// What it waits for at the gate, if it is there.
    pub(super) waits: Option<Waits>,
    /// A watch whose answer's head was released.
    pub(super) watch: Option<Backlog>,
    /// What will be recorded when it is flushed.
    pub(super) answer: Option<Answer>,
    /// HTTP has been given all of it.
    pub(super) complete: bool,
    /// It ends in an upgrade.
    pub(super) upgrade: Option<Upgrade>,
}

/// A watch's events that were taken from upstream and not handed on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Backlog {
    /// The head of the answer is flushed.
    pub(super) flushed: bool,
    /// Events, the part of one included.
    pub(super) events: usize,
}

impl Account {
    /// A call that was just received.
    pub(super) fn open(call: &Call) -> Account {
        Account {
            call: call.id,
            text: describe(call),
            forwarded: false,
            waits: None,
            watch: None,
            answer: None,
            complete: false,
            upgrade: None,
        }
    }

    /// The answer as it is recorded when the client has all of it.
    pub(super) fn ends(&mut self) -> Answer {
        self.ends_with(Fate::Answered)
    }

    /// The answer as it is recorded when the client will never have it.
    pub(super) fn is_cut(&mut self) -> Answer {
        self.ends_with(if self.forwarded { Fate::Lost } else { Fate::Dropped })
    }

    fn ends_with(&mut self, fate: Fate) -> Answer {
        let call = self.call;
        let none =
            Answer { call, fate, status: 0, revision: None, body: Body::None, injected: false };
        Answer { fate, ..self.answer.take().unwrap_or(none) }
    }

    /// Adds this call to a snapshot.
    pub(super) fn report(&self, flight: &mut Flight) {
        let held = self.waits.as_ref().is_some_and(Waits::is_held);
        match (self.watch, held) {
            (Some(watch), true) => flight.held += watch.events,
            (Some(watch), false) => flight.undelivered += watch.events,
            (None, true) => flight.held += 1,
            (None, false) => {}
        }
        let streaming = self.watch.is_some_and(|watch| watch.flushed) && !self.complete;
        if !streaming && !held {
            flight.calls.push(self.text.clone());
        }
    }
}

/// `update configmaps default/a (call 12)`.
fn describe(call: &Call) -> String {
    let Some(resource) = &call.resource else {
        return format!("{} {} (call {})", call.method, call.uri, call.id.0);
    };
    let parts = [&call.namespace, &call.name, &call.subresource].map(String::as_str);
    let object: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{} {resource} {} (call {})", call.verb, object.join("/"), call.id.0)
}
