//! Discovery and the other paths that name no resource.

use bytes::Bytes;
use http::{HeaderValue, Response, header};

use crate::{
    server::{
        Body,
        answer::{full, not_found},
        request::Request,
    },
    world::World,
};

/// Answers a path that names no resource.
pub(crate) fn respond(_world: &World, _request: &Request, path: &str) -> Response<Body> {
    match path {
        "/healthz" | "/livez" | "/readyz" => text("ok"),
        _ => not_found(),
    }
}

fn text(text: &'static str) -> Response<Body> {
    let mut response = Response::new(full(Bytes::from_static(text.as_bytes())));
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}
