//! Real servers behind, and TLS in front: a proxy in front of a proxy.

use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tower::ServiceExt;
use trace::{Fate, Time};

use super::kit::*;
use crate::{
    remote,
    tls::{Authority, TlsError, client_config, server_config},
};

/// New Year 2026: what is minted then is valid from 2025 to 2045, by the real clock that TLS reads.
const NOW: Time = Time(1_767_225_600_000_000_000);

#[test]
fn requests_pass_a_real_server_over_tls() {
    run(async {
        let authority = Authority::mint(NOW).unwrap();
        let server = authority.server(NOW, &["api.example.com"]).unwrap();
        let far = Bench::with_tls(
            upstream(|request| async move {
                let (parts, body) = request.into_parts();
                let token = parts.headers.get("authorization").cloned();
                assert_eq!(parts.uri.path(), "/prefix/api/v1/nodes/a");
                let mut response = Response::new(body);
                response.headers_mut().extend(token.map(|token| (http::header::ETAG, token)));
                Ok(response)
            }),
            Some(server_config(&server).unwrap()),
        );
        let client = authority.client(NOW, "admin", &["system:masters"]).unwrap();
        let trust = authority.pair().certificate.clone();
        let config = client_config(&trust, Some(&client)).unwrap();
        let base = format!("https://localhost:{}/prefix/", far.address.port()).parse().unwrap();
        let own =
            HeaderMap::from_iter([(http::header::AUTHORIZATION, "Bearer own".parse().unwrap())]);
        for (headers, expect) in [(HeaderMap::new(), "bearer theirs"), (own, "bearer own")] {
            let near = Bench::new(remote(&base, Some(config.clone()), headers).unwrap());
            let mut wire = near.connect().await;
            for _ in 0..2 {
                wire.send(
                    "POST /api/v1/nodes/a HTTP/1.1\r\nhost: a\r\nauthorization: Bearer theirs\r\n\
                     transfer-encoding: chunked\r\nkeep-alive: x\r\nconnection: x-hop\r\n\r\n\
                     2\r\n{}\r\n0\r\n\r\n",
                )
                .await;
                let reply = wire.reply().await;
                assert_eq!(reply.body, b"{}");
                assert!(reply.head.contains(&format!("etag: {expect}")), "{}", reply.head);
            }
            near.assert_at_rest();
            assert_eq!(near.answers()[0].fate, Fate::Answered);
        }
        far.until(|bench| bench.answers().len() == 4).await;
        far.until(|bench| bench.proxy.flight().calls.is_empty()).await;
    });
}

#[test]
fn a_handshake_is_under_way() {
    run(async {
        let authority = Authority::mint(NOW).unwrap();
        let config = server_config(&authority.server(NOW, &[]).unwrap()).unwrap();
        let bench = Bench::with_tls(constant("{}"), Some(config));
        let mut wire = bench.connect().await;
        bench.until(|bench| bench.proxy.flight().connections.len() == 1).await;
        bench.assert_at_rest();
        wire.send(b"\x16\x03\x01").await;
        bench.until(|bench| bench.proxy.flight().calls.len() == 1).await;
        drop(wire);
        bench.until(|bench| bench.proxy.flight().connections.is_empty()).await;
        bench.assert_at_rest();
        assert_eq!(bench.recorder.with(|history| history.records.len()), 0);
    });
}

#[test]
fn certificates_survive_text_and_strangers_are_not_trusted() {
    run(async {
        let minted = Authority::mint(NOW).unwrap();
        let loaded = Authority::load(minted.pair().clone()).unwrap();
        let pair = loaded.server(NOW, &[]).unwrap();
        let bench = Bench::with_tls(constant("{}"), Some(server_config(&pair).unwrap()));
        let reach = |trust: &Authority, host: &str| {
            let config = client_config(&trust.pair().certificate, None).unwrap();
            let base = format!("https://{host}:{}", bench.address.port()).parse().unwrap();
            let upstream = remote(&base, Some(config), HeaderMap::new()).unwrap();
            upstream.oneshot(Request::new(crate::full(bytes::Bytes::new())))
        };
        assert_eq!(reach(&minted, "127.0.0.1").await.unwrap().status(), 200);
        assert_eq!(reach(&minted, "localhost").await.unwrap().status(), 200);
        let stranger = Authority::mint(NOW).unwrap();
        assert!(reach(&stranger, "127.0.0.1").await.is_err());
        let garbage =
            Authority::load(crate::tls::Pair { certificate: "x".into(), key: "y".into() });
        assert!(matches!(garbage, Err(TlsError::Pem(_))));
    });
}

