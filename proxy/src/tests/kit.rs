//! A client that speaks HTTP/1.1 by hand, and toy upstreams.

use std::{future::Future, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use futures::channel::mpsc;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use trace::{Actor, Answer, Call, Delivery, Event, Fate, Recorder, Time};

use crate::{Body, Client, Codec, Error, Proxy, Serving, Upstream};

/// Runs a test as a trial runs: one thread, one runtime.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

/// Takes every content type for JSON, so that protobuf's framing can be tested without its types.
pub struct AnyJson;

impl Codec for AnyJson {
    fn decode(&self, _: &str, bytes: &[u8]) -> Option<serde_json::Value> {
        serde_json::from_slice(bytes).ok()
    }
    fn decode_watch_frame(&self, _: &str, frame: &[u8]) -> Option<serde_json::Value> {
        serde_json::from_slice(frame).ok()
    }
}

/// A proxy, its listener, and its record.
pub struct Bench {
    pub proxy: Proxy,
    pub serving: Option<Serving>,
    pub address: SocketAddr,
    pub recorder: Recorder,
}

pub fn subject(tls: Option<Arc<rustls::ServerConfig>>) -> Client {
    Client { actor: Actor::Subject(0), incarnation: 3, tls }
}

impl Bench {
    pub fn new(upstream: Upstream) -> Bench {
        Bench::with_tls(upstream, None)
    }

    pub fn with_tls(upstream: Upstream, tls: Option<Arc<rustls::ServerConfig>>) -> Bench {
        let recorder = Recorder::new(Arc::new(|| (Time(0), 0)), None);
        let proxy = Proxy::new(upstream, recorder.clone(), Arc::new(AnyJson));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let serving = proxy.serve(listener, subject(tls)).unwrap();
        Bench { proxy, address: serving.address(), serving: Some(serving), recorder }
    }

    pub async fn connect(&self) -> Wire {
        Wire { stream: TcpStream::connect(self.address).await.unwrap(), buffer: Vec::new() }
    }

    pub fn events<T>(&self, pick: impl Fn(&Event) -> Option<T>) -> Vec<T> {
        self.recorder.with(|history| {
            history.records.iter().filter_map(|record| pick(&record.event)).collect()
        })
    }

    pub fn calls(&self) -> Vec<Call> {
        self.events(|event| match event {
            Event::Call(call) => Some(call.clone()),
            _ => None,
        })
    }

    pub fn answers(&self) -> Vec<Answer> {
        self.events(|event| match event {
            Event::Answer(answer) => Some(answer.clone()),
            _ => None,
        })
    }

    /// Fate by path, in order of path.
    pub fn fates(&self) -> Vec<(String, Fate)> {
        let uris: std::collections::BTreeMap<_, _> =
            self.calls().into_iter().map(|call| (call.id, call.uri)).collect();
        let answers = self.answers();
        let mut fates: Vec<_> =
            answers.iter().map(|answer| (uris[&answer.call].clone(), answer.fate)).collect();
        fates.sort_by(|a, b| a.0.cmp(&b.0));
        fates
    }

    pub fn deliveries(&self) -> Vec<Delivery> {
        self.events(|event| match event {
            Event::Delivery(delivery) => Some(delivery.clone()),
            _ => None,
        })
    }

    /// Lets everything run until `condition` holds.
    pub async fn until(&self, condition: impl Fn(&Bench) -> bool) {
        for _ in 0..1_000_000 {
            if condition(self) {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("never came true; flight: {:?}", self.proxy.flight());
    }

    /// Nothing is under way or held.
    pub fn assert_at_rest(&self) {
        let flight = self.proxy.flight();
        assert_eq!((&flight.calls[..], flight.held, flight.undelivered), (&[][..], 0, 0));
        assert_eq!(flight, self.proxy.flight());
    }
}

/// One connection of a client.
pub struct Wire {
    pub stream: TcpStream,
    buffer: Vec<u8>,
}

/// What a client read.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub status: u16,
    /// In lower case, with the status line.
    pub head: String,
    pub body: Vec<u8>,
}

impl Wire {
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    pub async fn request(&mut self, method: &str, path: &str, body: &[u8]) {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\n\
             user-agent: kit\r\naccept-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.send([head.as_bytes(), body].concat()).await;
    }

    pub async fn get(&mut self, path: &str) -> Reply {
        self.request("GET", path, b"").await;
        self.reply().await
    }

    /// Reads more; `false` at the end of the stream, however it came.
    async fn more(&mut self) -> bool {
        !matches!(self.stream.read_buf(&mut self.buffer).await, Ok(0) | Err(_))
    }

    pub async fn until_closed(&mut self) -> Vec<u8> {
        while self.more().await {}
        std::mem::take(&mut self.buffer)
    }

    async fn take(&mut self, length: usize) -> Vec<u8> {
        while self.buffer.len() < length {
            assert!(self.more().await, "closed after {:?}", self.buffer.escape_ascii().to_string());
        }
        let rest = self.buffer.split_off(length);
        std::mem::replace(&mut self.buffer, rest)
    }

    async fn take_past(&mut self, mark: &[u8]) -> String {
        loop {
            if let Some(at) = self.buffer.windows(mark.len()).position(|window| window == mark) {
                return String::from_utf8(self.take(at + mark.len()).await).unwrap();
            }
            assert!(self.more().await, "closed after {:?}", self.buffer.escape_ascii().to_string());
        }
    }

    pub async fn head(&mut self) -> Reply {
        let head = self.take_past(b"\r\n\r\n").await.to_ascii_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Reply { status, head, body: Vec::new() }
    }

    /// One chunk of a chunked body; `None` after the last.
    pub async fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = self.take_past(b"\r\n").await;
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut chunk = self.take(size + 2).await;
        chunk.truncate(size);
        (size > 0).then_some(chunk)
    }

    /// All chunks of a chunked body.
    pub async fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await {
            body.extend(chunk);
        }
        body
    }

    pub async fn reply(&mut self) -> Reply {
        let mut reply = self.head().await;
        if reply.head.contains("transfer-encoding: chunked") {
            reply.body = self.chunks().await;
        } else if let Some((_, rest)) = reply.head.split_once("content-length: ") {
            let length = rest.split("\r\n").next().unwrap().parse().unwrap();
            reply.body = self.take(length).await;
        }
        reply
    }
}

