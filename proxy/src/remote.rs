//! Real servers as upstream: HTTP or HTTPS, HTTP/1.1, upgrades included.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{HeaderMap, HeaderName, Request, Uri, header, uri};
use http_body_util::BodyExt;
use hyper::rt::ReadBufCursor;
use hyper_util::{
    client::legacy::{
        self,
        connect::{Connected, Connection},
    },
    rt::{TokioExecutor, TokioIo},
};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;

use crate::{Body, Error, Upstream};

/// An upstream that can't exist.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The URL names no server.
    #[error("not the URL of a server: {0}")]
    Url(Uri),
    /// `https` needs to know whom to trust.
    #[error("no TLS configuration for {0}")]
    NoTls(Uri),
}

/// Headers that belong to one connection and are not forwarded (RFC 9110 §7.6.1); on an upgrade,
/// `Connection` and `Upgrade` are.
const HOP_BY_HOP: [HeaderName; 5] = [
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
];

/// An upstream that forwards to the server at `base` (a path in it comes before each request's). `tls`
/// holds the roots to trust and the client certificate, if any. `headers` replace the request's own headers
/// of the same name: an `Authorization` there speaks for everyone, otherwise each request's own is
/// forwarded.
pub fn remote(
    base: &Uri,
    tls: Option<Arc<rustls::ClientConfig>>,
    headers: HeaderMap,
) -> Result<Upstream, RemoteError> {
    let secure = match (base.scheme_str(), base.host()) {
        (Some("https"), Some(_)) => true,
        (Some("http"), Some(_)) => false,
        _ => return Err(RemoteError::Url(base.clone())),
    };
    if secure && tls.is_none() {
        return Err(RemoteError::NoTls(base.clone()));
    }
    let connector = Connector { tls: tls.filter(|_| secure).map(tokio_rustls::TlsConnector::from) };
    let client = legacy::Client::builder(TokioExecutor::new()).build::<_, Body>(connector);
    let base = Arc::new(base.clone());
    let headers = Arc::new(headers);
    Ok(Upstream::new(tower::service_fn(move |request: Request<Body>| {
        let (client, base, headers) = (client.clone(), base.clone(), headers.clone());
        async move {
            let request = address(request, &base, &headers)?;
            let mut response = client.request(request).await?;
            if response.status() != http::StatusCode::SWITCHING_PROTOCOLS {
                clean(response.headers_mut(), false);
            }
            Ok(response.map(|body| body.map_err(Error::from).boxed_unsync()))
        }
    })))
}

/// The request as the remote server is to see it.
fn address(
    mut request: Request<Body>,
    base: &Uri,
    headers: &HeaderMap,
) -> Result<Request<Body>, Error> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let path = format!("{}{path}", base.path().trim_end_matches('/'));
    let mut parts = uri::Parts::default();
    parts.scheme = base.scheme().cloned();
    parts.authority = base.authority().cloned();
    parts.path_and_query = Some(path.parse()?);
    *request.uri_mut() = Uri::from_parts(parts)?;
    *request.version_mut() = http::Version::HTTP_11;
    let upgrades = request.headers().contains_key(header::UPGRADE);
    clean(request.headers_mut(), upgrades);
    request.headers_mut().remove(header::HOST); // The client writes the remote's own.
    for name in headers.keys() {
        request.headers_mut().remove(name);
    }
    for (name, value) in headers {
        request.headers_mut().append(name, value.clone());
    }
    Ok(request)
}

fn clean(headers: &mut HeaderMap, upgrades: bool) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .filter(|name| !(upgrades && *name == header::UPGRADE))
        .collect();
    for name in HOP_BY_HOP.iter().chain(&named) {
        headers.remove(name);
    }
    if !upgrades {
        headers.remove(header::CONNECTION);
        headers.remove(header::UPGRADE);
    }
}

/// Opens connections, with TLS where there is a configuration for it.
#[derive(Clone)]
struct Connector {
    tls: Option<tokio_rustls::TlsConnector>,
}

impl tower::Service<Uri> for Connector {
    type Response = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let tls = self.tls.clone();
        Box::pin(async move {
            let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
            let port = uri.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 });
            let stream = TcpStream::connect((host.as_str(), port)).await?;
            stream.set_nodelay(true)?;
            let Some(tls) = tls else { return Ok(Stream::Plain(TokioIo::new(stream))) };
            let name = ServerName::try_from(host).map_err(io::Error::other)?;
            Ok(Stream::Tls(Box::new(TokioIo::new(tls.connect(name, stream).await?))))
        })
    }
}

/// A connection to the remote server.
enum Stream {
    Plain(TokioIo<TcpStream>),
    Tls(Box<TokioIo<tokio_rustls::client::TlsStream<TcpStream>>>),
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

/// Passes a poll on to whichever stream it is.
macro_rules! either {
    ($self:ident, $stream:ident => $poll:expr) => {
        match $self.get_mut() {
            Stream::Plain(stream) => {
                let $stream = Pin::new(stream);
                $poll
            }
            Stream::Tls(stream) => {
                let $stream = Pin::new(stream.as_mut());
                $poll
            }
        }
    };
}

impl hyper::rt::Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_read(context, buffer))
    }
}

impl hyper::rt::Write for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        either!(self, stream => stream.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_shutdown(context))
    }
}
