//! How a restarted client comes to read a watch cache that is behind: what happens step by step, and on which servers.
//!
//! A list or watch with `resourceVersion=0` is answered from any state of a cache, on every server, and so is a streamed
//! list (WatchList, KEP-3157) with it, where the server streams lists (kube-rs asks for them so). client-go 0.35 and later
//! ask for a streamed list without a revision first, which is consistent. `Reflector.watchList` retries it where the
//! connection is refused, after a 429, and where the revision is expired or too large. After any other error
//! `ListAndWatchWithContext` goes on with a list at `relistResourceVersion()`: "0" in a process that has just started
//! (client-go 0.35.0, 0.36.3, 0.37.2: tools/cache/reflector.go).
//!
//! The error must come without `Retry-After`, for which rest/with_retry.go waits first. kube-apiserver sends that header
//! with each 429 and 503 of its own shutdown (apiserver: pkg/server/filters/with_retry_after.go, waitgroup.go), so this
//! 503 is a load balancer's that has no server behind it for a moment.

use std::collections::{BTreeMap, BTreeSet};

use trace::{Call, CallId, Event, GroupResource, History, Record, Verb};

use crate::{
    perturbation::{Behind, LegalOn},
    schedule::{FirstRead, is_streamed_list},
};

/// What makes a restarted client list with `resourceVersion=0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StaleRead {
    /// It begins with such a list.
    Listed,
    /// It begins with a watch with `resourceVersion=0`.
    Watched,
    /// It begins with a streamed list with `resourceVersion=0`.
    Streamed,
    /// A server whose WatchList gate is off refuses its streamed list with 422.
    AfterRefusal,
    /// Its streamed list is answered with 503.
    AfterUnavailable,
}

/// Whether servers of Kubernetes 1.`minor` stream lists by default. The gate `WatchList` is on in 1.32, off again in 1.33,
/// and on from 1.34 (apiserver 0.37.2: pkg/features/kube_features.go).
pub fn has_watch_list(minor: u8) -> bool {
    minor == 32 || minor >= 34
}

impl StaleRead {
    /// The one that a run shows, for types that were behind in it.
    pub fn shown_by(history: &History, behind: &Behind) -> StaleRead {
        let reads = first_reads(&history.records).filter(|read| behind.covers(read.resource));
        let ways = reads.filter_map(|read| match (read.refused, read.call.verb) {
            (Some(422), _) => Some(StaleRead::AfterRefusal),
            (Some(_), _) => Some(StaleRead::AfterUnavailable),
            (None, Verb::Watch) if read.first == FirstRead::Streamed => None,
            (None, Verb::Watch) if is_streamed_list(read.call) => Some(StaleRead::Streamed),
            (None, Verb::Watch) => Some(StaleRead::Watched),
            (None, _) => None,
        });
        ways.max().unwrap_or(StaleRead::Listed)
    }

    /// Which servers and clients it takes, and what happens there, for caches at this state.
    pub fn legal_on(self, behind: &Behind) -> LegalOn {
        let of = match &behind.resource {
            Some(resource) => format!("of {resource}"),
            None => "of each type".to_owned(),
        };
        let streamed = format!(
            "the restarted controller asks for a streamed list {of} (sendInitialEvents=true)"
        );
        let falls_back =
            "client-go does not retry that, and falls back to a list with resourceVersion=0";
        let mut steps = match self {
            StaleRead::Listed => {
                vec![format!(
                    "the restarted controller begins with a list {of} with resourceVersion=0"
                )]
            }
            StaleRead::Watched => {
                vec![format!(
                    "the restarted controller begins with a watch {of} with resourceVersion=0"
                )]
            }
            StaleRead::Streamed => vec![format!(
                "the restarted controller asks for a streamed list {of} with resourceVersion=0 (sendInitialEvents=true)"
            )],
            StaleRead::AfterRefusal => {
                vec![streamed, format!("the server answers 422: WatchList is off; {falls_back}")]
            }
            StaleRead::AfterUnavailable => vec![
                streamed,
                format!(
                    "an API server goes down, and the load balancer in front answers 503 without Retry-After; {falls_back}"
                ),
            ],
        };
        let server = match self {
            StaleRead::AfterUnavailable => "another API server",
            _ => "an API server",
        };
        let read = if self == StaleRead::Watched { "watch" } else { "list" };
        let answers = format!("answers that {read} from its watch cache");
        steps.push(format!("{server}, which has {behind}, {answers}"));
        steps.push("its watch goes on from there, and shows later events late".to_owned());
        LegalOn { servers: self.servers().to_owned(), steps }
    }

