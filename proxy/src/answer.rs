//! Answers that end: read in full, recorded, shown to the gate, handed over as they came.
//!
//! An answer above [`ANSWER_BYTES_MAX`], and one that may never end (`log`, `proxy`, …), passes the gate
//! with its head and streams; of it the record keeps type and length. A log that is followed is like a watch: once its
//! head is flushed, it is not under way while there is nothing more to say.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Response, StatusCode, header};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use trace::Call;

use crate::{
    Body, Error, connection::Connection, exchange::Exchange, gate::IsInjected, record,
    request::asks_for,
};

/// Longest answer that is read in full before it is released.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// Reads and records the answer, waits for the gate, and gives what is to be handed over.
pub(crate) async fn answer(
    exchange: &Exchange,
    response: Response<Body>,
) -> Result<Response<Body>, Error> {
    let call = &exchange.call;
    let (parts, body) = response.into_parts();
    let bodyless = is_bodyless(&call.method, parts.status);
    let mut handover = Handover::new(exchange.connection.clone(), body, bodyless);
    let mut answer = match !is_endless(call, parts.status) && handover.read().await {
        true => {
            let codec = &*exchange.shared.codec;
            record::answer(call, parts.status, &parts.headers, handover.bytes(), codec)
        }
        false => trace::Answer {
            body: trace::Body::Opaque {
                content_type: content_type(&parts.headers),
                length: handover.size.exact().unwrap_or(handover.size.lower()),
            },
            ..record::head(call.id, parts.status)
        },
    };
    answer.injected = parts.extensions.get::<IsInjected>().is_some();
    exchange.connection.answers(answer.clone());
    exchange.releases(&answer).await?;
    handover.released = true;
    match parts.status {
        StatusCode::OK if is_followed(call) => exchange.connection.streams(),
        _ => exchange.connection.hands_over(),
    }
    Ok(Response::from_parts(parts, handover.boxed_unsync()))
}

/// HTTP sends no body with these, whatever there is (RFC 9110 §6.4.1).
fn is_bodyless(method: &str, status: StatusCode) -> bool {
    method == Method::HEAD.as_str()
        || status.is_informational()
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

/// Subresources whose answers are streams.
fn is_endless(call: &Call, status: StatusCode) -> bool {
    let refused = status.is_client_error() || status.is_server_error();
    match call.subresource.as_str() {
        "log" | "exec" | "attach" | "portforward" => !refused,
        // Whoever is behind it refuses in its own way.
        "proxy" => true,
        _ => false,
    }
}

/// A log whose answer ends when its container does.
fn is_followed(call: &Call) -> bool {
    let query = call.uri.split_once('?').map(|(_, query)| query);
    call.subresource == "log" && asks_for(query, "follow")
}

pub(crate) fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).map(|value| value.as_bytes());
    String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
}

/// A body on its way to the client: first what was read of it, then the rest.
pub(crate) struct Handover {
    connection: Arc<Connection>,
    read: VecDeque<Frame<Bytes>>,
    rest: Option<Body>,
    error: Option<Error>,
    /// What upstream said of the length, less what was handed over.
    size: SizeHint,
    bodyless: bool,
    /// It passed the gate. Before, dropping it means that the client has gone.
    released: bool,
}

impl Handover {
    /// A body of which nothing has been read.
    fn new(connection: Arc<Connection>, body: Body, bodyless: bool) -> Handover {
        let size = body.size_hint();
        Handover {
            connection,
            read: VecDeque::new(),
            rest: Some(body),
            error: None,
            size,
            bodyless,
            released: false,
        }
    }

    /// A body that passed the gate with its head, and is handed on unread.
    pub(crate) fn released(connection: Arc<Connection>, body: Body) -> Handover {
        let mut handover = Handover::new(connection, body, false);
        handover.released = true;
        handover
    }

    /// Reads ahead to the end; `false` if that is too far.
    async fn read(&mut self) -> bool {
        let mut length = 0;
        while let Some(body) = &mut self.rest {
            match body.frame().await {
                Some(Ok(frame)) => {
                    length += frame.data_ref().map_or(0, Bytes::len);
                    self.read.push_back(frame);
                }
                Some(Err(error)) => {
                    self.error = Some(error);
                    self.rest = None;
                }
                None => self.rest = None,
            }
            if length > ANSWER_BYTES_MAX {
                return false;
            }
        }
        true
    }

    /// All bytes that were read, in one piece; a copy where they were several.
    fn bytes(&self) -> Bytes {
        let mut pieces = self.read.iter().filter_map(Frame::data_ref);
        match (pieces.next(), pieces.next()) {
            (None, _) => Bytes::new(),
            (Some(only), None) => only.clone(),
            (Some(first), Some(second)) => {
                let mut all = BytesMut::from(&first[..]);
                all.extend_from_slice(second);
                pieces.for_each(|piece| all.extend_from_slice(piece));
                all.freeze()
            }
        }
    }

    fn next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Some(frame) = self.read.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        if self.error.is_some() {
            ready!(self.connection.poll_flushed(context));
        }
        if let Some(error) = self.error.take() {
            return Poll::Ready(Some(Err(error)));
        }
        let Some(body) = &mut self.rest else { return Poll::Ready(None) };
        match ready!(Pin::new(body).poll_frame(context)) {
            Some(Err(error)) => {
                self.rest = None;
                self.error = Some(error);
                self.next(context)
            }
            None => {
                self.rest = None;
                Poll::Ready(None)
            }
            piece => Poll::Ready(piece),
        }
    }

    /// Nothing is left to hand over.
    fn is_complete(&self) -> bool {
        let all_read = self.rest.as_ref().is_none_or(|body| body.is_end_stream());
        let ended = self.error.is_none() && self.read.is_empty() && all_read;
        ended || self.bodyless || (self.error.is_none() && self.size.exact() == Some(0))
    }
}

impl http_body::Body for Handover {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let next = ready!(self.next(context));
        if let (Some(Ok(frame)), Some(size)) = (&next, self.size.exact()) {
            let handed = frame.data_ref().map_or(0, Bytes::len) as u64;
            self.size.set_exact(size.saturating_sub(handed));
        }
        self.connection.hands_over();
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        let all_read = self.rest.as_ref().is_none_or(|body| body.is_end_stream());
        self.error.is_none() && self.read.is_empty() && all_read
    }

    fn size_hint(&self) -> SizeHint {
        self.size
    }
}

impl Drop for Handover {
    fn drop(&mut self) {
        // HTTP lets go of a body as soon as it has all of it, often without asking for its end.
        if self.released && self.is_complete() {
            self.connection.completes();
        }
    }
}
