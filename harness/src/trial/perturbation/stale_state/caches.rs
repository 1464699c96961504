//! The caches of an API server that are behind: the same API as a server with them serves it.
//!
//! What they show is asked of the cluster, as an exact list of the revision at which they stand. A list is handed on as it
//! comes; an object and the initial events of a watch are made of one ([`super::shown`]), so they cost a list of JSON. Where
//! the cluster answers no such list (a client that may get and not list, a revision that was compacted), and where a table
//! is wanted, the store answers.

use std::sync::{Arc, Mutex, PoisonError};

use cluster::status::Refusal;
use futures::{StreamExt, stream};
use http::{HeaderValue, Request, Response, StatusCode, Uri, header};
use http_body::Frame;
use http_body_util::{BodyExt, BodyStream, Empty, StreamBody};
use plans::Behind;
use proxy::{Body, Error, Upstream};
use tower::{Service, ServiceExt};
use trace::{GroupResource, Revision};

use super::{
    asked::{Asked, Initial},
    shown::{self, Shown},
};

/// How far the caches of the API server that a subject talks to are behind, if they are.
#[derive(Clone, Default)]
pub(in crate::trial) struct Caches(Arc<Mutex<Option<Cached>>>);

/// Where they stand.
#[derive(Debug, Clone)]
pub(super) struct Cached {
    pub behind: Behind,
    /// The last revision that they have.
    pub at: Revision,
    /// Whether the server streams lists (WatchList). Where it does, a watch without a revision is consistent
    /// (`SetListOptionsDefaults` of apimachinery).
    pub streams_lists: bool,
}

impl Cached {
    pub fn covers(&self, resource: Option<&GroupResource>) -> bool {
        resource.is_some_and(|resource| self.behind.covers(resource))
    }

    /// Whether they answer this request, with what they have.
    pub fn show(&self, method: &str, uri: &str) -> bool {
        let asked = uri.parse().ok().and_then(|uri| Asked::of(self, method, &uri));
        asked.is_some_and(|asked| !matches!(asked, Asked::Ahead { .. }))
    }
}

impl Caches {
    /// The same API as an API server with these caches serves it.
    pub fn before(&self, upstream: Upstream) -> Upstream {
        let this = self.clone();
        Upstream::new(tower::service_fn(move |request: Request<Body>| {
            let cached = this.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let asked = cached.and_then(|cached| {
                let (method, uri) = (request.method().as_str(), request.uri());
                Some((Asked::of(&cached, method, uri)?, cached.at))
            });
            serve(upstream.clone(), request, asked)
        }))
    }

    pub(super) fn set(&self, cached: Option<Cached>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = cached;
    }
}

/// Answers from caches that stand at a revision; where nothing is asked of them, from the store.
async fn serve(
    upstream: Upstream,
    mut request: Request<Body>,
    asked: Option<(Asked, Revision)>,
) -> Result<Response<Body>, Error> {
    let Some((asked, at)) = asked else { return ask(upstream, request).await };
    let accept = accept(&request);
    let shown = match asked {
        Asked::List { exact: uri } | Asked::Watch { follow: uri, initial: None } => {
            *request.uri_mut() = uri;
            None
        }
        Asked::Ahead { least, watches: false } => {
            Some(shown::refusal(&Refusal::too_large_revision(least, at), &accept))
        }
        Asked::Ahead { least, watches: true } => {
            Some(shown::error_event(&Refusal::too_large_revision(least, at)))
        }
        Asked::Get { list, resource, name } => {
            let listed = list_of(upstream.clone(), without_body(&request, list)).await?;
            listed.and_then(|listed| match listed.is_empty() {
                true => Some(shown::refusal(&Refusal::not_found(&resource, &name), &accept)),
                false => listed.object(&accept),
            })
        }
        Asked::Watch { follow, initial: Some(Initial { list, marker }) } => {
            let listed = list_of(upstream.clone(), without_body(&request, list)).await?;
            let follow = ask(upstream.clone(), without_body(&request, follow)).await?;
            listed.and_then(|listed| begins_with(&listed, marker.then_some(at), &accept, follow))
        }
    };
    match shown {
        Some(response) => Ok(response),
        None => ask(upstream, request).await,
    }
}

/// A watch that shows a list first, and then what it shows by itself. None: it can't, in the form that is wanted.
fn begins_with(
    listed: &Shown,
    marker: Option<Revision>,
    accept: &str,
    follow: Response<Body>,
) -> Option<Response<Body>> {
    let (parts, rest) = follow.into_parts();
    let content_type = parts.headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let first = listed.initial_events(marker, accept, content_type);
    let first = first.filter(|_| parts.status == StatusCode::OK)?;
    let first = (!first.is_empty()).then(|| Ok(Frame::data(first)));
    let body = StreamBody::new(stream::iter(first).chain(BodyStream::new(rest)));
    Some(Response::from_parts(parts, BodyExt::boxed_unsync(body)))
}

/// What a list shows; none if the cluster does not say.
async fn list_of(upstream: Upstream, mut list: Request<Body>) -> Result<Option<Shown>, Error> {
    list.headers_mut().remove(header::ACCEPT_ENCODING);
    list.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    let (parts, body) = ask(upstream, list).await?.into_parts();
    let bytes = body.collect().await?.to_bytes();
    Ok((parts.status == StatusCode::OK).then(|| Shown::read(&bytes)).flatten())
}

async fn ask(mut upstream: Upstream, request: Request<Body>) -> Result<Response<Body>, Error> {
    upstream.ready().await?.call(request).await
}

/// Another question of the same client.
fn without_body(request: &Request<Body>, uri: Uri) -> Request<Body> {
    let body = Empty::new().map_err(|never| match never {}).boxed_unsync();
    let mut asks = Request::new(body);
    *asks.uri_mut() = uri;
    *asks.version_mut() = request.version();
    *asks.headers_mut() = request.headers().clone();
    *asks.extensions_mut() = request.extensions().clone();
    asks
}

/// Several `Accept` headers count as one.
fn accept(request: &Request<Body>) -> String {
    let values = request.headers().get_all(header::ACCEPT).iter();
    values.filter_map(|value| value.to_str().ok()).collect::<Vec<_>>().join(",")
}
