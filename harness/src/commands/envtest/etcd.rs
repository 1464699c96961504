//! The stand-in for etcd: says that it is well, and keeps nothing, because the stand-in for kube-apiserver keeps
//! everything itself.
//!
//! Flags say where and how a real etcd stores and joins others; none of that happens, so none of them is looked at but
//! where to listen. Whoever speaks etcd's own protocol (gRPC) to it gets no answer that they understand, and stderr says
//! so.

use std::{convert::Infallible, net::SocketAddr};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use proxy::accepting;
use tokio::{
    net::{TcpListener, TcpStream, lookup_host},
    signal::unix::{SignalKind, signal},
};

use super::{about, flags::Given};
use crate::{
    exit::{Exit, Expected},
    providers::listener::strangers::PATIENCE,
    stdout,
};

/// envtest looks for this flag in the help before it gives it; the others stand for the rest.
const FLAGS: &str = "
Flags that are looked at:
      --listen-client-urls   where to answer /health; http only
Flags that are accepted and change nothing, for nothing is kept; and all others of etcd:
      --data-dir
      --unsafe-no-fsync
";

/// With these clients come in a way that is not known here.
const REFUSED: [&str; 6] =
    ["auto-tls", "cert-file", "client-cert-auth", "config-file", "key-file", "trusted-ca-file"];

const DEFAULT_URL: &str = "http://127.0.0.1:2379";
/// As the real one that goes with Kubernetes 1.36.
const VERSION: &str = r#"{"etcdserver":"3.6.8","etcdcluster":"3.6.0","storage":"3.6.0"}"#;

/// Answers until SIGTERM or SIGINT.
pub fn run(arguments: &[String]) -> anyhow::Result<Exit> {
    let usage = |message: String| Expected::error(Exit::Usage, format!("etcd: {message}"));
    let switches = ["help", "h", "version", "unsafe-no-fsync"];
    let given = Given::read(arguments, |name| switches.contains(&name)).map_err(usage)?;
    if given.names().any(|name| ["help", "h"].contains(&name)) {
        stdout::write(&(about("etcd") + FLAGS));
        return Ok(Exit::Clean);
    }
    if given.one("version").is_some() {
        stdout::write(&format!("etcd Version: 3.6.8\n{}", about("etcd")));
        return Ok(Exit::Clean);
    }
    if let Some(name) = given.names().find(|name| REFUSED.contains(name)) {
        return Err(usage(format!("--{name}: this stand-in speaks plain HTTP and reads no files")));
    }
    let mut urls = given.list("listen-client-urls");
    if urls.is_empty() {
        urls.push(DEFAULT_URL);
    }
    let hosts = urls.iter().map(|url| {
        let host = url.strip_prefix("http://").map(|host| host.trim_end_matches('/'));
        host.ok_or_else(|| {
            usage(format!("--listen-client-urls: {url:?} does not begin with http://"))
        })
    });
    let hosts: Vec<&str> = hosts.collect::<anyhow::Result<_>>()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(&hosts))?;
    Ok(Exit::Clean)
}

async fn serve(hosts: &[&str]) -> anyhow::Result<()> {
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    for host in hosts {
        let cannot = |error: &dyn std::fmt::Display| {
            Expected::error(Exit::Environment, format!("etcd: cannot listen on {host}: {error}"))
        };
        let addresses = lookup_host(host).await.map_err(|error| cannot(&error))?;
        let addresses: Vec<SocketAddr> = addresses.collect();
        if !addresses.iter().all(|address| address.ip().is_loopback()) {
            return Err(cannot(&"only addresses of this machine's loopback are served"));
        }
        let listener = TcpListener::bind(&*addresses).await.map_err(|error| cannot(&error))?;
        tokio::spawn(accept(listener));
    }
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

async fn accept(listener: TcpListener) {
    let mut told = false;
    loop {
        match accepting::accept(&listener).await {
            Ok(stream) => drop(tokio::spawn(speak(stream))),
            Err(error) => {
                if !std::mem::replace(&mut told, true) {
                    eprintln!("etcd: a connection has to wait: {error}");
                }
                accepting::pause().await;
            }
        }
    }
}

async fn speak(stream: TcpStream) {
    let service = hyper::service::service_fn(async |request: Request<Incoming>| {
        Ok::<_, Infallible>(answer(request.uri().path()))
    });
    let mut connection = hyper::server::conn::http1::Builder::new();
    connection.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    if let Err(error) = connection.serve_connection(TokioIo::new(stream), service).await
        && error.is_parse()
    {
        eprintln!(
            "etcd: somebody speaks another protocol than HTTP/1.1 ({error}): this is a stand-in that keeps nothing"
        );
    }
}

fn answer(path: &str) -> Response<Full<Bytes>> {
    let text = match path {
        "/health" => r#"{"health":"true","reason":""}"#,
        "/livez" | "/readyz" => "ok\n",
        "/version" => VERSION,
        _ => {
            eprintln!("etcd: {path} was asked for: this is a stand-in that keeps nothing");
            "404 page not found\n"
        }
    };
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    if text.starts_with("404") {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response
}