/// An upstream from a function.
pub fn upstream<F, A>(answer: F) -> Upstream
where
    F: Fn(Request<Body>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Result<Response<Body>, Error>> + Send + 'static,
{
    Upstream::new(tower::service_fn(answer))
}

/// Answers everything with this JSON.
pub fn constant(json: &'static str) -> Upstream {
    upstream(move |_| async move { Ok(json_response(json)) })
}

pub fn json_response(json: &'static str) -> Response<Body> {
    let mut response = Response::new(crate::full(json.into()));
    let value = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert("content-type", value);
    response
}

/// Where a test puts the pieces of a streamed body.
pub type Pieces = mpsc::UnboundedSender<Result<Frame<Bytes>, Error>>;

/// A body that ends when its sender is dropped.
pub fn streamed() -> (Pieces, Body) {
    let (sender, receiver) = mpsc::unbounded();
    (sender, StreamBody::new(receiver).boxed_unsync())
}

pub fn send(pieces: &Pieces, bytes: impl Into<Bytes>) {
    pieces.unbounded_send(Ok(Frame::data(bytes.into()))).unwrap();
}

/// An upstream whose watches are streams of this content type, handed out as they are opened.
pub fn watched(content_type: &'static str) -> (Upstream, mpsc::UnboundedReceiver<Pieces>) {
    let (opened, streams) = mpsc::unbounded();
    let service = upstream(move |_| {
        let (pieces, body) = streamed();
        opened.unbounded_send(pieces).unwrap();
        let response = Response::builder().header("content-type", content_type).body(body);
        async move { Ok(response?) }
    });
    (service, streams)
}

/// `{"type": …}\n` of a configmap.
pub fn event(kind: &str, name: &str, revision: u64) -> String {
    format!(
        "{{\"type\":\"{kind}\",\"object\":{{\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"{name}\",\
         \"namespace\":\"default\",\"resourceVersion\":\"{revision}\"}}}}}}\n"
    )
}
