//! DefaultEvictorArgs, as they are written (`defaultevictor/types.go`, `validation.go`).

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::{
    Evictor, Protection, SYSTEM_CRITICAL, Selector, Text, Threshold, decode, duration, selector,
};

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    node_selector: String,
    label_selector: Option<Value>,
    namespace_label_selector: Option<Value>,
    priority_threshold: Option<WrittenThreshold>,
    node_fit: bool,
    min_replicas: u64,
    min_pod_age: Option<String>,
    no_eviction_policy: String,
    pod_protections: WrittenProtections,
    evict_local_storage_pods: bool,
    evict_daemon_set_pods: bool,
    evict_system_critical_pods: bool,
    ignore_pvc_pods: bool,
    #[serde(rename = "ignorePodsWithoutPDB")]
    ignore_pods_without_budget: bool,
    evict_failed_bare_pods: bool,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct WrittenThreshold {
    value: Option<i32>,
    name: Text,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct WrittenProtections {
    extra_enabled: Vec<Protection>,
    default_disabled: Vec<Protection>,
    config: WrittenConfig,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct WrittenConfig {
    #[serde(rename = "PodsWithPVC")]
    of_claims: WrittenClasses,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct WrittenClasses {
    protected_storage_classes: Vec<WrittenClass>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenClass {
    name: Text,
}

impl Evictor {
    pub(in crate::descheduler) fn read(args: &Value) -> Result<Evictor, String> {
        let written: Written = decode(args)?;
        if !matches!(&*written.no_eviction_policy, "" | "Preferred" | "Mandatory") {
            return Err("noEvictionPolicy accepts only [Preferred Mandatory] values".to_owned());
        }
        let protections = protections(&written)?;
        let classes = written.pod_protections.config.of_claims.protected_storage_classes;
        if classes.iter().any(|class| class.name.is_empty()) {
            return Err("a protected storage class has no name".to_owned());
        }
        let of_namespace = written.namespace_label_selector.as_ref().map(selector).transpose()?;
        Ok(Evictor {
            node_selector: Selector::parse(&written.node_selector),
            labels: written.label_selector.as_ref().map(selector).transpose()?,
            namespace_labels: of_namespace.filter(|selector| !selector.is_empty()),
            threshold: threshold(written.priority_threshold.unwrap_or_default())?,
            node_fit: written.node_fit,
            min_replicas: written.min_replicas,
            min_age: written.min_pod_age.as_deref().map(duration).transpose()?,
            heeds_no_eviction: written.no_eviction_policy == "Mandatory",
            protections,
            classes: classes.into_iter().map(|class| class.name).collect(),
        })
    }
}

fn threshold(written: WrittenThreshold) -> Result<Threshold, String> {
    match (written.value, written.name.is_empty()) {
        (Some(_), false) => Err("only one of priorityThreshold fields can be set".to_owned()),
        (Some(value), true) => Ok(Threshold::Value(value.into())),
        (None, false) => Ok(Threshold::Class(written.name)),
        (None, true) => Ok(Threshold::Value(SYSTEM_CRITICAL)),
    }
}

/// `getEffectivePodProtections`: by the lists, or by the fields that were there before.
fn protections(written: &Written) -> Result<BTreeSet<Protection>, String> {
    let lists = &written.pod_protections;
    let (extra, disabled) = (&lists.extra_enabled, &lists.default_disabled);
    let older = [
        (Protection::PodsWithLocalStorage, !written.evict_local_storage_pods),
        (Protection::DaemonSetPods, !written.evict_daemon_set_pods),
        (Protection::SystemCriticalPods, !written.evict_system_critical_pods),
        (Protection::FailedBarePods, !written.evict_failed_bare_pods),
        (Protection::PodsWithClaims, written.ignore_pvc_pods),
        (Protection::PodsWithoutBudget, written.ignore_pods_without_budget),
    ];
    let holds = |(one, holds): (Protection, bool)| holds.then_some(one);
    let by_fields: BTreeSet<Protection> = older.into_iter().filter_map(holds).collect();
    let default = BTreeSet::from(Protection::DEFAULT);
    if extra.is_empty() && disabled.is_empty() {
        return Ok(by_fields);
    }
    if by_fields != default {
        return Err("cannot use Deprecated fields alongside PodProtections".to_owned());
    }
    let is_default = |one: &&Protection| default.contains(one);
    if let Some(wrong) = extra.iter().find(is_default) {
        return Err(format!("invalid pod protection policy in ExtraEnabled: {wrong:?}"));
    }
    if let Some(wrong) = disabled.iter().find(|one| !is_default(one)) {
        return Err(format!("invalid pod protection policy in DefaultDisabled: {wrong:?}"));
    }
    let is_twice = |all: &[Protection]| BTreeSet::from_iter(all).len() < all.len();
    if is_twice(extra) || is_twice(disabled) {
        return Err("PodProtections contains duplicate entries".to_owned());
    }
    Ok(default.iter().filter(|one| !disabled.contains(one)).chain(extra).copied().collect())
}
