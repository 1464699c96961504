//! Webhooks: programs elsewhere that have a say in what the API server does.
//!
//! **Decision.** The verbs are straight-line code under the server's lock, without IO. One that meets a webhook
//! stops there, before it has committed anything, and says which calls it needs ([`Calls`]); the front
//! (`server::answer`) gives the lock back, has the calls made by the [`Caller`] that whoever owns the server gave
//! it, and runs the verb again from its beginning, with the replies recorded so far. It is the trick of
//! `controllers/src/calls.rs`: nothing but a list of replies has to be kept, and no verb has to be turned inside
//! out. What it costs is that a verb is run once more for every round of calls.
//!
//! The world may have moved on meanwhile. A reply counts for as long as the same question would be asked again;
//! where another one would be asked, it is asked, as upstream does when a write that lost a race is tried again.
//! What a run draws (uids, generated names) and its time stay the same from run to run, so that they alone never
//! make another question.
//!
//! The server's own bookkeeping (a quota's or a budget's status) meets no webhook. Who could notice: a webhook
//! on `resourcequotas/status`.
//!
//! Not here: webhooks on `CONNECT`.

mod calls;
mod change;
mod client;
mod conversion;
mod converted;
mod dispatch;
mod hook;
pub(crate) mod matching;
mod reply;
mod review;
mod shown;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::future::BoxFuture;

pub(crate) use calls::{Calls, Made, Wanted};
pub(crate) use change::Change;
pub(crate) use client::post;
pub(crate) use conversion::Asking;
pub(crate) use matching::Resource;
pub(crate) use review::Attributes;
pub(crate) use shown::{Shown, hold};

/// Where a webhook is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// At the host and port of a URL.
    Host {
        /// A name or an address, without brackets.
        host: String,
        /// 443 if the URL names none.
        port: u16,
    },
    /// Behind a Service of the world.
    Service {
        /// `name.namespace.svc`, the name that its certificate must bear.
        server_name: String,
        /// Cluster IP and port, as upstream would dial it.
        address: String,
        /// The port on which its pods listen; none if nobody says so.
        target_port: Option<u16>,
    },
}

/// One call of a webhook, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookCall {
    /// The webhook's name; of a conversion, the custom type's.
    pub name: String,
    /// What is sent, in one word: `mutating`, `validating`, `conversion`.
    pub role: &'static str,
    /// What it is about: verb and object, for people.
    pub about: String,
    /// The URL as upstream shows it, with `timeout` in its query.
    pub url: String,
    /// Whom to connect to.
    pub destination: Destination,
    /// The authorities to trust, in PEM; empty for those of the machine.
    pub ca_bundle: Bytes,
    /// The JSON to post.
    pub body: Bytes,
    /// How long it may take.
    pub timeout: Duration,
}

/// What a webhook's server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookAnswer {
    /// HTTP status.
    pub status: u16,
    /// Whether its content type is that of text, or none.
    pub is_text: bool,
    /// The whole body.
    pub body: Bytes,
}

/// Makes calls of webhooks. The server itself does no IO.
pub trait Caller: Send + Sync {
    /// Makes one call. Errors: in the words of Go's HTTP client, without method and URL, such as
    /// `dial tcp 127.0.0.1:9443: connect: connection refused`.
    fn call(&self, call: WebhookCall) -> BoxFuture<'static, Result<WebhookAnswer, String>>;
}

/// Where nobody was named who makes calls, nobody listens either: so it is for a world whose controller is down.
pub(crate) struct NobodyListens;

impl Caller for NobodyListens {
    fn call(&self, call: WebhookCall) -> BoxFuture<'static, Result<WebhookAnswer, String>> {
        let refused = Err(call.destination.refused());
        Box::pin(std::future::ready(refused))
    }
}

impl Destination {
    /// The name or address that its certificate must bear.
    pub fn server_name(&self) -> &str {
        match self {
            Destination::Host { host, .. } => host,
            Destination::Service { server_name, .. } => server_name,
        }
    }

    /// What Go's dialer says of a connection that can't be made.
    pub fn undialled(&self, error: &std::io::Error) -> String {
        match error.kind() {
            std::io::ErrorKind::ConnectionRefused => self.refused(),
            _ => self.refused().replace("connection refused", &error.to_string()),
        }
    }

    /// What Go's dialer says where nobody listens.
    pub fn refused(&self) -> String {
        let address = match self {
            Destination::Host { host, port } if host.contains(':') => format!("[{host}]:{port}"),
            Destination::Host { host, port } if host == "localhost" => format!("127.0.0.1:{port}"),
            Destination::Host { host, port } => format!("{host}:{port}"),
            Destination::Service { address, .. } => address.clone(),
        };
        format!("dial tcp {address}: connect: connection refused")
    }
}

/// What the history tells of a call.
pub(crate) fn told(
    wanted: &Wanted,
    answer: &Result<WebhookAnswer, String>,
    author: &crate::server::Author,
) -> trace::Webhook {
    let (name, about, url, role) = match &wanted.call {
        Ok(call) => (call.name.as_str(), call.about.as_str(), call.url.as_str(), call.role),
        Err(_) => ("", "", "", ""),
    };
    trace::Webhook {
        name: name.into(),
        about: about.into(),
        url: url.into(),
        outcome: match answer {
            Ok(answer) if role == client::CONVERSION => converted::in_short(answer),
            Ok(answer) => reply::in_short(answer),
            Err(why) => trace::WebhookOutcome::Failed(why.clone()),
        },
        actor: author.actor.clone(),
        call: author.call,
    }
}

/// A caller that can be shared.
pub type SharedCaller = Arc<dyn Caller>;
