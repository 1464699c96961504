//! What becomes of a passing that nothing holds: a closure from outside says so.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode, header};
use serde_json::Value;

use super::{Gate, Passing, State};
use crate::{Body, full};

/// What becomes of a passing.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Fate {
    /// It goes on its way.
    #[default]
    Pass,
    /// Of a request: it is not forwarded, and this is its answer, recorded as injected. Of anything else it means
    /// nothing: what the cluster said is never changed.
    Answer(Injected),
    /// The connection is cut here. A request is never forwarded; an answer is lost, though what it answers was done; of
    /// a watch event the client gets the first bytes, so many at most.
    Cut {
        /// Bytes of the event that still reach the client; 0 for anything else.
        after: usize,
    },
}

/// An answer that is not the cluster's.
#[derive(Debug, Clone, PartialEq)]
pub struct Injected {
    /// HTTP status.
    pub status: u16,
    /// A `Status`, or a watch event with one.
    pub body: Arc<Value>,
}

/// Marks a response that is [`Injected`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct IsInjected;

impl Injected {
    /// As apiserver says it: JSON, which every client takes (kubernetes-api.md §1.3).
    pub(crate) fn response(&self) -> Response<Body> {
        let mut bytes = self.body.to_string().into_bytes();
        bytes.push(b'\n');
        let mut response = Response::new(full(Bytes::from(bytes)));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let value = header::HeaderValue::from_static;
        response.headers_mut().insert(header::CONTENT_TYPE, value("application/json"));
        response.headers_mut().insert(header::CACHE_CONTROL, value("no-cache, private"));
        response.extensions_mut().insert(IsInjected);
        response
    }
}

/// Asked about each passing, once, in order.
pub type Decider = Box<dyn FnMut(&Passing<'_>) -> Fate + Send>;

/// Somebody decides what becomes of passings; see [`Gate::decide`].
#[must_use = "dropping it lets everything pass"]
#[derive(Debug)]
pub struct Deciding {
    gate: Gate,
    number: u64,
}

impl Gate {
    /// From now on `decider` says what becomes of each passing that nothing holds, until the handle is dropped. Where
    /// several decide, the first that does not let it pass counts.
    pub fn decide(&self, decider: impl FnMut(&Passing<'_>) -> Fate + Send + 'static) -> Deciding {
        let mut state = self.lock();
        let number = state.number();
        state.deciders.insert(number, Box::new(decider));
        Deciding { gate: self.clone(), number }
    }
}

impl Drop for Deciding {
    fn drop(&mut self) {
        self.gate.lock().deciders.remove(&self.number);
    }
}

/// What becomes of this passing. Everyone is asked, so that those who count see all.
pub(super) fn decided(state: &mut State, passing: &Passing<'_>) -> Fate {
    let mut fate = Fate::Pass;
    for decider in state.deciders.values_mut() {
        let decided = decider(passing);
        if fate == Fate::Pass {
            fate = decided;
        }
    }
    match (&fate, passing) {
        (Fate::Answer(_), Passing::Response(..) | Passing::Delivery(..)) => Fate::Pass,
        _ => fate,
    }
}
