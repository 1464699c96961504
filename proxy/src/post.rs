//! A call as kube-apiserver makes it to a webhook: TLS over a connection that somebody else opened, one POST, the whole
//! answer. Errors are in the words of Go's HTTP client, because people and controllers read them in statuses.

mod trust;

use std::io;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use trace::Time;

/// Longest answer in bytes, far above what an object can be.
const ANSWER_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// What to post.
#[derive(Debug, Clone, Copy)]
pub struct Post<'a> {
    /// Its host, path and query go into the request; nothing is connected to.
    pub url: &'a str,
    /// The name or address that the server's certificate must bear.
    pub server_name: &'a str,
    /// The authorities to trust, in PEM.
    pub ca_bundle: &'a [u8],
    /// JSON.
    pub body: &'a Bytes,
}

/// An answer, read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// HTTP status.
    pub status: u16,
    /// Whether its content type is that of text, or none.
    pub is_text: bool,
    /// The whole body.
    pub body: Bytes,
}

/// Posts over a connection; certificates are looked at as of `now`.
///
/// # Errors
/// In Go's words, without method and URL, such as `EOF`.
pub async fn post(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    call: Post<'_>,
    now: Time,
) -> Result<Posted, String> {
    let config = trust::client(call.ca_bundle, now)?;
    let name =
        ServerName::try_from(call.server_name.to_owned()).map_err(|error| error.to_string())?;
    let connector = tokio_rustls::TlsConnector::from(config);
    let stream = connector.connect(name, stream).await.map_err(|error| tls_error(&error))?;
    send(TokioIo::new(stream), call).await
}

async fn send(
    stream: impl hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
    call: Post<'_>,
) -> Result<Posted, String> {
    let rest = call.url.strip_prefix("https://").unwrap_or(call.url);
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(at);
    let request = Request::post(path)
        .header(header::HOST, authority)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, */*")
        .header(header::USER_AGENT, "kube-apiserver-admission")
        .header(header::CONNECTION, "close")
        .body(Full::new(call.body.clone()))
        .map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(stream).await.map_err(|error| http_error(&error))?;
    let _task = Ended(tokio::spawn(connection));
    let answer = sender.send_request(request).await.map_err(|error| http_error(&error))?;
    let status = answer.status().as_u16();
    let content_type = answer.headers().get(header::CONTENT_TYPE);
    let is_text = content_type.is_none_or(|value| value.as_bytes().starts_with(b"text/"));
    let body = Limited::new(answer.into_body(), ANSWER_LIMIT_BYTES).collect().await;
    let body = body.map_err(|_| "unexpected EOF".to_owned())?.to_bytes();
    Ok(Posted { status, is_text, body })
}

/// Ends the connection's task with the exchange, however that ends.
struct Ended(tokio::task::JoinHandle<hyper::Result<()>>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What `crypto/tls` says.
fn tls_error(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return "EOF".to_owned();
    }
    if error.kind() == io::ErrorKind::ConnectionReset {
        return "read: connection reset by peer".to_owned();
    }
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let certificate = |why: &str| format!("tls: failed to verify certificate: x509: {why}");
    match inner {
        Some(rustls::Error::InvalidMessage(_)) => {
            "http: server gave HTTP response to HTTPS client".to_owned()
        }
        Some(rustls::Error::InvalidCertificate(why)) => match why {
            // Go adds which authority of the same name it tried in vain.
            rustls::CertificateError::UnknownIssuer | rustls::CertificateError::BadSignature => {
                certificate("certificate signed by unknown authority")
            }
            rustls::CertificateError::Expired
            | rustls::CertificateError::ExpiredContext { .. }
            | rustls::CertificateError::NotValidYet
            | rustls::CertificateError::NotValidYetContext { .. } => {
                certificate("certificate has expired or is not yet valid")
            }
            rustls::CertificateError::NotValidForNameContext { expected, presented } => {
                certificate(&valid_for(&expected.to_str(), presented))
            }
            other => certificate(&other.to_string()),
        },
        _ => error.to_string(),
    }
}

/// `x509.HostnameError`: an address is asked for otherwise than a name.
fn valid_for(expected: &str, presented: &[String]) -> String {
    let shown = |kind: &str| -> Vec<&str> {
        let of = presented.iter().filter_map(|name| name.strip_prefix(kind));
        of.filter_map(|rest| rest.strip_prefix('(')?.strip_suffix(')'))
            .map(|name| name.trim_matches('"'))
            .collect()
    };
    let is_address = expected.parse::<std::net::IpAddr>().is_ok();
    let names = if is_address { shown("IpAddress") } else { shown("DnsName") };
    match (names.is_empty(), is_address) {
        (true, true) => format!(
            "cannot validate certificate for {expected} because it doesn't contain any IP SANs"
        ),
        (true, false) => {
            format!("certificate is not valid for any names, but wanted to match {expected}")
        }
        (false, _) => format!("certificate is valid for {}, not {expected}", names.join(", ")),
    }
}

/// What `net/http` says of a connection that ended too early.
fn http_error(error: &hyper::Error) -> String {
    match error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        true => "EOF".to_owned(),
        false => {
            let mut text = error.to_string();
            let mut cause = std::error::Error::source(error);
            while let Some(inner) = cause {
                text = format!("{text}: {inner}");
                cause = inner.source();
            }
            match text.contains("close_notify") || text.contains("eof") {
                true => "EOF".to_owned(),
                false => text,
            }
        }
    }
}
