//! The policy: `descheduler/v1alpha2`, kind DeschedulerPolicy (`pkg/api/v1alpha2`, `pkg/descheduler/policyconfig.go`,
//! `pkg/framework/profile`).
//!
//! As upstream, what nobody knows is passed over in the policy itself, and refused in arguments of plugins. Of what is known
//! to upstream and not here a policy is refused that asks for it: metrics as a measure of use, `evictionModes`, and
//! `conditions` of PodLifeTime. `evictionFailureEventNotification` is read over: it is about Events.

use serde::Deserialize;
use serde_json::Value;

use super::{
    args::{
        Duplicates, Failed, LifeTime, NodeAffinities, Restarts, Scope, Spread, Taints, Utilization,
        without_nulls,
    },
    filter::Evictor,
};
use crate::{object::Text, selector::Selector};

const API_VERSION: &str = "descheduler/v1alpha2";
const KIND: &str = "DeschedulerPolicy";
const EVICTOR: &str = "DefaultEvictor";

/// A policy.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Policy {
    pub(super) profiles: Vec<Profile>,
    /// `nodeSelector`.
    pub(super) node_selector: Selector,
    pub(super) limits: Limits,
}

/// How many pods a cycle evicts at most, and how.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limits {
    /// `maxNoOfPodsToEvictPerNode`.
    pub(super) per_node: Option<u64>,
    /// `maxNoOfPodsToEvictPerNamespace`.
    pub(super) per_namespace: Option<u64>,
    /// `maxNoOfPodsToEvictTotal`.
    pub(super) total: Option<u64>,
    /// `gracePeriodSeconds`.
    pub(super) grace_seconds: Option<i64>,
}

/// A profile.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Profile {
    pub(super) name: Text,
    pub(super) evictor: Evictor,
    deschedule: Vec<Plugin>,
    balance: Vec<Plugin>,
}

/// A plugin that chooses pods, with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plugin {
    Duplicates(Duplicates),
    Spread(Spread),
    Taints(Taints),
    NodeAffinity(NodeAffinities),
    PodAntiAffinity(Scope),
    Restarts(Restarts),
    Failed(Failed),
    LifeTime(LifeTime),
    LowUtilization(Utilization),
    HighUtilization(Utilization),
}

/// An extension point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Point {
    Deschedule,
    Balance,
}

/// Reads the arguments of a plugin.
type Read = fn(&Value) -> Result<Plugin, String>;

