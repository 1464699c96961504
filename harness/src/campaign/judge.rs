//! What a trial means: hands it to the oracles, and keeps what the explorer needs to know of it.

use std::collections::BTreeSet;

use oracles::{Baseline, Run, Trial, Verdict, VerdictValue};
use trace::{Event, Footprint, Masks, ObjectKey};

use crate::trial::{RunEnd, TrialRun};

/// The run as the oracles see it.
pub fn run_view(run: &TrialRun) -> Run {
    let mut generated: Vec<String> = run.drawn_names.iter().cloned().collect();
    if let Some(server) = &run.server {
        generated.extend(server.world().generated_names().map(str::to_owned));
    }
    Run {
        start: run.before.clone(),
        start_cursor: run.started_at.cursor,
        generated_names: generated,
        history: run.history.clone(),
    }
}

/// The `generateName` prefix of a name, if it is one of these generated names: suffixes have five characters (apiserver,
/// storage/names).
pub fn generated_from(names: &BTreeSet<&str>, name: &str) -> Option<String> {
    let prefix = name.get(..name.len().saturating_sub(5));
    prefix.filter(|_| names.contains(name)).map(str::to_owned)
}

/// The trial as the oracles see it.
pub fn trial_view(run: &TrialRun) -> Trial {
    let planned = run.spec.plan.perturbations.iter().map(|one| oracles::Planned {
        family: one.family().to_string(),
        text: one.to_string(),
        when_settled: one.restarts_when_settled(),
    });
    Trial { run: run_view(run), perturbations: planned.collect() }
}

/// All verdicts of a trial.
pub fn verdicts(run: &TrialRun, baseline: &Baseline) -> Vec<Verdict> {
    oracles::judge(&trial_view(run), baseline)
}

/// What the verdicts come to. A trial that broke on our side proves nothing, whatever they say.
pub fn summary(run: &TrialRun, verdicts: &[Verdict]) -> VerdictValue {
    match run.end {
        RunEnd::Broken(_) | RunEnd::NeverFired(_) | RunEnd::NotPossible(_) => VerdictValue::Unknown,
        _ => oracles::summary(verdicts),
    }
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

/// The end state in comparison form, by hash; none if the trial did not get there.
pub fn end_state(run: &TrialRun, baseline: &Baseline) -> Option<String> {
    let view = run_view(run);
    let settled = run.history.settles().filter(|settled| settled.end).last()?;
    let world = view.world_at(settled, &baseline.masks);
    Some(blake3::hash(world.to_string().as_bytes()).to_hex()[..16].to_owned())
}

/// What the subject asked about.
pub fn footprint(run: &TrialRun) -> Footprint {
    let view = run_view(run);
    let names = view.generated_names();
    let mut footprint = Footprint::default();
    footprint.learn(&run.history, &|name| names.contains(name));
    footprint
}

/// Writes of a run in folded form, however much of them counts.
pub struct Folded(trace::Folder);

/// For what a run wrote.
pub fn folded(run: &TrialRun) -> Folded {
    Folded(run_view(run).folder())
}

impl Folded {
    /// What the subject wrote, content included, as far as these masks leave it. In no order and each once, because
    /// writes of independent workers come in any order and conflicts make one write twice. Times and names are folded.
    pub fn writes(&self, run: &TrialRun, masks: &Masks) -> BTreeSet<String> {
        let mut writes = BTreeSet::new();
        for record in &run.history.records {
            let Event::Commit(commit) = &record.event else { continue };
            if commit.is_bookkeeping() || !commit.actor.is_subject() {
                continue;
            }
            let key: &ObjectKey = &commit.key;
            let content = self.0.object(key, &commit.object, masks).to_string();
            let content = &blake3::hash(content.as_bytes()).to_hex()[..12];
            let write = format!("{:?} {} {content}", commit.change, self.0.key(key));
            writes.insert(write);
        }
        writes
    }
}
