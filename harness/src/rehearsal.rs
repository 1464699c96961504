//! The rehearsal: one undisturbed run that waits for long, to learn how long the others have to wait.
//!
//! A world counts as settled when its store has not changed for the horizon. A controller that comes back after
//! five minutes to finish its work would look settled after one: so the first run waits for ten, and the horizon
//! becomes twice the longest gap before a write of the subject (design §4, *settled*).

use std::time::Duration;

use trace::{Event, History, ProcessHappening, Time};

use crate::{
    config::Horizon,
    lab::{HORIZON, Lab},
    reference,
    run_folder::RunFolder,
    trial::{self, RunEnd, TrialSpec},
};

/// How long the rehearsal waits for another write.
const PATIENCE: Duration = Duration::from_secs(600);

/// A subject with more timers than this in ten minutes (33 a second) would make the rehearsal long: it ends earlier, and
/// the report says so.
const JUMPS: usize = 20_000;

/// Learns the horizon, where time is virtual and the campaign does not say it. A rehearsal that fails teaches
/// nothing: the references will fail the same way and tell why.
pub fn rehearse(lab: &mut Lab, folder: &RunFolder) {
    if !lab.virtual_time() || lab.campaign.file.spec.settle.horizon != Horizon::Auto {
        return;
    }
    let spec = TrialSpec {
        folder: Some(folder.path.join("references").join("rehearsal")),
        ..reference::spec(folder, 0)
    };
    (lab.learnt.horizon, lab.learnt.jumps) = (Some(PATIENCE), JUMPS);
    let run = trial::run(lab, spec);
    let completed = matches!(run.end, RunEnd::Completed);
    let learnt = completed.then(|| horizon(longest_gap(&run.history)));
    (lab.learnt.horizon, lab.learnt.jumps) = (learnt, usize::MAX);
    lab.learnt.cut_short = cut_short(&run.history).filter(|_| completed);
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

/// The longest time that passed without anything new before the subject wrote something useful.
fn longest_gap(history: &History) -> Duration {
    let mut last: Option<Time> = None;
    let mut longest = Duration::ZERO;
    for record in history.records.iter().filter(|record| is_new(&record.event)) {
        if matches!(&record.event, Event::Commit(commit) if commit.actor.is_subject()) {
            longest = longest.max(last.map_or(Duration::ZERO, |last| record.at.since(last)));
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
    use trace::{Actor, Change, Commit, GroupResource, ObjectKey, ProcessEvent, Record, Revision};

    use super::*;

    /// A minute after the user's step the subject says something, and writes ten seconds after that.
    #[test]
    fn what_a_subject_says_is_nothing_new() {
        let (at, mut history) = (|second: i64| Time(second * 1_000_000_000), History::default());
        let process =
            |what| Event::Process(ProcessEvent { actor: Actor::Subject(0), incarnation: 0, what });
        let commit = Commit {
            revision: Revision(2),
            change: Change::Created,
            key: ObjectKey::new(GroupResource::new("", "configmaps"), "default", "a"),
            object: serde_json::json!({}).into(),
            actor: Actor::Subject(0),
            call: None,
        };
        let line = ProcessHappening::Line { text: "about to write".to_owned() };
        let events = [
            (0, process(ProcessHappening::Started { command: vec![], pid: 1 })),
            (60, process(line)),
            (70, Event::Commit(commit)),
        ];
        for (second, event) in events {
            let sequence = history.records.len() as u64;
            history.records.push(Record { sequence, at: at(second), real_us: 0, event });
        }
        assert_eq!(longest_gap(&history), Duration::from_secs(70));
        assert_eq!(cut_short(&history), None);
    }

    #[test]
    fn a_minute_at_least_and_whole_seconds() {
        assert_eq!(horizon(Duration::ZERO), HORIZON);
        assert_eq!(horizon(Duration::from_secs(29)), HORIZON);
        assert_eq!(horizon(Duration::from_millis(300_200)), Duration::from_secs(601));
    }
}
