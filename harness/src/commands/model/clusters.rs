//! `trommel model check SCENARIO.yaml`: the verdict on a cluster of manifests, with the run that shows it.

mod counterexample;
mod steps;

use std::{path::Path, time::Instant};

use model::{
    Counts, Limit, Report, Run, Search, Verdict,
    cluster::{Action, State},
};

use super::{
    confirm::Counterexample,
    scenario::{Asked, Scenario, fairness},
};
use crate::exit::Exit;

pub(super) use steps::Step;

/// What a check of a scenario may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub states_max: u64,
    pub bytes_max: usize,
    /// Until when.
    pub until: Instant,
}

/// A scenario with the verdict on it.
pub(super) struct Checked {
    scenario: Scenario,
    report: Report<State, Action>,
}

/// Checks a scenario; errors name `path`.
///
/// # Errors
/// A property has no value in some state: exit 64.
pub(super) fn check(scenario: Scenario, path: &Path, limits: Limits) -> anyhow::Result<Checked> {
    let cluster = &scenario.cluster;
    let properties: Vec<_> = scenario.asked.iter().map(|asked| asked.property(cluster)).collect();
    let fairness = fairness(cluster);
    let mut search = Search::new(cluster, &properties);
    search.fairness = &fairness;
    search.budgets.states = limits.states_max;
    search.budgets.memory_bytes = limits.bytes_max;
    search.all_violations = true;
    let is_up = || Instant::now() >= limits.until;
    search.budgets.deadline = Some(&is_up);
    let report = search.breadth_first().map_err(super::usage)?;
    drop(properties);
    if let Some(what) = scenario.asked.iter().find_map(Asked::failed) {
        let message = format!("{}: a property has no value in some state: {what}", path.display());
        return Err(super::usage(message));
    }
    drop(fairness);
    Ok(Checked { scenario, report })
}

impl Checked {
    /// The worst of the verdicts.
    pub fn exit(&self) -> Exit {
        let exits = self.report.verdicts.iter().map(|(_, verdict)| match verdict {
            Verdict::Violated { .. } => Exit::Finding,
            Verdict::Unknown { .. } => Exit::Unknown,
            Verdict::Held { .. } => Exit::Clean,
        });
        exits.min().unwrap_or(Exit::Clean)
    }

    /// Different states that were seen.
    pub fn states(&self) -> u64 {
        self.report.counts.distinct
    }

    /// Each property with its verdict.
    pub fn verdicts(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.report.verdicts.iter().map(|(name, verdict)| (name.as_str(), word(verdict)))
    }

    /// The verdicts in words, with the runs that show them.
    pub fn told(&self) -> String {
        let verdicts = self.report.verdicts.iter();
        let lines = verdicts.map(|(name, verdict)| self.told_of(name, verdict));
        format!("{}\n{}", counts(&self.report.counts), lines.collect::<String>())
    }

    fn told_of(&self, name: &str, verdict: &Verdict<State, Action>) -> String {
        let word = word(verdict);
        match verdict {
            Verdict::Unknown { why, .. } => format!("{word}: {name}: {}\n", limit(why)),
            Verdict::Violated { run: Some(run) } => {
                let mut lines = vec![format!("{word}: {name}")];
                for (at, step) in steps::of(&self.scenario.cluster, run).iter().enumerate() {
                    lines.push(format!("  {}: {}", at + 1, step.did));
                    lines.extend(step.changes.iter().map(|change| format!("       {change}")));
                }
                lines.extend(steps::ends(run).map(|how| format!("  {how}")));
                lines.join("\n") + "\n"
            }
            _ => format!("{word}: {name}\n"),
        }
    }

    /// The first property that a run violates.
    fn violation(&self) -> Option<(&Asked, &Run<State, Action>)> {
        let asked = self.scenario.asked.iter().zip(&self.report.verdicts);
        let mut violated = asked.filter_map(|(asked, (_, verdict))| match verdict {
            Verdict::Violated { run } => run.as_ref().map(|run| (asked, run)),
            _ => None,
        });
        violated.next()
    }

    /// The run of the first violation: its property, its steps, and how it goes on.
    pub fn run(&self) -> Option<(&str, Vec<Step>, Option<String>)> {
        let (asked, run) = self.violation()?;
        Some((&asked.spec.name, steps::of(&self.scenario.cluster, run), steps::ends(run)))
    }

    /// The first violation as a file for `trommel model confirm`.
    ///
    /// # Errors
    /// There is none, or real programs can't be asked for it: why.
    pub fn counterexample(&self) -> Result<Counterexample, String> {
        let (asked, run) = self.violation().ok_or("no run violates a property")?;
        counterexample::of(&self.scenario, asked, run)
    }
}

fn word(verdict: &Verdict<State, Action>) -> &'static str {
    match verdict {
        Verdict::Held { .. } => "held",
        Verdict::Violated { .. } => "violated",
        Verdict::Unknown { .. } => "unknown",
    }
}

fn counts(counts: &Counts) -> String {
    let Counts { generated, distinct, left, depth } = counts;
    format!("{generated} states generated, {distinct} distinct, {left} left, depth {depth}")
}

fn limit(why: &Limit) -> &'static str {
    match why {
        Limit::States => "the limit of states was reached; raise --states",
        Limit::Deadline => "the time was up; raise --timeout",
        Limit::Memory => "the memory limit was reached; raise --memory",
        _ => "not all states were looked at",
    }
}
