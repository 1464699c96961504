//! DefaultPreemption: which pods of lower priority have to go so that a pod finds a node
//! (`framework/plugins/defaultpreemption`, `framework/preemption`).
//!
//! Upstream looks at some nodes of large clusters only, beginning anywhere; here all are looked at. Of nodes that are
//! equally good it takes any, here the first by name.

use trace::{ObjectKey, Time};

use super::{
    filter::{Cycle, State, budgets},
    snapshot::{NodeInfo, Placed},
};
use crate::{disruption::Budget, object::Text};

const NO_VICTIMS: &str = "No preemption victims found for incoming pod";
const NEVER: &str = "not eligible due to preemptionPolicy=Never.";
const TERMINATING: &str = "not eligible due to a terminating pod on the nominated node.";

/// What preemption comes to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// The pod may not preempt, or waits for those that it preempted.
    NotEligible(&'static str),
    /// It would not help: what is said of each node that was looked at.
    NoHelp(Vec<String>),
    /// These would do, the best first.
    Candidates(Vec<Candidate>),
}

/// A node, and the pods that have to leave it.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The node.
    pub node: Text,
    /// Those, the most important first.
    pub victims: Vec<ObjectKey>,
    rank: Rank,
}

/// How bad it is: compared from left to right, less is better. Violated budgets, the highest priority, the sum of
/// priorities, how many, and how long the most important ones have run.
type Rank = (usize, i64, i64, usize, std::cmp::Reverse<Time>);

/// Looks for pods that may go. `rejected` says of each node whether deleting pods may help.
pub(super) fn preempt<'v>(
    cycle: &Cycle<'v>,
    state: &State,
    nodes: &[NodeInfo<'v>],
    rejected: &[Option<bool>],
    now: Time,
) -> Outcome {
    let of = &cycle.of;
    if of.pod.placing.never_preempts {
        branch!(SchedulerNeverPreempts);
        return Outcome::NotEligible(NEVER);
    }
    let nominated = nodes.iter().zip(rejected).find(|(info, _)| {
        info.name == of.pod.placing.nominated && !of.pod.placing.nominated.is_empty()
    });
    if let Some((info, Some(true))) = nominated {
        let leaves = |other: &Placed<'_>| other.meta.is_deleted() && other.pod.placing.preempted;
        if info.pods().iter().any(|other| other.priority() < of.priority() && leaves(other)) {
            branch!(SchedulerWaitsForVictims);
            return Outcome::NotEligible(TERMINATING);
        }
    }
    let budgets = budgets(cycle.view);
    let (mut candidates, mut reasons) = (Vec::new(), Vec::new());
    for (info, rejected) in nodes.iter().zip(rejected) {
        if *rejected != Some(true) {
            continue;
        }
        match victims(cycle, state, info, &budgets, now) {
            Ok(candidate) => candidates.push(candidate),
            Err(mut why) => reasons.append(&mut why),
        }
    }
    if candidates.is_empty() {
        branch!(SchedulerNoVictims);
        let untouched = rejected.iter().filter(|one| **one != Some(true)).count();
        let unhelpful = "Preemption is not helpful for scheduling".to_owned();
        reasons.extend(std::iter::repeat_n(unhelpful, untouched));
        return Outcome::NoHelp(reasons);
    }
    candidates.sort_by_key(|candidate| candidate.rank);
    branch!(SchedulerPreempts);
    Outcome::Candidates(candidates)
}

/// Those of the candidates that are as good as the first.
pub(super) fn equals(candidates: &[Candidate]) -> impl Iterator<Item = &Candidate> {
    candidates.iter().take_while(|one| one.rank == candidates[0].rank)
}

/// The fewest pods that have to leave a node (`SelectVictimsOnNode`). Errors: why that does not help.
fn victims<'v>(
    cycle: &Cycle<'v>,
    state: &State,
    info: &NodeInfo<'v>,
    budgets: &[(Text, &Budget)],
    now: Time,
) -> Result<Candidate, Vec<String>> {
    let (mut state, mut info) = (state.clone(), info.clone());
    let lower = |other: &&Placed<'v>| other.priority() < cycle.of.priority();
    let mut potential: Vec<Placed<'v>> = info.pods().iter().filter(lower).copied().collect();
    if potential.is_empty() {
        return Err(vec![NO_VICTIMS.to_owned()]);
    }
    for other in &potential {
        cycle.remove(&mut state, &mut info, other);
    }
    cycle.filter(&state, &info).map_err(|rejection| rejection.reasons)?;
    let started = |other: &Placed<'_>| other.pod.placing.started.unwrap_or(now);
    let importance =
        |other: &Placed<'v>| (std::cmp::Reverse(other.priority()), started(other), other.key);
    potential.sort_by(|a, b| importance(a).cmp(&importance(b)));
    let violating = violates(&potential, budgets);
    let (mut gone, mut violations): (Vec<Placed<'v>>, usize) = (Vec::new(), 0);
    // Those whose budgets would be violated stay first.
    for first in [true, false] {
        for (other, violates) in potential.iter().zip(&violating) {
            if *violates != first {
                continue;
            }
            cycle.add(&mut state, &mut info, *other);
            if cycle.filter(&state, &info).is_err() {
                cycle.remove(&mut state, &mut info, other);
                gone.push(*other);
                violations += usize::from(*violates);
            } else {
                branch!(SchedulerReprieves);
            }
        }
    }
    if gone.is_empty() {
        return Err(vec![format!("expected at least one victim pod on node {:?}", info.name)]);
    }
    if violations > 0 {
        branch!(SchedulerViolatesBudget);
    }
    gone.sort_by(|a, b| importance(a).cmp(&importance(b)));
    let highest = gone.iter().map(Placed::priority).max().unwrap_or(0);
    let important = gone.iter().filter(|other| other.priority() == highest);
    let earliest = important.map(started).min().unwrap_or(now);
    // So that many of a low priority are worse than few.
    let sum = gone.iter().map(|other| other.priority() + (1 << 31)).sum();
    Ok(Candidate {
        node: info.name.clone(),
        rank: (violations, highest, sum, gone.len(), std::cmp::Reverse(earliest)),
        victims: gone.iter().map(|other| other.key.clone()).collect(),
    })
}

/// Which pods can't go, in this order, without a budget being violated (`filterPodsWithPDBViolation`).
fn violates(pods: &[Placed<'_>], budgets: &[(Text, &Budget)]) -> Vec<bool> {
    let mut allowed: Vec<i64> = budgets.iter().map(|(_, budget)| budget.status.allowed).collect();
    let violates = |other: &Placed<'_>| {
        let mut violated = false;
        for ((namespace, budget), allowed) in budgets.iter().zip(&mut allowed) {
            let selector = budget.selector.as_ref().filter(|selector| !selector.is_empty());
            let selects = selector.is_some_and(|selector| selector.matches(&other.meta.labels));
            let counts = *namespace == other.key.namespace
                && !other.meta.labels.is_empty()
                && selects
                && !budget.status.disrupted.contains_key(&other.key.name);
            if counts {
                *allowed -= 1;
                violated |= *allowed < 0;
            }
        }
        violated
    };
    pods.iter().map(violates).collect()
}
