//! Runs the oracles on one trial.

mod assumptions;
mod end_state;
mod exits;
pub mod livelock;
mod object_lives;
mod restart_writes;
mod rollback;
mod workload;

use trace::Event;

use crate::{
    baseline::Baseline,
    run::Trial,
    verdict::{Oracle, Verdict, VerdictValue},
};

/// One verdict an oracle, in their order.
///
/// Assumptions come first. If a perturbation never happened, the trial says nothing about it and the other
/// oracles say `unknown`, whatever they would see: an undisturbed run that differs is the references' business.
pub fn judge(trial: &Trial, baseline: &Baseline) -> Vec<Verdict> {
    let assumptions = assumptions::judge(trial);
    let verdicts = if trial.never_fired().is_empty() {
        let mut verdicts = vec![
            workload::judge(trial, baseline),
            end_state::judge(trial, baseline),
            object_lives::judge(trial, baseline),
        ];
        verdicts.extend(restart_writes::judge(trial, baseline));
        verdicts.extend([
            exits::judge(trial),
            livelock::judge(trial),
            rollback::judge(trial, baseline),
        ]);
        verdicts
    } else {
        let oracles = [
            Oracle::Workload,
            Oracle::EndState,
            Oracle::ObjectLives,
            Oracle::RestartWrites,
            Oracle::Exits,
            Oracle::Livelock,
            Oracle::Rollback,
        ];
        let asked =
            |oracle: &Oracle| *oracle != Oracle::RestartWrites || restart_writes::asked(trial);
        let unknown = |oracle| Verdict::unknown(oracle, assumptions.title.clone());
        oracles.into_iter().filter(asked).map(unknown).collect()
    };
    std::iter::once(assumptions).chain(verdicts).collect()
}

/// The whole in one word: violated beats unknown beats held; nothing at all is unknown. What is right in the end is held.
pub fn summary(verdicts: &[Verdict]) -> VerdictValue {
    let value = |verdict: &Verdict| match verdict.value {
        VerdictValue::Violated if !verdict.is_lasting_violation() => VerdictValue::Held,
        value => value,
    };
    verdicts.iter().map(value).max().unwrap_or(VerdictValue::Unknown)
}

/// Whether the whole workload was done and all settled after the last perturbation.
fn ended(trial: &Trial) -> bool {
    let records = &trial.run.history.records[trial.after_last_perturbation()..];
    records.iter().any(|record| matches!(&record.event, Event::Settled(settled) if settled.end))
}

#[cfg(test)]
mod tests;
