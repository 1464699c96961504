//! Arguments of plugins, as they are written, checked as upstream's `Validate…Args` do. An argument that nobody knows is
//! refused, as upstream's strict decoder does.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    cycle::Guest,
    filter::{Evictor, Protection, SYSTEM_CRITICAL},
};
use crate::{object::Text, selector::Selector};

/// Of which pods a plugin thinks: `namespaces` and `labelSelector`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Scope {
    included: BTreeSet<Text>,
    excluded: BTreeSet<Text>,
    labels: Option<Selector>,
}

/// `priorityThreshold`: pods from this priority on stay.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Threshold {
    Value(i64),
    /// That of a PriorityClass.
    Class(Text),
}

/// RemoveDuplicatesArgs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Duplicates {
    pub(super) scope: Scope,
    pub(super) excluded_kinds: Vec<Text>,
}

/// RemovePodsViolatingTopologySpreadConstraintArgs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spread {
    pub(super) scope: Scope,
    /// Whether `constraints` has DoNotSchedule.
    pub(super) required: bool,
    /// Whether it has ScheduleAnyway.
    pub(super) preferred: bool,
    /// `topologyBalanceNodeFit`.
    pub(super) only_where_they_fit: bool,
}

/// RemovePodsViolatingNodeTaintsArgs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Taints {
    pub(super) scope: Scope,
    /// `includePreferNoSchedule`.
    pub(super) preferred: bool,
    /// `excludedTaints`: keys, or `key=value`.
    pub(super) excluded: Vec<Text>,
    /// `includedTaints`, if there are any.
    pub(super) included: Option<Vec<Text>>,
}

/// RemovePodsViolatingNodeAffinityArgs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NodeAffinities {
    pub(super) scope: Scope,
    /// `nodeAffinityType`, in order; true for the required one. Others than the two do nothing.
    pub(super) required: Vec<bool>,
}

/// RemovePodsHavingTooManyRestartsArgs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Restarts {
    pub(super) scope: Scope,
    /// `podRestartThreshold`.
    pub(super) least: i64,
    /// `includingInitContainers`.
    pub(super) with_init: bool,
    /// `states`; empty for all.
    pub(super) states: Vec<Text>,
}

/// RemoveFailedPodsArgs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Failed {
    pub(super) scope: Scope,
    /// `excludeOwnerKinds`.
    pub(super) excluded_kinds: Vec<Text>,
    /// `minPodLifetimeSeconds`.
    pub(super) min_age: Duration,
    /// `reasons`; empty for all.
    pub(super) reasons: Vec<Text>,
    /// `exitCodes`; empty for all.
    pub(super) exit_codes: Vec<i64>,
    /// `includingInitContainers`.
    pub(super) with_init: bool,
}

/// PodLifeTimeArgs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LifeTime {
    pub(super) scope: Scope,
    /// `ownerKinds.include`; empty for all.
    pub(super) included_kinds: Vec<Text>,
    /// `ownerKinds.exclude`.
    pub(super) excluded_kinds: Vec<Text>,
    /// `maxPodLifeTimeSeconds`.
    pub(super) max_age_seconds: Option<u64>,
    /// `states`; empty for all.
    pub(super) states: Vec<Text>,
    /// `exitCodes`; empty for all.
    pub(super) exit_codes: Vec<i64>,
    /// `includingInitContainers`.
    pub(super) with_init: bool,
    /// `includingEphemeralContainers`.
    pub(super) with_ephemeral: bool,
    /// Whether there are `conditions`.
    pub(super) has_conditions: bool,
}

/// LowNodeUtilizationArgs, HighNodeUtilizationArgs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Utilization {
    /// `thresholds`: percentages by resource.
    pub(super) low: BTreeMap<Text, f64>,
    /// `targetThresholds`; all of what there is for HighNodeUtilization.
    pub(super) high: BTreeMap<Text, f64>,
    /// `useDeviationThresholds`: whether they are distances from the average.
    pub(super) from_average: bool,
    /// `numberOfNodes`: with so few underutilized nodes nothing is done.
    pub(super) few: i64,
    /// `evictableNamespaces.exclude`.
    pub(super) excluded: Vec<Text>,
    /// `evictionLimits.node`.
    pub(super) per_node: Option<u64>,
    /// Whether there are `metricsUtilization` or `evictionModes`.
    pub(super) has_more: bool,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Lists {
    include: Vec<Text>,
    exclude: Vec<Text>,
}

impl Lists {
    /// Errors: both are given.
    fn check(self, what: &str) -> Result<Lists, String> {
        match self.include.is_empty() || self.exclude.is_empty() {
            true => Ok(self),
            false => Err(format!("only one of Include/Exclude {what} can be set")),
        }
    }
}

impl Scope {
    fn of(namespaces: Lists, labels: Option<&Value>) -> Result<Scope, String> {
        let Lists { include, exclude } = namespaces.check("namespaces")?;
        Ok(Scope {
            included: include.into_iter().collect(),
            excluded: exclude.into_iter().collect(),
            labels: labels.map(selector).transpose()?,
        })
    }

    /// Whether the plugin thinks of a pod.
    pub(super) fn covers(&self, guest: &Guest<'_>) -> bool {
        let namespace = &guest.key.namespace;
        (self.included.is_empty() || self.included.contains(namespace))
            && !self.excluded.contains(namespace)
            && self.labels.as_ref().is_none_or(|labels| labels.matches(&guest.meta.labels))
    }
}

/// Errors: what is no selector (`LabelSelectorAsSelector`).
fn selector(value: &Value) -> Result<Selector, String> {
    let selector = Selector::read(value);
    for one in &selector.expressions {
        let has_values = !one.values.is_empty();
        let right = match &*one.operator {
            "In" | "NotIn" => has_values,
            "Exists" | "DoesNotExist" => !has_values,
            _ => false,
        };
        if !right {
            return Err(format!("{:?} is no label selector", one.operator));
        }
    }
    Ok(selector)
}

/// `time.ParseDuration`, of what is not negative. Errors: what is none.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no duration like 1h30m");
    let (mut rest, mut total) = (text, Duration::ZERO);
    if text == "0" {
        return Ok(total);
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        let seconds = match &rest[..unit] {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" | "μs" => 1e-6,
            "ns" => 1e-9,
            _ => return Err(wrong()),
        };
        total += Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())?;
        rest = &rest[unit..];
    }
    if text.is_empty() { Err(wrong()) } else { Ok(total) }
}

/// Arguments as they are written. Go takes null for what is left out, and a kind and version for granted.
pub(super) fn decode<T: DeserializeOwned>(args: &Value) -> Result<T, String> {
    let mut args = without_nulls(args);
    if let Some(fields) = args.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    if args.is_null() {
        args = Value::Object(serde_json::Map::new());
    }
    serde_json::from_value(args).map_err(|error| error.to_string())
}

/// The same without what is null.
pub(super) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let set = fields.iter().filter(|(_, value)| !value.is_null());
            set.map(|(name, value)| (name.clone(), without_nulls(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

mod evictor;
mod plugins;
