//! Scenario files (`kind: Model`): a cluster of ordinary manifests, the controllers that run, what else may happen, and what
//! is asked of it.
//!
//! Manifests go through an embedded API server, which gives them their defaults and refuses what a real one refuses; what
//! is stored then is the start of the model.

mod controllers;
mod events;
mod file;
mod objects;
mod properties;
mod truth;

use std::{path::Path, time::Duration};

use model::cluster::{Cluster, Setup, events::Event, state::Budgets, user::UserEvent};
use serde_json::Value;

pub(super) use file::{
    EventSpec, Granularity, ModelSpec, NodesSpec, ObjectSpec, PatchSpec, PropertySpec, When,
};
pub(super) use properties::{Asked, all_run, fairness};

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
        let events = events::all(&spec.events, &applied).map_err(wrong)?;
        let (manifests, objects) = (loaded.manifests, loaded.objects);
        let clients = controllers::all(spec, &objects).map_err(wrong)?;
        let asked = properties::all(&spec.properties, &objects).map_err(wrong)?;
        let file::BudgetsSpec { crashes, restarts, conflicts, lost_answers } = spec.budgets;
        let setup = Setup {
            clients,
            granularity: spec.granularity.into(),
            consistency: spec.consistency.into(),
            lag_max: spec.lag_max.unwrap_or(u16::MAX),
            budgets: Budgets { crashes, restarts, conflicts, lost_answers, ..Budgets::default() },
            events: events
                .iter()
                .map(|event| -> Box<dyn Event> { Box::new(event.clone()) })
                .collect(),
            monitors: vec![],
            horizon: Duration::from_secs(horizon_seconds(&objects)),
            seconds: spec.seconds,
            all_ties: spec.all_ties,
            objects,
            ..Setup::default()
        };
        let cluster = Cluster::new(setup).map_err(|error| wrong(error.to_string()))?;
        let events = events.into_iter().zip(spec.events.clone()).collect();
        Ok(Scenario { cluster, manifests, events, asked, notes })
    }
}

/// Behind this age nothing is told apart: longer than any time that an object names.
fn horizon_seconds(objects: &[Value]) -> u64 {
    /// The longest that a controller looks back by default: 300 s of an autoscaler.
    const DEFAULT: u64 = 301;
    let named = objects.iter().flat_map(|object| {
        let spec = &object["spec"];
        let behavior = ["scaleUp", "scaleDown"].map(|way| &spec["behavior"][way]);
        let windows = behavior.map(|way| way["stabilizationWindowSeconds"].as_u64());
        let own = ["progressDeadlineSeconds", "minReadySeconds", "activeDeadlineSeconds"];
        own.map(|field| spec[field].as_u64()).into_iter().chain(windows).flatten()
    });
    named.map(|seconds| seconds + 2).chain([DEFAULT]).max().unwrap_or(DEFAULT)
}
