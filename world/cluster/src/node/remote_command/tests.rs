//! Whole conversations, with a client that has all bytes ready.

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

use super::*;
use crate::node::{process::Ending, spdy, upgrade::tests::request};

const OUT: Streams = Streams { stdin: false, stdout: true, stderr: true, tty: false };

fn output(ending: Ending) -> Output {
    Output { stdout: "out".to_owned(), stderr: "err".to_owned(), ending }
}

fn exits(code: u8) -> Ending {
    Ending::Exit { code, why: "why".to_owned() }
}

/// Both ends of a connection, the server's as whoever owns it hands it over.
fn connection() -> (DuplexStream, Upgraded) {
    let (client, server) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(server);
    (client, tokio::io::join(Box::new(read), Box::new(write)))
}

/// The answer to a command that comes to this, where the API server translates.
fn answered(request: &Request, streams: Streams, output: Output) -> Reply {
    answer(request, streams, Ok(output), Translator::ApiServer)
}

fn switch(reply: Reply) -> Switch {
    match reply {
        Reply::Switch(switch) => switch,
        Reply::Plain(plain) => panic!("{plain:?}"),
    }
}

fn plain(reply: Reply) -> Plain {
    match reply {
        Reply::Switch(_) => panic!("it switches"),
        Reply::Plain(plain) => plain,
    }
}

/// A request to a WebSocket with these subprotocols.
fn websocket(protocols: &str) -> Request {
    request(&[
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "k"),
        ("sec-websocket-protocol", protocols),
    ])
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime")
}

/// Messages that a client of a WebSocket gets, until it is closed normally.
fn messages(switch: &Switch) -> Vec<Bytes> {
    runtime().block_on(async {
        let (client, server) = connection();
        let talk = (switch.talk)(server);
        let listen = async {
            use futures::StreamExt;
            let mut client = WebSocketStream::from_raw_socket(client, Role::Client, None).await;
            let mut messages = vec![];
            while let Some(Ok(message)) = client.next().await {
                match message {
                    Message::Close(frame) => {
                        assert_eq!(frame.map(|frame| u16::from(frame.code)), Some(1000));
                    }
                    other => messages.push(other.into_data()),
                }
            }
            messages
        };
        let (ended, messages) = tokio::join!(talk, listen);
        ended.expect("it ends well");
        messages
    })
}

#[test]
fn channels_tell_output_and_end() {
    let check = |protocols: &str, ending: Ending, expect: &[&str]| {
        let switch = switch(answered(&websocket(protocols), OUT, output(ending)));
        let texts: Vec<String> = messages(&switch)
            .iter()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .collect();
        let named = switch.headers.iter().find(|(name, _)| *name == "sec-websocket-protocol");
        assert_eq!(
            named.map_or("", |(_, value)| value.as_str()),
            protocols.split(',').next().unwrap_or("")
        );
        assert_eq!(texts.len(), expect.len(), "{protocols}: {texts:?}");
        for (text, expect) in texts.iter().zip(expect) {
            assert!(text.starts_with(expect), "{protocols}: {text:?}, not {expect:?}");
        }
    };
    let status = exits(3).translated().status().to_string();
    check(V5, exits(3), &["\u{1}", "\u{1}out", "\u{2}err", &format!("\u{3}{status}")]);
    let status = exits(3).status().to_string();
    check(V4, exits(3), &["\u{1}", "\u{1}out", "\u{2}err", &format!("\u{3}{status}")]);
    check("channel.k8s.io", Ending::Success, &["\u{1}", "\u{1}out", "\u{2}err"]);
    let error = "\u{3}command terminated with non-zero exit code: why";
    check("", exits(3), &["\u{1}", "\u{1}out", "\u{2}err", error]);
    check("v4.base64.channel.k8s.io", Ending::Success, &["1", "1b3V0", "2ZXJy", "3"]);
}

