//! Watch streams.

use futures::StreamExt;
use proptest::prelude::*;
use trace::{Delivery, DeliveryKind, Event, Fate, Revision, Verb};

use super::kit::*;
use crate::{Passing, Stop};

const WATCH: &str = "/api/v1/configmaps?watch=1";

fn names(deliveries: &[Delivery]) -> Vec<&str> {
    deliveries.iter().map(|delivery| delivery.object_name.as_str()).collect()
}

#[test]
fn each_event_is_seen_before_the_next_is_made() {
    let check = |content_type: &'static str, frame: fn(String) -> Vec<u8>| {
        run(async {
            let (service, mut streams) = watched(content_type);
            let bench = Bench::new(service);
            let mut wire = bench.connect().await;
            wire.request("GET", WATCH, b"").await;
            let pieces = streams.next().await.unwrap();
            assert_eq!(wire.head().await.status, 200);
            bench.assert_at_rest();
            for (index, kind) in ["ADDED", "MODIFIED", "DELETED", "BOOKMARK"].iter().enumerate() {
                let bytes = frame(event(kind, "a", index as u64 + 5));
                send(&pieces, bytes.clone());
                assert_eq!(wire.chunk().await.unwrap(), bytes);
                assert_eq!(bench.deliveries().len(), index + 1);
                bench.assert_at_rest();
            }
            drop(pieces);
            assert_eq!(wire.chunk().await, None);
            bench.assert_at_rest();
            let deliveries = bench.deliveries();
            assert_eq!(names(&deliveries), ["default/a", "default/a", "default/a", ""]);
            assert_eq!(deliveries[1].kind, DeliveryKind::Modified);
            assert_eq!((deliveries[3].index, deliveries[3].revision), (3, Some(Revision(8))));
            assert_eq!(deliveries[0].object, None, "objects are not kept unless asked for");
            assert_eq!(bench.calls()[0].verb, Verb::Watch);
            assert_eq!(bench.answers()[0].fate, Fate::Answered);
        });
    };
    check("application/json", String::into_bytes);
    check("application/vnd.kubernetes.protobuf;stream=watch", |text| {
        [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat()
    });
}

#[test]
fn pieces_of_an_event_are_under_way_until_they_are_whole() {
    run(async {
        let (service, mut streams) = watched("application/json");
        let bench = Bench::new(service);
        let mut wire = bench.connect().await;
        wire.request("GET", WATCH, b"").await;
        let pieces = streams.next().await.unwrap();
        wire.head().await;
        let bytes = event("ADDED", "a", 5);
        let (first, second) = bytes.split_at(20);
        send(&pieces, first.to_owned());
        bench.until(|bench| bench.proxy.flight().undelivered == 1).await;
        assert_eq!(bench.deliveries(), []);
        send(&pieces, second.to_owned());
        assert_eq!(wire.chunk().await.unwrap(), bytes.as_bytes());
        bench.assert_at_rest();
        // A stream that breaks in the middle breaks there for the client too.
        send(&pieces, first.to_owned());
        pieces.unbounded_send(Err("broken".into())).unwrap();
        assert_eq!(wire.chunk().await.unwrap(), first.as_bytes());
        assert_eq!(wire.until_closed().await, b"");
        bench.until(|bench| bench.proxy.flight().connections.is_empty()).await;
        assert_eq!(bench.fates(), [(WATCH.to_owned(), Fate::Lost)]);
        assert_eq!(bench.deliveries().len(), 1);
    });
}

#[test]
fn watches_are_not_packed() {
    run(async {
        let bench = Bench::new(upstream(|request| async move {
            assert!(!request.headers().contains_key("accept-encoding"));
            Ok(json_response(""))
        }));
        let mut wire = bench.connect().await;
        wire.send(format!("GET {WATCH} HTTP/1.1\r\nhost: a\r\naccept-encoding: gzip\r\n\r\n"))
            .await;
        assert_eq!(wire.reply().await.status, 200);
        assert_eq!(bench.answers()[0].fate, Fate::Answered);
    });
}

