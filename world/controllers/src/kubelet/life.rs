//! What becomes of a pod's containers and when, counted from their start: what its script says, seen through its probes.
//!
//! A probe succeeds unless the script says that it fails; without the probe, nobody notices. Simplification: a probe is
//! made at the moment when its answer would change, so `periodSeconds` counts only where a threshold wants several
//! answers. A real kubelet notices up to a period later. The probes of sidecars are not looked at.

use std::time::Duration;

use super::script::Script;
use crate::pod::{Probe, Probes};

/// Moments of a life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Life {
    /// The startup probes have succeeded.
    started: Duration,
    /// Ready from then on.
    ready: Duration,
    /// Except from the first to the second, if there is one.
    unready: Option<(Duration, Option<Duration>)>,
    /// A probe has failed so often that the containers are killed.
    killed: Option<Duration>,
}

impl Life {
    pub(super) fn of(script: &Script, probes: &Probes) -> Life {
        let (startup, readiness) = (probes.startup.as_ref(), probes.readiness.as_ref());
        let started =
            startup.map_or(Duration::ZERO, |probe| script.starts_after.max(probe.initial));
        let patience = startup.map(|probe| probe.initial + failing(probe));
        let first = readiness
            .map_or(Duration::ZERO, |probe| probe.initial.max(started) + succeeding(probe));
        let unready = readiness.zip(script.readiness_fails_after).and_then(|(probe, after)| {
            let begin = after + failing(probe);
            let end = script.readiness_fails_for.map(|lasts| after + lasts + succeeding(probe));
            end.is_none_or(|end| end > begin).then_some((begin, end))
        });
        let liveness = probes.liveness.as_ref().zip(script.liveness_fails_after);
        let dead =
            liveness.map(|(probe, after)| after.max(probe.initial).max(started) + failing(probe));
        // It never starts.
        let hopeless = patience.filter(|patience| *patience < started);
        Life {
            started,
            ready: script.ready_after.max(started).max(first),
            unready,
            killed: dead.into_iter().chain(hopeless).min(),
        }
    }

    /// When its containers are killed.
    pub(super) fn killed(&self) -> Option<Duration> {
        self.killed
    }

    /// Whether the startup probes have succeeded at this age.
    pub(super) fn is_started(&self, age: Duration) -> bool {
        age >= self.started
    }

    /// Whether it is ready at this age.
    pub(super) fn is_ready(&self, age: Duration) -> bool {
        age >= self.ready && !self.fails(age)
    }

    /// Whether the readiness probe has failed at this age.
    pub(super) fn fails(&self, age: Duration) -> bool {
        self.unready.is_some_and(|(begin, end)| age >= begin && end.is_none_or(|end| age < end))
    }

    /// The next moment after this age at which something changes.
    pub(super) fn next(&self, age: Duration) -> Option<Duration> {
        let (begin, end) = self.unready.map_or((None, None), |(begin, end)| (Some(begin), end));
        let all = [Some(self.started), Some(self.ready), begin, end, self.killed];
        all.into_iter().flatten().filter(|moment| *moment > age).min()
    }
}

/// From the first failure to the last that is forgiven.
fn failing(probe: &Probe) -> Duration {
    probe.period * (probe.failures.max(1) - 1)
}

/// From the first success to the last that is wanted.
fn succeeding(probe: &Probe) -> Duration {
    probe.period * (probe.successes.max(1) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn probe(initial: u64) -> Probe {
        Probe { initial: s(initial), period: s(10), failures: 3, successes: 1 }
    }

    #[test]
    fn without_probes_the_script_alone_counts() {
        let script = Script {
            liveness_fails_after: Some(s(1)),
            readiness_fails_after: Some(s(1)),
            starts_after: s(9),
            ready_after: s(4),
            ..Script::default()
        };
        let life = Life::of(&script, &Probes::default());
        assert_eq!(life, Life { started: s(0), ready: s(4), unready: None, killed: None });
    }

    #[test]
    fn probes_begin_when_they_may() {
        let probes = Probes {
            startup: Some(probe(5)),
            readiness: Some(probe(2)),
            liveness: Some(probe(60)),
        };
        let life = Life::of(&Script::default(), &probes);
        assert_eq!((life.started, life.ready, life.killed), (s(5), s(5), None));
        assert_eq!([0, 5, 6].map(|age| life.next(s(age))), [Some(s(5)), None, None]);
        let slow = Script { starts_after: s(12), ..Script::default() };
        assert_eq!(Life::of(&slow, &probes).ready, s(12));
        // The third failure comes 20 s after the first.
        let never = Script { starts_after: s(26), ..Script::default() };
        assert_eq!(Life::of(&never, &probes).killed, Some(s(25)));
        let two =
            Probes { readiness: Some(Probe { successes: 2, ..probe(5) }), ..Probes::default() };
        assert_eq!(Life::of(&Script::default(), &two).ready, s(15));
    }

    #[test]
    fn failing_probes() {
        let probes =
            Probes { readiness: Some(probe(0)), liveness: Some(probe(30)), ..Probes::default() };
        let script = Script {
            readiness_fails_after: Some(s(100)),
            readiness_fails_for: Some(s(50)),
            liveness_fails_after: Some(s(10)),
            ..Script::default()
        };
        let life = Life::of(&script, &probes);
        assert_eq!(life.killed, Some(s(50)), "not before it is asked");
        let ready = [0, 119, 120, 149, 150].map(|age| life.is_ready(s(age)));
        assert_eq!(ready, [true, true, false, false, true]);
        // Over before the threshold: nobody notices.
        let short = Script { readiness_fails_for: Some(s(20)), ..script };
        assert_eq!(Life::of(&short, &probes).unready, None);
    }
}
