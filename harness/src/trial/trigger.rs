//! The gates' alarm for the next perturbation.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::select_all;
use plans::{Crash, DroppedCall, moment::MomentCounter};
use proxy::{Passing, Stop};
use trace::{Event, Recorder};

use crate::providers::LiveCluster;

/// Closes the subject's gate at a crash's moment.
pub(super) struct Armed {
    stopped: Vec<proxy::Armed>,
    /// Writes that are never to reach the store; let go with the connections that they came on.
    _held: Vec<proxy::Hold>,
}

impl Armed {
    /// At a request of the subject: it was carried out and its sender has not heard, or it has not gone on.
    pub fn at_call(proxy: &proxy::Proxy, cluster: &dyn LiveCluster, crash: Crash) -> Armed {
        let mut counter = MomentCounter::new(crash.at.clone());
        let changed = cluster.change_detector();
        let hold = |dropped: DroppedCall| {
            let mut seen = 0;
            proxy.gate().hold(move |passing| match passing {
                Passing::Request(call) if dropped.call.matches(call) => {
                    seen += 1;
                    seen == dropped.occurrence
                }
                _ => false,
            })
        };
        let held = crash.dropped.into_iter().map(hold).collect();
        let matches = move |passing: &Passing<'_>| match passing {
            Passing::Response(call, answer) => {
                let changed = changed(call, answer);
                counter.answered(call, answer, changed)
            }
            Passing::Request(call) => counter.sent(call),
            Passing::Delivery(..) => false,
        };
        let stopped = proxy.gate().arm(Stop { matches: Box::new(matches) });
        Armed { stopped: vec![stopped], _held: held }
    }

    /// At a write of one who has a proxy of its own: the write is committed, the subject has seen nothing of it.
    /// Whatever passes next on either side comes too late; on the other side, it closes the subject's gate too.
    pub fn at_commit(
        proxy: &proxy::Proxy,
        other: &proxy::Proxy,
        recorder: &Recorder,
        crash: &Crash,
    ) -> Armed {
        let seen = recorder.with(|history| history.records.len());
        let counting = Arc::new(Mutex::new((MomentCounter::new(crash.at.clone()), seen)));
        let reached = {
            let recorder = recorder.clone();
            move || {
                let mut counting = counting.lock().unwrap_or_else(PoisonError::into_inner);
                let (counter, seen) = &mut *counting;
                recorder.with(|history| {
                    let new = &history.records[*seen..];
                    *seen = history.records.len();
                    new.iter().any(|record| match &record.event {
                        Event::Commit(commit) => counter.committed(commit),
                        _ => false,
                    })
                })
            }
        };
        let (here, gate) = (reached.clone(), proxy.gate().clone());
        let there = move |_: &Passing<'_>| {
            let reached = reached();
            if reached {
                gate.close();
            }
            reached
        };
        let stopped = vec![
            proxy.gate().arm(Stop { matches: Box::new(move |_| here()) }),
            other.gate().arm(Stop { matches: Box::new(there) }),
        ];
        Armed { stopped, _held: vec![] }
    }
}

/// Ends when a gate was closed for the next perturbation.
pub(super) async fn stopped(armed: &mut Option<Armed>) {
    match armed {
        Some(armed) => drop(select_all(&mut armed.stopped).await),
        None => std::future::pending().await,
    }
}
