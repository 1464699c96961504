//! Scenario files (`kind: Model`): a cluster of ordinary manifests, the controllers that run, what else may happen, and what
//! is asked of it.
//!
//! Manifests go through an embedded API server, which gives them their defaults and refuses what a real one refuses; what
//! is stored then is the start of the model.

mod admission;
mod controllers;
mod events;
mod file;
mod objects;
mod properties;
mod truth;

use std::{path::Path, time::Duration};

use model::cluster::{
    Cluster, Setup,
    events::Event,
    metrics::{self, Metrics},
    setup,
    state::Budgets,
    user::UserEvent,
};
use serde_json::{Value, json};

use admission::Admission;
pub(super) use file::{
    EventSpec, Granularity, ModelSpec, NodesSpec, ObjectSpec, PatchSpec, PropertySpec, When,
};
pub(super) use properties::{Asked, all_run, fairness};

use super::confirm::Usage;
use crate::{commands::model::usage, config::reading};

/// The `kind` of scenario files.
const KIND: &str = "Model";

/// A scenario that can be explored.
#[derive(Debug)]
pub(super) struct Scenario {
    /// The cluster.
    pub cluster: Cluster,
    /// What it begins with, as its files say it.
    pub manifests: Vec<Value>,
    /// What running pods use.
    pub usage: Vec<Usage>,
    /// What users do and nodes suffer: the events of the cluster, in their order, each as its file says it too.
    pub events: Vec<(UserEvent, EventSpec)>,
    /// What is asked of it.
    pub asked: Vec<Asked>,
    /// What the user should know of it: objects and fields that no controller of the model reads.
    pub notes: Vec<String>,
}

impl Scenario {
    /// Reads a scenario and all that it names.
    ///
    /// # Errors
    /// Wrong files, with their places; what the API server refuses: exit 64.
    pub fn load(path: &Path) -> anyhow::Result<Scenario> {
        let spec: ModelSpec = reading::spec(&reading::text(path)?, path, KIND)?;
        Scenario::of(&spec, path.parent().unwrap_or(Path::new(".")), path)
    }

    /// A scenario whose paths are relative to `folder`; errors name `path`.
    ///
    /// # Errors
    /// See [`Scenario::load`].
    pub fn of(spec: &ModelSpec, folder: &Path, path: &Path) -> anyhow::Result<Scenario> {
        let wrong = |what: String| usage(format!("{}: {what}", path.display()));
        let mut notes = Vec::new();
        let loaded = objects::load(spec, folder, &mut notes)?;
        let applied = |manifest: &Value| loaded.applied(manifest);
        let later = spec.events.iter().filter_map(|event| event.apply.as_deref()).flatten();
        let there = loaded.objects.iter().chain(later);
        let there: Vec<_> = there.filter_map(|object| setup::key_of(object).ok()).collect();
        let events = events::all(&spec.events, &applied, &there).map_err(wrong)?;
        let (manifests, mut objects) = (loaded.manifests, loaded.objects);
        if spec.coarse {
            objects.iter_mut().for_each(without_deadline);
        }
        let clients = controllers::all(spec, &objects).map_err(wrong)?;
        let asked = properties::all(&spec.properties, &objects).map_err(wrong)?;
        let file::BudgetsSpec { crashes, restarts, conflicts, lost_answers, lags } = spec.budgets;
        let setup = Setup {
            clients,
            granularity: spec.granularity.into(),
            consistency: spec.consistency.into(),
            lag_max: spec.lag_max.unwrap_or(u16::MAX),
            one_behind: lags.is_some(),
            budgets: Budgets {
                crashes,
                restarts,
                conflicts,
                lost_answers,
                lags: lags.unwrap_or_default(),
            },
            events: with_metrics(&events, &spec.usage),
            monitors: asked.iter().filter_map(Asked::monitor).collect(),
            horizon: Duration::from_secs(horizon_seconds(&objects, spec)),
            seconds: spec.seconds,
            all_ties: spec.all_ties,
            objects,
            admission: Some(Box::new(Admission::new(loaded.server))),
        };
        let cluster = Cluster::new(setup).map_err(|error| wrong(error.to_string()))?;
        let events = events.into_iter().zip(spec.events.clone()).collect();
        let usage = spec.usage.clone();
        Ok(Scenario { cluster, manifests, usage, events, asked, notes })
    }
}

/// The events of a cluster: what users do, and behind that the metrics server, if it has something to tell.
fn with_metrics(events: &[UserEvent], usage: &[Usage]) -> Vec<Box<dyn Event>> {
    let of = |usage: &Usage| metrics::Usage {
        labels: usage.pods.clone().into_iter().collect(),
        usage: json!({"cpu": usage.cpu, "memory": usage.memory}),
    };
    let mut all: Vec<Box<dyn Event>> = Vec::new();
    for event in events {
        all.push(Box::new(event.clone()));
    }
    if !usage.is_empty() {
        all.push(Box::new(Metrics { usages: usage.iter().map(of).collect() }));
    }
    all
}

/// As `spec.progressDeadlineSeconds`, no deadline (`pkg/controller/deployment/util`: `HasProgressDeadline`).
const NO_DEADLINE: u64 = i32::MAX as u64;

/// A Deployment that never gives up: that it has only shows in a condition, after ten minutes.
fn without_deadline(object: &mut Value) {
    if object["kind"] == "Deployment" {
        object["spec"]["progressDeadlineSeconds"] = NO_DEADLINE.into();
    }
}

/// Behind this age nothing is told apart: longer than any time that an object names.
fn horizon_seconds(objects: &[Value], spec: &ModelSpec) -> u64 {
    /// The longest that a controller looks back by default: 300 s of an autoscaler, and of what pods tolerate.
    const DEFAULT: u64 = 301;
    /// Between two looks of an autoscaler, of which one that knows of no usage forgets all.
    const LOOK: u64 = 16;
    let has = |kind: &str| objects.iter().any(|object| object["kind"] == kind);
    let events = &spec.events;
    let is_used = has("PodMetrics")
        || !spec.usage.is_empty()
        || events.iter().any(|event| event.usage.is_some());
    let fails = events.iter().any(|event| event.node_fails.is_some());
    let default = if has("HorizontalPodAutoscaler") && !is_used && !fails { LOOK } else { DEFAULT };
    let named = objects.iter().flat_map(|object| {
        let spec = &object["spec"];
        let behavior = ["scaleUp", "scaleDown"].map(|way| &spec["behavior"][way]);
        let windows = behavior.map(|way| way["stabilizationWindowSeconds"].as_u64());
        let windows = windows.into_iter().filter(move |_| is_used);
        let own = ["progressDeadlineSeconds", "minReadySeconds", "activeDeadlineSeconds"];
        own.map(|field| spec[field].as_u64()).into_iter().chain(windows).flatten()
    });
    let named = named.filter(|seconds| *seconds != NO_DEADLINE);
    named.map(|seconds| seconds + 2).chain([default]).max().unwrap_or(default)
}