#[test]
fn long_output_comes_in_pieces() {
    let stdout = "x".repeat(PIECE_BYTES_MAX + 1);
    let output = Output { stdout, stderr: String::new(), ending: Ending::Success };
    let messages = messages(&switch(answered(&websocket(V4), OUT, output)));
    let lengths: Vec<usize> = messages.iter().map(Bytes::len).collect();
    // Each begins with its channel's number; the first says that the connection stands, the last is the end.
    assert_eq!(lengths[..3], [1, 1 + PIECE_BYTES_MAX, 1 + 1]);
    assert_eq!((lengths.len(), messages[3][0]), (4, ERROR));
}

#[test]
fn what_can_not_begin_is_told_before_the_upgrade_but_where_the_api_server_translates() {
    let refused = || Plain::new(500, "container not found (\"c\")");
    let failed = |request: &Request, by: Translator| answer(request, OUT, Err(refused()), by);
    let spdy = request(&[("upgrade", "SPDY/3.1"), ("x-stream-protocol-version", V4)]);
    for by in [Translator::ApiServer, Translator::Kubelet] {
        assert_eq!(plain(failed(&spdy, by)), refused());
        assert_eq!(plain(failed(&websocket(V4), by)), refused());
    }
    assert_eq!(plain(failed(&websocket(V5), Translator::Kubelet)), refused());
    let told = messages(&switch(failed(&websocket(V5), Translator::ApiServer)));
    let last = String::from_utf8_lossy(told.last().expect("an end")).into_owned();
    let why =
        r#"Internal error occurred: unable to upgrade connection: container not found (\"c\")"#;
    assert!(last.starts_with('\u{3}') && last.contains(why), "{last}");
    let other = websocket("v9.channel.k8s.io");
    let unserved = plain(answered(&other, OUT, output(Ending::Success)));
    assert_eq!(unserved.code, 403);
}

#[test]
fn only_what_was_asked_for_is_told() {
    let check = |streams: Streams, expect: &[&str]| {
        let told = messages(&switch(answered(&websocket(V4), streams, output(Ending::Success))));
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        let told: Vec<String> = told.iter().map(text).collect();
        assert_eq!(told, expect, "{streams:?}");
    };
    let end = "\u{3}{\"metadata\":{},\"status\":\"Success\"}";
    let only = |stdout: bool, stderr: bool| Streams { stdout, stderr, ..OUT };
    check(only(true, false), &["\u{1}", "\u{1}out", end]);
    check(only(false, true), &["\u{2}", "\u{2}err", end]);
    check(Streams { stdin: true, ..only(false, false) }, &["\u{3}", end]);
    check(Streams { tty: true, ..only(true, false) }, &["\u{1}", "\u{1}outerr", end]);
}

/// What a server writes to a client over SPDY that opens an error stream and one for standard output.
fn over_spdy_told(protocol: &'static str, ending: Ending) -> Vec<u8> {
    let streams = Streams { stdin: false, stdout: true, stderr: false, tty: false };
    let asked = request(&[("upgrade", "SPDY/3.1"), ("x-stream-protocol-version", protocol)]);
    let switch = switch(answered(&asked, streams, output(ending)));
    runtime().block_on(async {
        let (mut client, server) = connection();
        let talk = (switch.talk)(server);
        let listen = async {
            client.write_all(&spdy::tests::two_streams()).await.expect("it reads");
            client.shutdown().await.expect("an end");
            let mut told = vec![];
            client.read_to_end(&mut told).await.expect("an end");
            told
        };
        let (ended, told) = tokio::join!(talk, listen);
        ended.expect("it ends well");
        told
    })
}

#[test]
fn spdy_tells_output_and_end_when_all_streams_are_open() {
    let check = |protocol: &'static str, ending: Ending, end: &str| {
        let told = over_spdy_told(protocol, ending);
        let mut session = Session::new().expect("a session");
        session.take(&spdy::tests::two_streams()).expect("SPDY");
        session.accept(1);
        session.accept(3);
        session.write_all(3, b"out");
        session.write_all(1, end.as_bytes());
        assert_eq!(told, session.output(), "{protocol}");
    };
    check(V4, exits(3), &exits(3).status().to_string());
    check(V4, Ending::Success, r#"{"metadata":{},"status":"Success"}"#);
    check(V3, Ending::Success, "");
    check("channel.k8s.io", exits(3), "command terminated with non-zero exit code: why");
}
