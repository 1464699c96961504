//! Does the controller ever come to rest?
//!
//! Undisturbed it does: references that don't settle stop the campaign. One that after a crash goes on changing the
//! store for a virtual day, although nobody asks anything of it, will go on for ever: two of its parts undo each
//! other's work, or it does not recognise what it did. What proves it is the cycle: requests that repeat.

use std::time::Duration;

use trace::{Call, Event, History, Time};

use crate::{
    run::Trial,
    verdict::{Evidence, Fingerprint, Oracle, Verdict, VerdictValue},
};

/// A store that goes on changing for this long by its own clock, with nobody else acting, will not settle: one day.
pub const NEVER_SETTLES_AFTER: Duration = Duration::from_secs(24 * 3600);
/// Nor one that changes this often meanwhile.
pub const COMMITS_WITHOUT_SETTLING: usize = 5_000;
/// A cycle is one if it is seen this often in a row.
const ROUNDS: usize = 3;
/// The longest cycle that is looked for, in requests.
const REQUESTS_MAX: usize = 500;
/// So many requests of a cycle are shown.
const SHOWN: usize = 12;

pub(super) fn judge(trial: &Trial) -> Verdict {
    let history = &trial.run.history;
    let Some(unrest) = Unrest::of(history) else {
        return Verdict::held(Oracle::Livelock, "the controller came to rest");
    };
    let cycle = Cycle::of(history, unrest.since);
    let mut evidence = vec![Evidence::Reason { text: unrest.to_string() }];
    evidence.extend(cycle.iter().map(|cycle| Evidence::Reason { text: cycle.to_string() }));
    let kinds = cycle.map(|cycle| cycle.kinds).unwrap_or_default();
    Verdict {
        oracle: Oracle::Livelock,
        value: VerdictValue::Violated,
        title: "the controller never comes to rest".to_owned(),
        evidence,
        fingerprint: Fingerprint::new(Oracle::Livelock, &trial.family(), kinds),
    }
}

/// The store went on changing until the run was given up.
struct Unrest {
    /// Index of the first record after the last that disturbed the controller.
    since: usize,
    commits: usize,
    lasted: Duration,
}

impl Unrest {
    fn of(history: &History) -> Option<Unrest> {
        let records = &history.records;
        let disturbs = |event: &Event| match event {
            Event::Step(_) | Event::Perturbed { .. } | Event::Settled(_) => true,
            Event::Process(process) => {
                !matches!(process.what, trace::ProcessHappening::Line { .. })
            }
            _ => false,
        };
        let since = records.iter().rposition(|record| disturbs(&record.event))? + 1;
        let works =
            |event: &Event| matches!(event, Event::Commit(commit) if !commit.is_bookkeeping());
        let commits = records[since..].iter().filter(|record| works(&record.event));
        let commits: Vec<Time> = commits.map(|record| record.at).collect();
        let lasted = commits.last()?.since(records[since - 1].at);
        let unrest = Unrest { since, commits: commits.len(), lasted };
        // The last change may be up to one pause of the cycle before the end.
        let given_up = records.last()?.at.since(records[since - 1].at) >= NEVER_SETTLES_AFTER
            && lasted >= NEVER_SETTLES_AFTER / 2;
        (given_up || unrest.commits >= COMMITS_WITHOUT_SETTLING).then_some(unrest)
    }
}

impl std::fmt::Display for Unrest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hours = self.lasted.as_secs_f64() / 3600.0;
        write!(
            f,
            "nobody asked anything of it, and it changed the store {} times in {hours:.1} h of its own time",
            self.commits
        )
    }
}

/// Requests that a subject repeats, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Cycle {
    /// One round.
    pub requests: Vec<String>,
    /// How often in a row it was seen, at the end of the history.
    pub rounds: usize,
    /// From one round to the next, on average, by the world's clock.
    pub period: Duration,
    /// Verbs and resources, for the fingerprint.
    kinds: Vec<String>,
}

