//! The rehearsal: one undisturbed run that waits for long, to learn how long the others have to wait.
//!
//! A world counts as settled when its store has not changed for the horizon. A controller that comes back after
//! five minutes to finish its work would look settled after one: so the first run waits for ten, and the horizon
//! becomes twice the longest gap before a write of the subject (design §4, *settled*).

use std::time::Duration;

use trace::{Event, History, Time};

use crate::{
    config::Horizon,
    lab::{HORIZON, Lab},
    reference,
    run_folder::RunFolder,
    trial::{self, RunEnd, TrialSpec},
};

/// How long the rehearsal waits for another write.
const PATIENCE: Duration = Duration::from_secs(600);

/// A subject that polls twenty times a second would make ten minutes long; nobody who polls so often comes back late.
const JUMPS: usize = 2_000;

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
    let learnt = matches!(run.end, RunEnd::Completed).then(|| horizon(longest_gap(&run.history)));
    (lab.learnt.horizon, lab.learnt.jumps) = (learnt, usize::MAX);
}

/// Twice the longest gap in whole seconds, so that the phases of timers don't show; a minute at least.
fn horizon(gap: Duration) -> Duration {
    HORIZON.max(Duration::from_secs((2 * gap).as_secs_f64().ceil() as u64))
}

/// The longest time that passed without anything new before the subject wrote something useful.
fn longest_gap(history: &History) -> Duration {
    let mut last: Option<Time> = None;
    let mut longest = Duration::ZERO;
    for record in &history.records {
        match &record.event {
            Event::Commit(commit) if commit.is_bookkeeping() => continue,
            Event::Commit(commit) if commit.actor.is_subject() => {
                longest = longest.max(last.map_or(Duration::ZERO, |last| record.at.since(last)));
            }
            Event::Commit(_) | Event::Step(_) | Event::Process(_) => {}
            _ => continue,
        }
        last = Some(record.at);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_at_least_and_whole_seconds() {
        assert_eq!(horizon(Duration::ZERO), HORIZON);
        assert_eq!(horizon(Duration::from_secs(29)), HORIZON);
        assert_eq!(horizon(Duration::from_millis(300_200)), Duration::from_secs(601));
    }
}
