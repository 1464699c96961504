//! An API server on a plain listener of this machine, with nothing between it and its clients: no record, no
//! gate. It lives on when descriptors run out, and keeps [`strangers`] from using them up.

pub mod strangers;

use std::{
    convert::Infallible,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use cluster::{Body, BoxError, Conversation, Upgraded, Upstream};
use futures::{FutureExt, TryFutureExt, future::BoxFuture};
use http::StatusCode;
use http_body::Frame;
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use hyper::{body::Incoming, upgrade::OnUpgrade};
use hyper_util::rt::TokioIo;
use proxy::accepting;
use strangers::{Stranger, Strangers};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};
use tower::ServiceExt;
use trace::{Actor, ClientCertificates};

/// What a server tells to whoever asks (`auth::OPEN` of the crate `cluster`): its answer makes nobody known.
const OPEN: [&str; 4] = ["/healthz", "/livez", "/readyz", "/version"];

/// Serves HTTP/1.1, with or without TLS, for ever. Every request is this actor's.
pub async fn serve(
    listener: TcpListener,
    service: Upstream,
    tls: Option<Arc<rustls::ServerConfig>>,
    actor: Actor,
) -> Infallible {
    let strangers = Arc::<Strangers>::default();
    let mut told = false;
    loop {
        match accepting::accept(&listener).await {
            Ok(stream) => {
                drop(stream.set_nodelay(true));
                let client = Client {
                    actor: actor.clone(),
                    stranger: Arc::new(strangers.welcome()),
                    shown: None,
                };
                tokio::spawn(attend(stream, service.clone(), tls.clone(), client));
            }
            Err(error) => {
                if !std::mem::replace(&mut told, true) {
                    eprintln!(
                        "trommel: a connection has to wait: {error}; this process may open {} files: raise the hard \
                         limit (ulimit -Hn)",
                        accepting::descriptors()
                    );
                }
                match strangers.drop_oldest() {
                    true => tokio::task::yield_now().await,
                    false => accepting::pause().await,
                }
            }
        }
    }
}

/// Serves one connection to its end.
async fn attend(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: Upstream,
    tls: Option<Arc<rustls::ServerConfig>>,
    mut client: Client,
) {
    let stranger = client.stranger.clone();
    let spoken = async move {
        let Some(tls) = tls else { return speak(stream, service, client).await };
        match tokio_rustls::TlsAcceptor::from(tls).accept(stream).await {
            Ok(stream) => {
                client.shown = proxy::tls::shown(stream.get_ref().1);
                speak(stream, service, client).await;
            }
            Err(error) => tracing::debug!(%error, "no TLS"),
        }
    };
    tokio::select! {
        () = spoken => {}
        () = stranger.outstays() => tracing::debug!("a stranger's connection is dropped"),
    }
}

/// Who is at the other end of a connection.
struct Client {
    actor: Actor,
    stranger: Arc<Stranger>,
    shown: Option<ClientCertificates>,
}

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: Upstream,
    client: Client,
) {
    let service =
        hyper::service::service_fn(move |request| answer(service.clone(), request, &client));
    let connection = hyper::server::conn::http1::Builder::new();
    let served = connection.serve_connection(TokioIo::new(stream), service).with_upgrades();
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection ended with an error");
    }
}

/// The API's answer. Errors are of one plain type, since the compiler can't follow boxed ones into a task.
fn answer(
    service: Upstream,
    mut request: http::Request<Incoming>,
    client: &Client,
) -> BoxFuture<'static, io::Result<http::Response<UnsyncBoxBody<Bytes, io::Error>>>> {
    let own = |error| Box::new(error) as BoxError;
    let client_side = hyper::upgrade::on(&mut request);
    let stranger = client.stranger.clone();
    let open = OPEN.contains(&request.uri().path());
    let mut request = request.map(|body| {
        let stranger = stranger.clone();
        Whole { body, told: move || stranger.asks() }.map_err(own).boxed_unsync()
    });
    request.extensions_mut().insert(client.actor.clone());
    if let Some(shown) = &client.shown {
        request.extensions_mut().insert(shown.clone());
    }
    let plain = move |mut answer: http::Response<Body>| {
        let refused =
            [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN, StatusCode::MISDIRECTED_REQUEST];
        stranger.is_answered(!open && !refused.contains(&answer.status()));
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS
            && let Some(conversation) = answer.extensions_mut().remove::<Conversation>()
        {
            tokio::spawn(converse(client_side, conversation));
        }
        answer.map(|body| body.map_err(io::Error::other).boxed_unsync())
    };
    service.oneshot(request).map(move |answer| answer.map(plain).map_err(io::Error::other)).boxed()
}

/// A body that tells when it was read to its end.
struct Whole<T> {
    body: Incoming,
    told: T,
}

impl<T: Fn() + Unpin> http_body::Body for Whole<T> {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() {
            (self.told)();
        }
        Poll::Ready(frame)
    }
}

/// Lets the server speak on a connection that is no more HTTP.
fn converse(client_side: OnUpgrade, conversation: Conversation) -> BoxFuture<'static, ()> {
    let begin = move |client| {
        let (read, write) = tokio::io::split(TokioIo::new(client));
        let upgraded: Upgraded = tokio::io::join(Box::new(read), Box::new(write));
        conversation.oneshot(upgraded)
    };
    let ended = |ended: Result<(), BoxError>| {
        if let Err(error) = ended {
            tracing::debug!(%error, "an upgraded connection ended with an error");
        }
    };
    client_side.map_err(BoxError::from).and_then(begin).map(ended).boxed()
}

#[cfg(test)]
mod tests;
