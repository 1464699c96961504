//! The scheduler (`pkg/scheduler`, Kubernetes 1.36): the default profile with its weights.
//!
//! One reconcile is one scheduling cycle of one pod: [`decide`] finds the nodes that can run it (`filter.rs`), of these
//! the best (`score.rs`), or the pods that have to go (`preemption.rs`); the pod is bound, or its condition
//! says why not (`act.rs`). The pod of the highest priority comes first (`crate::Controller::urgency`). A pod that
//! was turned away is looked at again when something happens that may help (`again.rs`).
//!
//! Where upstream takes any of several nodes that are equally good, the first by name is taken here.
//!
//! Simplifications, and who could notice. A pod that was turned away is tried again at once, and never without a
//! reason: upstream backs off for 1 to 10 s, and tries every pod again after five minutes (whoever measures that).
//! All nodes are looked at: upstream looks at a part of more than 100, where it left off (users of large
//! clusters). A pod whose volumes are being bound takes no room until it is, but for pods of lower or equal priority,
//! and waits without limit: upstream gives up after ten minutes. A preemptor is nominated before its victims go;
//! upstream does both at once. Not there: limits of volumes (CSINode), storage capacities, dynamic resources,
//! scheduling groups, ReplicationControllers as owners, extenders and other profiles.

use trace::{ObjectKey, Time};

use crate::{
    object::{Object, Text},
    view::View,
};

mod act;
mod affinity;
mod again;
mod disks;
mod filter;
mod node;
mod placing;
mod preemption;
mod score;
mod snapshot;
mod spread;

pub(crate) use act::reconcile;
pub(crate) use again::keys_affected;
pub use node::{Node, Taint};
pub(crate) use node::{nodes, tolerates, toleration_of};
pub use placing::Placing;
pub(crate) use placing::{Constraint, PodTerm};
pub use preemption::Candidate;
pub(crate) use spread::is_selected;

use filter::Cycle;
use preemption::Outcome;
use snapshot::{NodeInfo, Placed};

/// The scheduler that pods without another one get.
const NAME: &str = "default-scheduler";
/// What the plugin before preemption says of every pod that can't be placed (DynamicResources, PostFilter).
const NO_CLAIMS: &str = "no new claims to deallocate";

/// What is to be done with a pod.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// It gets the first of these nodes; upstream any of them.
    Bind(Vec<Text>),
    /// It gets none now.
    Fail {
        /// Why, in upstream's words.
        message: Text,
        /// Which node is kept for it from now on.
        nominate: Nomination,
    },
}

/// What becomes of the node that is kept for a pod.
#[derive(Debug, Clone, PartialEq)]
pub enum Nomination {
    /// As it is.
    Keep,
    /// None is.
    Clear,
    /// The first of these, when its victims are gone; upstream any of them.
    Preempt(Vec<Candidate>),
}

/// A pod that waits for a node of this scheduler.
fn wants_node<'v>(key: &'v ObjectKey, object: &'v Object) -> Option<Placed<'v>> {
    let placed = Placed::of(key, object)?;
    let pod = placed.pod;
    let waits = pod.node.is_empty() && *pod.scheduler == *NAME && !pod.placing.gated;
    (waits && !pod.has_ended() && !object.meta.is_deleted()).then_some(placed)
}

/// What is to be done with a pod; none where it is not this scheduler's business.
pub fn decide(view: &View, key: &ObjectKey, now: Time) -> Option<Decision> {
    let of = wants_node(key, view.get(key)?)?;
    let nodes = snapshot::take(view);
    Some(match Cycle::begin(view, of, &nodes) {
        _ if nodes.is_empty() => {
            fail("no nodes available to schedule pods".to_owned(), Nomination::Clear)
        }
        Ok((cycle, state)) => with(&cycle, &state, &nodes, now),
        Err(why) => {
            branch!(SchedulerNoNodeWillDo);
            // DynamicResources looks for what its PreFilter would have left, and preemption is not asked.
            fail(format!("{}not found", told(nodes.len(), &why)), Nomination::Keep)
        }
    })
}

fn fail(message: String, nominate: Nomination) -> Decision {
    Decision::Fail { message: message.into(), nominate }
}

/// A part of upstream's message (`FitError.Error`).
fn told(all: usize, why: &str) -> String {
    format!("0/{all} nodes are available: {why}. ")
}

fn with<'v>(
    cycle: &Cycle<'v>,
    state: &filter::State,
    nodes: &[NodeInfo<'v>],
    now: Time,
) -> Decision {
    // The node that is kept for the pod comes first, and if it will do, alone.
    let nominated = &cycle.of.pod.placing.nominated;
    if let Some(info) = nodes.iter().find(|info| info.name == *nominated)
        && cycle.filter(state, info).is_ok()
    {
        branch!(SchedulerUsesNominated);
        return Decision::Bind(vec![info.name.clone()]);
    }
    let looked_at =
        |info: &&NodeInfo<'_>| cycle.only.as_ref().is_none_or(|only| only.contains(&info.name));
    let mut rejected = vec![None; nodes.len()];
    let (mut feasible, mut reasons) = (Vec::new(), Vec::new());
    for (at, info) in nodes.iter().enumerate().filter(|(_, info)| looked_at(info)) {
        match cycle.filter(state, info) {
            Ok(()) => feasible.push(info),
            Err(mut why) => {
                rejected[at] = Some(why.resolvable);
                reasons.append(&mut why.reasons);
            }
        }
    }
    match &feasible[..] {
        [] => {}
        [only] => return Decision::Bind(vec![only.name.clone()]),
        _ => {
            branch!(SchedulerChooses);
            let scores = score::score(cycle, nodes, &feasible);
            let most = scores.iter().copied().max();
            let best = feasible.iter().zip(&scores).filter(|(_, score)| Some(**score) == most);
            return Decision::Bind(best.map(|(info, _)| info.name.clone()).collect());
        }
    }
    let absent = nodes.iter().filter(|info| !looked_at(info)).count();
    let unnamed = "node(s) didn't satisfy plugin(s) [NodeAffinity]".to_owned();
    reasons.extend(std::iter::repeat_n(unnamed, absent));
    let message = told(nodes.len(), &histogram(reasons));
    let (more, nominate) = match preemption::preempt(cycle, state, nodes, &rejected, now) {
        Outcome::Candidates(all) => {
            let best = preemption::equals(&all).cloned().collect();
            (String::new(), Nomination::Preempt(best))
        }
        Outcome::NotEligible(why) => (why.to_owned(), Nomination::Keep),
        Outcome::NoHelp(why) => (told(nodes.len(), &histogram(why)), Nomination::Clear),
    };
    let message = match more.trim_end() {
        "" => message.trim_end().to_owned(),
        more => format!("{message}{NO_CLAIMS}, preemption: {more}"),
    };
    fail(message, nominate)
}

/// How often each reason was given, in upstream's order: as texts.
fn histogram(reasons: Vec<String>) -> String {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    reasons.into_iter().for_each(|reason| *counts.entry(reason).or_default() += 1);
    let mut texts: Vec<String> =
        counts.into_iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    texts.sort();
    texts.join(", ")
}

#[cfg(test)]
mod tests;
