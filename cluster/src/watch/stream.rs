//! The body of a watch's answer: pulls frames from its watch's queue and encodes them.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;

use super::Frame;
use crate::server::{BoxError, Shared};

/// Turns a frame into the bytes of one event.
pub(crate) type Encode = Box<dyn FnMut(Frame) -> Bytes + Send>;

/// See the module's documentation. Dropping it closes the watch.
pub(crate) struct Stream {
    shared: Arc<Shared>,
    number: u64,
    encode: Encode,
}

impl Stream {
    pub(crate) fn new(shared: Arc<Shared>, number: u64, encode: Encode) -> Stream {
        Stream { shared, number, encode }
    }
}

impl http_body::Body for Stream {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, BoxError>>> {
        let frame = {
            let mut live = self.shared.lock();
            let Some(watcher) = live.watchers.get(self.number) else { return Poll::Ready(None) };
            match watcher.queue.pop_front() {
                Some(frame) => frame,
                None if watcher.closed => return Poll::Ready(None),
                None => {
                    watcher.waker = Some(context.waker().clone());
                    return Poll::Pending;
                }
            }
        };
        Poll::Ready(Some(Ok(http_body::Frame::data((self.encode)(frame)))))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.shared.lock().watchers.close(self.number);
    }
}
