//! Arguments of the plugins that choose pods, as they are written (`types.go`, `defaults.go` and `validation.go` of each).

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use serde_json::Value;

use super::{
    Duplicates, Failed, LifeTime, Lists, NodeAffinities, Restarts, Scope, Spread, Taints, Text,
    Utilization, decode,
};

/// What any of those has that choose by namespaces and labels; one that it has not is refused.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    namespaces: Lists,
    label_selector: Option<Value>,
    exclude_owner_kinds: Vec<Text>,
    constraints: Vec<String>,
    topology_balance_node_fit: Option<bool>,
    include_prefer_no_schedule: bool,
    excluded_taints: Vec<Text>,
    included_taints: Option<Vec<Text>>,
    node_affinity_type: Vec<String>,
    pod_restart_threshold: i32,
    including_init_containers: bool,
    states: Vec<Text>,
    min_pod_lifetime_seconds: Option<u64>,
    reasons: Vec<Text>,
    exit_codes: Vec<i32>,
    owner_kinds: Lists,
    max_pod_life_time_seconds: Option<u64>,
    conditions: Vec<Value>,
    including_ephemeral_containers: bool,
}

const SCOPE: [&str; 2] = ["namespaces", "labelSelector"];

impl Written {
    /// Errors: a field that this plugin has not.
    fn read(args: &Value, fields: &[&str]) -> Result<(Written, Scope), String> {
        let given = args.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let mut unknown =
            given.filter(|name| !fields.contains(name) && !matches!(*name, "kind" | "apiVersion"));
        if let Some(name) = unknown.next() {
            return Err(format!("unknown field {name:?}"));
        }
        let mut written: Written = decode(args)?;
        let namespaces = std::mem::take(&mut written.namespaces);
        let scope = Scope::of(namespaces, written.label_selector.as_ref())?;
        Ok((written, scope))
    }

    fn exit_codes(&self) -> Vec<i64> {
        self.exit_codes.iter().map(|code| i64::from(*code)).collect()
    }
}

