//! Cutting connections, and what the record says of it.

use futures::{StreamExt, channel::mpsc};
use http::Response;
use trace::{Fate, Verb};

use super::kit::*;
use crate::Passing;

#[test]
fn a_cut_decides_every_open_call() {
    run(async {
        let (streams, mut opened) = mpsc::unbounded();
        let bench_upstream = upstream(move |request| {
            let streams = streams.clone();
            let path = request.uri().path().to_owned();
            async move {
                match path.as_str() {
                    "/working" => std::future::pending().await,
                    "/api/v1/pods" => {
                        let (pieces, body) = streamed();
                        streams.unbounded_send(pieces)?;
                        let json = ("content-type", "application/json");
                        Ok(Response::builder().header(json.0, json.1).body(body)?)
                    }
                    _ => Ok(json_response(r#"{"metadata":{"resourceVersion":"4"}}"#)),
                }
            }
        });
        let mut bench = Bench::new(bench_upstream);
        let hold = bench.proxy.gate().hold(|passing| match passing {
            Passing::Request(call) => call.uri == "/held",
            Passing::Response(call, _) => call.uri == "/api/v1/nodes/answered",
            Passing::Delivery(..) => false,
        });
        let paths = ["/held", "/working", "/api/v1/nodes/answered", "/api/v1/pods?watch=1"];
        let mut wires = Vec::new();
        for path in paths {
            let mut wire = bench.connect().await;
            wire.request("GET", path, b"").await;
            wires.push(wire);
        }
        let mut idle = bench.connect().await;
        assert_eq!(idle.get("/idle").await.status, 200);
        let pieces = opened.next().await.unwrap();
        wires[3].head().await;
        hold.until_held(2).await;
        bench.until(|bench| bench.calls().len() == 5).await;

        let before = bench.proxy.flight().activity;
        bench.serving.take().unwrap().close();
        // At once, before anything else runs.
        assert_eq!(
            bench.fates(),
            [
                ("/api/v1/nodes/answered".to_owned(), Fate::Lost),
                ("/api/v1/pods?watch=1".to_owned(), Fate::Lost),
                ("/held".to_owned(), Fate::Dropped),
                ("/idle".to_owned(), Fate::Answered),
                ("/working".to_owned(), Fate::Lost),
            ]
        );
        let flight = bench.proxy.flight();
        assert!(flight.connections.is_empty() && flight.activity > before);
        let lost = bench.answers().into_iter().find(|answer| answer.revision.is_some());
        assert_eq!(lost.unwrap().status, 200, "what upstream answered is known");

        // Nothing that was held goes on now.
        hold.release();
        let _ = pieces.unbounded_send(Ok(http_body::Frame::data(event("ADDED", "a", 9).into())));
        for wire in wires.iter_mut().chain([&mut idle]) {
            assert_eq!(wire.until_closed().await, b"");
        }
        assert_eq!((bench.answers().len(), bench.deliveries().len()), (5, 0));
        bench.assert_at_rest();
        bench.until(|_| pieces.is_closed()).await;
        assert!(tokio::net::TcpStream::connect(bench.address).await.is_err(), "it listens no more");
    });
}

#[test]
fn one_connection_can_be_cut() {
    run(async {
        let bench = Bench::new(constant("{}"));
        let (mut one, mut other) = (bench.connect().await, bench.connect().await);
        assert_eq!(one.get("/one").await.status, 200);
        assert_eq!(other.get("/other").await.status, 200);
        let connection = bench.calls()[0].connection;
        assert!(bench.proxy.cut_connection(connection));
        assert!(!bench.proxy.cut_connection(connection));
        assert_eq!(one.until_closed().await, b"");
        assert_eq!(other.get("/other").await.status, 200);
        assert_eq!(bench.fates().len(), 3);
    });
}

#[test]
fn listeners_are_cut_one_by_one() {
    run(async {
        let mut bench = Bench::new(constant("{}"));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let second = bench.proxy.serve(listener, subject(None)).unwrap();
        let first = bench.serving.replace(second).unwrap();
        let mut wire = bench.connect().await;
        assert_eq!(wire.get("/a").await.status, 200);
        bench.address = bench.serving.as_ref().unwrap().address();
        let mut other = bench.connect().await;
        assert_eq!(other.get("/b").await.status, 200);
        first.close();
        assert_eq!(wire.until_closed().await, b"");
        assert_eq!(other.get("/c").await.status, 200);
        assert_eq!(bench.proxy.flight().connections.len(), 1);
    });
}

#[test]
fn a_watch_whose_client_leaves_is_let_go() {
    run(async {
        let (service, mut streams) = watched("application/json");
        let bench = Bench::new(service);
        let mut wire = bench.connect().await;
        wire.request("GET", "/api/v1/watch/pods", b"").await;
        let pieces = streams.next().await.unwrap();
        wire.head().await;
        drop(wire);
        bench.until(|_| pieces.is_closed()).await;
        bench.until(|bench| bench.proxy.flight().connections.is_empty()).await;
        assert_eq!(bench.calls()[0].verb, Verb::Watch);
        assert_eq!(bench.answers()[0].fate, Fate::Lost);
    });
}

#[test]
fn an_answer_without_a_body_is_lost_with_its_client() {
    run(async {
        let bench = Bench::new(constant("{}"));
        let hold = bench.proxy.gate().hold(|passing| matches!(passing, Passing::Response(..)));
        let mut wire = bench.connect().await;
        wire.request("HEAD", "/a", b"").await;
        hold.until_held(1).await;
        drop(wire);
        bench.until(|bench| bench.proxy.flight().connections.is_empty()).await;
        assert_eq!(bench.fates(), [("/a".to_owned(), Fate::Lost)]);
    });
}
