//! The rehearsal: one undisturbed run that waits for long, to learn how long the others have to wait.
//!
//! A world counts as settled when its store has not changed for the horizon. A controller that comes back after
//! five minutes to finish its work would look settled after one: so the first run waits for ten, and the horizon
//! becomes twice the longest gap before a write of the subject (design §4, *settled*).
//!
//! The rehearsal waits ten virtual minutes. Twice the longest time from what the subject did itself (its start, a
//! useful write) to its next useful write, a minute at least, is how long all later runs wait. It is counted from what
//! the subject did itself, because after a restart it waits as long again, whatever the user did meanwhile. Answers to
//! something new within a second don't count.
//!
//! Runs that confirm a finding wait for the ten minutes, so that nothing is called missing that was only late. A
//! controller may also do late after a restart what it does not do undisturbed (a sweep every five minutes that finds
//! nothing there). So every other trial of a world waits for ten minutes too, at its end only, where nothing comes
//! after it ([`waits_long`]); a thousand jumps end that wait. Work that comes later than ten minutes after everything
//! else needs `settle.horizon`; pending timers are named in the report's notes.

use std::time::{Duration, Instant};

use trace::{Event, History, ProcessHappening, Time};

use crate::{
    campaign::{
        reference,
        run_folder::RunFolder,
        settle::{self, Settle, Waits},
        setup::Setup,
    },
    trial::{self, TrialRun, TrialSpec},
};

/// What comes so soon after something new is taken for the answer to it.
const REACTION: Duration = Duration::from_secs(1);

/// When the campaign's worlds count as settled: as given, or else learnt from a rehearsal, which comes with it.
///
/// # Errors
/// A rehearsal that fails, as of a reference: it waits longer than those, which may not come to see why. An interrupt, or
/// the end of the time (`until`): exit 5.
pub fn settle(
    setup: &Setup,
    folder: &RunFolder,
    until: Option<Instant>,
) -> anyhow::Result<(Settle, Option<TrialRun>)> {
    if let Some(given) = Settle::given(setup) {
        return Ok((given, None));
    }
    let spec = TrialSpec {
        folder: Some(folder.path.join("references").join("rehearsal")),
        until,
        ..reference::spec(folder, 0, Waits::REHEARSAL)
    };
    let run = trial::run(setup, spec);
    reference::goes_on(until, "the rehearsal")?;
    reference::check(
        &run,
        folder,
        "the rehearsal, which waits for ten minutes of the controller's time",
    )?;
    let (gap, lease) = (longest_gap(&run.history), reference::lease(&run));
    let settle = Settle::learnt(gap, lease, cut_short(&run.history)).at_most(setup);
    Ok((settle, Some(run)))
}

/// Whether something new happened: a useful write, the user's next step, the start or end of a process. What a process
/// says is nothing new: most of them say that they are going to write before they do.
fn is_new(event: &Event) -> bool {
    match event {
        Event::Commit(commit) => !commit.is_bookkeeping(),
        Event::Process(process) => matches!(
            process.what,
            ProcessHappening::Started { .. }
                | ProcessHappening::Killed
                | ProcessHappening::Exited { .. }
        ),
        Event::Step(_) => true,
        _ => false,
    }
}

/// The longest time that passed before the subject wrote something useful, since it last did, or started. Not since
/// something else happened, unless it looks like the answer to that: what it waited for began when it did something
/// itself, and after a restart it waits as long again. What would have waited for longer than anybody here waits is an
/// answer to what happened last, however late: the user waits for ten minutes at each `settle`.
fn longest_gap(history: &History) -> Duration {
    let (mut last, mut own): (Option<Time>, Option<Time>) = (None, None);
    let mut longest = Duration::ZERO;
    for record in history.records.iter().filter(|record| is_new(&record.event)) {
        let since = |at: Option<Time>| at.map_or(Duration::ZERO, |at| record.at.since(at));
        let wrote = matches!(&record.event, Event::Commit(commit) if commit.actor.is_subject());
        if wrote && since(last) > REACTION {
            let by_itself = Some(since(own)).filter(|waited| *waited < settle::PATIENCE);
            longest = longest.max(by_itself.unwrap_or(since(last)));
        }
        if wrote || matches!(record.event, Event::Process(_)) {
            own = Some(record.at);
        }
        last = Some(record.at);
    }
    longest
}

/// How long the rehearsal waited at its end, if it ended because of [`settle::JUMPS`].
fn cut_short(history: &History) -> Option<Duration> {
    let since = |is: &dyn Fn(&Event) -> bool| {
        let at = history.records.iter().rposition(|record| is(&record.event));
        &history.records[at.unwrap_or(0)..]
    };
    let jumps = since(&|event| matches!(event, Event::Step(_)))
        .iter()
        .filter(|record| matches!(record.event, Event::Clock { .. }))
        .count();
    let (last, end) = (since(&is_new).first()?.at, history.records.last()?.at);
    (jumps >= settle::JUMPS).then(|| end.since(last))
}

#[cfg(test)]
mod tests {
    use trace::{
        Actor, Change, Commit, GroupResource, ObjectKey, ProcessEvent, Record, Revision, StepEvent,
        StepState,
    };

    use super::*;

    fn process(what: ProcessHappening) -> Event {
        Event::Process(ProcessEvent { actor: Actor::Subject(0), incarnation: 0, what })
    }

    fn started() -> Event {
        process(ProcessHappening::Started { command: vec![], pid: 1 })
    }

    fn wrote() -> Event {
        Event::Commit(Commit {
            revision: Revision(2),
            change: Change::Created,
            key: ObjectKey::new(GroupResource::new("", "configmaps"), "default", "a"),
            object: serde_json::json!({}).into(),
            actor: Actor::Subject(0),
            call: None,
            heartbeat: false,
        })
    }

    /// Events at seconds.
    fn history(events: impl IntoIterator<Item = (i64, Event)>) -> History {
        let mut history = History::default();
        for (second, event) in events {
            let sequence = history.records.len() as u64;
            let at = Time(second * 1_000_000_000);
            history.records.push(Record { sequence, at, real_us: 0, event });
        }
        history
    }

    /// A minute after its start the subject says something, and writes ten seconds after that.
    #[test]
    fn what_a_subject_says_is_nothing_new() {
        let line = ProcessHappening::Line { text: "about to write".to_owned() };
        let history = history([(0, started()), (60, process(line)), (70, wrote())]);
        assert_eq!(longest_gap(&history), Duration::from_secs(70));
        assert_eq!(cut_short(&history), None);
    }

    /// A timer of five minutes from the start, with a step of the user's in between; and an answer to a step.
    #[test]
    fn what_it_waited_for_began_with_what_it_did_itself() {
        let step = || {
            let (cursor, title) = (trace::Cursor::default(), "sleep".to_owned());
            Event::Step(StepEvent { cursor, title, state: StepState::Done })
        };
        let events = [(0, started()), (240, step()), (300, wrote())];
        assert_eq!(longest_gap(&history(events)), Duration::from_secs(300));
        let events = [(0, started()), (240, step()), (241, wrote())];
        assert_eq!(longest_gap(&history(events)), Duration::ZERO);
        // After ten minutes of waiting it is no timer of its own, however late the answer is.
        let events = [(0, started()), (1_200, step()), (1_203, wrote())];
        assert_eq!(longest_gap(&history(events)), Duration::from_secs(3));
    }
}
