//! What the runs of a replay come to.

use oracles::{Baseline, VerdictValue};
use plans::{Expectation, Replay};

use crate::{campaign::judge, exit::Exit, trial::TrialRun};

/// Runs, counted.
pub struct Outcome {
    /// Those that carried the whole plan out, and show the finding.
    reproduced: usize,
    /// Those that prove nothing.
    unknown: usize,
    runs: usize,
    /// What else there is to say, once each.
    pub others: Vec<String>,
}

impl Outcome {
    /// Judges the runs. One in which not all of the plan happened shows nothing about it, whatever it violates.
    pub fn of(replay: &Replay, runs: &[TrialRun], baseline: &Baseline) -> Outcome {
        let mut outcome = Outcome { reproduced: 0, unknown: 0, runs: runs.len(), others: vec![] };
        runs.iter().for_each(|run| outcome.count(replay, run, baseline));
        outcome
    }

    fn count(&mut self, replay: &Replay, run: &TrialRun, baseline: &Baseline) {
        let verdicts = judge::verdicts(run, baseline);
        let violated = verdicts.iter().filter(|verdict| verdict.value == VerdictValue::Violated);
        let (same, others): (Vec<_>, Vec<_>) =
            violated.partition(|verdict| verdict.fingerprint.id() == replay.fingerprint);
        let undone = run.undone();
        let unknown = judge::summary(run, &verdicts) == VerdictValue::Unknown;
        self.reproduced += usize::from(!same.is_empty() && undone.is_none());
        self.unknown += usize::from(unknown || undone.is_some());
        match undone {
            Some(why) => self.tell(format!("not all of the plan happened: {why}")),
            None if unknown => self.tell(judge::why_unknown(run, &verdicts)),
            None => {}
        }
        if same.is_empty() {
            others.iter().for_each(|verdict| self.tell(format!("but violated: {}", verdict.title)));
        } else if undone.is_some() {
            self.tell("what was found is there all the same".to_owned());
        }
    }

    fn tell(&mut self, text: String) {
        if !self.others.contains(&text) {
            self.others.push(text);
        }
    }

    /// The code for it.
    pub fn exit(&self) -> Exit {
        match (self.reproduced, self.unknown) {
            (0, 0) if self.others.is_empty() => Exit::Clean,
            (0, 0) => Exit::Finding,
            (0, _) => Exit::Unknown,
            _ => Exit::Finding,
        }
    }

    /// The same in one sentence.
    pub fn sentence(&self, replay: &Replay) -> String {
        let expected = match (replay.expect, self.exit()) {
            (Expectation::Clean, Exit::Finding) => " (the file expects it to be gone)",
            (Expectation::Finding, Exit::Clean) => {
                " (set `expect: clean` in the file, and it guards the fix)"
            }
            _ => "",
        };
        let title = &replay.title;
        match self.exit() {
            Exit::Finding if self.reproduced > 0 => {
                format!("reproduced {} of {}: {title}{expected}", self.reproduced, self.runs)
            }
            Exit::Finding => format!("gone: {title}; but the plan shows something else"),
            Exit::Clean => {
                format!("gone: {title}, in {} of {} runs{expected}", self.runs, self.runs)
            }
            _ => format!(
                "unknown: in {} of {} runs the plan proved nothing: {title}",
                self.unknown, self.runs
            ),
        }
    }
}
