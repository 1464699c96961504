//! Did the trial do what its plan says? Whatever did not happen proves nothing.

use trace::Event;

use super::ended;
use crate::{
    run::Trial,
    verdict::{Evidence, Oracle, Verdict},
};

pub(super) fn judge(trial: &Trial) -> Verdict {
    let reasons: Vec<String> = [never_fired(trial), never_acted(trial), never_settled(trial)]
        .into_iter()
        .flatten()
        .collect();
    let Some(first) = reasons.first() else {
        return Verdict::held(
            Oracle::Assumptions,
            "the crash points were reached, the controller acted, and all settled",
        );
    };
    let mut verdict = Verdict::unknown(Oracle::Assumptions, first.clone());
    verdict.evidence = reasons.into_iter().map(|text| Evidence::Reason { text }).collect();
    verdict
}

fn never_fired(trial: &Trial) -> Option<String> {
    let missing = trial.never_fired();
    let first = missing.first()?;
    let more = match missing.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Some(format!("{}: {}{more}", first.not_reached(), first.text))
}

/// The subject made no call after its last start.
fn never_acted(trial: &Trial) -> Option<String> {
    let records = &trial.run.history.records;
    let acted = records[trial.run.history.last_start()..]
        .iter()
        .any(|record| matches!(&record.event, Event::Call(call) if call.actor.is_subject()));
    (!acted).then(|| "the controller sent no request after its last start".to_owned())
}

fn never_settled(trial: &Trial) -> Option<String> {
    (!ended(trial)).then(|| "the run did not settle after the workload was done".to_owned())
}
