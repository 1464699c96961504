//! Stops and holds.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures::future::join_all;
use proptest::prelude::*;

use super::kit::*;
use crate::{Gate, Passed, Passing, Stop, Stopped};

/// Counts what it is sent.
fn counting() -> (crate::Upstream, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counts = count.clone();
    let service = upstream(move |_| {
        // Not when the future is made, but when it first runs.
        let counts = counts.clone();
        async move {
            counts.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            Ok(json_response("{}"))
        }
    });
    (service, count)
}

type Wanted = fn(&Passing<'_>) -> bool;

/// Stops at the `nth` passing (from 1) of those for which `wanted` holds.
fn stop(gate: &Gate, nth: usize, wanted: Wanted) -> crate::Armed {
    let mut seen = 0;
    gate.arm(Stop {
        matches: Box::new(move |passing| {
            seen += usize::from(wanted(passing));
            wanted(passing) && seen == nth
        }),
    })
}

fn is_request(passing: &Passing<'_>) -> bool {
    matches!(passing, Passing::Request(_))
}

fn is_response(passing: &Passing<'_>) -> bool {
    matches!(passing, Passing::Response(..))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
    #[test]
    fn exactly_those_before_the_stop_pass(clients in 1..24_usize, at in 0..24_usize, answers in any::<bool>()) {
        let at = at % clients + 1;
        run(async {
            let (service, forwarded) = counting();
            let bench = Bench::new(service);
            let armed = stop(bench.proxy.gate(), at, if answers { is_response } else { is_request });
            let mut wires = join_all((0..clients).map(|_| bench.connect())).await;
            join_all(wires.iter_mut().map(|wire| wire.request("GET", "/a", b""))).await;
            let Stopped { at: stopped } = armed.await;
            assert_eq!(matches!(stopped, Passed::Response(..)), answers);
            // Those that come to the closed gate are received, recorded and parked.
            bench.until(|bench| bench.calls().len() == clients).await;
            bench.until(|bench| bench.proxy.flight().calls.is_empty()).await;
            // Answers to requests that passed before a stop at a request may come too late themselves.
            let answered = bench.answers().len();
            if answers {
                assert_eq!(answered, at - 1);
            } else {
                assert_eq!(forwarded.load(Ordering::Relaxed), at - 1);
                assert!(answered < at);
            }
            let flight = bench.proxy.flight();
            assert_eq!(flight.held, clients - answered);
            assert_eq!(flight, bench.proxy.flight());
            bench.proxy.gate().open();
            assert_eq!(bench.proxy.flight().calls.len(), flight.held, "let go is under way");
            join_all(wires.iter_mut().map(|wire| wire.reply())).await;
            assert_eq!(forwarded.load(Ordering::Relaxed), clients);
            bench.assert_at_rest();
        });
    }
}

#[test]
fn one_can_step_from_passing_to_passing() {
    run(async {
        let (service, _) = counting();
        let bench = Bench::new(service);
        let gate = bench.proxy.gate();
        let mut wire = bench.connect().await;
        let mut armed = stop(gate, 1, |_| true);
        wire.request("GET", "/a", b"").await;
        let first = armed.await;
        armed = stop(gate, 1, |_| true);
        gate.open();
        let second = armed.await;
        assert!(matches!(first.at, Passed::Request(_)));
        assert!(matches!(second.at, Passed::Response(_, answer) if answer.status == 200));
        gate.open();
        assert_eq!(wire.reply().await.status, 200);
    });
}

#[test]
fn a_disarmed_stop_does_nothing() {
    run(async {
        let bench = Bench::new(constant("{}"));
        drop(stop(bench.proxy.gate(), 1, |_| true));
        assert_eq!(bench.connect().await.get("/a").await.status, 200);
        assert!(!bench.proxy.gate().is_closed());
    });
}

#[test]
fn a_closed_gate_lets_one_through_by_name() {
    run(async {
        let (service, forwarded) = counting();
        let bench = Bench::new(service);
        let gate = bench.proxy.gate();
        gate.close();
        let (mut one, mut other) = (bench.connect().await, bench.connect().await);
        one.request("GET", "/one", b"").await;
        gate.until_waiting(1).await;
        other.request("GET", "/other", b"").await;
        gate.until_waiting(2).await;
        let waiting = gate.waiting();
        assert!(gate.let_through(waiting[0]));
        assert_eq!(bench.proxy.flight().calls.len(), 1);
        bench.until(|bench| bench.proxy.flight().held == 2).await;
        assert_eq!(forwarded.load(Ordering::Relaxed), 1);
        assert!(gate.let_through(waiting[0]), "its answer waits too");
        assert_eq!(one.reply().await.status, 200);
        assert!(!gate.let_through(waiting[0]));
        assert_eq!(bench.answers().len(), 1);
        gate.open();
        assert_eq!(other.reply().await.status, 200);
        bench.assert_at_rest();
    });
}

#[test]
fn a_gate_that_opens_and_closes_at_once_lets_nothing_through() {
    run(async {
        let (service, forwarded) = counting();
        let bench = Bench::new(service);
        let gate = bench.proxy.gate();
        gate.close();
        let mut wire = bench.connect().await;
        wire.request("GET", "/a", b"").await;
        gate.until_waiting(1).await;
        gate.open();
        gate.close();
        gate.until_waiting(1).await;
        assert_eq!(forwarded.load(Ordering::Relaxed), 0);
        gate.open();
        assert_eq!(wire.reply().await.status, 200);
    });
}

#[test]
fn a_held_call_holds_nobody_else() {
    run(async {
        let (service, forwarded) = counting();
        let bench = Bench::new(service);
        let cases: [(Wanted, usize); 2] = [(is_request, 1), (is_response, 2)];
        for (wanted, forwards) in cases {
            let before = forwarded.load(Ordering::Relaxed);
            let hold = bench
                .proxy
                .gate()
                .hold(move |passing| wanted(passing) && passing.call().uri == "/held");
            let (mut held, mut free) = (bench.connect().await, bench.connect().await);
            held.request("GET", "/held", b"").await;
            hold.until_held(1).await;
            assert_eq!(free.get("/free").await.status, 200);
            let flight = bench.proxy.flight();
            assert_eq!((flight.calls.len(), flight.held, hold.count()), (0, 1, 1));
            let expect = before + forwards;
            assert_eq!(forwarded.load(Ordering::Relaxed), expect);
            hold.release();
            assert_eq!(held.reply().await.status, 200);
            bench.assert_at_rest();
        }
    });
}

#[test]
fn those_that_waited_pass_in_order() {
    run(async {
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let sees = order.clone();
        let bench = Bench::new(upstream(move |request| {
            sees.lock().unwrap().push(request.uri().path().to_owned());
            async { Ok(json_response("{}")) }
        }));
        let gate = bench.proxy.gate();
        gate.close();
        let mut wires = Vec::new();
        let mut paths: Vec<String> = (0..20).map(|index| format!("/{index}")).collect();
        for (index, path) in paths.iter().enumerate() {
            let mut wire = bench.connect().await;
            wire.request("GET", path, b"").await;
            gate.until_waiting(index + 1).await;
            wires.push(wire);
        }
        // A stop in the middle of those that waited keeps the rest in order.
        let armed = stop(gate, 5, is_request);
        gate.open();
        armed.await;
        let mut late = bench.connect().await;
        late.request("GET", "/late", b"").await;
        bench.until(|bench| bench.calls().len() == 21).await;
        gate.open();
        join_all(wires.iter_mut().chain([&mut late]).map(|wire| wire.reply())).await;
        paths.push("/late".to_owned());
        assert_eq!(*order.lock().unwrap(), paths);
    });
}

/// What a hold lets go of one call still comes to the stops, and what follows of that call is held again.
#[test]
fn one_that_is_let_go_meets_the_stops() {
    run(async {
        let (service, _) = counting();
        let bench = Bench::new(service);
        let hold = bench.proxy.gate().hold(is_response);
        let armed = stop(bench.proxy.gate(), 1, is_response);
        let mut wires = join_all((0..2).map(|_| bench.connect())).await;
        for wire in &mut wires {
            wire.request("GET", "/a", b"").await;
        }
        hold.until_held(2).await;
        let calls = hold.calls();
        assert_eq!(calls.len(), 2);
        assert!(hold.let_go(calls[1]));
        let Stopped { at } = armed.await;
        let Passed::Response(call, _) = at else { panic!("{at:?}") };
        assert_eq!(call.id, calls[1]);
        assert_eq!(hold.calls(), calls[..1]);
        assert!(!hold.let_go(calls[1]), "it waits at the closed gate now");
        bench.proxy.gate().open();
        bench.until(|bench| bench.answers().len() == 1).await;
        assert!(hold.let_go(calls[0]));
        bench.until(|bench| bench.answers().len() == 2).await;
    });
}
