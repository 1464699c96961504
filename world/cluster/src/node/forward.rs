//! Port-forward: accepted where the pod runs, and then nobody listens on any port.

use std::{collections::BTreeMap, io, sync::Arc};

use futures::FutureExt;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    Plain, Reply, Switch, container, full_name,
    remote_command::broken,
    spdy::{Opened, Session},
    upgrade,
    websocket::{Coding, WebSocket},
    wire::{self, Wire},
};
use crate::{
    server::{Upgraded, request::Request},
    status::Refusal,
    world::meta,
};

const PROTOCOL: &str = "portforward.k8s.io";
/// What runtimes serve without a tunnel: a pair of channels for each port.
const IN_CHANNELS: [&str; 3] = ["", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"];

/// Most pairs of streams of which one is open and the other is not. Upstream gives each pair 30 s.
const HALVES_MAX: usize = 1024;

/// The ports that a query names, as the API server reads them and hands them on
/// (`Convert_Slice_string_To_Slice_int32`). Errors: 400.
pub(crate) fn ports(request: &Request) -> Result<Vec<u16>, Refusal> {
    let named = request.all("ports").flat_map(|text| text.split(','));
    let refuse = |why: String| Refusal::bad_request(format!("cannot convert to []int32: {why}"));
    named.map(|one| port(one).map_err(refuse)).collect()
}

/// A port. Errors: those of `strconv.ParseUint`.
fn port(text: &str) -> Result<u16, String> {
    let why = |why: &str| format!("strconv.ParseUint: parsing {text:?}: {why}");
    match text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Err(why("invalid syntax")),
        false => text.parse().map_err(|_| why("value out of range")),
    }
}

/// The kubelet's answer (`getPortForward`).
pub(crate) fn answer(request: &Request, ports: &[u16], pod: &Value) -> Reply {
    begin(request, ports, pod).map_or_else(Reply::Plain, Reply::Switch)
}

fn begin(request: &Request, ports: &[u16], pod: &Value) -> Result<Switch, Plain> {
    let is_websocket = upgrade::is_websocket(request);
    let tunnels = !upgrade::tunnelled(request).is_empty();
    if is_websocket && !tunnels {
        check_channels(ports)?;
    }
    if !container::any_runs(pod) {
        return Err(Plain::new(500, format!("pod not found ({:?})", full_name(pod))));
    }
    // Sandboxes are known by their pods' uids here.
    let uid = meta(pod, "uid");
    match (is_websocket, tunnels) {
        (false, _) => over_spdy(request, uid),
        (true, true) => in_a_tunnel(request, uid),
        (true, false) => in_channels(request, ports, uid),
    }
}

/// Errors: 400 for ports without which there are no channels (`NewV4Options`).
fn check_channels(ports: &[u16]) -> Result<(), Plain> {
    if ports.is_empty() {
        return Err(Plain::new(400, "query parameter \"port\" is required"));
    }
    if ports.contains(&0) {
        let all: Vec<String> = ports.iter().map(u16::to_string).collect();
        return Err(Plain::new(400, format!("port {:?} must be > 0", all.join(","))));
    }
    Ok(())
}

fn over_spdy(request: &Request, uid: &str) -> Result<Switch, Plain> {
    let (_, headers) = upgrade::agree_on_spdy(request, &[PROTOCOL])?;
    let uid = uid.to_owned();
    let talk = move |stream: Upgraded| {
        let uid = uid.clone();
        async move { speak(wire::Plain(stream), &uid).await }.boxed()
    };
    Ok(Switch { headers, talk: Arc::new(talk) })
}

fn in_a_tunnel(request: &Request, uid: &str) -> Result<Switch, Plain> {
    let agreed = upgrade::agree_on(&upgrade::tunnelled(request), &[PROTOCOL])?;
    let headers = upgrade::switch_to_websocket(request, &upgrade::tunnel_of(agreed))?;
    let uid = uid.to_owned();
    let talk = move |stream: Upgraded| {
        let uid = uid.clone();
        async move { speak(WebSocket::over(stream).await, &uid).await }.boxed()
    };
    Ok(Switch { headers, talk: Arc::new(talk) })
}

