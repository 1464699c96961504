//! What a client asks to speak, and how a server agrees (`httpstream.Handshake`, `wsstream`, RFC 6455).

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::digest;

use super::Talk;
use crate::server::request::Request;

/// What a WebSocket's key is mixed with (RFC 6455, 1.3).
const KEY_GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The one version of WebSockets.
const WEBSOCKET_VERSION: &str = "13";
/// Before the protocols that SPDY is tunnelled for.
const TUNNEL: &str = "SPDY/3.1+";

/// Names and values.
pub(crate) type Headers = Vec<(&'static str, String)>;

/// An answer of plain text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plain {
    pub(crate) code: u16,
    pub(crate) text: String,
    pub(crate) headers: Headers,
}

/// The answer that switches protocols.
pub(crate) struct Switch {
    pub(crate) headers: Headers,
    pub(crate) talk: Talk,
}

impl Plain {
    pub(crate) fn new(code: u16, text: impl Into<String>) -> Plain {
        Plain { code, text: text.into(), headers: Vec::new() }
    }

    /// Go's `http.Error`.
    fn error(code: u16, text: &str) -> Plain {
        Plain::new(code, format!("{text}\n"))
    }
}

/// Whether an upgrade is asked for at all.
pub(crate) fn is_asked(request: &Request) -> bool {
    let mut lines = request.header_lines("connection");
    lines.any(|line| line.to_lowercase().contains("upgrade"))
}

/// Whether it is one to a WebSocket.
pub(super) fn is_websocket(request: &Request) -> bool {
    request.header("upgrade").eq_ignore_ascii_case("websocket")
}

/// The subprotocols of a WebSocket that a client would speak, in its order.
pub(super) fn subprotocols(request: &Request) -> Vec<&str> {
    listed(request, "sec-websocket-protocol")
}

/// The protocols that a client would have tunnelled.
pub(super) fn tunnelled(request: &Request) -> Vec<&str> {
    let all = subprotocols(request).into_iter();
    all.filter_map(|one| one.strip_prefix(TUNNEL)).filter(|one| one.ends_with(".k8s.io")).collect()
}

fn listed<'a>(request: &'a Request, header: &str) -> Vec<&'a str> {
    let words = request.header_lines(header).flat_map(|line| line.split(','));
    words.map(str::trim).filter(|word| !word.is_empty()).collect()
}

/// Agrees on a protocol over SPDY: its name, and the headers that say so.
pub(super) fn agree_on_spdy<'a>(
    request: &'a Request,
    served: &[&str],
) -> Result<(&'a str, Headers), Plain> {
    let wanted = listed(request, "x-stream-protocol-version");
    if wanted.is_empty() {
        let text = "unable to upgrade: header X-Stream-Protocol-Version does not exist in request";
        return Err(Plain::error(400, text));
    }
    let agreed = agree_on(&wanted, served)?;
    if !request.header("upgrade").to_lowercase().contains("spdy/3.1") {
        let text = "unable to upgrade: missing upgrade headers in request";
        return Err(Plain::error(400, text));
    }
    let headers = vec![
        ("connection", "Upgrade".to_owned()),
        ("upgrade", "SPDY/3.1".to_owned()),
        ("x-stream-protocol-version", agreed.to_owned()),
    ];
    Ok((agreed, headers))
}

/// The first protocol that both sides speak.
pub(super) fn agree_on<'a>(wanted: &[&'a str], served: &[&str]) -> Result<&'a str, Plain> {
    if let Some(agreed) = wanted.iter().find(|one| served.contains(one)) {
        return Ok(agreed);
    }
    let (client, server) = (wanted.join(" "), served.join(" "));
    let text = format!(
        "unable to upgrade: unable to negotiate protocol: client supports [{client}], server accepts [{server}]"
    );
    let offer = |one: &&str| ("x-accepted-stream-protocol-versions", (*one).to_owned());
    Err(Plain { headers: served.iter().map(offer).collect(), ..Plain::error(403, &text) })
}

/// Agrees on a subprotocol of a WebSocket: none that is asked for is one without a name, if that is served.
pub(super) fn agree_on_websocket<'a>(
    request: &'a Request,
    served: &[&str],
) -> Result<(&'a str, Headers), Plain> {
    let key = key_of(request)?;
    let mut wanted = subprotocols(request);
    if wanted.is_empty() {
        wanted.push("");
    }
    let agreed = wanted.into_iter().find(|one| served.contains(one));
    // Upstream's server says no more.
    let agreed = agreed.ok_or_else(|| Plain::new(403, ""))?;
    Ok((agreed, accepted(key, agreed)))
}

/// The headers that accept a WebSocket.
pub(super) fn switch_to_websocket(request: &Request, subprotocol: &str) -> Result<Headers, Plain> {
    key_of(request).map(|key| accepted(key, subprotocol))
}

