//! The body of a watch's answer: pulls frames from its watch's queue and encodes them.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures::future::BoxFuture;

use super::{Frame, Queued, convert::Conversion};
use crate::{
    server::{Author, BoxError, Shared},
    webhooks::{Made, Wanted},
};

/// Turns a frame into the bytes of one event.
pub(crate) type Encode = Box<dyn FnMut(Frame) -> Bytes + Send>;

/// See the module's documentation. Dropping it closes the watch.
pub(crate) struct Stream {
    shared: Arc<Shared>,
    number: u64,
    encode: Encode,
    /// Who watches.
    author: Author,
    /// Of the changes at the head of the queue.
    conversion: Conversion,
    /// Calls of webhooks under way.
    making: Option<BoxFuture<'static, Vec<Made>>>,
}

/// What is to be done next.
enum Next {
    Say(Frame),
    Call(Vec<Wanted>),
    Wait,
    End,
}

impl Stream {
    pub(crate) fn new(shared: Arc<Shared>, number: u64, author: Author, encode: Encode) -> Stream {
        let conversion = Conversion::default();
        Stream { shared, number, encode, author, conversion, making: None }
    }

    fn next(&mut self, context: &Context<'_>) -> Next {
        let mut live = self.shared.lock();
        loop {
            let Some(watcher) = live.watchers.get(self.number) else { return Next::End };
            match watcher.queue.pop_front() {
                Some(Queued::Frame(frame)) => return Next::Say(watcher.scope.present(frame)),
                Some(change @ Queued::Change(_)) => watcher.queue.push_front(change),
                None if watcher.closed => return Next::End,
                None => {
                    watcher.waker = Some(context.waker().clone());
                    return Next::Wait;
                }
            }
            let wanted = self.conversion.go_on(&mut live, self.number);
            if !wanted.is_empty() {
                return Next::Call(wanted);
            }
        }
    }

    /// Makes calls, without the lock.
    fn make(&mut self, wanted: Vec<Wanted>) {
        let (shared, author) = (self.shared.clone(), self.author.clone());
        self.making = Some(Box::pin(async move { shared.make(wanted, &author).await }));
    }
}

impl http_body::Body for Stream {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, BoxError>>> {
        loop {
            if let Some(making) = &mut self.making {
                let made = ready!(making.as_mut().poll(context));
                self.making = None;
                self.conversion.calls.record(made);
            }
            match self.next(context) {
                Next::Say(frame) => {
                    return Poll::Ready(Some(Ok(http_body::Frame::data((self.encode)(frame)))));
                }
                Next::Call(wanted) => self.make(wanted),
                Next::Wait => return Poll::Pending,
                Next::End => return Poll::Ready(None),
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.shared.lock().watchers.close(self.number);
    }
}
