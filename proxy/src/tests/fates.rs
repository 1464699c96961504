//! What becomes of passings when somebody decides.

use std::sync::Arc;

use futures::StreamExt;
use serde_json::json;
use trace::Fate as Became;

use super::kit::*;
use crate::{Fate, Injected, Passing};

const WATCH: &str = "/api/v1/configmaps?watch=1";

fn expired() -> Injected {
    let status = json!({"kind": "Status", "code": 410, "reason": "Expired"});
    Injected { status: 200, body: Arc::new(json!({"type": "ERROR", "object": status})) }
}

#[test]
fn an_injected_answer_is_given_and_recorded_as_one() {
    run(async {
        let never = |_| async { panic!("it is not forwarded") };
        let bench = Bench::new(upstream(never));
        let refused = Injected { status: 422, body: Arc::new(json!({"kind": "Status"})) };
        let answer = refused.clone();
        let deciding = bench.proxy.gate().decide(move |passing| match passing {
            Passing::Request(_) => Fate::Answer(answer.clone()),
            _ => Fate::Pass,
        });
        let reply = bench.connect().await.get("/api/v1/configmaps/a").await;
        assert_eq!((reply.status, &*reply.body), (422, &b"{\"kind\":\"Status\"}\n"[..]));
        let answers = bench.answers();
        assert_eq!((answers[0].fate, answers[0].status), (Became::Answered, 422));
        assert!(answers[0].injected);
        assert_eq!(answers[0].body.json(), Some(&refused.body));
        drop(deciding);
        bench.assert_at_rest();
    });
}

#[test]
fn an_injected_event_ends_a_watch() {
    run(async {
        let (service, _streams) = watched("application/json");
        let bench = Bench::new(service);
        let _deciding = bench.proxy.gate().decide(|passing| match passing {
            Passing::Request(_) => Fate::Answer(expired()),
            _ => Fate::Pass,
        });
        let mut wire = bench.connect().await;
        let reply = wire.get(WATCH).await;
        assert_eq!(reply.status, 200);
        assert!(reply.body.ends_with(b"\"type\":\"ERROR\"}\n"));
        assert_eq!(bench.deliveries().len(), 1);
        assert!(bench.answers()[0].injected);
        bench.assert_at_rest();
    });
}

#[test]
fn a_request_that_is_cut_is_never_forwarded() {
    run(async {
        let never = |_| async { panic!("it is not forwarded") };
        let bench = Bench::new(upstream(never));
        let _deciding = bench.proxy.gate().decide(|_| Fate::Cut { after: 0 });
        let mut wire = bench.connect().await;
        wire.request("GET", "/a", b"").await;
        assert_eq!(wire.until_closed().await, b"");
        assert_eq!(bench.fates(), [("/a".to_owned(), Became::Dropped)]);
    });
}

#[test]
fn an_answer_that_is_cut_was_done_and_is_lost() {
    run(async {
        let bench = Bench::new(constant("{}"));
        let _deciding = bench.proxy.gate().decide(|passing| match passing {
            Passing::Response(..) => Fate::Cut { after: 0 },
            _ => Fate::Pass,
        });
        let mut wire = bench.connect().await;
        wire.request("GET", "/a", b"").await;
        assert_eq!(wire.until_closed().await, b"");
        assert_eq!(bench.fates(), [("/a".to_owned(), Became::Lost)]);
        assert_eq!(bench.answers()[0].status, 200);
    });
}

#[test]
fn a_watch_is_cut_within_an_event() {
    let check = |after: usize| {
        run(async {
            let (service, mut streams) = watched("application/json");
            let bench = Bench::new(service);
            let _deciding = bench.proxy.gate().decide(move |passing| match passing {
                Passing::Delivery(_, delivery) if delivery.index == 1 => Fate::Cut { after },
                _ => Fate::Pass,
            });
            let mut wire = bench.connect().await;
            wire.request("GET", WATCH, b"").await;
            let pieces = streams.next().await.unwrap();
            wire.head().await;
            let bytes = event("ADDED", "a", 5);
            send(&pieces, bytes.clone());
            assert_eq!(wire.chunk().await.unwrap(), bytes.as_bytes());
            send(&pieces, event("ADDED", "b", 6));
            send(&pieces, event("ADDED", "c", 7));
            if after > 0 {
                assert_eq!(
                    wire.chunk().await.unwrap(),
                    &event("ADDED", "b", 6).as_bytes()[..after]
                );
            }
            assert_eq!(wire.until_closed().await, b"");
            assert_eq!(bench.deliveries().len(), 1, "only whole events are deliveries");
            assert_eq!(bench.fates(), [(WATCH.to_owned(), Became::Lost)]);
        });
    };
    check(0);
    check(7);
}