fn in_channels(request: &Request, ports: &[u16], uid: &str) -> Result<Switch, Plain> {
    let (protocol, headers) = upgrade::agree_on_websocket(request, &IN_CHANNELS)?;
    let coding = match protocol.contains("base64") {
        true => Coding::Base64,
        false => Coding::Binary,
    };
    let (ports, uid) = (ports.to_vec(), uid.to_owned());
    let talk = move |stream: Upgraded| {
        let (ports, uid) = (ports.clone(), uid.clone());
        async move { speak_channels(WebSocket::over(stream).await, coding, &ports, &uid).await }
            .boxed()
    };
    Ok(Switch { headers, talk: Arc::new(talk) })
}

/// What is written on the error stream of a port.
fn nobody(port: u16, uid: &str) -> String {
    format!(
        "error forwarding port {port} to pod {uid}, uid : dial tcp4 127.0.0.1:{port}: connect: connection refused"
    )
}

/// Streams come in pairs with a number, one for data and one for errors.
async fn speak(mut wire: impl Wire, uid: &str) -> io::Result<()> {
    let mut session = Session::new().map_err(broken)?;
    let mut pairs: BTreeMap<String, Pair> = BTreeMap::new();
    while let Some(bytes) = wire.receive().await? {
        for opened in session.take(&bytes).map_err(broken)? {
            let Some((port, is_error)) = accepted(&opened) else {
                session.refuse(opened.stream);
                continue;
            };
            let number = number(&opened, is_error);
            if pairs.len() >= HALVES_MAX && !pairs.contains_key(&number) {
                session.refuse(opened.stream);
                continue;
            }
            session.accept(opened.stream);
            let pair = pairs.entry(number.clone()).or_default();
            *(if is_error { &mut pair.error } else { &mut pair.data }) = Some(opened.stream);
            if let Pair { data: Some(data), error: Some(error) } = *pair {
                session.write_all(error, nobody(port, uid).as_bytes());
                session.write_all(data, b"");
                pairs.remove(&number);
            }
        }
        let output = session.output();
        if !output.is_empty() {
            wire.send(output).await?;
        }
    }
    Ok(())
}

#[derive(Default)]
struct Pair {
    data: Option<u32>,
    error: Option<u32>,
}

/// The port of a stream, and whether it is for errors; none for one that is refused (`httpStreamReceived`).
fn accepted(opened: &Opened) -> Option<(u16, bool)> {
    let port = port(opened.headers.get("port")?).ok().filter(|port| *port > 0)?;
    match opened.headers.get("streamtype")?.as_str() {
        "error" => Some((port, true)),
        "data" => Some((port, false)),
        _ => None,
    }
}

/// Which streams belong together; of old clients, which don't say, each error stream and the next one.
fn number(opened: &Opened, is_error: bool) -> String {
    let own = if is_error { opened.stream } else { opened.stream.saturating_sub(2) };
    let given = opened.headers.get("requestid").filter(|number| !number.is_empty());
    given.cloned().unwrap_or_else(|| own.to_string())
}

/// Each port has a channel for data and one for errors; both begin with its number.
async fn speak_channels<T: AsyncRead + AsyncWrite + Unpin + Send>(
    mut socket: WebSocket<T>,
    coding: Coding,
    ports: &[u16],
    uid: &str,
) -> io::Result<()> {
    for (channel, port) in (0..=u8::MAX).step_by(2).zip(ports) {
        socket.tell(coding, channel, &port.to_le_bytes()).await?;
        socket.tell(coding, channel + 1, &port.to_le_bytes()).await?;
        socket.tell(coding, channel + 1, nobody(*port, uid).as_bytes()).await?;
    }
    socket.end().await
}

#[cfg(test)]
mod tests;
