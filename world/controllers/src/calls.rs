//! How a reconcile written as straight-line code becomes a function from responses to the next request.
//!
//! The code runs from its start each time. A call that was answered gets its answer; the first one that was
//! not ends the run with that request. So what was sent before is decided by the same code on the same view
//! with the same responses, and no continuation has to be kept in a world, only the responses. Where several requests
//! follow whatever is answered ([`Next::Requests`]), whoever runs the code may send all of them before he asks again:
//! then five hundred deletions cost one look at ten thousand pods.

use std::{sync::Arc, time::Duration};

use crate::{
    autoscaler::Scale,
    object::{Meta, Object},
    request::Request,
};

/// What a controller does next with a key.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// It sends this and waits for the response.
    Request(Box<Request>),
    /// It sends these, one after the other, whatever is answered: what it would say if it were asked anew after each.
    Requests(Vec<Request>),
    /// It is done with the key; where a time is given, the key comes back then.
    Done {
        /// After how long.
        requeue_after: Option<Duration>,
    },
    /// It gives up for now: the key comes back after the back-off of its queue.
    Failed(String),
}

/// An answer of the API server.
#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    /// The write was carried out; the object after it, if it still exists.
    Written(Option<Object>),
    /// What a list found.
    Listed(Vec<Arc<Meta>>),
    /// Whether somebody may do what was asked about.
    Reviewed(bool),
    /// A Scale that was read.
    Scale(Scale),
    /// It was refused.
    Refused {
        /// HTTP status.
        code: u16,
        /// `reason` of the Status, or the cause `NamespaceTerminating` where it has that one.
        reason: Arc<str>,
        /// `message` of the Status.
        message: Arc<str>,
    },
}

/// Why a reconcile stops before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    Send(Box<Request>),
    SendAll(Vec<Request>),
    Failed(String),
}

/// A reconcile's end: when the key is to come back.
pub(crate) type Reconciled = Result<Option<Duration>, Stop>;

/// The calls of one reconcile.
pub(crate) struct Calls<'r> {
    answered: std::slice::Iter<'r, Response>,
}

impl<'r> Calls<'r> {
    /// Responses so far, in order.
    pub(crate) fn new(responses: &'r [Response]) -> Calls<'r> {
        Calls { answered: responses.iter() }
    }

    /// Sends a request; it is only built where it has not been sent yet.
    pub(crate) fn send(&mut self, request: impl FnOnce() -> Request) -> Result<&'r Response, Stop> {
        self.answered.next().ok_or_else(|| Stop::Send(Box::new(request())))
    }

    /// Sends a request for each of these, none of which depends on what the others come to.
    pub(crate) fn send_all<T>(
        &mut self,
        each: &[T],
        request: impl Fn(&T) -> Request,
    ) -> Result<&'r [Response], Stop> {
        let answers = self.answered.as_slice();
        let Some((of_these, further)) = answers.split_at_checked(each.len()) else {
            return Err(Stop::SendAll(each[answers.len()..].iter().map(request).collect()));
        };
        self.answered = further.iter();
        Ok(of_these)
    }

    /// Sends a request that must succeed; what a delete or patch finds gone is as good as done.
    pub(crate) fn need(&mut self, request: impl FnOnce() -> Request) -> Result<&'r Response, Stop> {
        let response = self.send(request)?;
        match response {
            Response::Refused { code, .. } if *code == 404 => Ok(response),
            Response::Refused { code, message, .. } => {
                Err(Stop::Failed(format!("{code}: {message}")))
            }
            _ => Ok(response),
        }
    }
}

impl Calls<'_> {
    /// Sends a request that must succeed; the object after it.
    pub(crate) fn must(
        &mut self,
        request: impl FnOnce() -> Request,
    ) -> Result<Option<Object>, Stop> {
        match self.send(request)? {
            Response::Written(object) => Ok(object.clone()),
            Response::Listed(_) | Response::Scale(_) | Response::Reviewed(_) => Ok(None),
            Response::Refused { code, message, .. } => {
                Err(Stop::Failed(format!("{code}: {message}")))
            }
        }
    }
}

/// What a reconcile's end means for its caller.
pub(crate) fn next(reconciled: Reconciled) -> Next {
    match reconciled {
        Ok(requeue_after) => Next::Done { requeue_after },
        Err(Stop::Send(request)) => Next::Request(request),
        Err(Stop::SendAll(requests)) => Next::Requests(requests),
        Err(Stop::Failed(why)) => Next::Failed(why),
    }
}
