//! Requests and answers that end.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures::channel::oneshot;
use http::Response;
use http_body_util::BodyExt;
use proptest::prelude::*;
use trace::{Actor, Body as Recorded, CallId, ConnectionId, Event, Fate, Revision, Verb};

use super::kit::*;

const PATH: &str = "/api/v1/namespaces/default/configmaps/a";

/// What an upstream was sent, and what it answers.
fn echo(pieces: Vec<Vec<u8>>, known_length: bool) -> (crate::Upstream, Arc<Mutex<Vec<u8>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = seen.clone();
    let service = upstream(move |request| {
        let (sees, pieces) = (sees.clone(), pieces.clone());
        async move {
            let bytes = request.into_body().collect().await?.to_bytes();
            sees.lock().unwrap().extend_from_slice(&bytes);
            if known_length {
                return Ok(Response::new(crate::full(pieces.concat().into())));
            }
            let (sender, body) = streamed();
            for piece in pieces {
                send(&sender, piece);
            }
            Ok(Response::new(body))
        }
    });
    (service, seen)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn bytes_are_forwarded_unchanged(
        request in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..3000), 0..6),
        answer in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..3000), 0..6),
        chunked in any::<bool>(),
        known_length in any::<bool>(),
        flushes in prop::collection::vec(1..4000_usize, 1..5),
    ) {
        run(async {
            let (service, seen) = echo(answer.clone(), known_length);
            let bench = Bench::new(service);
            let mut wire = bench.connect().await;
            let mut bytes = format!("PUT {PATH} HTTP/1.1\r\nhost: a\r\n").into_bytes();
            if chunked {
                bytes.extend(b"transfer-encoding: chunked\r\n\r\n");
                for chunk in &request {
                    bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                    bytes.extend(chunk);
                    bytes.extend(b"\r\n");
                }
                bytes.extend(b"0\r\n\r\n");
            } else {
                let length = request.concat().len();
                bytes.extend(format!("content-length: {length}\r\n\r\n").into_bytes());
                bytes.extend(request.concat());
            }
            let mut left = &bytes[..];
            for flush in flushes.iter().cycle() {
                let (now, later) = left.split_at(left.len().min(*flush));
                wire.send(now).await;
                tokio::task::yield_now().await;
                left = later;
                if left.is_empty() {
                    break;
                }
            }
            let reply = wire.reply().await;
            assert_eq!(reply.body, answer.concat());
            assert_eq!(*seen.lock().unwrap(), request.concat());
            let raw = bench.calls()[0].raw.clone().unwrap_or_default();
            assert_eq!(raw[..], request.concat());
            assert_eq!(bench.answers()[0].fate, Fate::Answered);
            bench.assert_at_rest();
            let flight = bench.proxy.flight();
            assert_eq!(flight.connections[0].received_bytes, bytes.len() as u64);
        });
    }
}

