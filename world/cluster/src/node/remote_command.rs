//! Exec and attach: how their output reaches the client, in the protocols of `remotecommand`.

use std::{collections::BTreeMap, io, sync::Arc};

use futures::FutureExt;

use super::{
    Plain, Reply, Switch, Talk,
    process::{Output, Streams},
    spdy::{Broken, Session},
    upgrade,
    websocket::{Coding, WebSocket},
    wire::{self, Wire},
};
use crate::server::{Upgraded, request::Request};

const V5: &str = "v5.channel.k8s.io";
const V4: &str = "v4.channel.k8s.io";
const V3: &str = "v3.channel.k8s.io";

/// Longest piece of output in a message (`io.Copy`).
const PIECE_BYTES_MAX: usize = 32 << 10;
/// What runtimes serve over SPDY (`SupportedStreamingProtocols`).
const OVER_SPDY: [&str; 4] = [V4, V3, "v2.channel.k8s.io", "channel.k8s.io"];
/// What they serve over WebSockets; the API server itself speaks [`V5`].
const OVER_WEBSOCKET: [&str; 5] =
    ["", "channel.k8s.io", "base64.channel.k8s.io", V4, "v4.base64.channel.k8s.io"];

const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;

/// Who speaks with a client of [`V5`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Translator {
    /// The API server, which has switched before it asks the node.
    ApiServer,
    /// The kubelet (`ExtendWebSocketsToKubelet`).
    Kubelet,
}

/// Whether it asks for the version that runtimes don't speak (`IsWebSocketRequestWithStreamCloseProtocol`).
pub(crate) fn is_translated(request: &Request) -> bool {
    upgrade::is_websocket(request) && upgrade::subprotocols(request).contains(&V5)
}

/// Answers with this output, or with what a kubelet says that can't begin: before any upgrade, except to one with whom
/// the API server speaks already.
pub(crate) fn answer(
    request: &Request,
    streams: Streams,
    begun: Result<Output, Plain>,
    translator: Translator,
) -> Reply {
    if is_translated(request) {
        return match (begun, translator) {
            (Ok(output), _) => over_v5(request, streams, output),
            (Err(plain), Translator::Kubelet) => Reply::Plain(plain),
            (Err(plain), Translator::ApiServer) => {
                let why = format!("unable to upgrade connection: {}", plain.text);
                over_v5(request, streams, Output::failed(why))
            }
        };
    }
    let switched = begun.and_then(|output| match upgrade::is_websocket(request) {
        true => over_websocket(request, streams, output),
        false => over_spdy(request, streams, output),
    });
    switched.map_or_else(Reply::Plain, Reply::Switch)
}

/// In version 5, in which whatever happens can be told.
pub(crate) fn over_v5(request: &Request, streams: Streams, output: Output) -> Reply {
    let output = Output { ending: output.ending.translated(), ..output };
    let answer = Answer { streams, output, is_status: true };
    let agreed = upgrade::agree_on_websocket(request, &[V5]);
    let switch =
        agreed.map(|(_, headers)| Switch { headers, talk: in_channels(Coding::Binary, answer) });
    switch.map_or_else(Reply::Plain, Reply::Switch)
}

fn over_spdy(request: &Request, streams: Streams, output: Output) -> Result<Switch, Plain> {
    let (protocol, headers) = upgrade::agree_on_spdy(request, &OVER_SPDY)?;
    let answer = Answer { streams, output, is_status: protocol == V4 };
    let resizes = streams.tty && (protocol == V4 || protocol == V3);
    let talk = move |stream: Upgraded| {
        let answer = answer.clone();
        async move { speak_spdy(wire::Plain(stream), &answer, resizes).await }.boxed()
    };
    Ok(Switch { headers, talk: Arc::new(talk) })
}

fn over_websocket(request: &Request, streams: Streams, output: Output) -> Result<Switch, Plain> {
    let (protocol, headers) = upgrade::agree_on_websocket(request, &OVER_WEBSOCKET)?;
    let coding = match protocol.contains("base64") {
        true => Coding::Base64,
        false => Coding::Binary,
    };
    let answer = Answer { streams, output, is_status: protocol.starts_with("v4.") };
    Ok(Switch { headers, talk: in_channels(coding, answer) })
}

fn in_channels(coding: Coding, answer: Answer) -> Talk {
    Arc::new(move |stream: Upgraded| {
        let answer = answer.clone();
        async move { speak_channels(WebSocket::over(stream).await, coding, &answer).await }.boxed()
    })
}

/// What is to be told, and how.
#[derive(Debug, Clone)]
struct Answer {
    streams: Streams,
    output: Output,
    /// Whether the end is told as a Status.
    is_status: bool,
}

impl Answer {
    /// What comes on the error stream.
    fn end(&self) -> Vec<u8> {
        match self.is_status {
            true => self.output.ending.status().to_string().into_bytes(),
            false => self.output.ending.message().unwrap_or_default().into_bytes(),
        }
    }
}

/// Over channels of a WebSocket: everything at once, then the end.
async fn speak_channels<T>(
    mut socket: WebSocket<T>,
    coding: Coding,
    answer: &Answer,
) -> io::Result<()>
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send,
{
    let (out, err) = answer.streams.written(&answer.output);
    // An empty message on the first stream that is asked for says that the connection stands.
    let first = match answer.streams {
        Streams { stdout: true, .. } => STDOUT,
        Streams { stderr: true, .. } => STDERR,
        _ => ERROR,
    };
    socket.tell(coding, first, b"").await?;
    for (channel, bytes) in [(STDOUT, out.as_bytes()), (STDERR, err.as_bytes())] {
        for piece in bytes.chunks(PIECE_BYTES_MAX) {
            socket.tell(coding, channel, piece).await?;
        }
    }
    let end = answer.end();
    if !end.is_empty() {
        socket.tell(coding, ERROR, &end).await?;
    }
    socket.end().await
}

/// Over SPDY: as soon as the client has opened all streams that it announced. Then it is the client who closes the
/// connection: it may still be writing what the command was to read.
async fn speak_spdy(mut wire: impl Wire, answer: &Answer, resizes: bool) -> io::Result<()> {
    let Streams { stdin, stdout, stderr, .. } = answer.streams;
    let expected = 1 + [stdin, stdout, stderr, resizes].into_iter().filter(|it| *it).count();
    let mut session = Session::new().map_err(broken)?;
    let mut streams: BTreeMap<String, u32> = BTreeMap::new();
    let mut told = false;
    while let Some(bytes) = wire.receive().await? {
        for opened in session.take(&bytes).map_err(broken)? {
            let kind = opened.headers.get("streamtype").map_or("", String::as_str);
            session.accept(opened.stream);
            if matches!(kind, "error" | "stdin" | "stdout" | "stderr" | "resize") {
                streams.insert(kind.to_owned(), opened.stream);
            }
        }
        if !told && streams.len() >= expected {
            tell(&mut session, &streams, answer);
            told = true;
        }
        let output = session.output();
        if !output.is_empty() {
            wire.send(output).await?;
        }
    }
    Ok(())
}

/// Writes everything, and ends what was written.
fn tell(session: &mut Session, streams: &BTreeMap<String, u32>, answer: &Answer) {
    let (out, err) = answer.streams.written(&answer.output);
    let written =
        [("stdout", out.into_bytes()), ("stderr", err.into_bytes()), ("error", answer.end())];
    for (kind, bytes) in written {
        if let Some(stream) = streams.get(kind) {
            session.write_all(*stream, &bytes);
        }
    }
}

pub(super) fn broken(why: Broken) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests;