    fn servers(self) -> &'static str {
        match self {
            StaleRead::Listed | StaleRead::Watched => {
                "every version of Kubernetes, whatever its feature gates"
            }
            StaleRead::Streamed => {
                "Kubernetes 1.32, 1.34 and later with default gates (WatchList on)"
            }
            StaleRead::AfterRefusal => {
                "Kubernetes 1.19 to 1.31 and 1.33 with default gates, others with WatchList=false; client-go with \
                 WatchListClient on (default from 0.35)"
            }
            StaleRead::AfterUnavailable => {
                "Kubernetes 1.32, 1.34 and later with default gates (WatchList on); client-go with WatchListClient on \
                 (default from 0.35). Where WatchList is off (default in 1.33 and before 1.32), the server's own 422 \
                 takes the place of the 503"
            }
        }
    }

    /// Where that is written.
    pub fn source(self) -> &'static str {
        match self {
            StaleRead::Listed | StaleRead::Watched => "",
            StaleRead::Streamed => "; KEP-3157 (sendInitialEvents with resourceVersion=0)",
            StaleRead::AfterRefusal | StaleRead::AfterUnavailable => {
                "; KEP-3157; client-go tools/cache/reflector.go (watchList, ListAndWatchWithContext, relistResourceVersion); \
                 apiserver pkg/features/kube_features.go (WatchList)"
            }
        }
    }
}

/// Types whose streamed first list was refused since the last start of the subject, and that it did not list with
/// `resourceVersion=0` then. It waits for the stream: no cache shows it an older state.
pub fn not_fallen_back(history: &History) -> BTreeSet<GroupResource> {
    let since = &history.records[history.last_start()..];
    let (mut refused, mut listed) = (BTreeSet::new(), BTreeSet::new());
    for read in first_reads(since) {
        match (read.refused, read.first, read.call.verb) {
            (Some(_), ..) => refused.insert(read.resource.clone()),
            // A stream that is not refused any more came too late: the caches have caught up.
            (None, FirstRead::Any, Verb::List) => listed.insert(read.resource.clone()),
            _ => false,
        };
    }
    &refused - &listed
}

/// A first read of the subject.
struct Read<'h> {
    call: &'h Call,
    resource: &'h GroupResource,
    first: FirstRead,
    /// The status with which it was refused instead of being passed on.
    refused: Option<u16>,
}

fn first_reads(records: &[Record]) -> impl Iterator<Item = Read<'_>> {
    let refused: BTreeMap<CallId, u16> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Answer(answer) if answer.injected => Some((answer.call, answer.status)),
            _ => None,
        })
        .collect();
    records.iter().filter_map(move |record| {
        let Event::Call(call) = &record.event else { return None };
        let first = FirstRead::of(call).filter(|_| call.actor.is_subject())?;
        Some(Read {
            call,
            resource: call.resource.as_ref()?,
            first,
            refused: refused.get(&call.id).copied(),
        })
    })
}

#[cfg(test)]
mod tests {
    use trace::{Actor, Answer, Body, Fate, ProcessEvent, ProcessHappening, Time};

    use super::*;
    use crate::fixture;

    const STREAMED: (Verb, &str) = (Verb::Watch, "watch=true&sendInitialEvents=true");
    const STREAMED_ANY: (Verb, &str) =
        (Verb::Watch, "watch=true&sendInitialEvents=true&resourceVersion=0");
    const WATCHED_ANY: (Verb, &str) = (Verb::Watch, "watch=true&resourceVersion=0");
    const ANY: (Verb, &str) = (Verb::List, "resourceVersion=0");
    const CONSISTENT: (Verb, &str) = (Verb::List, "");

    /// A start of the subject, and what it asks of which type, with the status where it is refused.
    fn run(asked: &[(&str, (Verb, &str), Option<u16>)]) -> History {
        let started = ProcessHappening::Started { command: vec![], pid: 1 };
        let start = ProcessEvent { actor: Actor::Subject(0), incarnation: 0, what: started };
        let mut events = vec![Event::Process(start)];
        for (id, (resource, (verb, query), refused)) in (1..).zip(asked) {
            let mut call = fixture::call(id, *verb, resource, 1);
            call.uri = format!("/api/v1/{resource}?{query}");
            events.push(Event::Call(call));
            events.extend(refused.map(|status| {
                let (call, fate) = (CallId(id), Fate::Answered);
                let body = Body::None;
                Event::Answer(Answer { call, fate, status, revision: None, body, injected: true })
            }));
        }
        let record = |(sequence, event)| Record { sequence, at: Time(0), real_us: 0, event };
        History { records: (0..).zip(events).map(record).collect() }
    }

