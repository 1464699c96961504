//! Watch streams: cut into events, each of which passes the gate by itself.
//!
//! Events are taken from upstream as they come, whether or not they may be released, so that upstream
//! sees an attentive client while a plan holds them here; they are released in order.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{Response, header};
use http_body::{Body as _, Frame};
use http_body_util::BodyExt;
use trace::{Delivery, Event};

use crate::{
    Body, Error, Passing,
    answer::{Handover, content_type},
    connection::Connection,
    exchange::Exchange,
    frames::{Frames, Framing},
    gate::{Fate, IsInjected, Ticket},
    record,
    serving::Shared,
};

/// Events that may wait here before upstream is asked for no more.
const BACKLOG_EVENTS_MAX: usize = 100_000;

/// Releases the head of a watch's answer and streams its events.
pub(crate) async fn answer(
    exchange: &Exchange,
    response: Response<Body>,
) -> Result<Response<Body>, Error> {
    let (parts, body) = response.into_parts();
    let (call, connection) = (&exchange.call, &exchange.connection);
    let mut answer = record::head(call.id, parts.status);
    answer.injected = parts.extensions.get::<IsInjected>().is_some();
    connection.answers(answer.clone());
    exchange.releases(&answer).await?;
    connection.streams();
    let content_type = content_type(&parts.headers);
    let packed = parts.headers.contains_key(header::CONTENT_ENCODING);
    let body = match Framing::of(&content_type).filter(|_| !packed) {
        Some(framing) => Deliveries::new(exchange, body, content_type, framing).boxed_unsync(),
        None => {
            let text = format!("watch {} can't be read: {content_type:?}", call.id.0);
            exchange.shared.recorder.record(Event::Note { text });
            Handover::released(connection.clone(), body).boxed_unsync()
        }
    };
    Ok(Response::from_parts(parts, body))
}

/// A frame on its way, and what it says if it can be read.
type Waiting = (Bytes, Option<Delivery>);

/// The body of a watch's answer.
struct Deliveries {
    shared: Arc<Shared>,
    connection: Arc<Connection>,
    call: Arc<trace::Call>,
    content_type: String,
    framing: Framing,
    upstream: Option<Body>,
    /// How upstream's stream ended, if not well.
    error: Option<Error>,
    frames: Frames,
    /// Taken from upstream, not released; the ticket is the first one's.
    queue: VecDeque<Waiting>,
    ticket: Option<Ticket>,
    index: u64,
    /// One note about events that can't be read is enough.
    noted: bool,
}

impl Deliveries {
    fn new(exchange: &Exchange, body: Body, content_type: String, framing: Framing) -> Deliveries {
        Deliveries {
            shared: exchange.shared.clone(),
            connection: exchange.connection.clone(),
            call: exchange.call.clone(),
            content_type,
            framing,
            upstream: Some(body),
            error: None,
            frames: Frames::new(framing),
            queue: VecDeque::new(),
            ticket: None,
            index: 0,
            noted: false,
        }
    }

    /// Takes what upstream has.
    fn pull(&mut self, context: &mut Context<'_>) {
        while self.queue.len() < BACKLOG_EVENTS_MAX
            && let Some(upstream) = &mut self.upstream
        {
            match Pin::new(upstream).poll_frame(context) {
                Poll::Pending => break,
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(chunk) = frame.into_data() {
                        self.take(&chunk);
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    self.error = Some(error);
                    self.upstream = None;
                }
                Poll::Ready(None) => self.upstream = None,
            }
            self.account();
        }
    }

    fn take(&mut self, chunk: &Bytes) {
        self.frames.push(chunk);
        loop {
            match self.frames.next() {
                Ok(Some(frame)) => {
                    let delivery = self.read(&frame);
                    self.queue.push_back((frame, delivery));
                }
                Ok(None) => return,
                Err(error) => {
                    // A client could not read it either: the stream ends here.
                    self.error = Some(error.into());
                    self.upstream = None;
                    return;
                }
            }
        }
    }

    fn read(&mut self, frame: &[u8]) -> Option<Delivery> {
        let content = self.framing.content(frame);
        let event = self.shared.codec.decode_watch_frame(&self.content_type, content);
        let delivery = event.and_then(|event| record::delivery(self.call.id, self.index, event));
        self.index += 1;
        if delivery.is_none() && !std::mem::replace(&mut self.noted, true) {
            let text = format!("watch {} sent an event that can't be read", self.call.id.0);
            self.shared.recorder.record(Event::Note { text });
        }
        delivery
    }

    fn account(&self) {
        self.connection.owes(self.queue.len() + usize::from(self.frames.has_part()));
    }

    /// A plan ends the stream here: what is left of the event, if anything.
    fn is_cut(&mut self, rest: Bytes) -> Option<Bytes> {
        self.queue.clear();
        self.frames = Frames::new(self.framing);
        self.upstream = None;
        self.error = Some(format!("watch {} was cut by a plan", self.call.id.0).into());
        self.account();
        (!rest.is_empty()).then(|| {
            self.connection.hands_over();
            rest
        })
    }

    /// The first event in line, when the gate lets it pass.
    fn release(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some((_, delivery)) = self.queue.front() else { return Poll::Ready(None) };
        let ticket = self.ticket.get_or_insert_with(|| {
            let ticket = Ticket::new(&self.shared.gate);
            self.connection.waits(Some(ticket.waits()));
            ticket
        });
        let cut = self.connection.cut_flag();
        let fate = ready!(match delivery {
            Some(delivery) => {
                ticket.poll_pass(context, Passing::Delivery(&self.call, delivery), cut)
            }
            None => ticket.poll_open(context, self.call.id, cut).map(|()| Fate::Pass),
        });
        self.ticket = None;
        self.connection.waits(None);
        let Some((frame, delivery)) = self.queue.pop_front() else { return Poll::Ready(None) };
        if let Fate::Cut { after } = fate {
            return Poll::Ready(self.is_cut(frame.slice(..after.min(frame.len()))));
        }
        if let Some(mut delivery) = delivery {
            if !self.shared.options.keep_delivered_objects {
                delivery.object = None;
            }
            self.shared.recorder.record(Event::Delivery(delivery));
        }
        self.account();
        self.connection.delivers();
        Poll::Ready(Some(frame))
    }
}

impl http_body::Body for Deliveries {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        self.pull(context);
        if let Some(frame) = ready!(self.release(context)) {
            return Poll::Ready(Some(Ok(Frame::data(frame))));
        }
        if self.upstream.is_some() {
            return Poll::Pending;
        }
        if self.frames.has_part() {
            // The stream was cut in the middle of an event; the client gets to see exactly that.
            let rest = self.frames.take_rest();
            self.account();
            self.connection.hands_over();
            return Poll::Ready(Some(Ok(Frame::data(rest))));
        }
        if self.error.is_some() {
            ready!(self.connection.poll_flushed(context));
        }
        if let Some(error) = self.error.take() {
            return Poll::Ready(Some(Err(error)));
        }
        self.connection.completes();
        Poll::Ready(None)
    }
}
