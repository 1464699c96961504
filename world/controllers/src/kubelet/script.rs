//! What a pod does, as its annotations say.
//!
//! | annotation | meaning | without it |
//! |---|---|---|
//! | `trommel.dev/ready-after` | so long after its start it is ready, like `5s` | at once |
//! | `trommel.dev/runs-for` | so long its containers run before they end | Jobs, and bare pods that are not always restarted: not at all; others: for ever |
//! | `trommel.dev/exit-codes` | what they exit with, like `1,1,0`: the first time, the second, and so on; the last one from then on. Counted are restarts, and earlier pods of the same controller (and completion index) that have ended | Jobs, and such bare pods: `0` |
//! | `trommel.dev/ends-after` | so long a pod that is deleted takes to end, if its grace period is not shorter | at once |
//!
//! | `trommel.dev/starts-after` | so long after its start its startup probes succeed | at the first attempt |
//! | `trommel.dev/readiness-fails-after` | so long after its start its readiness probes begin to fail | never |
//! | `trommel.dev/readiness-fails-for` | so long they fail | for ever |
//! | `trommel.dev/liveness-fails-after` | so long after its start, and after each restart, its liveness probes begin to fail | never |
//!
//! What is no such value counts as absent.

use std::time::Duration;

use crate::object::Meta;

/// A pod's script.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Script {
    pub(super) ready_after: Duration,
    pub(super) runs_for: Duration,
    pub(super) ends_after: Duration,
    pub(super) starts_after: Duration,
    pub(super) readiness_fails_after: Option<Duration>,
    pub(super) readiness_fails_for: Option<Duration>,
    pub(super) liveness_fails_after: Option<Duration>,
    pub(super) codes: Vec<i64>,
    /// Whether it says how long it runs.
    pub(super) ends: bool,
}

impl Script {
    pub(super) fn read(meta: &Meta) -> Script {
        let text = |name: &str| meta.annotations.get(&*format!("trommel.dev/{name}"));
        let time = |name: &str| text(name).and_then(|text| duration(text));
        let codes = text("exit-codes").map(|text| text.split(',').map(|code| code.trim().parse()));
        Script {
            ready_after: time("ready-after").unwrap_or_default(),
            runs_for: time("runs-for").unwrap_or_default(),
            ends_after: time("ends-after").unwrap_or_default(),
            starts_after: time("starts-after").unwrap_or_default(),
            readiness_fails_after: time("readiness-fails-after"),
            readiness_fails_for: time("readiness-fails-for"),
            liveness_fails_after: time("liveness-fails-after"),
            codes: codes.and_then(|codes| codes.collect::<Result<_, _>>().ok()).unwrap_or_default(),
            ends: time("runs-for").is_some(),
        }
    }

    /// What it exits with, having ended so often before. None: it does not end by itself.
    pub(super) fn code(&self, before: impl FnOnce() -> usize, has_an_end: bool) -> Option<i64> {
        let known = self.codes.last().map(|last| self.codes.get(before()).unwrap_or(last));
        known.copied().or_else(|| (has_an_end || self.ends).then_some(0))
    }
}

/// Whole numbers of hours, minutes, seconds and milliseconds, as `1m30s`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let (mut total, mut rest) = (Duration::ZERO, text);
    if text.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = rest.split_at(digits);
        let (milliseconds, length) = match unit {
            unit if unit.starts_with("ms") => (1, 2),
            unit if unit.starts_with('s') => (1000, 1),
            unit if unit.starts_with('m') => (60_000, 1),
            unit if unit.starts_with('h') => (3_600_000, 1),
            _ => return None,
        };
        let milliseconds = number.parse::<u64>().ok()?.checked_mul(milliseconds)?;
        total += Duration::from_millis(milliseconds);
        rest = &unit[length..];
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let check = |text: &str, expect: Option<u64>| {
            assert_eq!(duration(text), expect.map(Duration::from_millis), "{text}");
        };
        check("5s", Some(5000));
        check("1m30s", Some(90_000));
        check("250ms", Some(250));
        check("1h", Some(3_600_000));
        for none in ["", "5", "s", "5x", "-1s"] {
            check(none, None);
        }
    }

    #[test]
    fn the_last_code_stays() {
        let script = Script { codes: vec![1, 0], ..Script::default() };
        assert_eq!([0, 1, 2].map(|n| script.code(|| n, false)), [Some(1), Some(0), Some(0)]);
        assert_eq!(Script::default().code(|| 0, false), None);
        assert_eq!(Script::default().code(|| 0, true), Some(0));
    }
}