#[test]
fn a_watch_over_a_websocket_is_answered_at_once() {
    run(async {
        let never = |_| async { panic!("it does not get this far") };
        let bench = Bench::new(upstream(never));
        let mut wire = bench.connect().await;
        let names = "host: a\r\nupgrade: websocket\r\nconnection: Upgrade";
        wire.send(format!("GET {WATCH} HTTP/1.1\r\n{names}\r\n\r\n")).await;
        let reply = wire.reply().await;
        assert_eq!((reply.status, &*reply.body), (200, &b""[..]));
        assert_eq!(bench.answers()[0].fate, Fate::Answered);
        bench.assert_at_rest();
    });
}

#[test]
fn a_refused_watch_is_an_ordinary_answer() {
    run(async {
        let bench = Bench::new(upstream(|_| async {
            let mut response = json_response(r#"{"kind":"Status","code":422}"#);
            *response.status_mut() = http::StatusCode::UNPROCESSABLE_ENTITY;
            Ok(response)
        }));
        assert_eq!(bench.connect().await.get(WATCH).await.status, 422);
        assert_eq!(bench.answers()[0].body.json().unwrap()["code"], 422);
        bench.assert_at_rest();
    });
}

/// What would have no end has one where it is refused, and says why.
#[test]
fn a_refused_log_or_exec_is_an_ordinary_answer() {
    for path in ["log", "exec", "attach", "portforward"] {
        run(async {
            let bench = Bench::new(upstream(|_| async {
                let mut response = json_response(r#"{"kind":"Status","message":"no kubelet"}"#);
                *response.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
                Ok(response)
            }));
            let uri = format!("/api/v1/namespaces/default/pods/a/{path}");
            assert_eq!(bench.connect().await.get(&uri).await.status, 500);
            assert_eq!(bench.answers()[0].body.json().unwrap()["message"], "no kubelet", "{path}");
            bench.assert_at_rest();
        });
    }
}

#[test]
fn streams_that_can_not_be_read_pass_with_a_note() {
    let check = |content_type, bytes: &'static str| {
        run(async {
            let (service, mut streams) = watched(content_type);
            let bench = Bench::new(service);
            let mut wire = bench.connect().await;
            wire.request("GET", WATCH, b"").await;
            let pieces = streams.next().await.unwrap();
            send(&pieces, bytes);
            wire.head().await;
            assert_eq!(wire.chunk().await.unwrap(), bytes.as_bytes());
            let note = |event: &Event| matches!(event, Event::Note { .. }).then_some(());
            assert_eq!(bench.events(note).len(), 1);
            assert_eq!(bench.deliveries(), []);
            bench.assert_at_rest();
        });
    };
    check("application/cbor-seq", "anything");
    check("application/json", "no event\n");
}

#[test]
fn a_closed_gate_keeps_every_event_back() {
    run(async {
        let (service, mut streams) = watched("application/json");
        let bench = Bench::new(service);
        let mut wire = bench.connect().await;
        wire.request("GET", WATCH, b"").await;
        let pieces = streams.next().await.unwrap();
        wire.head().await;
        bench.proxy.gate().close();
        send(&pieces, event("ADDED", "a", 5) + "no event\n");
        bench.until(|bench| bench.proxy.flight().held == 2).await;
        assert_eq!(bench.deliveries(), []);
        let stop = bench.proxy.gate().arm(Stop { matches: Box::new(|_| true) });
        bench.proxy.gate().open();
        stop.await;
        drop(pieces);
        bench.until(|bench| bench.proxy.flight().held == 2).await;
        bench.proxy.gate().open();
        assert_eq!(wire.chunk().await.unwrap(), event("ADDED", "a", 5).as_bytes());
        assert_eq!(wire.chunk().await.unwrap(), b"no event\n");
        assert_eq!(wire.chunk().await, None);
        bench.assert_at_rest();
    });
}

#[test]
fn a_reader_that_is_slow_has_events_under_way() {
    run(async {
        let (service, mut streams) = watched("application/json");
        let bench = Bench::new(service);
        let mut slow = bench.connect().await;
        slow.request("GET", WATCH, b"").await;
        let pieces = streams.next().await.unwrap();
        slow.head().await;
        // More than a socket's buffers hold.
        let events: Vec<String> =
            (1..200).map(|revision| event("ADDED", &"x".repeat(100_000), revision)).collect();
        events.iter().for_each(|event| send(&pieces, event.clone()));
        bench.until(|bench| bench.proxy.flight().undelivered > 0).await;
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert!(bench.proxy.flight().undelivered > 0);
        assert_eq!(bench.answers(), []);
        drop(pieces);
        assert_eq!(slow.chunks().await, events.concat().as_bytes());
        assert_eq!(bench.deliveries().len(), events.len());
        bench.assert_at_rest();
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
    #[test]
    fn streams_are_forwarded_unchanged(
        names in prop::collection::vec("[a-z]{1,2000}", 1..20),
        cuts in prop::collection::vec(1..5000_usize, 1..6),
    ) {
        run(async {
            let (service, mut streams) = watched("application/json");
            let bench = Bench::new(service);
            let mut wire = bench.connect().await;
            wire.request("GET", WATCH, b"").await;
            let pieces = streams.next().await.unwrap();
            let events: Vec<String> = names.iter().map(|name| event("ADDED", name, 5)).collect();
            let all = events.concat();
            let (mut left, mut cuts) = (all.as_str(), cuts.iter().cycle());
            while !left.is_empty() {
                let (piece, rest) = left.split_at(left.len().min(*cuts.next().unwrap()));
                send(&pieces, piece.to_owned());
                left = rest;
            }
            drop(pieces);
            assert_eq!(wire.reply().await.body, all.as_bytes());
            let expect: Vec<String> = names.iter().map(|name| format!("default/{name}")).collect();
            assert_eq!(super::watching::names(&bench.deliveries()), expect);
            bench.assert_at_rest();
        });
    }
}

#[test]
fn held_events_are_released_in_order() {
    run(async {
        let (service, mut streams) = watched("application/json");
        let bench = Bench::new(service);
        let hold = bench.proxy.gate().hold(|passing| match passing {
            Passing::Delivery(_, delivery) => {
                assert!(delivery.object.is_some(), "the gate sees objects");
                delivery.object_name == "default/b"
            }
            _ => false,
        });
        let (mut held, mut free) = (bench.connect().await, bench.connect().await);
        held.request("GET", WATCH, b"").await;
        let to_held = streams.next().await.unwrap();
        free.request("GET", WATCH, b"").await;
        let to_free = streams.next().await.unwrap();
        held.head().await;
        free.head().await;
        for name in ["a", "b", "c", "d"] {
            send(&to_held, event("ADDED", name, 5));
        }
        assert_eq!(held.chunk().await.unwrap(), event("ADDED", "a", 5).as_bytes());
        hold.until_held(1).await;
        bench.until(|bench| bench.proxy.flight().held == 3).await;
        let flight = bench.proxy.flight();
        assert_eq!((flight.held, flight.undelivered, flight.calls.len()), (3, 0, 0));
        send(&to_free, event("ADDED", "z", 9));
        assert_eq!(free.chunk().await.unwrap(), event("ADDED", "z", 9).as_bytes());
        send(&to_held, event("ADDED", "e", 6));
        bench.until(|bench| bench.proxy.flight().held == 4).await;
        hold.release();
        let flight = bench.proxy.flight();
        assert_eq!((flight.held, flight.undelivered), (0, 4), "let go, and not yet gone");
        for name in ["b", "c", "d", "e"] {
            let chunk = String::from_utf8(held.chunk().await.unwrap()).unwrap();
            assert!(chunk.contains(&format!("\"name\":\"{name}\"")), "{chunk}");
        }
        let order = ["default/a", "default/z", "default/b", "default/c", "default/d", "default/e"];
        assert_eq!(names(&bench.deliveries()), order);
        bench.assert_at_rest();
    });
}