/// The plugins that there are (`RegisterDefaultPlugins`).
const PLUGINS: [(&str, Point, Read); 10] = [
    ("HighNodeUtilization", Point::Balance, |args| {
        Utilization::high(args).map(Plugin::HighUtilization)
    }),
    ("LowNodeUtilization", Point::Balance, |args| {
        Utilization::low(args).map(Plugin::LowUtilization)
    }),
    ("PodLifeTime", Point::Deschedule, |args| LifeTime::read(args).map(Plugin::LifeTime)),
    ("RemoveDuplicates", Point::Balance, |args| Duplicates::read(args).map(Plugin::Duplicates)),
    ("RemoveFailedPods", Point::Deschedule, |args| Failed::read(args).map(Plugin::Failed)),
    ("RemovePodsHavingTooManyRestarts", Point::Deschedule, |args| {
        Restarts::read(args).map(Plugin::Restarts)
    }),
    ("RemovePodsViolatingInterPodAntiAffinity", Point::Deschedule, |args| {
        Scope::read(args).map(Plugin::PodAntiAffinity)
    }),
    ("RemovePodsViolatingNodeAffinity", Point::Deschedule, |args| {
        NodeAffinities::read(args).map(Plugin::NodeAffinity)
    }),
    ("RemovePodsViolatingNodeTaints", Point::Deschedule, |args| {
        Taints::read(args).map(Plugin::Taints)
    }),
    ("RemovePodsViolatingTopologySpreadConstraint", Point::Balance, |args| {
        Spread::read(args).map(Plugin::Spread)
    }),
];

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Written {
    api_version: String,
    kind: String,
    profiles: Vec<WrittenProfile>,
    node_selector: String,
    max_no_of_pods_to_evict_per_node: Option<u64>,
    max_no_of_pods_to_evict_per_namespace: Option<u64>,
    max_no_of_pods_to_evict_total: Option<u64>,
    grace_period_seconds: Option<i64>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct WrittenProfile {
    name: Text,
    plugin_config: Vec<WrittenConfig>,
    plugins: WrittenPlugins,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WrittenConfig {
    name: String,
    args: Value,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WrittenPlugins {
    deschedule: WrittenSet,
    balance: WrittenSet,
    filter: WrittenSet,
    #[serde(rename = "preevictionfilter")]
    pre_eviction_filter: WrittenSet,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WrittenSet {
    enabled: Vec<String>,
}

impl Policy {
    /// Errors: why it is refused.
    pub(super) fn read(text: &str) -> Result<Policy, String> {
        let written: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let written: Written =
            serde_json::from_value(without_nulls(&written)).map_err(|error| error.to_string())?;
        if (&*written.api_version, &*written.kind) != (API_VERSION, KIND) {
            let (version, kind) = (written.api_version, written.kind);
            return Err(format!("no kind {kind:?} is registered for version {version:?}"));
        }
        Ok(Policy {
            profiles: written.profiles.into_iter().map(profile).collect::<Result<_, _>>()?,
            node_selector: Selector::parse(&written.node_selector),
            limits: Limits {
                per_node: written.max_no_of_pods_to_evict_per_node,
                per_namespace: written.max_no_of_pods_to_evict_per_namespace,
                total: written.max_no_of_pods_to_evict_total,
                grace_seconds: written.grace_period_seconds,
            },
        })
    }
}

fn profile(written: WrittenProfile) -> Result<Profile, String> {
    let name = &written.name;
    let in_profile = |why: String| format!("in profile {name}: {why}");
    let (mut evictor, mut known) = (None, Vec::new());
    for config in &written.plugin_config {
        if config.name == EVICTOR {
            let read = Evictor::read(&config.args).map_err(in_profile)?;
            evictor.get_or_insert(read);
            continue;
        }
        let mut plugins = PLUGINS.iter();
        let Some((name, point, read)) = plugins.find(|(name, ..)| *name == config.name) else {
            let why = format!("plugin {} in pluginConfig not registered", config.name);
            return Err(in_profile(why));
        };
        let plugin = read(&config.args).map_err(|why| in_profile(format!("{name}: {why}")))?;
        known.push((*name, *point, plugin));
    }
    for set in [&written.plugins.filter, &written.plugins.pre_eviction_filter] {
        if let Some(other) = set.enabled.iter().find(|name| *name != EVICTOR) {
            return Err(format!("profile {name:?} filters by {other}, which is no filter"));
        }
    }
    let enabled = |set: &WrittenSet, point| enabled(name, &set.enabled, point, &known);
    Ok(Profile {
        deschedule: enabled(&written.plugins.deschedule, Point::Deschedule)?,
        balance: enabled(&written.plugins.balance, Point::Balance)?,
        name: name.clone(),
        evictor: evictor.map_or_else(|| Evictor::read(&Value::Null), Ok)?,
    })
}

/// The plugins of an extension point, of a profile that has arguments for these (`NewProfile`).
fn enabled(
    profile: &str,
    names: &[String],
    point: Point,
    known: &[(&str, Point, Plugin)],
) -> Result<Vec<Plugin>, String> {
    let of = |name: &String| {
        if !PLUGINS.iter().any(|(plugin, of, _)| plugin == name && *of == point) {
            let why = format!("extension point of non-existing plugin {name}");
            return Err(format!("profile {profile:?} configures {point:?} {why}"));
        }
        let found = known.iter().find(|(plugin, ..)| plugin == name);
        let (_, _, plugin) =
            found.ok_or_else(|| format!("unable to find {name:?} plugin config"))?;
        match plugin.lacks() {
            Some(what) => Err(format!("{name}: {what} is not supported by this descheduler")),
            None => Ok(plugin.clone()),
        }
    };
    names.iter().map(of).collect()
}

impl Profile {
    /// The plugins of an extension point, in order.
    pub(super) fn plugins(&self, point: Point) -> &[Plugin] {
        match point {
            Point::Deschedule => &self.deschedule,
            Point::Balance => &self.balance,
        }
    }
}

impl Plugin {
    /// What of its arguments upstream knows and nobody here.
    fn lacks(&self) -> Option<&'static str> {
        match self {
            Plugin::LifeTime(args) if args.has_conditions => Some("conditions"),
            Plugin::LowUtilization(args) if args.has_more => Some("metricsUtilization"),
            Plugin::HighUtilization(args) if args.has_more => Some("evictionModes"),
            _ => None,
        }
    }
}
