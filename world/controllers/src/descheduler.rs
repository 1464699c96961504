//! The descheduler (`sigs.k8s.io/descheduler` 0.36.0): evicts pods that a scheduler would place elsewhere by now.
//!
//! It is no part of Kubernetes: it runs where it is asked for only. Its policy is the ConfigMap of the project's own
//! manifests, `descheduler-policy-configmap` in `kube-system`, key `policy.yaml` (`kubernetes/base/configmap.yaml`).
//! Without it nothing is done. The interval, a flag of the real program (`--descheduling-interval`), is the annotation
//! `trommel.dev/descheduling-interval` of that ConfigMap, like `90s`; absent 5 minutes, the manifests' value, and `0`
//! is one cycle only. A policy that is refused, and one that asks for what is not here, fails the reconcile, as the
//! real program ends; it is tried again.
//!
//! One key, the ConfigMap's. One reconcile is one cycle (`descheduler.go`, `runDeschedulerLoop`): plugins of the
//! extension point Deschedule of all profiles, then those of Balance, each on what the view showed when the cycle
//! began, and the evictions since ([`cycle`]). A change of the policy starts a cycle, as a new process would.
//!
//! Upstream's lists of nodes and pods come out of Go's maps, and so do owners, domains of a topology and pods for
//! eviction: in the order of their names here, or by [`View::order`]. Ties in its sorts, which are not stable, stay in
//! that order.
//!
//! Simplifications. A pod that was evicted in this cycle is terminating for all that comes later in it; upstream sees
//! that as soon as its informer does. In-place resizes under way count for what a pod asks for. Priorities are numbers:
//! admission has set what was left out. Who could notice: nobody but who looks at milliseconds; at a pod while it is
//! resized; at pods that were made without admission.
//!
//! Where do I change …? What may be evicted at all: `filter.rs`; whether a pod fits elsewhere: `fit.rs`; limits and
//! the eviction itself: `cycle.rs`; what a policy may say: `policy.rs`, `args.rs`; what of a pod is read: `leaving.rs`;
//! then one file a plugin.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use trace::{ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled, Stop},
    controller::{Affected, Change},
    data::{Keys, config_maps},
    object::{Body, Object, Text},
    view::View,
};
use cycle::Cycle;
use filter::Filter;
use policy::{Plugin, Point, Policy};

mod affinity;
mod anti_affinity;
mod args;
mod cycle;
mod duplicates;
mod filter;
mod fit;
mod leaving;
mod life;
mod policy;
mod spread;
mod taints;
mod utilization;

pub use leaving::{ContainerKind, ContainerState, Leaving, Qos};

const NAMESPACE: &str = "kube-system";
/// The ConfigMap's name.
pub(crate) const NAME: &str = "descheduler-policy-configmap";
const KEY: &str = "policy.yaml";
const INTERVAL: &str = "trommel.dev/descheduling-interval";
/// `--descheduling-interval` in the project's manifests (`kubernetes/deployment/deployment.yaml`).
const USUAL_INTERVAL: Duration = Duration::from_secs(300);

/// The ConfigMap with the descheduler's policy.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyMap {
    /// Its keys.
    pub keys: Keys,
    /// What is to be done, or why it is refused.
    plan: Result<Arc<Plan>, Text>,
}

/// What is to be done, and how often.
#[derive(Debug, Clone, PartialEq)]
struct Plan {
    policy: Policy,
    /// Zero for once.
    interval: Duration,
}

impl PolicyMap {
    pub(crate) fn read(object: &Value) -> PolicyMap {
        PolicyMap { keys: Keys::read(object), plan: plan(object).map(Arc::new).map_err(Text::from) }
    }
}

fn plan(object: &Value) -> Result<Plan, String> {
    let text = object["data"][KEY].as_str().ok_or_else(|| format!("there is no {KEY}"))?;
    let said = &object["metadata"]["annotations"][INTERVAL];
    let interval = match said.as_str() {
        Some(text) => args::duration(text).map_err(|why| format!("{INTERVAL}: {why}"))?,
        None => USUAL_INTERVAL,
    };
    Ok(Plan { policy: Policy::read(text)?, interval })
}

/// Whether this is the ConfigMap with the policy.
pub fn is_policy(key: &ObjectKey) -> bool {
    key.resource == config_maps() && *key.namespace == *NAMESPACE && *key.name == *NAME
}

/// `key` is the ConfigMap's.
pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(Object { body: Body::DeschedulerPolicy(map), .. }) = view.get(key) else {
        return Ok(None);
    };
    let plan = map.plan.as_ref().map_err(|why| Stop::Failed(why.to_string()))?;
    let profiles = &plan.policy.profiles;
    let filters: Result<Vec<Filter<'_>>, String> =
        profiles.iter().map(|profile| Filter::new(view, &profile.evictor)).collect();
    let filters = filters.map_err(Stop::Failed)?;
    let mut cycle = Cycle::new(view, now, &plan.policy, calls);
    // There has to be another node for what is evicted.
    if cycle.hosts.len() > 1 {
        for point in [Point::Deschedule, Point::Balance] {
            for (profile, filter) in profiles.iter().zip(&filters) {
                cycle.profile = profile.name.clone();
                for plugin in profile.plugins(point) {
                    run(plugin, &mut cycle, filter)?;
                }
            }
        }
    }
    Ok((!plan.interval.is_zero()).then_some(plan.interval))
}

fn run(plugin: &Plugin, cycle: &mut Cycle<'_, '_, '_>, filter: &Filter<'_>) -> Result<(), Stop> {
    match plugin {
        Plugin::Duplicates(args) => duplicates::balance(cycle, filter, args),
        Plugin::Spread(args) => spread::balance(cycle, filter, args),
        Plugin::Taints(args) => taints::deschedule(cycle, filter, args),
        Plugin::NodeAffinity(args) => affinity::deschedule(cycle, filter, args),
        Plugin::PodAntiAffinity(args) => anti_affinity::deschedule(cycle, filter, args),
        Plugin::Restarts(args) => life::restarts(cycle, filter, args),
        Plugin::Failed(args) => life::failed(cycle, filter, args),
        Plugin::LifeTime(args) => life::life_time(cycle, filter, args),
        Plugin::LowUtilization(args) => utilization::low(cycle, filter, args),
        Plugin::HighUtilization(args) => utilization::high(cycle, filter, args),
    }
}

pub(crate) fn keys_affected(change: &Change<'_>) -> Vec<Affected> {
    let Some(after) = change.after.filter(|_| is_policy(change.key)) else { return vec![] };
    match change.before.is_some_and(|before| before.body == after.body) {
        true => vec![],
        false => vec![Affected::now(change.key)],
    }
}

#[cfg(test)]
mod tests;
