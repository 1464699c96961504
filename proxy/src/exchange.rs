//! Carries one request through: receive, record, gate, forward, answer.

use std::{future::poll_fn, sync::Arc};

use bytes::{Bytes, BytesMut};
use http::{Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tower::{Service, ServiceExt};
use trace::{Call, Event, Verb};

use crate::{
    Body, Error, Passing, answer,
    connection::Connection,
    full,
    gate::{Fate, Ticket},
    record::{self, Received},
    request::Target,
    serving::Shared,
    splice, stream,
};

/// apiserver's limit for a request's body (`MaxRequestBodyBytes`, kubernetes-api.md §1.1).
const REQUEST_BYTES_MAX: u64 = 3 << 20;
/// What is a little longer is forwarded all the same, so that upstream says no in its own words.
const REQUEST_BYTES_SLACK: u64 = 64 << 10;

/// One request on its way through.
pub(crate) struct Exchange {
    pub(crate) shared: Arc<Shared>,
    pub(crate) connection: Arc<Connection>,
    pub(crate) call: Arc<Call>,
}

/// Serves one request of one connection. An error closes the connection without an answer.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    connection: Arc<Connection>,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Error> {
    connection.begins();
    let (uri, method) = (request.uri(), request.method().as_str());
    let target = Target::parse(method, uri.path(), uri.query());
    let watch = target.verb == Verb::Watch;
    // A watch's events are told apart on the way: they must not come packed.
    if watch {
        request.headers_mut().remove(header::ACCEPT_ENCODING);
    }
    let client_side = splice::wanted(request.headers()).then(|| hyper::upgrade::on(&mut request));
    let (parts, incoming) = request.into_parts();
    let received = receive(incoming).await?;
    let id = shared.next_call();
    let call =
        record::call(id, connection.sender.clone(), &parts, target, &received, &*shared.codec);
    shared.recorder.record(Event::Call(call.clone()));
    connection.opens(&call);
    let exchange = Exchange { shared, connection, call: Arc::new(call) };
    let Received::Whole(bytes) = received else {
        return exchange.refuse_length().await;
    };
    if watch && client_side.is_some() {
        return exchange.refuse_upgrade().await;
    }
    let response = exchange.forward(parts, bytes).await?;
    exchange.answer(response, client_side).await
}

impl Exchange {
    async fn forward(
        &self,
        mut parts: http::request::Parts,
        bytes: Bytes,
    ) -> Result<Response<Body>, Error> {
        let mut upstream = self.shared.upstream.clone();
        upstream.ready().await.map_err(|error| self.unreachable(error))?;
        parts.extensions = http::Extensions::new();
        parts.extensions.insert(self.call.actor.clone());
        parts.extensions.insert(self.call.id);
        if let Some(certificates) = self.connection.certificates() {
            parts.extensions.insert(certificates.clone());
        }
        let request = Request::from_parts(parts, full(bytes));
        match self.pass(Passing::Request(&self.call)).await {
            Fate::Pass => {}
            Fate::Answer(injected) => return Ok(injected.response()),
            Fate::Cut { .. } => return Err(self.is_cut()),
        }
        // From the gate to the first poll of the call nothing else of this thread runs.
        self.connection.forwards();
        upstream.call(request).await.map_err(|error| self.unreachable(error))
    }

    /// Waits at the gate; gives what becomes of it.
    async fn pass(&self, passing: Passing<'_>) -> Fate {
        let mut ticket = Ticket::new(&self.shared.gate);
        self.connection.waits(Some(ticket.waits()));
        let cut = self.connection.cut_flag();
        let fate = poll_fn(|context| ticket.poll_pass(context, passing, cut)).await;
        self.connection.waits(None);
        fate
    }

    /// Waits at the gate with an answer. Errors: the connection is cut there.
    pub(crate) async fn releases(&self, answer: &trace::Answer) -> Result<(), Error> {
        match self.pass(Passing::Response(&self.call, answer)).await {
            Fate::Cut { .. } => Err(self.is_cut()),
            Fate::Pass | Fate::Answer(_) => Ok(()),
        }
    }

    /// Ends the connection without an answer.
    fn is_cut(&self) -> Error {
        format!("call {} was cut by a plan", self.call.id.0).into()
    }

    async fn answer(
        &self,
        response: Response<Body>,
        client_side: Option<hyper::upgrade::OnUpgrade>,
    ) -> Result<Response<Body>, Error> {
        match (response.status(), client_side) {
            (StatusCode::SWITCHING_PROTOCOLS, Some(client_side)) => {
                splice::answer(self, response, client_side).await
            }
            (StatusCode::OK, _) if self.call.verb == Verb::Watch => {
                stream::answer(self, response).await
            }
            _ => answer::answer(self, response).await,
        }
    }

    /// What apiserver says to a body that is too long (`NewRequestEntityTooLargeError`).
    async fn refuse_length(&self) -> Result<Response<Body>, Error> {
        let message = format!("Request entity too large: limit is {REQUEST_BYTES_MAX}");
        let status = serde_json::json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": "RequestEntityTooLarge", "code": 413,
        });
        let mut response = Response::new(full(status.to_string().into()));
        *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
        let json = header::HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        let close = header::HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
        answer::answer(self, response).await
    }

    /// fabric8 asks for a watch over a WebSocket first, and goes on with plain HTTP when that is answered with 200. Its
    /// clients read such an answer to its end before they do, so it must have one.
    async fn refuse_upgrade(&self) -> Result<Response<Body>, Error> {
        let mut response = Response::new(full(Bytes::new()));
        let json = header::HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        answer::answer(self, response).await
    }

    /// Says in the record why a call got no answer.
    pub(crate) fn unreachable(&self, error: Error) -> Error {
        let text = format!("call {} got no answer from upstream: {error}", self.call.id.0);
        self.shared.recorder.record(Event::Note { text });
        error
    }
}

/// Reads a request's body.
async fn receive(mut body: Incoming) -> Result<Received, Error> {
    let longest = REQUEST_BYTES_MAX + REQUEST_BYTES_SLACK;
    let announced = hyper::body::Body::size_hint(&body).lower();
    if announced > longest {
        return Ok(Received::TooLong(announced));
    }
    let (mut first, mut rest) = (Bytes::new(), BytesMut::new());
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if first.is_empty() && rest.is_empty() {
            first = data; // Most bodies are one piece: not copied.
            continue;
        }
        if rest.is_empty() {
            rest.reserve(announced.max((first.len() + data.len()) as u64) as usize);
            rest.extend_from_slice(&first);
        }
        rest.extend_from_slice(&data);
        if rest.len() as u64 > longest {
            return Ok(Received::TooLong(rest.len() as u64));
        }
    }
    Ok(Received::Whole(if rest.is_empty() { first } else { rest.freeze() }))
}