/// What a client challenges a server with (`hybiServerHandshaker.ReadHandshake`). Errors: 405, 400.
fn key_of(request: &Request) -> Result<&str, Plain> {
    if request.method != http::Method::GET {
        return Err(Plain::new(405, "bad method"));
    }
    let key = request.header("sec-websocket-key");
    if key.is_empty() {
        return Err(Plain::new(400, "mismatch challenge/response"));
    }
    if request.header("sec-websocket-version") != WEBSOCKET_VERSION {
        let headers = vec![("sec-websocket-version", WEBSOCKET_VERSION.to_owned())];
        return Err(Plain { headers, ..Plain::new(400, "missing or bad WebSocket Version") });
    }
    Ok(key)
}

fn accepted(key: &str, subprotocol: &str) -> Headers {
    let mut headers = vec![
        ("connection", "Upgrade".to_owned()),
        ("upgrade", "websocket".to_owned()),
        ("sec-websocket-accept", accept(key)),
    ];
    if !subprotocol.is_empty() {
        headers.push(("sec-websocket-protocol", subprotocol.to_owned()));
    }
    headers
}

/// The subprotocol that tunnels this one.
pub(super) fn tunnel_of(protocol: &str) -> String {
    format!("{TUNNEL}{protocol}")
}

/// What a server answers to a key. SHA-1 is the RFC's choice and protects nothing.
fn accept(key: &str) -> String {
    let mixed = format!("{key}{KEY_GUID}");
    STANDARD.encode(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, mixed.as_bytes()))
}

#[cfg(test)]
pub(super) mod tests {
    use bytes::Bytes;
    use trace::Actor;

    use super::*;

    pub(in super::super) fn request(headers: &[(&'static str, &str)]) -> Request {
        let mut request = Request::own(Actor::Trommel, "test", Bytes::new());
        for (name, value) in headers {
            request.add_header(name, value);
        }
        request
    }

    #[test]
    fn the_first_protocol_that_is_served_is_spoken() {
        let v4 = "v4.channel.k8s.io";
        let check = |protocols: &str, upgrade: &str, expect: Result<&str, (u16, &str)>| {
            let headers = [("x-stream-protocol-version", protocols), ("upgrade", upgrade)];
            let request = request(&headers);
            let found = agree_on_spdy(&request, &[v4, "channel.k8s.io"]);
            match (found, expect) {
                (Ok((found, headers)), Ok(expect)) => {
                    assert_eq!(found, expect);
                    assert!(headers.contains(&("x-stream-protocol-version", expect.to_owned())));
                }
                (Err(plain), Err((code, text))) => {
                    assert_eq!(plain.code, code, "{plain:?}");
                    assert!(plain.text.contains(text), "{plain:?}");
                }
                (found, expect) => panic!("{found:?}, not {expect:?}"),
            }
        };
        check("v5.channel.k8s.io, v4.channel.k8s.io", "SPDY/3.1", Ok(v4));
        check("channel.k8s.io", "spdy/3.1", Ok("channel.k8s.io"));
        let none = "client supports [v9], server accepts [v4.channel.k8s.io channel.k8s.io]";
        check("v9", "SPDY/3.1", Err((403, none)));
        check("", "SPDY/3.1", Err((400, "X-Stream-Protocol-Version")));
        check(v4, "h2c", Err((400, "missing upgrade headers")));
    }

    #[test]
    fn websockets_are_accepted_by_their_key() {
        let asked = |protocols: &'static str, version: &'static str| {
            request(&[
                ("sec-websocket-version", version),
                ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
                ("sec-websocket-protocol", protocols),
            ])
        };
        let one = asked("a, b", "13");
        let (agreed, headers) = agree_on_websocket(&one, &["b", "a"]).expect("an agreement");
        assert_eq!(agreed, "a");
        // The example of RFC 6455, 1.3.
        let accept = ("sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=".to_owned());
        assert!(headers.contains(&accept), "{headers:?}");
        assert!(headers.contains(&("sec-websocket-protocol", "a".to_owned())), "{headers:?}");
        let refused =
            |request: &Request| agree_on_websocket(request, &["b"]).err().map(|plain| plain.code);
        assert_eq!(refused(&asked("a", "13")), Some(403));
        assert_eq!(refused(&asked("b", "8")), Some(400));
        // The handshake comes before the protocol.
        assert_eq!(refused(&asked("a", "8")), Some(400));
        assert_eq!(refused(&request(&[("sec-websocket-version", "13")])), Some(400));
        let mut post = asked("b", "13");
        post.method = http::Method::POST;
        assert_eq!(refused(&post), Some(405));
        assert_eq!(refused(&asked("", "13")), Some(403));
        let nameless = asked("", "13");
        let (agreed, headers) = agree_on_websocket(&nameless, &["", "b"]).expect("an agreement");
        assert_eq!((agreed, headers.len()), ("", 3));
    }

    #[test]
    fn tunnels_are_told_by_their_names() {
        let request = request(&[(
            "sec-websocket-protocol",
            "SPDY/3.1+portforward.k8s.io, v4.channel.k8s.io, SPDY/3.1+other",
        )]);
        assert_eq!(tunnelled(&request), ["portforward.k8s.io"]);
    }
}
