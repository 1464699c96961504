//! The rehearsal: one undisturbed run that waits for long, to learn how long the others have to wait.
//!
//! A world counts as settled when its store has not changed for the horizon. A controller that comes back after
//! five minutes to finish its work would look settled after one: so the first run waits for ten, and the horizon
//! becomes twice the longest gap before a write of the subject (design §4, *settled*).

use std::time::Duration;

use trace::{Event, History, ProcessHappening, Time};

use crate::{
    campaign::{
        reference,
        run_folder::RunFolder,
        setup::{HORIZON, Setup},
    },
    config::Horizon,
    trial::{self, TrialSpec},
};

/// How long the rehearsal waits for another write.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// A subject with more timers than this in ten minutes (33 a second) would make the rehearsal long: it ends earlier, and
/// the report says so.
const JUMPS: usize = 20_000;

/// As many jumps ends the long wait at the end of an explored trial ([`waits_long`]): a second, more or less.
pub const JUMPS_AT_THE_END: usize = 1_000;

/// What comes so soon after something new is taken for the answer to it.
const REACTION: Duration = Duration::from_secs(1);

/// Whether the horizon is learnt: where time is virtual and the campaign does not say it.
fn learns(setup: &Setup) -> bool {
    setup.virtual_time() && setup.campaign.file.spec.settle.horizon == Horizon::Auto
}

/// Whether the last repeat of a world waits at its end as long as the rehearsal did. What a controller does late after
/// a restart need not be what it does late undisturbed, where the horizon is learnt: a sweep every five minutes may find
/// nothing to do there. At its end only, so that what is done before has the same age in all repeats.
pub fn waits_long(setup: &Setup) -> bool {
    learns(setup)
}

/// Lets all further trials wait as long as the rehearsal, for those that confirm: one that was explored with a shorter
/// horizon may only have been looked at too early.
pub fn be_patient(setup: &mut Setup) {
    if learns(setup) {
        (setup.learnt.patient, setup.learnt.jumps) = (true, JUMPS);
    }
}

/// Learns the horizon.
///
/// # Errors
/// A rehearsal that fails, as of a reference: it waits longer than those, which may not come to see why.
pub fn rehearse(setup: &mut Setup, folder: &RunFolder) -> anyhow::Result<()> {
    if !learns(setup) {
        return Ok(());
    }
    let spec = TrialSpec {
        folder: Some(folder.path.join("references").join("rehearsal")),
        ..reference::spec(folder, 0)
    };
    (setup.learnt.horizon, setup.learnt.jumps) = (Some(PATIENCE), JUMPS);
    let run = trial::run(setup, spec);
    let learnt = horizon(longest_gap(&run.history));
    (setup.learnt.horizon, setup.learnt.jumps) = (Some(learnt), usize::MAX);
    setup.learnt.cut_short = cut_short(&run.history);
    reference::check(&run, folder, "the rehearsal, which waits for ten minutes")
}

/// Twice the longest gap in whole seconds, so that the phases of timers don't show; a minute at least.
fn horizon(gap: Duration) -> Duration {
    HORIZON.max(Duration::from_secs((2 * gap).as_secs_f64().ceil() as u64))
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
/// itself, and after a restart it waits as long again.
fn longest_gap(history: &History) -> Duration {
    let (mut last, mut own): (Option<Time>, Option<Time>) = (None, None);
    let mut longest = Duration::ZERO;
    for record in history.records.iter().filter(|record| is_new(&record.event)) {
        let since = |at: Option<Time>| at.map_or(Duration::ZERO, |at| record.at.since(at));
        let wrote = matches!(&record.event, Event::Commit(commit) if commit.actor.is_subject());
        if wrote && since(last) > REACTION {
            longest = longest.max(since(own));
        }
        if wrote || matches!(record.event, Event::Process(_)) {
            own = Some(record.at);
        }
        last = Some(record.at);
    }
    longest
}

/// How long the rehearsal waited at its end, if it ended because of [`JUMPS`].
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
    (jumps >= JUMPS).then(|| end.since(last))
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
    }

    #[test]
    fn a_minute_at_least_and_whole_seconds() {
        assert_eq!(horizon(Duration::ZERO), HORIZON);
        assert_eq!(horizon(Duration::from_secs(29)), HORIZON);
        assert_eq!(horizon(Duration::from_millis(300_200)), Duration::from_secs(601));
    }
}
