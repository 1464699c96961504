//! Did each operation of the workload succeed?

use trace::{Event, StepState};

use super::ended;
use crate::{
    run::Trial,
    verdict::{Evidence, Fingerprint, Oracle, Verdict, VerdictValue},
};

pub(super) fn judge(trial: &Trial) -> Verdict {
    let failed = trial.run.history.records.iter().find_map(|record| match &record.event {
        Event::Step(step) => match &step.state {
            StepState::Failed { message } => Some((step, message)),
            _ => None,
        },
        _ => None,
    });
    match failed {
        Some((step, message)) => Verdict {
            oracle: Oracle::Workload,
            value: VerdictValue::Violated,
            title: format!("{} failed: {}", step.title, first_line(message)),
            evidence: vec![Evidence::Step {
                cursor: step.cursor,
                title: step.title.clone(),
                message: message.clone(),
            }],
            // The operation's number, not its message: messages carry names and values.
            fingerprint: Fingerprint::new(
                Oracle::Workload,
                [format!("failed operation {}", step.cursor.operation)],
            ),
        },
        None if ended(trial) => Verdict::held(Oracle::Workload, "every operation succeeded"),
        None => Verdict::unknown(Oracle::Workload, "the workload was not done"),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
