//! Logs that are followed: their answers end when the container does, or its kubelet.
//!
//! A commit decides at once which of them are over; their streams end later. So "over and not yet ended" is a number
//! that is always right, as with watches.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use serde_json::Value;
use trace::{Change, ObjectKey};

use super::container;
use crate::{
    environment::is_stopped,
    server::{BoxError, Shared},
    store::Logged,
    world::meta,
};

/// A container whose log is followed.
#[derive(Debug)]
pub(crate) struct Followed {
    pod: ObjectKey,
    node: ObjectKey,
    uid: String,
    container: String,
    over: bool,
    waker: Option<Waker>,
}

impl Followed {
    fn ends_with(&self, logged: &Logged) -> bool {
        if logged.key == self.node {
            return is_stopped(&logged.object);
        }
        let goes_on = || {
            logged.change != Change::Deleted
                && meta(&logged.object, "uid") == self.uid
                && container::runs(&logged.object, &self.container)
        };
        logged.key == self.pod && !goes_on()
    }
}

/// All logs that are followed, by number.
#[derive(Debug, Default)]
pub(crate) struct Follows {
    next: u64,
    open: BTreeMap<u64, Followed>,
}

impl Follows {
    /// Begins to follow a container that runs: of the pod with this key, on this node.
    pub(crate) fn open(
        &mut self,
        (key, node): (ObjectKey, ObjectKey),
        pod: &Value,
        container: &str,
    ) -> u64 {
        let followed = Followed {
            pod: key,
            node,
            uid: meta(pod, "uid").to_owned(),
            container: container.to_owned(),
            over: false,
            waker: None,
        };
        let number = self.next;
        self.next += 1;
        self.open.insert(number, followed);
        number
    }

    /// Tells of a commit.
    pub(crate) fn committed(&mut self, logged: &Logged) {
        for followed in self.open.values_mut() {
            if followed.ends_with(logged) {
                followed.over = true;
                followed.waker.take().into_iter().for_each(Waker::wake);
            }
        }
    }

    /// Over and not yet ended.
    pub(crate) fn ending(&self) -> usize {
        self.open.values().filter(|followed| followed.over).count()
    }
}

/// The body of the answer: what there is already, and an end. Dropping it ends it too.
pub(crate) struct Following {
    shared: Arc<Shared>,
    number: u64,
    first: Option<Bytes>,
}

impl Following {
    pub(crate) fn new(shared: Arc<Shared>, number: u64, first: Vec<u8>) -> Following {
        Following { shared, number, first: Some(first.into()).filter(|it: &Bytes| !it.is_empty()) }
    }
}

impl http_body::Body for Following {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, BoxError>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(http_body::Frame::data(first))));
        }
        let mut live = self.shared.lock();
        match live.follows.open.get_mut(&self.number).filter(|followed| !followed.over) {
            Some(followed) => {
                followed.waker = Some(context.waker().clone());
                Poll::Pending
            }
            None => {
                live.follows.open.remove(&self.number);
                Poll::Ready(None)
            }
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.shared.lock().follows.open.remove(&self.number);
    }
}
