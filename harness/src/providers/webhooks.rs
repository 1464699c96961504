//! Calls of webhooks: HTTPS as kube-apiserver's, to this machine's loopback (`trommel serve`), or into the subject
//! (a campaign).
//!
//! In a campaign only the subject can be called: where a webhook's Service leads, the subject listens, on the Service's
//! target port; and so it is with URLs of loopback. Each call has a connection of its own, so nothing of an incarnation
//! outlives it: when the subject is down, the connection is refused. With `trommel serve` nothing stands behind
//! Services. Errors are in the words of Go's HTTP client, because people and controllers read them in statuses.

mod subject;

use std::{net::IpAddr, sync::Arc};

use cluster::{Caller, Destination, WebhookAnswer, WebhookCall};
use futures::future::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use trace::Time;

pub(crate) use subject::SubjectCaller;

/// What Go says when a deadline has passed.
pub(crate) const TIMED_OUT: &str = "context deadline exceeded";

/// Calls programs on this machine, in real time.
pub(crate) struct Loopback;

impl Caller for Loopback {
    fn call(&self, call: WebhookCall) -> BoxFuture<'static, Result<WebhookAnswer, String>> {
        Box::pin(async move {
            let timeout = call.timeout;
            let answered = tokio::time::timeout(timeout, reach(call)).await;
            answered.unwrap_or_else(|_| Err(TIMED_OUT.to_owned()))
        })
    }
}

async fn reach(call: WebhookCall) -> Result<WebhookAnswer, String> {
    let Destination::Host { host, port } = &call.destination else {
        let Destination::Service { address, .. } = &call.destination else { unreachable!() };
        return Err(format!(
            "dial tcp {address}: no pod runs behind a Service here; use clientConfig.url"
        ));
    };
    if !is_loopback(host) {
        return Err(format!("dial tcp {host}:{port}: only programs on this machine are called"));
    }
    let stream = TcpStream::connect((host.as_str(), *port)).await;
    let stream = stream.map_err(|error| call.destination.undialled(&error))?;
    over(stream, &call, crate::providers::client_files::real_now()).await
}

async fn over(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    call: &WebhookCall,
    now: Time,
) -> Result<WebhookAnswer, String> {
    let post = proxy::Post {
        url: &call.url,
        server_name: call.destination.server_name(),
        ca_bundle: &call.ca_bundle,
        body: &call.body,
    };
    let proxy::Posted { status, is_text, body } = proxy::post(stream, post, now).await?;
    Ok(WebhookAnswer { status, is_text, body })
}

/// Whether a host is this machine itself.
fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The caller of `trommel serve`.
pub(crate) fn loopback() -> Arc<dyn Caller> {
    Arc::new(Loopback)
}
