//! Does a controller that is started again when all has settled leave the world alone?
//!
//! Judged only where the last perturbation is such a restart, and only if undisturbed runs write the same each time they
//! are restarted so ([`crate::restart_writes`]).

use super::ended;
use crate::{
    baseline::Baseline,
    restart_writes::{RestartWrite, restart_writes},
    run::Trial,
    verdict::{Evidence, Fingerprint, Oracle, Verdict, VerdictValue},
};

/// None where nothing is to be judged.
pub(super) fn judge(trial: &Trial, baseline: &Baseline) -> Option<Verdict> {
    if !asked(trial) {
        return None;
    }
    let Some(learnt) = &baseline.restart else {
        let title = "it is not known what an undisturbed controller writes after such a restart";
        return Some(Verdict::unknown(Oracle::RestartWrites, title));
    };
    if !learnt.is_known() {
        return None;
    }
    let beyond = learnt.beyond(restart_writes(&trial.run));
    Some(match &beyond[..] {
        _ if !ended(trial) => Verdict::unknown(Oracle::RestartWrites, "the end was not reached"),
        [] => Verdict::held(
            Oracle::RestartWrites,
            "after a restart of the settled controller, it wrote nothing but what it writes in undisturbed runs",
        ),
        [first, more @ ..] => Verdict {
            oracle: Oracle::RestartWrites,
            value: VerdictValue::Violated,
            title: title(first, more.len()),
            fingerprint: Fingerprint::new(Oracle::RestartWrites, beyond.iter().flat_map(kinds)),
            evidence: beyond.into_iter().map(Evidence::Restart).collect(),
        },
    })
}

/// Whether the trial ends with a restart when all had settled.
pub(super) fn asked(trial: &Trial) -> bool {
    trial.perturbations.last().is_some_and(|last| last.when_settled)
}

fn title(first: &RestartWrite, more: usize) -> String {
    let more = match more {
        0 => String::new(),
        1 => ", and makes one other change".to_owned(),
        more => format!(", and makes {more} other changes"),
    };
    format!("restarted when all had settled, the controller {first}{more}")
}

/// What it did to which type, at which place.
fn kinds(write: &RestartWrite) -> Vec<String> {
    let (change, object) = (format!("{:?}", write.change).to_ascii_lowercase(), &write.object);
    match write.paths.is_empty() {
        true => vec![format!("{change} {object}")],
        false => write.paths.iter().map(|path| format!("{change} {object} {path}")).collect(),
    }
}
