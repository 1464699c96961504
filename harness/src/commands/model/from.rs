//! `trommel model check --from DIR`: a folder of manifests on clusters of growing size, on all occasions that come some day.
//!
//! Sizes are tried by the number of nodes, the first types first, each occasion up to its first violation: so the cluster
//! that is told is one of the smallest. Kubelets act at once, and the scheduler takes pods in the order of their names:
//! hundreds of states where single writes would be millions.

mod missing;
mod occasions;
mod sizes;

use std::path::Path;

use serde_json::Value;
use workloads::manifest;

use super::{
    answers::{Answer, Tried},
    clusters::{self, Limits},
    confirm::Usage,
    scenario::{Granularity, ModelSpec, NodesSpec, Scenario},
    usage,
};
use crate::exit::Exit;
use occasions::Occasion;
pub(super) use sizes::NodeType;

/// How fine the model is, for people.
pub(super) fn how(granularity: Granularity) -> String {
    let step = match granularity {
        Granularity::Drain => "all that a controller has to do",
        Granularity::Reconcile => "all that a controller does with one object",
        Granularity::Write => "one write",
        Granularity::Request => "a request, or its answer",
        Granularity::Step => "one write, and reading anew",
    };
    format!("a step is {step}; kubelets act at once, the scheduler takes pods by name")
}

/// The verdict on each occasion: on the smallest cluster that violates what is asked, or on all of them. What is violated
/// when the manifests are applied to an empty cluster ends the search: other occasions would only show it again.
///
/// # Errors
/// Wrong manifests, with their places: exit 64.
pub(super) fn check(
    folder: &Path,
    types: &[NodeType],
    (granularity, used): (Granularity, &[Usage]),
    limits: Limits,
) -> anyhow::Result<Vec<Answer>> {
    let read = manifest::load(folder, None).map_err(|error| usage(error.to_string()))?;
    let manifests: Vec<Value> = read.into_iter().map(|one| one.object).collect();
    let occasions = Occasion::of(&manifests);
    let missing = missing::objects(&manifests);
    for object in &missing {
        let (kind, name) = (&object["kind"], &object["metadata"]["name"]);
        let told = [kind, name].map(|text| text.as_str().unwrap_or_default());
        let [kind, name] = told;
        super::files::tell(&format!("{kind} {name} is not in the folder; it is taken to be there"));
    }
    let answer =
        |occasion: &Occasion| Answer { occasion: occasion.told(), tried: vec![], violated: None };
    let mut answers: Vec<Answer> = occasions.iter().map(answer).collect();
    for (nth, counts) in sizes::sizes(types).into_iter().enumerate() {
        let nodes = sizes::nodes(types, &counts);
        let open =
            occasions.iter().zip(&mut answers).filter(|(_, answer)| answer.violated.is_none());
        for (occasion, answer) in open {
            let spec = spec(folder, &manifests, &nodes, occasion);
            let (objects, usage) = (missing.clone(), used.to_vec());
            let spec = ModelSpec { granularity, objects, usage, ..spec };
            let scenario = Scenario::of(&spec, Path::new(""), folder)?;
            if (nth, occasion) == (0, &Occasion::Start) {
                scenario.notes.iter().for_each(|note| super::files::tell(note));
            }
            let checked = clusters::check(scenario, folder, limits)?;
            let (nodes, exit) = (sizes::named(types, &counts), checked.exit());
            answer.tried.push(Tried { nodes, exit, states: checked.states() });
            answer.violated = (exit == Exit::Finding).then_some(checked);
            if answer.violated.is_some() && *occasion == Occasion::Start {
                return Ok(answers);
            }
        }
    }
    Ok(answers)
}

fn spec(folder: &Path, manifests: &[Value], nodes: &[NodesSpec], occasion: &Occasion) -> ModelSpec {
    ModelSpec {
        manifests: vec![folder.to_owned()],
        nodes: nodes.to_vec(),
        coarse: true,
        events: occasion.events(manifests, nodes),
        properties: occasion.properties(manifests),
        ..ModelSpec::default()
    }
}