#[test]
fn upstreams_that_can_not_exist_are_refused() {
    let check = |url: &str, expect: &str| {
        let error = remote(&url.parse().unwrap(), None, HeaderMap::new()).unwrap_err();
        assert_eq!(error.to_string(), expect);
    };
    check("ftp://a", "not the URL of a server: ftp://a/");
    check("/only/a/path", "not the URL of a server: /only/a/path");
    check("https://a", "no TLS configuration for https://a/");
}

/// Answers an upgrade, then turns what it reads into upper case, until its reader is done.
async fn shout(listener: TcpListener) {
    let (stream, _) = listener.accept().await.unwrap();
    let service =
        hyper::service::service_fn(|mut request: Request<hyper::body::Incoming>| async move {
            assert_eq!(request.headers()["upgrade"], "shout");
            assert_eq!(request.headers()["connection"], "Upgrade");
            let upgrade = hyper::upgrade::on(&mut request);
            tokio::spawn(async move {
                let mut stream = TokioIo::new(upgrade.await.unwrap());
                let mut buffer = [0; 100];
                while let Ok(read @ 1..) = stream.read(&mut buffer).await {
                    stream.write_all(&buffer[..read].to_ascii_uppercase()).await.unwrap();
                }
                stream.shutdown().await.unwrap();
            });
            let response = Response::builder().status(101).header("upgrade", "shout");
            response.header("connection", "Upgrade").body(String::new())
        });
    let connection = hyper::server::conn::http1::Builder::new();
    connection.serve_connection(TokioIo::new(stream), service).with_upgrades().await.unwrap();
}

#[test]
fn upgrades_are_spliced_both_ways() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        tokio::spawn(shout(listener));
        let bench = Bench::new(remote(&base, None, HeaderMap::new()).unwrap());
        let mut wire = bench.connect().await;
        wire.send(
            "GET /api/v1/namespaces/d/pods/a/exec HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\n\
             upgrade: shout\r\n\r\n",
        )
        .await;
        let reply = wire.head().await;
        assert_eq!(reply.status, 101);
        assert!(reply.head.contains("upgrade: shout"));
        assert_eq!(bench.answers()[0].status, 101);
        let mut before = bench.proxy.flight().activity;
        for text in ["one", "two"] {
            wire.send(text).await;
            let mut answer = [0; 3];
            read_exactly(&mut wire.stream, &mut answer).await;
            assert_eq!(answer, text.to_ascii_uppercase().as_bytes());
            bench.assert_at_rest();
            let activity = bench.proxy.flight().activity;
            assert!(activity >= before + 6);
            before = activity;
        }
        wire.stream.shutdown().await.unwrap();
        assert_eq!(wire.until_closed().await, b"");
        bench.until(|bench| bench.proxy.flight().connections.is_empty()).await;
        assert_eq!(bench.answers().len(), 1);
    });
}

async fn read_exactly(stream: &mut TcpStream, buffer: &mut [u8]) {
    stream.read_exact(buffer).await.unwrap();
}

#[test]
fn a_body_that_a_real_server_streams_is_streamed() {
    run(async {
        let (service, mut streams) = watched("application/json");
        let far = Bench::new(service);
        let base = format!("http://{}", far.address).parse().unwrap();
        let near = Bench::new(remote(&base, None, HeaderMap::new()).unwrap());
        let mut wire = near.connect().await;
        wire.request("GET", "/api/v1/configmaps?watch=1", b"").await;
        let pieces = futures::StreamExt::next(&mut streams).await.unwrap();
        wire.head().await;
        for revision in 1..5 {
            send(&pieces, event("ADDED", "a", revision));
            assert_eq!(wire.chunk().await.unwrap(), event("ADDED", "a", revision).as_bytes());
        }
        // A server that dies in the middle of a watch.
        let mut far = far;
        far.serving.take().unwrap().close();
        wire.until_closed().await;
        near.until(|bench| bench.proxy.flight().connections.is_empty()).await;
        assert_eq!(near.answers()[0].fate, Fate::Lost);
        assert_eq!(near.deliveries().len(), 4);
    });
}

#[test]
fn bodies_can_be_collected_from_a_real_server() {
    run(async {
        let far = Bench::new(constant("{\"a\":1}"));
        let base = format!("http://{}", far.address).parse().unwrap();
        let upstream = remote(&base, None, HeaderMap::new()).unwrap();
        let request = Request::new(crate::full(bytes::Bytes::new()));
        let response = upstream.oneshot(request).await.unwrap();
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "{\"a\":1}");
    });
}
