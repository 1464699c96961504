//! One description, checked.

use std::num::NonZeroUsize;

use super::{
    description::Description,
    intent::Intent,
    intents,
    options::Options,
    setup,
    told::{self, Trace},
};
use crate::{
    Budgets, Counts, Limit, Search, SearchError, Verdict,
    cluster::{Action, Cluster, State, setup::SetupError},
};

/// What came of a description.
#[derive(Debug)]
pub struct Checked {
    /// The verdict of each intent, in their order.
    pub verdicts: Vec<Judged>,
    /// What was seen, in all searches together.
    pub counts: Counts,
}

/// The verdict of an intent.
#[derive(Debug, Clone)]
pub struct Judged {
    /// Which.
    pub intent: Intent,
    /// What reports call it.
    pub title: String,
    /// The verdict.
    pub verdict: Outcome,
}

/// Three values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It holds, at this granularity.
    Held,
    /// It does not.
    Violated(Trace),
    /// Not all was seen.
    Unknown(Limit),
}

/// Why there are no verdicts.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The description is no cluster.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The search is not possible.
    #[error(transparent)]
    Search(#[from] SearchError),
}

impl Checked {
    /// The first violation.
    pub fn violation(&self) -> Option<(&Judged, &Trace)> {
        self.verdicts.iter().find_map(|judged| match &judged.verdict {
            Outcome::Violated(trace) => Some((judged, trace)),
            _ => None,
        })
    }

    /// Whether all intents hold.
    pub fn is_clean(&self) -> bool {
        self.verdicts.iter().all(|judged| judged.verdict == Outcome::Held)
    }
}

/// All intents that are asked of a description: its own, and if the options say so whether the cluster comes to rest.
pub fn asked(of: &Description, options: &Options) -> Vec<Intent> {
    let mut all = of.intents.clone();
    if options.loops {
        for intent in [Intent::NoLoop, Intent::ValidEnds] {
            if !all.contains(&intent) {
                all.push(intent);
            }
        }
    }
    all
}

/// What reports call an intent.
pub fn title(of: &Description, intent: &Intent) -> String {
    match intent.deployment() {
        Some(deployment) => format!("{} of {}", intent.name(), of.deployments[deployment].name),
        None => intent.name().to_owned(),
    }
}

/// Checks `intents` of a description. `threads` explore it together; `deadline` says whether the time is up.
///
/// # Errors
/// If the description is no cluster, or asks for what no search can do.
pub fn check(
    of: &Description,
    intents: &[Intent],
    options: &Options,
    threads: NonZeroUsize,
    deadline: Option<&(dyn Fn() -> bool + Sync)>,
) -> Result<Checked, CheckError> {
    let group = options.intents_per_group.map_or(intents.len().max(1), NonZeroUsize::get);
    let mut all = Checked { verdicts: Vec::new(), counts: Counts::default() };
    for intents in intents.chunks(group) {
        search(of, intents, options, (threads, deadline), &mut all)?;
        if !options.all_violations && all.violation().is_some() {
            break;
        }
    }
    Ok(all)
}

type Limits<'d> = (NonZeroUsize, Option<&'d (dyn Fn() -> bool + Sync)>);

fn search(
    of: &Description,
    intents: &[Intent],
    options: &Options,
    (threads, deadline): Limits<'_>,
    into: &mut Checked,
) -> Result<(), CheckError> {
    let cluster = setup::cluster(of, intents, options)?;
    let properties = intents::properties(of, &cluster, intents, options.mode);
    let fairness = intents::fairness(&cluster);
    let mut search = Search::new(&cluster, &properties);
    search.fairness = &fairness;
    search.threads = threads;
    search.all_violations = options.all_violations;
    let depth = options.random.map_or(u64::MAX, |random| random.depth);
    search.budgets = Budgets { states: options.states_max, depth, deadline, ..Budgets::default() };
    let reports = match options.random {
        Some(random) => (0..u64::from(random.seeds))
            .map(|seed| search.random_walk(random.seed + seed, random.runs))
            .collect::<Result<Vec<_>, _>>()?,
        None => vec![search.breadth_first()?],
    };
    for (at, intent) in intents.iter().enumerate() {
        let mut outcomes = reports
            .iter()
            .map(|report| outcome((of, &cluster), &report.verdicts[at].1, options.detail));
        let first = outcomes.next().unwrap_or(Outcome::Unknown(Limit::Sampled));
        let verdict = outcomes.fold(first, |one, other| match one {
            Outcome::Violated(_) => one,
            _ => other,
        });
        let title = title(of, intent);
        into.verdicts.push(Judged { intent: intent.clone(), title, verdict });
    }
    for report in &reports {
        into.counts.generated += report.counts.generated;
        into.counts.distinct += report.counts.distinct;
        into.counts.left += report.counts.left;
        into.counts.depth = into.counts.depth.max(report.counts.depth);
    }
    Ok(())
}

fn outcome(of: (&Description, &Cluster), verdict: &Verdict<State, Action>, detail: u8) -> Outcome {
    match verdict {
        Verdict::Held { .. } => Outcome::Held,
        Verdict::Violated { run: Some(run) } => Outcome::Violated(told::trace(of, run, detail)),
        // No intent asks that something can be reached.
        Verdict::Violated { run: None } => Outcome::Unknown(Limit::Decided),
        Verdict::Unknown { why, .. } => Outcome::Unknown(why.clone()),
    }
}
