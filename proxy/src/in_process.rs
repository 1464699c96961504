//! Calls from within this process (the workload's, Trommel's own): recorded, and nothing else.

use std::sync::Arc;

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use tower::{Service, ServiceExt};
use trace::{Answer, Call, Event, Fate, Verb};

use crate::{
    Body, Error, Upstream, full,
    record::{self, Received, Sender},
    request::Target,
    serving::Shared,
};

/// See [`crate::Proxy::in_process`].
pub(crate) fn upstream(shared: Arc<Shared>, sender: Sender) -> Upstream {
    Upstream::new(tower::service_fn(move |request: Request<Body>| {
        call(shared.clone(), sender.clone(), request)
    }))
}

async fn call(
    shared: Arc<Shared>,
    sender: Sender,
    request: Request<Body>,
) -> Result<Response<Body>, Error> {
    let (mut parts, body) = request.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let target = Target::parse(parts.method.as_str(), parts.uri.path(), parts.uri.query());
    let received = Received::Whole(bytes.clone());
    let id = shared.next_call();
    let call = record::call(id, sender, &parts, target, &received, &*shared.codec);
    parts.extensions.insert(call.actor.clone());
    parts.extensions.insert(call.id);
    shared.recorder.record(Event::Call(call.clone()));
    let mut open = Open { shared: &shared, call: &call, answer: None };
    let mut upstream = shared.upstream.clone();
    let response = upstream.ready().await?.call(Request::from_parts(parts, full(bytes))).await?;
    let (parts, body) = response.into_parts();
    if call.verb == Verb::Watch && parts.status == StatusCode::OK {
        open.answer = Some(record::head(call.id, parts.status));
        return Ok(Response::from_parts(parts, body));
    }
    let bytes = body.collect().await?.to_bytes();
    let codec = &*shared.codec;
    open.answer = Some(record::answer(&call, parts.status, &parts.headers, bytes.clone(), codec));
    Ok(Response::from_parts(parts, full(bytes)))
}

/// Records how a call ended, also when its caller gave up or upstream failed.
struct Open<'a> {
    shared: &'a Shared,
    call: &'a Call,
    answer: Option<Answer>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let call = self.call.id;
        let lost = || Answer {
            call,
            fate: Fate::Lost,
            status: 0,
            revision: None,
            body: trace::Body::None,
            injected: false,
        };
        let answer = self.answer.take().unwrap_or_else(lost);
        self.shared.recorder.record(Event::Answer(answer));
    }
}