#[test]
fn calls_and_answers_are_recorded() {
    run(async {
        let object = r#"{"kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"7"}}"#;
        let service = upstream(move |request| async move {
            assert_eq!(request.extensions().get::<Actor>(), Some(&Actor::Subject(0)));
            assert!(request.extensions().get::<CallId>().is_some());
            assert_eq!(request.headers()["accept-encoding"], "gzip");
            Ok(json_response(object))
        });
        let bench = Bench::new(service);
        let mut wire = bench.connect().await;
        wire.request("PUT", PATH, br#"{"data":{}}"#).await;
        assert_eq!(wire.reply().await.body, object.as_bytes());
        bench.assert_at_rest();
        assert_eq!(wire.get("/version").await.status, 200);
        let calls = bench.calls();
        assert_eq!((calls[0].id, calls[1].id), (CallId(1), CallId(2)));
        assert_eq!(calls[0].connection, ConnectionId(1));
        assert_eq!(calls[1].connection, ConnectionId(1), "the connection was kept");
        assert_eq!((calls[0].verb, calls[0].incarnation), (Verb::Update, 3));
        assert_eq!(calls[0].object_key().unwrap().to_string(), "configmaps/default/a");
        assert_eq!((calls[0].uri.as_str(), calls[0].user_agent.as_str()), (PATH, "kit"));
        assert_eq!(calls[0].body.json().unwrap()["data"], serde_json::json!({}));
        assert_eq!(calls[1].raw, None);
        let answers = bench.answers();
        assert_eq!((answers[0].status, answers[0].revision), (200, Some(Revision(7))));
        assert_eq!(answers[0].body.json().unwrap()["kind"], "ConfigMap");
        bench.assert_at_rest();
        assert_eq!(bench.proxy.flight().connections.len(), 1);
    });
}

#[test]
fn answers_without_bodies_are_complete() {
    run(async {
        let service = upstream(|request| async move {
            let path = request.uri().path();
            let mut response = json_response("{}");
            *response.status_mut() = match path {
                "/not-modified" => http::StatusCode::NOT_MODIFIED,
                "/no-content" => http::StatusCode::NO_CONTENT,
                _ => http::StatusCode::OK,
            };
            Ok(response)
        });
        let bench = Bench::new(service);
        let mut wire = bench.connect().await;
        for (method, path, status) in
            [("HEAD", "/a", 200), ("GET", "/not-modified", 304), ("GET", "/no-content", 204)]
        {
            wire.request(method, path, b"").await;
            assert_eq!(wire.head().await.status, status);
            bench.assert_at_rest();
        }
        assert_eq!(wire.get("/b").await.body, b"{}");
        let fates: Vec<_> = bench.answers().iter().map(|answer| answer.fate).collect();
        assert_eq!(fates, [Fate::Answered; 4]);
    });
}

#[test]
fn packed_answers_are_unpacked_for_the_record_only() {
    run(async {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(br#"{"metadata":{"resourceVersion":"9"}}"#).unwrap();
        let packed = Bytes::from(packer.finish().unwrap());
        let sent = packed.clone();
        let bench = Bench::new(upstream(move |_| {
            let response = Response::builder()
                .header("content-type", "application/json")
                .header("content-encoding", "gzip")
                .body(crate::full(sent.clone()));
            async move { Ok(response?) }
        }));
        let reply = bench.connect().await.get(PATH).await;
        assert_eq!(reply.body, packed);
        assert!(reply.head.contains("content-encoding: gzip"));
        assert_eq!(bench.answers()[0].revision, Some(Revision(9)));
    });
}

#[test]
fn large_lists_keep_their_revision_only() {
    run(async {
        let item = format!("\"{}\"", "x".repeat(1000));
        let items = vec![item; 100].join(",");
        let list = format!(r#"{{"metadata":{{"resourceVersion":"12"}},"items":[{items}]}}"#);
        let bench = Bench::new(constant(list.leak()));
        bench.connect().await.get("/api/v1/configmaps").await;
        let answer = &bench.answers()[0];
        assert_eq!(answer.revision, Some(Revision(12)));
        assert!(matches!(&answer.body, Recorded::Opaque { length, .. } if *length > 100_000));
    });
}

#[test]
fn an_answer_that_is_too_long_to_wait_for_streams() {
    run(async {
        let piece = Bytes::from(vec![b'x'; 1 << 20]);
        let (sender, body) = streamed();
        let body = Mutex::new(Some(body));
        let body = Arc::new(body);
        let bench = Bench::new(upstream(move |_| {
            let body = body.lock().unwrap().take().unwrap();
            async move { Ok(Response::new(body)) }
        }));
        let mut wire = bench.connect().await;
        wire.request("GET", "/openapi/v2", b"").await;
        (0..9).for_each(|_| send(&sender, piece.clone()));
        assert_eq!(wire.head().await.status, 200);
        assert_eq!(bench.answers(), []);
        (0..3).for_each(|_| send(&sender, piece.clone()));
        drop(sender);
        assert_eq!(wire.chunks().await.len(), 12 << 20);
        assert_eq!(bench.answers()[0].fate, Fate::Answered);
        bench.assert_at_rest();
    });
}

#[test]
fn requests_that_are_too_long_are_refused() {
    run(async {
        let bench = Bench::new(upstream(|_| async { panic!("must not be forwarded") }));
        for head in ["content-length: 4000000\r\n\r\n", "transfer-encoding: chunked\r\n\r\n"] {
            let mut wire = bench.connect().await;
            wire.send(format!(
                "POST /api/v1/namespaces/d/configmaps HTTP/1.1\r\nhost: a\r\n{head}"
            ))
            .await;
            if head.contains("chunked") {
                let chunk = [b"100000\r\n", &vec![b'x'; 1 << 20][..], b"\r\n"].concat();
                for _ in 0..4 {
                    // The proxy hangs up as soon as it is too much.
                    let _ = tokio::io::AsyncWriteExt::write_all(&mut wire.stream, &chunk).await;
                }
            }
            let text = String::from_utf8(wire.until_closed().await).unwrap();
            assert!(text.starts_with("HTTP/1.1 413 "), "{text}");
            assert!(text.contains("limit is 3145728"), "{text}");
        }
        assert!(bench.calls().iter().all(|call| call.raw.is_none()));
        assert_eq!(
            bench.answers().iter().map(|answer| answer.status).collect::<Vec<_>>(),
            [413; 2]
        );
        bench.until(|bench| bench.proxy.flight().connections.is_empty()).await;
    });
}

#[test]
fn what_is_no_http_is_refused_and_not_recorded() {
    run(async {
        let bench = Bench::new(upstream(|_| async { panic!("must not be forwarded") }));
        for garbage in
            ["GARBAGE\r\n\r\n", "GET / HTTP/1.1\r\n bad header\r\n\r\n", "\x16\x03\x01\x02"]
        {
            let mut wire = bench.connect().await;
            wire.send(garbage).await;
            let text = String::from_utf8(wire.until_closed().await).unwrap();
            assert!(text.starts_with("HTTP/1.1 400 "), "{garbage:?}: {text}");
        }
        bench.until(|bench| bench.proxy.flight().connections.is_empty()).await;
        assert_eq!(bench.recorder.with(|history| history.records.len()), 0);
        bench.assert_at_rest();
    });
}

#[test]
fn half_a_request_is_under_way() {
    run(async {
        let bench = Bench::new(constant("{}"));
        let mut wire = bench.connect().await;
        wire.send("\r\n").await;
        bench.until(|bench| bench.proxy.flight().activity == 3).await;
        bench.assert_at_rest();
        let parts = [format!("PUT {PATH} HTTP/1.1\r\n"), "content-length: 4\r\n\r\nab".to_owned()];
        let mut expect = 2;
        for part in parts {
            wire.send(&part).await;
            expect += part.len() as u64;
            bench.until(|b| b.proxy.flight().connections[0].received_bytes == expect).await;
            assert_eq!(bench.proxy.flight().calls.len(), 1);
            assert_eq!(bench.calls(), []);
        }
        wire.send("cd").await;
        assert_eq!(wire.reply().await.status, 200);
        bench.assert_at_rest();
    });
}

#[test]
fn requests_in_a_row_on_one_connection_are_answered_in_order() {
    run(async {
        let bench = Bench::new(upstream(|request| async move {
            Ok(Response::new(crate::full(request.uri().path().to_owned().into())))
        }));
        let mut wire = bench.connect().await;
        let one = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n");
        wire.send(one("/1") + &one("/2") + &one("/3")).await;
        for body in ["/1", "/2", "/3"] {
            assert_eq!(wire.reply().await.body, body.as_bytes());
        }
        bench.assert_at_rest();
        assert_eq!(bench.answers().len(), 3);
    });
}

#[test]
fn half_of_a_next_request_is_under_way() {
    run(async {
        let (called, mut calls) = futures::channel::mpsc::unbounded();
        let bench = Bench::new(upstream(move |_| {
            let (answer, answered) = oneshot::channel::<()>();
            called.unbounded_send(answer).unwrap();
            async move {
                answered.await?;
                Ok(json_response("{}"))
            }
        }));
        let mut wire = bench.connect().await;
        wire.request("GET", "/first", b"").await;
        let first = futures::StreamExt::next(&mut calls).await.unwrap();
        let received = bench.proxy.flight().connections[0].received_bytes;
        wire.send("GET /second HTTP/1.1\r\n").await;
        bench.until(|b| b.proxy.flight().connections[0].received_bytes > received).await;
        assert_eq!(bench.proxy.flight().calls.len(), 2);
        first.send(()).unwrap();
        assert_eq!(wire.reply().await.status, 200);
        assert_eq!(bench.proxy.flight().calls.len(), 1, "the second is still coming");
        wire.send("\r\n").await;
        let second = futures::StreamExt::next(&mut calls).await.unwrap();
        second.send(()).unwrap();
        assert_eq!(wire.reply().await.status, 200);
        bench.assert_at_rest();
    });
}

#[test]
fn an_upstream_that_fails_costs_the_connection() {
    run(async {
        let bench = Bench::new(upstream(|_| async { Err("it burns".into()) }));
        let mut wire = bench.connect().await;
        wire.request("GET", PATH, b"").await;
        assert_eq!(wire.until_closed().await, b"");
        bench.until(|bench| bench.proxy.flight().connections.is_empty()).await;
        assert_eq!(bench.fates(), [(PATH.to_owned(), Fate::Lost)]);
        let notes = bench.events(|event| match event {
            Event::Note { text } => Some(text.clone()),
            _ => None,
        });
        assert_eq!(notes, ["call 1 got no answer from upstream: it burns"]);
    });
}

#[test]
fn an_answer_that_breaks_breaks_for_the_client() {
    run(async {
        for piece in ["", "{\"half\":"] {
            let bench = Bench::new(upstream(move |_| {
                let (sender, body) = streamed();
                send(&sender, piece);
                sender.unbounded_send(Err("broken".into())).unwrap();
                async move { Ok(Response::new(body)) }
            }));
            let mut wire = bench.connect().await;
            wire.request("GET", PATH, b"").await;
            let text = String::from_utf8(wire.until_closed().await).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
            assert!(!body.ends_with("0\r\n\r\n") && body.contains(piece), "{body}");
            bench.until(|bench| bench.proxy.flight().connections.is_empty()).await;
            assert_eq!(bench.fates(), [(PATH.to_owned(), Fate::Lost)]);
        }
    });
}

#[test]
fn an_upstream_may_ask_to_close_the_connection() {
    run(async {
        let bench = Bench::new(upstream(|_| async {
            let mut response = json_response("{}");
            response.headers_mut().insert("connection", "close".parse()?);
            Ok(response)
        }));
        let mut wire = bench.connect().await;
        assert_eq!(wire.get(PATH).await.body, b"{}");
        assert_eq!(wire.until_closed().await, b"");
        bench.until(|bench| bench.proxy.flight().connections.is_empty()).await;
        assert_eq!(bench.fates(), [(PATH.to_owned(), Fate::Answered)]);
    });
}

#[test]
fn a_client_that_leaves_is_recorded() {
    run(async {
        let (called, mut calls) = futures::channel::mpsc::unbounded();
        let bench = Bench::new(upstream(move |_| {
            let (answer, answered) = oneshot::channel::<()>();
            called.unbounded_send(answer).unwrap();
            async move {
                answered.await?;
                Ok(json_response("{}"))
            }
        }));
        // In the middle of a request: it never was a call.
        let mut wire = bench.connect().await;
        wire.send(format!("PUT {PATH} HTTP/1.1\r\ncontent-length: 4\r\n\r\nab")).await;
        bench.until(|bench| !bench.proxy.flight().calls.is_empty()).await;
        drop(wire);
        bench.until(|bench| bench.proxy.flight().connections.is_empty()).await;
        assert_eq!(bench.calls(), []);
        // While upstream works on it.
        let mut wire = bench.connect().await;
        wire.request("PUT", PATH, b"{}").await;
        let _answer = futures::StreamExt::next(&mut calls).await.unwrap();
        drop(wire);
        bench.until(|bench| bench.proxy.flight().connections.is_empty()).await;
        assert_eq!(bench.fates(), [(PATH.to_owned(), Fate::Lost)]);
        bench.assert_at_rest();
    });
}

#[test]
fn calls_from_within_are_recorded_too() {
    run(async {
        let bench = Bench::new(upstream(|request| async move {
            assert_eq!(request.extensions().get::<Actor>(), Some(&Actor::User));
            match request.uri().path() {
                "/fails" => Err("no".into()),
                _ => Ok(json_response(r#"{"metadata":{"resourceVersion":"3"}}"#)),
            }
        }));
        bench.proxy.gate().close();
        for (path, succeeds) in [(PATH, true), ("/fails", false)] {
            let request = http::Request::get(path).body(crate::full("{}".into())).unwrap();
            let service = bench.proxy.in_process(Actor::User, 0);
            assert_eq!(tower::ServiceExt::oneshot(service, request).await.is_ok(), succeeds);
        }
        let calls = bench.calls();
        assert_eq!((calls[0].connection, calls[0].verb), (ConnectionId(0), Verb::Get));
        let answers = bench.answers();
        assert_eq!((answers[0].fate, answers[0].revision), (Fate::Answered, Some(Revision(3))));
        assert_eq!((answers[1].fate, answers[1].status), (Fate::Lost, 0));
    });
}
