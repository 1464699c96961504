//! Stands between a subject and a cluster: identifies clients, decodes, records, holds.
//!
//! A [`Proxy`] serves any number of listeners, one identity each, in front of one [`Upstream`]: any
//! `tower` service of HTTP requests. The embedded server is called in process; [`remote()`] makes an
//! upstream of a real one. Whatever a proxy can do, it does in front of both.
//!
//! What it promises:
//!
//! * **Bytes of the cluster are never changed.** What is forwarded is what was received; a copy is decoded for the
//!   record with the [`Codec`] that was handed in. HTTP's own framing (chunk sizes, hop-by-hop headers)
//!   is between each client and its server and is made anew on both sides.
//! * **Everything passes one [`Gate`]**: each request before it is forwarded, each answer and each watch
//!   event before its first byte is released. A stop that matches closes it before anything else passes.
//! * **Accounts are exact.** [`Proxy::flight`] says what is under way and what the sockets have carried;
//!   two equal snapshots show that nothing moved in between.
//! * **It decides nothing.** What to hold, stop at, cut, or answer without the cluster comes from outside; such an
//!   answer is recorded as injected.
//!
//! Reading order: [`request`] and [`mod@codec`] say what a request is; `serving` and [`mod@accepting`] accept, `exchange` carries
//! one request through, `answer` and `stream` carry what comes back; `connection` keeps the accounts
//! that `tap` feeds; [`mod@gate`] holds; [`mod@remote`] and [`tls`] reach real servers, [`post()`] webhooks.
//!
//! Costs: a request is read in full before it is forwarded (Kubernetes limits them to 3 MiB) and an
//! answer before it is released, up to 8 MiB, above which it streams; one mutex and one boxed body a message.

pub mod accepting;
pub mod codec;
pub mod gate;
pub mod remote;
pub mod request;
pub mod tls;

mod answer;
mod connection;
mod exchange;
mod frames;
mod in_process;
mod post;
mod record;
mod serving;
mod splice;
mod stream;
mod tap;

pub use codec::{Codec, JsonCodec};
pub use gate::{Armed, Deciding, Fate, Gate, Hold, Injected, Passed, Passing, Stop, Stopped};
pub use post::{Post, Posted, post};
pub use remote::{RemoteError, remote};
pub use request::Target;
pub use serving::{Client, Options, Proxy, Serving};

/// Whatever went wrong on the way.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
/// A streamed HTTP body.
pub type Body = http_body_util::combinators::UnsyncBoxBody<bytes::Bytes, Error>;
/// Whatever serves the API. Requests carry `trace::Actor` and `trace::CallId` as extensions, and
/// `trace::ClientCertificates` where their client showed any.
pub type Upstream =
    tower::util::BoxCloneSyncService<http::Request<Body>, http::Response<Body>, Error>;

/// A connection after its upgrade.
pub type Upgraded = tokio::io::Join<
    Box<dyn tokio::io::AsyncRead + Send + Unpin>,
    Box<dyn tokio::io::AsyncWrite + Send + Unpin>,
>;
/// An extension with which an [`Upstream`] of this process answers an upgrade (101): who speaks then. It ends when all
/// is said, or the client has gone; while it waits for the client's next bytes, nothing of its own is under way.
pub type Conversation = tower::util::BoxCloneSyncService<Upgraded, (), Error>;

/// A body that is there as a whole.
pub(crate) fn full(bytes: bytes::Bytes) -> Body {
    use http_body_util::BodyExt;
    http_body_util::Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

#[cfg(test)]
mod tests;
