//! What Themelios asks, by its names, also what is disabled there.
//!
//! Where a name leaves room: a workload is *stable* in the state after it was written with its newest generation
//! observed: since then nothing has changed since its own revision. So these are properties of the steps that write it. A
//! Job has no observed generation: it is *synced* when its status was written. *Active* pods are owned, not being deleted
//! and not ended.

use std::sync::Arc;

use super::wishes;
use crate::{
    Property,
    cluster::{Action, Cluster, Consistency, State, Store, memo::Memo},
};

mod facts;
mod rules;

pub(super) use facts::{Facts, LAST_APPLIED, is_active, is_ready, ordinal};
use rules::{STORES, WRITES};

/// `node: pods on nodes are unique`: the property whose violations Themelios expects.
pub const UNIQUE_PODS: &str = "node: pods on nodes are unique";

/// What is known of stores and writes that were judged before: bits of the rules that they violate.
struct Judged {
    stores: Memo<u32>,
    writes: Memo<u32>,
}

/// How many judgements of a kind are kept.
const JUDGEMENTS: usize = 1 << 20;

/// All that Themelios asks of every state and step; kinds that a model lacks have nothing to violate.
pub fn safety(cluster: &Cluster) -> Vec<Property<'_, Cluster>> {
    let judged = Arc::new(Judged { stores: Memo::new(JUDGEMENTS), writes: Memo::new(JUDGEMENTS) });
    let mut all = vec![Property::always(UNIQUE_PODS, has_unique_pods)];
    all.extend(STORES.iter().enumerate().map(|(bit, (name, _))| {
        let judged = judged.clone();
        Property::always(*name, move |state: &State| {
            let facts = Facts { cluster, store: state.store() };
            let violated = judged.stores.get(facts.store.sum(), || {
                let rules = STORES.iter().enumerate();
                rules.fold(0, |all, (bit, (_, holds))| all | u32::from(!holds(&facts)) << bit)
            });
            violated >> bit & 1 == 0
        })
    }));
    all.extend(WRITES.iter().enumerate().map(|(bit, (name, _))| {
        let judged = judged.clone();
        Property::steps(*name, move |state: &State, action: &Action, next: &State| {
            // Time makes objects older, which is no write.
            if state.store() == next.store() || matches!(action, Action::Tick { .. }) {
                return true;
            }
            let (before, after) = write(cluster, state, action, next);
            let key = before.sum().rotate_left(1) ^ after.sum();
            judged.writes.get(key, || violated(cluster, &before, &after)) >> bit & 1 == 0
        })
    }));
    all
}

/// What a write followed and came to. Where histories branch, that is not what is newest.
fn write(cluster: &Cluster, state: &State, action: &Action, next: &State) -> (Store, Store) {
    match (action, cluster.setup.consistency) {
        (Action::Acts(act), Consistency::OptimisticLinear | Consistency::Causal) => {
            let newest = next.history.at(next.history.newest());
            (state.history.store(&cluster.objects, &act.read), newest.clone())
        }
        _ => (state.store().clone(), next.store().clone()),
    }
}

/// Bits of the rules that a write violates.
fn violated(cluster: &Cluster, before: &Store, after: &Store) -> u32 {
    let facts = Facts { cluster, store: after };
    let written = facts.written_since(before);
    let written = written.iter().filter_map(|(before, after)| {
        let before = before.and_then(|before| before.value());
        Some((before, after.value()?))
    });
    written.fold(0, |all, (before, after)| {
        let rules = WRITES.iter().enumerate();
        rules.fold(all, |all, (bit, (_, holds))| {
            all | u32::from(!holds(&facts, before, after)) << bit
        })
    })
}

/// `dep: deployment is complete`, which some state is to be.
pub fn complete(cluster: &Cluster) -> Property<'_, Cluster> {
    Property::sometimes("dep: deployment is complete", move |state: &State| {
        let facts = Facts { cluster, store: state.store() };
        facts.of_kind("Deployment").any(facts::is_complete)
    })
}

/// `sched: every pod gets scheduled`, disabled in Themelios: again and again all are.
pub fn every_pod_gets_scheduled(cluster: &Cluster) -> Property<'_, Cluster> {
    wishes::scheduled(cluster, "sched: every pod gets scheduled")
}

/// No pod name runs on two kubelets.
fn has_unique_pods(state: &State) -> bool {
    let all = state.clients.iter().flat_map(|client| client.runs.iter().map(|run| &run.key));
    let mut keys: Vec<_> = all.collect();
    let all = keys.len();
    keys.sort();
    keys.dedup();
    keys.len() == all
}