impl Cycle {
    /// The shortest cycle at the end of a history, from this record on; none if what it does at the end does not repeat.
    /// Leases and Events are left out: they come at their own pace.
    pub fn of(history: &History, since: usize) -> Option<Cycle> {
        let calls: Vec<(Time, &Call)> = history.records[since..]
            .iter()
            .filter_map(|record| match &record.event {
                Event::Call(call) if call.actor.is_subject() => Some((record.at, call)),
                _ => None,
            })
            .filter(|(_, call)| {
                !call.resource.as_ref().is_some_and(|resource| resource.is_bookkeeping())
            })
            .collect();
        let texts: Vec<String> = calls.iter().map(|(_, call)| request(call)).collect();
        let (length, rounds) = repeats(&texts)?;
        let round = texts.len() - length;
        // On average: runtimes round their waits to milliseconds.
        let last = texts.len() - 1;
        let between = u32::try_from(rounds - 1).unwrap_or(u32::MAX);
        let period = calls[last].0.since(calls[last - length * (rounds - 1)].0) / between;
        let kind = |call: &Call| {
            let resource = call.resource.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("repeats {:?} {resource}", call.verb)
        };
        Some(Cycle {
            requests: texts[round..].to_vec(),
            rounds,
            period,
            kinds: calls[round..].iter().map(|(_, call)| kind(call)).collect(),
        })
    }
}

/// What stays the same of a request from round to round.
fn request(call: &Call) -> String {
    let path = call.uri.split('?').next().unwrap_or_default();
    format!("{} {path}", call.method)
}

/// Length of the shortest part that the texts end with at least [`ROUNDS`] times, and how often.
fn repeats(texts: &[String]) -> Option<(usize, usize)> {
    let longest = REQUESTS_MAX.min(texts.len() / ROUNDS);
    (1..=longest).find_map(|length| {
        let equal = (length..texts.len()).rev().take_while(|&at| texts[at] == texts[at - length]);
        let rounds = equal.count() / length + 1;
        (rounds >= ROUNDS).then_some((length, rounds))
    })
}

impl std::fmt::Display for Cycle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = self.requests.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>();
        let more = match self.requests.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        write!(
            f,
            "{} times in a row, every {:.3} s: {}{more}",
            self.rounds,
            self.period.as_secs_f64(),
            shown.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use serde_json::json;

    use crate::fixture::{Builder, SUBJECT};

    /// A trial that after a crash puts one object every hour, for so many hours.
    fn restless(hours: i64, settles: bool) -> Trial {
        let mut trial = Builder::new().crash("it be killed");
        for hour in 0..hours {
            trial =
                trial.called().put(SUBJECT, "foos.example.com/default/a", json!({"spec": hour}));
        }
        if settles {
            trial = trial.settle(1, true);
        }
        let mut trial = trial.trial();
        // Each hour is a call and a commit, after the three records of the crash.
        for (at, record) in trial.run.history.records.iter_mut().enumerate().skip(3) {
            record.at = Time((at as i64 - 1) / 2 * 3600 * 1_000_000_000);
        }
        trial
    }

    #[test]
    fn a_store_that_changes_for_a_day_without_need_is_a_livelock() {
        let check = |trial, expect| assert_eq!(judge(&trial).value, expect);
        check(restless(5, true), VerdictValue::Held);
        check(restless(30, true), VerdictValue::Held);
        check(restless(5, false), VerdictValue::Held);
        check(restless(30, false), VerdictValue::Violated);
    }

    #[test]
    fn its_cycle_is_the_evidence() {
        let verdict = judge(&restless(30, false));
        let texts: Vec<String> = verdict
            .evidence
            .iter()
            .map(|evidence| match evidence {
                Evidence::Reason { text } => text.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            texts[0],
            "nobody asked anything of it, and it changed the store 30 times in 30.0 h of its own time"
        );
        assert!(texts[1].ends_with("times in a row, every 3600.000 s: GET /"), "{}", texts[1]);
        assert!(
            verdict.fingerprint.0.contains(&"repeats List ".to_owned()),
            "{:?}",
            verdict.fingerprint
        );
    }

    #[test]
    fn the_shortest_repetition_at_the_end_is_found() {
        let check = |text: &str, expect| {
            let texts: Vec<String> = text.chars().map(String::from).collect();
            assert_eq!(repeats(&texts), expect, "{text}");
        };
        check("", None);
        check("aa", None);
        check("aaa", Some((1, 3)));
        check("xyabababab", Some((2, 4)));
        check("aabaabaab", Some((3, 3)));
        check("abcabcabx", None);
        check("baaaa", Some((1, 4)));
    }
}