    fn behind(resource: Option<&str>) -> Behind {
        Behind {
            resource: resource.map(|name| GroupResource::new("", name)),
            up_to: None,
            before: false,
        }
    }

    #[test]
    fn what_a_run_shows() {
        let check = |resource, asked: &[_], expect| {
            let shown = StaleRead::shown_by(&run(asked), &behind(resource));
            assert_eq!(shown, expect, "{resource:?} {asked:?}");
        };
        let fallen_back = [("foos", STREAMED, Some(503)), ("foos", ANY, None), ("bars", ANY, None)];
        check(Some("foos"), &fallen_back, StaleRead::AfterUnavailable);
        check(Some("bars"), &fallen_back, StaleRead::Listed);
        check(None, &fallen_back, StaleRead::AfterUnavailable);
        let refused = [("foos", STREAMED, Some(422)), ("foos", ANY, None)];
        check(Some("foos"), &refused, StaleRead::AfterRefusal);
        check(Some("foos"), &[("foos", STREAMED, None), ("foos", ANY, None)], StaleRead::Listed);
        check(None, &[("events", STREAMED, Some(503)), ("foos", ANY, None)], StaleRead::Listed);
        check(Some("foos"), &[("foos", STREAMED_ANY, None)], StaleRead::Streamed);
        check(Some("foos"), &[("foos", WATCHED_ANY, None)], StaleRead::Watched);
        let from_there = (Verb::Watch, "watch=true&resourceVersion=7");
        check(Some("foos"), &[("foos", ANY, None), ("foos", from_there, None)], StaleRead::Listed);
    }

    #[test]
    fn who_waits_for_the_stream_is_not_behind() {
        let check = |asked: &[_], expect: &[&str]| {
            let waits = not_fallen_back(&run(asked));
            let names: Vec<String> = waits.iter().map(ToString::to_string).collect();
            assert_eq!(names, expect, "{asked:?}");
        };
        let refused = ("foos", STREAMED, Some(503));
        check(&[refused, refused, ("bars", ANY, None)], &["foos"]);
        check(&[refused, ("foos", CONSISTENT, None)], &["foos"]);
        check(&[refused, ("foos", ANY, None)], &[]);
        check(&[("foos", STREAMED, None)], &[]);
        check(&[("foos", STREAMED_ANY, None)], &[]);
        let refused = ("foos", STREAMED_ANY, Some(422));
        check(&[refused, ("foos", STREAMED_ANY, None)], &["foos"]);
    }

    #[test]
    fn releases_with_streamed_lists() {
        let with: Vec<u8> = (16..=37).filter(|minor| has_watch_list(*minor)).collect();
        assert_eq!(with, [32, 34, 35, 36, 37]);
    }

    #[test]
    fn legality_in_words() {
        let check = |read: StaleRead, parts: &[&str]| {
            let LegalOn { servers, steps } = read.legal_on(&behind(Some("foos")));
            let told = format!("{servers}\n{}", steps.join("\n"));
            for part in parts.iter().chain(&["the cache of foos as of the beginning"]) {
                assert!(told.contains(part), "no {part:?} in {told}");
            }
            let after_refusal =
                matches!(read, StaleRead::AfterRefusal | StaleRead::AfterUnavailable);
            assert_eq!(told.contains("falls back"), after_refusal, "{told}");
        };
        check(StaleRead::Listed, &["every version of Kubernetes", "begins with a list of foos"]);
        let watched = "begins with a watch of foos with resourceVersion=0";
        check(StaleRead::Watched, &["every version of Kubernetes", watched, "answers that watch"]);
        let streamed = "asks for a streamed list of foos with resourceVersion=0";
        check(StaleRead::Streamed, &["Kubernetes 1.32, 1.34 and later", streamed]);
        check(StaleRead::AfterRefusal, &["1.19 to 1.31 and 1.33", "422: WatchList is off"]);
        let today =
            ["Kubernetes 1.32, 1.34 and later", "503 without Retry-After", "resourceVersion=0"];
        check(StaleRead::AfterUnavailable, &today);
    }
}
