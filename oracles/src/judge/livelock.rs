//! Does the controller ever come to rest?
//!
//! Undisturbed it does: references that don't settle stop the campaign. One that after a crash goes on changing the
//! store for a virtual day, although nobody asks anything of it, will go on for ever: two of its parts undo each
//! other's work, or it does not recognise what it did. What proves it is the cycle: requests that repeat.
//!
//! So will one that asks the same again and again without ever pausing, whether it changes anything or not: a write
//! that is refused and tried again at once, for ever. Here the cycle is not only the evidence but the condition: one
//! that has much to ask after a restart asks different things.

use std::time::Duration;

use trace::{Call, Event, History, Time};

use super::ended;
use crate::{
    run::Trial,
    verdict::{Evidence, Fingerprint, Oracle, Verdict, VerdictValue},
};

/// A store that goes on changing for this long by its own clock, with nobody else acting, will not settle: one day, unless
/// the campaign says less.
pub const NEVER_SETTLES_AFTER: Duration = Duration::from_secs(24 * 3600);
/// Nor one that changes this often meanwhile.
pub const COMMITS_WITHOUT_SETTLING: usize = 5_000;
/// A subject that sends more requests than this without a quiet moment is in a hot loop.
pub const REQUESTS_WITHOUT_QUIET: usize = 20_000;
/// A cycle is one if it is seen this often in a row.
const ROUNDS: usize = 3;
/// The longest cycle that is looked for, in requests.
const REQUESTS_MAX: usize = 500;
/// So many requests of a cycle are shown.
const SHOWN: usize = 12;

pub(super) fn judge(trial: &Trial) -> Verdict {
    let history = &trial.run.history;
    let at_most = trial.at_most.unwrap_or(NEVER_SETTLES_AFTER);
    let Some((unrest, cycle)) = unrest(history, at_most) else {
        return match ended(trial) {
            true => Verdict::held(Oracle::Livelock, "the controller came to rest"),
            false => Verdict::unknown(Oracle::Livelock, "the run ended before it came to rest"),
        };
    };
    let mut evidence = vec![Evidence::Reason { text: unrest.to_string() }];
    evidence.extend(cycle.iter().map(|cycle| Evidence::Reason { text: cycle.to_string() }));
    let kinds = cycle.map(|cycle| cycle.kinds).unwrap_or_default();
    Verdict {
        oracle: Oracle::Livelock,
        value: VerdictValue::Violated,
        title: "the controller never comes to rest".to_owned(),
        evidence,
        fingerprint: Fingerprint::new(Oracle::Livelock, kinds),
    }
}

/// What kept the subject from rest until the run was given up, and what it repeats.
fn unrest(history: &History, at_most: Duration) -> Option<(Unrest, Option<Cycle>)> {
    let disturbs = |event: &Event| match event {
        Event::Step(_) | Event::Perturbed { .. } | Event::Settled(_) => true,
        Event::Process(process) => !matches!(process.what, trace::ProcessHappening::Line { .. }),
        _ => false,
    };
    let last = history.records.iter().rposition(|record| disturbs(&record.event))?;
    if let Some(unrest) = Unrest::writes(&history.records[last..], at_most) {
        return Some((unrest, Cycle::of(history, last + 1)));
    }
    let (unrest, cycle) = hot_loop(history, last + 1)?;
    Some((unrest, Some(cycle)))
}

/// The subject repeats requests and nobody saw it pause, since this record at the earliest.
fn hot_loop(history: &History, since: usize) -> Option<(Unrest, Cycle)> {
    // Time passes, and others act, at quiet moments only.
    let pauses = |event: &Event| match event {
        Event::Clock { .. } => true,
        Event::Commit(commit) => !commit.actor.is_subject(),
        _ => false,
    };
    let paused = history.records[since..].iter().rposition(|record| pauses(&record.event));
    let since = paused.map_or(since, |at| since + at + 1);
    let asks = |event: &Event| matches!(event, Event::Call(call) if call.actor.is_subject());
    let requests = history.records[since..].iter().filter(|record| asks(&record.event)).count();
    if requests < REQUESTS_WITHOUT_QUIET {
        return None;
    }
    // Most of them, so that nothing else can have kept it busy.
    let cycle = Cycle::of(history, since)?;
    let most = cycle.rounds * cycle.requests.len() >= REQUESTS_WITHOUT_QUIET / 2;
    most.then_some((Unrest::Requests { requests }, cycle))
}

/// How a subject does not come to rest.
enum Unrest {
    /// The store went on changing.
    Writes { commits: usize, lasted: Duration },
    /// It went on asking without a quiet moment.
    Requests { requests: usize },
}

