//! What a trial means: hands it to the oracles, and keeps what the explorer needs to know of it.

use std::collections::BTreeSet;

use oracles::{Baseline, Oracle, Run, Trial, Verdict, VerdictValue};
use trace::{Actor, Change, Commit, Footprint, Masks};

use crate::{
    campaign::setup::Setup,
    trial::{RunEnd, TrialRun},
};

/// The run as the oracles see it.
pub fn run_view(run: &TrialRun) -> Run {
    let mut generated: Vec<String> = run.drawn_names.iter().cloned().collect();
    if let Some(server) = &run.server {
        generated.extend(server.world().generated_names().map(str::to_owned));
    } else {
        // Nobody but the cluster knows which names it drew: the objects show it.
        let drawn = run.history.commits().filter(|commit| is_drawn(commit));
        generated.extend(drawn.map(|commit| commit.key.name.to_string()));
    }
    Run {
        start: run.before.clone(),
        start_cursor: run.started_at.cursor,
        generated_names: generated,
        history: run.history.clone(),
    }
}

/// Characters of the suffix that the server draws for a `generateName` (apiserver, storage/names), and of a uid.
const SUFFIX: usize = 5;
const UID: usize = 36;

/// Whether a cluster's own controller drew the name of what it made by `generateName`. A StatefulSet's pods have one as
/// well, and numbers behind it.
fn is_drawn(commit: &Commit) -> bool {
    if commit.change != Change::Created || !matches!(commit.actor, Actor::Environment(_)) {
        return false;
    }
    let name = &*commit.key.name;
    let prefix = commit.object["metadata"]["generateName"].as_str();
    prefix.is_some_and(|prefix| {
        name.strip_prefix(prefix).is_some_and(|suffix| suffix.len() == SUFFIX)
    })
}

/// Whether a name ends with a uid, as that of a claim's volume does (`pvc-UID`, `GetProvisionedVolumeNameForClaim`).
fn has_uid(name: &str) -> bool {
    let digits = |part: &str| part.chars().all(|digit| digit.is_ascii_hexdigit());
    let uid = name.get(name.len().saturating_sub(UID)..).unwrap_or_default();
    let lengths = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = uid.split('-').collect();
    parts.iter().map(|part| part.len()).eq(lengths) && parts.iter().all(|part| digits(part))
}

/// The part of a name that is the same in every run, if it is one of these generated names, or has a uid in it.
pub fn generated_from(names: &BTreeSet<&str>, name: &str) -> Option<String> {
    let prefix = |suffix| name.get(..name.len().saturating_sub(suffix)).map(str::to_owned);
    match (has_uid(name), names.contains(name)) {
        (true, _) => prefix(UID),
        (false, true) => prefix(SUFFIX),
        (false, false) => None,
    }
}

/// The trial as the oracles see it.
pub fn trial_view(run: &TrialRun) -> Trial {
    let planned = run.spec.plan.perturbations.iter().map(|one| oracles::Planned {
        family: one.family().to_string(),
        text: one.to_string(),
        when_settled: one.restarts_when_settled(),
    });
    let (run_view, at_most) = (run_view(run), Some(run.spec.waits.at_most));
    Trial { run: run_view, perturbations: planned.collect(), at_most }
}

/// All verdicts of a trial.
pub fn verdicts(setup: &Setup, run: &TrialRun, baseline: &Baseline) -> Vec<Verdict> {
    verdicts_of(setup, run, &trial_view(run), baseline)
}

/// The same of a trial that was looked at already.
pub fn verdicts_of(
    setup: &Setup,
    run: &TrialRun,
    view: &Trial,
    baseline: &Baseline,
) -> Vec<Verdict> {
    let mut verdicts = oracles::judge(view, baseline);
    verdicts.extend(setup.model_runs.verdict(run));
    verdicts.extend(setup.properties.verdicts(setup, run, baseline));
    verdicts
}

/// What the verdicts come to. A trial that broke on our side proves nothing, whatever they say.
pub fn summary(run: &TrialRun, verdicts: &[Verdict]) -> VerdictValue {
    match run.end {
        // That something never came is what a model may object to.
        RunEnd::NeverFired(_) if verdicts.iter().any(is_of_model) => VerdictValue::Violated,
        RunEnd::Broken(_) | RunEnd::NeverFired(_) | RunEnd::NotPossible(_) => VerdictValue::Unknown,
        _ => oracles::summary(verdicts),
    }
}

fn is_of_model(verdict: &Verdict) -> bool {
    verdict.oracle == Oracle::Model && verdict.value == VerdictValue::Violated
}

/// Why a trial proved nothing.
pub fn why_unknown(run: &TrialRun, verdicts: &[Verdict]) -> String {
    match &run.end {
        RunEnd::Completed | RunEnd::StepFailed(_) => {
            let unknown = verdicts.iter().find(|verdict| verdict.value == VerdictValue::Unknown);
            unknown.map_or_else(|| "no verdict".to_owned(), |verdict| verdict.title.clone())
        }
        RunEnd::SubjectGone(why)
        | RunEnd::NeverSettled(why)
        | RunEnd::NeverFired(why)
        | RunEnd::NotPossible(why)
        | RunEnd::Broken(why) => why.clone(),
    }
}

/// The end state in comparison form, by hash; none if the run did not get there.
pub fn end_state(run: &Run, baseline: &Baseline) -> Option<String> {
    let settled = run.history.settles().filter(|settled| settled.end).last()?;
    Some(run.world_at(settled, &baseline.masks).digest())
}

/// What the subject asked about.
pub fn footprint(run: &Run) -> Footprint {
    let names = run.generated_names();
    let mut footprint = Footprint::default();
    footprint.learn(&run.history, &|name| names.contains(name));
    footprint
}

/// What the subject wrote, content included, as far as these masks leave it. In no order and each once, because
/// writes of independent workers come in any order and conflicts make one write twice. Times and names are folded.
pub fn writes(run: &Run, masks: &Masks) -> BTreeSet<String> {
    let folder = run.folder();
    let by_subject =
        run.history.commits().filter(|one| !one.is_bookkeeping() && one.actor.is_subject());
    let write = |commit: &Commit| {
        let content = folder.object(&commit.key, &commit.object, masks).to_string();
        let content = &blake3::hash(content.as_bytes()).to_hex()[..12];
        format!("{:?} {} {content}", commit.change, folder.key(&commit.key))
    };
    by_subject.map(write).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_drawn_names() {
        let names = BTreeSet::from(["db-fill-l4dc8"]);
        let check = |name: &str, expect: Option<&str>| {
            assert_eq!(generated_from(&names, name).as_deref(), expect);
        };
        check("db-fill-l4dc8", Some("db-fill-"));
        check("db-fill-abcde", None);
        check("pvc-a12cdc1b-4079-4d87-a9f7-33ab28c294fe", Some("pvc-"));
    }
}
