//! An API server on a plain listener of this machine, with nothing between it and its clients: no record, no
//! gate.

use std::{io, sync::Arc};

use bytes::Bytes;
use cluster::{Body, BoxError, Conversation, Upgraded, Upstream};
use futures::{FutureExt, TryFutureExt, future::BoxFuture};
use http::StatusCode;
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use hyper::{body::Incoming, upgrade::OnUpgrade};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};
use tower::ServiceExt;
use trace::{Actor, ClientCertificates};

/// Serves HTTP/1.1, with or without TLS, for ever. Every request is this actor's.
pub async fn serve(
    listener: TcpListener,
    service: Upstream,
    tls: Option<Arc<rustls::ServerConfig>>,
    actor: Actor,
) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(error) => return tracing::warn!(%error, "no more connections can be accepted"),
        };
        drop(stream.set_nodelay(true));
        let (service, tls, actor) = (service.clone(), tls.clone(), actor.clone());
        tokio::spawn(async move {
            match tls {
                None => speak(stream, service, Client { actor, shown: None }).await,
                Some(tls) => match tokio_rustls::TlsAcceptor::from(tls).accept(stream).await {
                    Ok(stream) => {
                        let shown = proxy::tls::shown(stream.get_ref().1);
                        speak(stream, service, Client { actor, shown }).await;
                    }
                    Err(error) => tracing::debug!(%error, "no TLS"),
                },
            }
        });
    }
}

/// Who is at the other end of a connection.
struct Client {
    actor: Actor,
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
    let mut request = request.map(|body| body.map_err(own).boxed_unsync());
    request.extensions_mut().insert(client.actor.clone());
    if let Some(shown) = &client.shown {
        request.extensions_mut().insert(shown.clone());
    }
    let plain = |mut answer: http::Response<Body>| {
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS
            && let Some(conversation) = answer.extensions_mut().remove::<Conversation>()
        {
            tokio::spawn(converse(client_side, conversation));
        }
        answer.map(|body| body.map_err(io::Error::other).boxed_unsync())
    };
    service.oneshot(request).map(move |answer| answer.map(plain).map_err(io::Error::other)).boxed()
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