impl Unrest {
    /// Changes after the first of these records, the last that disturbed the controller.
    fn writes(records: &[trace::Record], at_most: Duration) -> Option<Unrest> {
        let (disturbed, records) = records.split_first()?;
        let works =
            |event: &Event| matches!(event, Event::Commit(commit) if !commit.is_bookkeeping());
        let commits = records.iter().filter(|record| works(&record.event));
        let commits: Vec<Time> = commits.map(|record| record.at).collect();
        let lasted = commits.last()?.since(disturbed.at);
        // The last change may be up to one pause of the cycle before the end.
        let given_up = records.last()?.at.since(disturbed.at) >= at_most && lasted >= at_most / 2;
        let commits = commits.len();
        (given_up || commits >= COMMITS_WITHOUT_SETTLING)
            .then_some(Unrest::Writes { commits, lasted })
    }
}

impl std::fmt::Display for Unrest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("without any new input, it ")?;
        match self {
            Unrest::Writes { commits, lasted } => {
                let lasted = for_so_long(*lasted);
                write!(f, "changed the store {commits} times in {lasted} of its own time")
            }
            Unrest::Requests { requests } => {
                write!(f, "sent {requests} requests without a quiet moment")
            }
        }
    }
}

/// A time in the unit that suits it: hours, or seconds.
pub fn for_so_long(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..3600 => format!("{seconds} s"),
        _ => format!("{:.1} h", time.as_secs_f64() / 3600.0),
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
            "{} times in a row, {}: {}{more}",
            self.rounds,
            every(self.period),
            shown.join(", ")
        )
    }
}

fn every(period: Duration) -> String {
    match period < Duration::from_millis(1) {
        true => "without a pause".to_owned(),
        false => format!("every {:.3} s", period.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
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
        for (at, record) in
            Arc::make_mut(&mut trial.run.history).records.iter_mut().enumerate().skip(3)
        {
            record.at = Time((at as i64 - 1) / 2 * 3600 * 1_000_000_000);
        }
        trial
    }

    #[test]
    fn a_store_that_changes_for_a_day_without_need_is_a_livelock() {
        let check = |trial, expect| assert_eq!(judge(&trial).value, expect);
        check(restless(5, true), VerdictValue::Held);
        check(restless(30, true), VerdictValue::Held);
        check(restless(5, false), VerdictValue::Unknown);
        check(restless(30, false), VerdictValue::Violated);
        // The campaign says that six hours are enough.
        let limited = |hours| {
            let at_most = Some(Duration::from_secs(6 * 3600));
            Trial { at_most, ..restless(hours, false) }
        };
        check(limited(5), VerdictValue::Unknown);
        check(limited(8), VerdictValue::Violated);
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
            "without any new input, it changed the store 30 times in 30.0 h of its own time"
        );
        assert!(texts[1].ends_with("times in a row, every 3600.000 s: GET /"), "{}", texts[1]);
        assert!(
            verdict.fingerprint.0.contains(&"repeats List ".to_owned()),
            "{:?}",
            verdict.fingerprint
        );
    }

    /// A trial that after a crash sends so many requests at once: the same ones in turn, or always another.
    fn hot(requests: usize, different: bool, pauses: bool) -> Trial {
        let mut trial = Builder::new().crash("it be killed").called().trial();
        let records = &mut Arc::make_mut(&mut trial.run.history).records;
        let call = records.pop().expect("a call");
        for number in 0..requests {
            if pauses && number == requests / 2 {
                records
                    .push(trace::Record { event: Event::Clock { from: Time(0) }, ..call.clone() });
            }
            let mut call = call.clone();
            if let Event::Call(call) = &mut call.event {
                call.method = "PUT".to_owned();
                let name = if different { number } else { number % 2 };
                call.uri = format!("/api/v1/namespaces/default/configmaps/{name}");
            }
            records.push(call);
        }
        trial
    }

    #[test]
    fn the_same_requests_without_a_pause_are_a_livelock() {
        let check = |trial, expect| assert_eq!(judge(&trial).value, expect);
        check(hot(REQUESTS_WITHOUT_QUIET, false, false), VerdictValue::Violated);
        check(hot(REQUESTS_WITHOUT_QUIET, false, true), VerdictValue::Unknown);
        check(hot(REQUESTS_WITHOUT_QUIET / 2, false, false), VerdictValue::Unknown);
        check(hot(REQUESTS_WITHOUT_QUIET, true, false), VerdictValue::Unknown);
        let verdict = judge(&hot(REQUESTS_WITHOUT_QUIET + 1, false, false));
        let path = "/api/v1/namespaces/default/configmaps";
        let reason = |text: String| Evidence::Reason { text };
        let expect = [
            reason(
                "without any new input, it sent 20002 requests without a quiet moment".to_owned(),
            ),
            reason(format!("10000 times in a row, without a pause: PUT {path}/1, PUT {path}/0")),
        ];
        assert_eq!(verdict.evidence, expect);
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