fn fields(own: &[&'static str]) -> Vec<&'static str> {
    [&SCOPE, own].concat()
}

impl Duplicates {
    pub(in crate::descheduler) fn read(args: &Value) -> Result<Duplicates, String> {
        let (written, scope) = Written::read(args, &["namespaces", "excludeOwnerKinds"])?;
        Ok(Duplicates { scope, excluded_kinds: written.exclude_owner_kinds })
    }
}

impl Spread {
    pub(in crate::descheduler) fn read(args: &Value) -> Result<Spread, String> {
        let own = fields(&["constraints", "topologyBalanceNodeFit"]);
        let (written, scope) = Written::read(args, &own)?;
        let has = |name: &str| written.constraints.iter().any(|one| one == name);
        let is_known = |one: &&String| matches!(&***one, "DoNotSchedule" | "ScheduleAnyway");
        if let Some(wrong) = written.constraints.iter().find(|one| !is_known(one)) {
            return Err(format!("constraint {wrong} is not one of DoNotSchedule, ScheduleAnyway"));
        }
        Ok(Spread {
            scope,
            required: written.constraints.is_empty() || has("DoNotSchedule"),
            preferred: has("ScheduleAnyway"),
            only_where_they_fit: written.topology_balance_node_fit.unwrap_or(true),
        })
    }
}

impl Taints {
    pub(in crate::descheduler) fn read(args: &Value) -> Result<Taints, String> {
        let own = fields(&["includePreferNoSchedule", "excludedTaints", "includedTaints"]);
        let (written, scope) = Written::read(args, &own)?;
        let included = written.included_taints;
        if !written.excluded_taints.is_empty()
            && included.as_ref().is_some_and(|taints| !taints.is_empty())
        {
            return Err("either includedTaints or excludedTaints can be set".to_owned());
        }
        Ok(Taints {
            scope,
            preferred: written.include_prefer_no_schedule,
            excluded: written.excluded_taints,
            included,
        })
    }
}

impl NodeAffinities {
    pub(in crate::descheduler) fn read(args: &Value) -> Result<NodeAffinities, String> {
        let (written, scope) = Written::read(args, &fields(&["nodeAffinityType"]))?;
        if written.node_affinity_type.is_empty() {
            return Err("nodeAffinityType needs to be set".to_owned());
        }
        let required = written.node_affinity_type.iter().filter_map(|kind| match &**kind {
            "requiredDuringSchedulingIgnoredDuringExecution" => Some(true),
            "preferredDuringSchedulingIgnoredDuringExecution" => Some(false),
            _ => None,
        });
        Ok(NodeAffinities { scope, required: required.collect() })
    }
}

impl Scope {
    /// RemovePodsViolatingInterPodAntiAffinityArgs.
    pub(in crate::descheduler) fn read(args: &Value) -> Result<Scope, String> {
        Written::read(args, &SCOPE).map(|(_, scope)| scope)
    }
}

impl Restarts {
    pub(in crate::descheduler) fn read(args: &Value) -> Result<Restarts, String> {
        let own = fields(&["podRestartThreshold", "includingInitContainers", "states"]);
        let (written, scope) = Written::read(args, &own)?;
        if written.pod_restart_threshold < 1 {
            return Err("invalid PodsHavingTooManyRestarts threshold".to_owned());
        }
        if written.states.iter().any(|one| !matches!(&**one, "Running" | "CrashLoopBackOff")) {
            return Err("states must be one of [CrashLoopBackOff Running]".to_owned());
        }
        Ok(Restarts {
            scope,
            least: written.pod_restart_threshold.into(),
            with_init: written.including_init_containers,
            states: written.states,
        })
    }
}

impl Failed {
    pub(in crate::descheduler) fn read(args: &Value) -> Result<Failed, String> {
        let own = ["excludeOwnerKinds", "minPodLifetimeSeconds", "reasons", "exitCodes"];
        let own = [&own[..], &["includingInitContainers"]].concat();
        let (written, scope) = Written::read(args, &fields(&own))?;
        Ok(Failed {
            scope,
            exit_codes: written.exit_codes(),
            excluded_kinds: written.exclude_owner_kinds,
            min_age: Duration::from_secs(written.min_pod_lifetime_seconds.unwrap_or(3600)),
            reasons: written.reasons,
            with_init: written.including_init_containers,
        })
    }
}

/// `podLifeTimeAllowedStates`.
#[rustfmt::skip] // by what they are states of: pods, pods' reasons, containers that wait, containers that have ended
const STATES: &[&str] = &[
    "Running", "Pending", "Succeeded", "Failed", "Unknown",
    "NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError",
    "PodInitializing", "ContainerCreating", "ImagePullBackOff", "CrashLoopBackOff",
    "CreateContainerConfigError", "ErrImagePull", "CreateContainerError", "InvalidImageName",
    "OOMKilled", "Error", "Completed", "DeadlineExceeded", "Evicted", "ContainerCannotRun", "StartError",
];

impl LifeTime {
    pub(in crate::descheduler) fn read(args: &Value) -> Result<LifeTime, String> {
        let own = ["ownerKinds", "maxPodLifeTimeSeconds", "states", "conditions", "exitCodes"];
        let own = [&own[..], &["includingInitContainers", "includingEphemeralContainers"]].concat();
        let (mut written, scope) = Written::read(args, &fields(&own))?;
        let kinds = std::mem::take(&mut written.owner_kinds).check("ownerKinds")?;
        if let Some(wrong) = written.states.iter().find(|one| !STATES.contains(&&***one)) {
            return Err(format!("{wrong:?} is none of the states that pods can have"));
        }
        let life = LifeTime {
            scope,
            included_kinds: kinds.include,
            excluded_kinds: kinds.exclude,
            max_age_seconds: written.max_pod_life_time_seconds,
            exit_codes: written.exit_codes(),
            states: written.states,
            with_init: written.including_init_containers,
            with_ephemeral: written.including_ephemeral_containers,
            has_conditions: !written.conditions.is_empty(),
        };
        let by_state = !life.states.is_empty() || !life.exit_codes.is_empty();
        match life.max_age_seconds.is_some() || by_state || life.has_conditions {
            true => Ok(life),
            false => Err("at least one filtering criterion must be specified".to_owned()),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct WrittenUtilization {
    use_deviation_thresholds: bool,
    thresholds: BTreeMap<Text, f64>,
    target_thresholds: Option<BTreeMap<Text, f64>>,
    number_of_nodes: i64,
    metrics_utilization: Option<Value>,
    evictable_namespaces: Lists,
    eviction_limits: WrittenLimits,
    eviction_modes: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct WrittenLimits {
    node: Option<u64>,
}

impl Utilization {
    /// Of LowNodeUtilization.
    pub(in crate::descheduler) fn low(args: &Value) -> Result<Utilization, String> {
        let mut found = Utilization::read(args, &["evictionModes"])?;
        let high = found.high.clone();
        check("targetThresholds", &high)?;
        if !high.keys().eq(found.low.keys()) {
            let why = "thresholds and targetThresholds configured different resources";
            return Err(why.to_owned());
        }
        let mut both = found.low.iter().zip(high.values());
        if let Some(((name, _), _)) = both.find(|((_, low), high)| low > high)
            && !found.from_average
        {
            return Err(format!("thresholds' {name} percentage is greater than targetThresholds'"));
        }
        found.high = high;
        Ok(found)
    }

    /// Of HighNodeUtilization.
    pub(in crate::descheduler) fn high(args: &Value) -> Result<Utilization, String> {
        let not = ["useDeviationThresholds", "targetThresholds"];
        let not = [&not[..], &["metricsUtilization", "evictionLimits"]].concat();
        let mut found = Utilization::read(args, &not)?;
        found.high = found.low.keys().map(|name| (name.clone(), 100.0)).collect();
        Ok(found)
    }

    fn read(args: &Value, not: &[&str]) -> Result<Utilization, String> {
        if let Some(name) = not.iter().find(|name| args.get(name).is_some()) {
            return Err(format!("unknown field {name:?}"));
        }
        let written: WrittenUtilization = decode(args)?;
        if !written.evictable_namespaces.include.is_empty() {
            return Err("only Exclude namespaces can be set".to_owned());
        }
        check("thresholds", &written.thresholds)?;
        Ok(Utilization {
            low: written.thresholds,
            high: written.target_thresholds.unwrap_or_default(),
            from_average: written.use_deviation_thresholds,
            few: written.number_of_nodes,
            excluded: written.evictable_namespaces.exclude,
            per_node: written.eviction_limits.node,
            has_more: written.metrics_utilization.is_some() || !written.eviction_modes.is_empty(),
        })
    }
}

/// `validateThresholds`.
fn check(which: &str, thresholds: &BTreeMap<Text, f64>) -> Result<(), String> {
    if thresholds.is_empty() {
        return Err(format!("{which}: no resource threshold is configured"));
    }
    match thresholds.iter().find(|(_, percent)| !(0.0..=100.0).contains(*percent)) {
        Some((name, _)) => Err(format!("{which}: {name} threshold not in [0, 100] range")),
        None => Ok(()),
    }
}
