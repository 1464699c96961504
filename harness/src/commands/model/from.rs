//! `trommel model check --from DIR`: a folder of manifests on clusters of growing size, on all occasions that come some day.
//!
//! Sizes are tried by the number of nodes, the first types first, each occasion up to its first violation: so the cluster
//! that is told is one of the smallest. Kubelets act at once, and the scheduler takes pods in the order of their names:
//! hundreds of states where single writes would be millions.

mod missing;
mod occasions;
mod sizes;

use std::path::{Path, PathBuf};

use serde_json::Value;
use workloads::manifest;

use super::{
    answers::Answer,
    clusters::{self, Limits},
    confirm::Usage,
    scenario::{Granularity, ModelSpec, NodesSpec, Scenario},
    usage,
};
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

/// The verdict on each occasion: on the smallest cluster that violates what is asked, or on all of them. A cluster on which
/// not even an empty one comes to run what is asked is not asked about other occasions: they would only show it again.
///
/// # Errors
/// Wrong manifests, with their places: exit 64.
pub(super) fn check(
    folder: &Path,
    types: &[NodeType],
    (granularity, used): (Granularity, &[Usage]),
    limits: Limits,
) -> anyhow::Result<Vec<Answer>> {
    let folders = folders(folder)?;
    let mut manifests: Vec<Value> = Vec::new();
    for folder in &folders {
        let read = manifest::load(folder, None).map_err(|error| usage(error.to_string()))?;
        manifests.extend(read.into_iter().map(|one| one.object));
    }
    if manifests.is_empty() {
        return Err(usage(format!("{}: there is no manifest in it", folder.display())));
    }
    let missing = missing::objects(&manifests);
    for object in &missing {
        super::files::tell(&missing::told(object));
    }
    let sizes = sizes::sizes(types);
    if sizes.is_empty() {
        return Err(usage("--nodes: there is no node in any of these clusters; raise max"));
    }
    let mut told = false;
    let mut ask = |occasion: &Occasion, counts: &[u32]| {
        let spec = ModelSpec {
            granularity,
            objects: missing.clone(),
            usage: used.to_vec(),
            ..spec(&folders, &manifests, &sizes::nodes(types, counts), occasion)
        };
        let scenario = Scenario::of(&spec, Path::new(""), folder)?;
        if !std::mem::replace(&mut told, true) {
            scenario.notes.iter().for_each(|note| super::files::tell(note));
        }
        clusters::check(scenario, folder, limits)
    };
    let mut start = Answer::to(Occasion::Start.told());
    let later = Occasion::later(&manifests);
    let mut answers: Vec<Answer> = later.iter().map(|one| Answer::to(one.told())).collect();
    for counts in sizes {
        let nodes = sizes::named(types, &counts);
        let comes_to_run = start.add(&nodes, ask(&Occasion::Start, &counts)?);
        let open = later.iter().zip(&mut answers).filter(|(_, answer)| answer.violated.is_none());
        for (occasion, answer) in open.filter(|_| comes_to_run) {
            answer.add(&nodes, ask(occasion, &counts)?);
        }
    }
    answers.insert(0, start);
    Ok(answers)
}

/// The folder, and those below it that have manifests, as `helm template --output-dir` writes them. A kustomization says
/// itself what it has.
fn folders(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if manifest::kustomization(root).is_some() || !root.is_dir() {
        return Ok(vec![root.to_owned()]);
    }
    let (mut found, mut has_manifests) = (Vec::new(), false);
    let unreadable = |error| usage(format!("{}: {error}", root.display()));
    for entry in std::fs::read_dir(root).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            found.extend(folders(&path)?);
        } else {
            let end = path.extension().and_then(std::ffi::OsStr::to_str);
            has_manifests |= matches!(end, Some("yaml" | "yml" | "json"));
        }
    }
    found.sort();
    if has_manifests {
        found.insert(0, root.to_owned());
    }
    Ok(found)
}

/// The namespace that a manifest is in, if its type is in one.
fn namespace(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or("default")
}

fn spec(
    folders: &[PathBuf],
    manifests: &[Value],
    nodes: &[NodesSpec],
    occasion: &Occasion,
) -> ModelSpec {
    ModelSpec {
        manifests: folders.to_vec(),
        nodes: nodes.to_vec(),
        coarse: true,
        events: occasion.events(manifests, nodes),
        properties: occasion.properties(manifests),
        ..ModelSpec::default()
    }
}
