//! The schedule model of a subject: learnt from its undisturbed runs, as they are in memory or as they were stored.

use std::{collections::BTreeSet, sync::Arc};

use plans::{Observed, Schedule};
use serde_json::Value;
use trace::{Cursor, Footprint, History, ObjectKey};

use crate::{campaign::judge, trial::TrialRun};

/// A run as a model is learnt from it.
pub struct Source<'r> {
    /// All that happened.
    pub history: &'r History,
    /// The objects at its start.
    pub before: &'r [(ObjectKey, Arc<Value>)],
    /// How far the workload was at its start.
    pub cursor: Cursor,
    /// Generated names, by whomever.
    pub names: BTreeSet<&'r str>,
}

impl Source<'_> {
    /// Looks at it with the eyes of a subject that sees what its footprint covers.
    fn observed<T>(&self, footprint: &Footprint, look: impl FnOnce(&Observed<'_>) -> T) -> T {
        look(&Observed {
            history: self.history,
            before: self.before,
            cursor: self.cursor,
            sees: &|key, object| footprint.covers(key, object),
            generated: &|name| judge::generated_from(&self.names, name),
        })
    }

    /// The model that it is.
    fn schedule(&self, footprint: &Footprint) -> Schedule {
        self.observed(footprint, Schedule::learn)
    }
}

/// The first run's, with what the subject reads in the others.
pub fn of_all(footprint: &Footprint, runs: &[Source<'_>]) -> Schedule {
    let Some((first, others)) = runs.split_first() else { return Schedule::default() };
    let mut schedule = first.schedule(footprint);
    for run in others {
        run.observed(footprint, |other| schedule.add_reads(other));
    }
    schedule
}

/// The model that this run is.
pub fn of_run(footprint: &Footprint, run: &TrialRun) -> Schedule {
    let view = judge::run_view(run);
    source(run, &view).schedule(footprint)
}

/// The model of a campaign's undisturbed runs.
pub fn of_references(footprint: &Footprint, runs: &[TrialRun]) -> Schedule {
    let views: Vec<oracles::Run> = runs.iter().map(judge::run_view).collect();
    let sources = runs.iter().zip(&views).map(|(run, view)| source(run, view));
    of_all(footprint, &sources.collect::<Vec<_>>())
}

fn source<'r>(run: &'r TrialRun, view: &'r oracles::Run) -> Source<'r> {
    Source {
        history: &run.history,
        before: &run.before,
        cursor: run.started_at.cursor,
        names: view.generated_names(),
    }
}
