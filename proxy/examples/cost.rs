//! What the proxy costs by itself: processor time for each recorded request and each recorded event, in front of an
//! upstream that says what it is told to. Prints one JSON object, in microseconds; `cargo ci bench` shows it.
//!
//! Proxy and upstream run on a thread of their own, whose time the kernel counts; the client is another thread, and speaks
//! HTTP/1.1 without TLS. Beside each figure stands what the same
//! bytes cost from hyper alone.

#![allow(clippy::print_stdout)]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use proxy::{Body, Client, Error, JsonCodec, Proxy, Upstream};
use trace::{Actor, Recorder, Time};

const REQUESTS: usize = 20_000;
const EVENTS: usize = 20_000;
/// About as long as a small object of Kubernetes with its managed fields.
const FILLER: usize = 1_000;

fn main() -> Result<(), Error> {
    let cost = |recorded| -> Result<_, Error> {
        let requests = measured(recorded, |address| {
            let mut client = BufReader::new(TcpStream::connect(address)?);
            (0..REQUESTS).try_for_each(|_| get(&mut client, "/api/v1/namespaces/d/configmaps/a"))
        })?;
        let events = measured(recorded, |address| {
            let mut client = BufReader::new(TcpStream::connect(address)?);
            get(&mut client, "/api/v1/namespaces/d/configmaps?watch=true&resourceVersion=1")
        })?;
        Ok((requests / REQUESTS as f64, events / EVENTS as f64))
    };
    let (request, event) = cost(true)?;
    let (plain_request, plain_event) = cost(false)?;
    let figures = serde_json::json!({
        "request": request, "plainRequest": plain_request, "event": event, "plainEvent": plain_event,
        "bytes": object(1).len(),
    });
    println!("{figures}");
    Ok(())
}

/// Processor time of the serving thread while `client` talks to it, in microseconds.
fn measured(
    recorded: bool,
    client: impl Fn(SocketAddr) -> Result<(), Error> + Send,
) -> Result<f64, Error> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::scope(|scope| {
        let serving = scope.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(serve(recorded, listener, end))?;
            processor_time()
        });
        let talked = client(address);
        drop(ended);
        let used = serving.join().map_err(|_| "the serving thread panicked")?;
        talked.and(used)
    })
}

async fn serve(
    recorded: bool,
    listener: TcpListener,
    end: tokio::sync::oneshot::Receiver<()>,
) -> Result<(), Error> {
    if recorded {
        let recorder = Recorder::new(Arc::new(|| (Time(0), 0)), None);
        let proxy = Proxy::new(upstream(), recorder, Arc::new(JsonCodec));
        let client = Client { actor: Actor::Subject(0), incarnation: 0, tls: None };
        let _serving = proxy.serve(listener, client)?;
        drop(end.await);
        return Ok(());
    }
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    tokio::select! {
        _ = end => Ok(()),
        error = plain(listener) => error,
    }
}

/// The same answers from hyper alone, to one client at a time.
async fn plain(listener: tokio::net::TcpListener) -> Result<(), Error> {
    loop {
        let (stream, _) = listener.accept().await?;
        let service = hyper::service::service_fn(|request: http::Request<Incoming>| async move {
            Ok::<_, Error>(answer(request.uri()))
        });
        let server = hyper::server::conn::http1::Builder::new();
        server.serve_connection(TokioIo::new(stream), service).await?;
    }
}

fn upstream() -> Upstream {
    Upstream::new(tower::service_fn(|request: http::Request<Body>| async move {
        Ok::<_, Error>(answer(request.uri()))
    }))
}

/// An object, or a watch that ends after all its events.
fn answer(uri: &http::Uri) -> http::Response<Body> {
    let body = if uri.query().is_some() {
        let event = |revision| {
            let object = object(revision);
            let event = format!("{{\"type\":\"MODIFIED\",\"object\":{object}}}\n");
            Ok::<_, Error>(http_body::Frame::data(Bytes::from(event)))
        };
        let events = futures::stream::iter((1..=EVENTS).map(event));
        http_body_util::StreamBody::new(events).boxed_unsync()
    } else {
        Full::new(Bytes::from(object(1))).map_err(|never| match never {}).boxed_unsync()
    };
    let mut response = http::Response::new(body);
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}

fn object(revision: usize) -> String {
    let filler = "x".repeat(FILLER);
    format!(
        r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"a","namespace":"d","uid":"u","resourceVersion":"{revision}"}},"data":{{"a":"{filler}"}}}}"#
    )
}

/// Sends a request and reads its whole answer.
fn get(client: &mut BufReader<TcpStream>, path: &str) -> Result<(), Error> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\naccept: application/json\r\n\r\n");
    client.get_mut().write_all(request.as_bytes())?;
    let mut length = None;
    loop {
        let line = line(client)?;
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("content-length")
        {
            length = Some(value.parse::<usize>()?);
        }
        if line.is_empty() {
            break;
        }
    }
    if let Some(length) = length {
        return skip(client, length);
    }
    loop {
        let size = usize::from_str_radix(&line(client)?, 16)?;
        skip(client, size + 2)?;
        if size == 0 {
            return Ok(());
        }
    }
}

fn line(client: &mut BufReader<TcpStream>) -> Result<String, Error> {
    let mut line = String::new();
    client.read_line(&mut line)?;
    if line.is_empty() {
        return Err("the connection ended early".into());
    }
    Ok(line.trim_end().to_owned())
}

fn skip(client: &mut BufReader<TcpStream>, bytes: usize) -> Result<(), Error> {
    let mut skipped = vec![0; bytes];
    Ok(client.read_exact(&mut skipped)?)
}

/// Of this thread so far, in microseconds: the first figure of its schedstat, in nanoseconds (proc(5)).
fn processor_time() -> Result<f64, Error> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = text.split_whitespace().next().ok_or("an empty schedstat")?;
    Ok(nanoseconds.parse::<f64>()? / 1e3)
}
