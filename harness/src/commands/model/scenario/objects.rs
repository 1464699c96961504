//! What is stored at the start: manifests as an API server stores them.

use std::path::Path;

use cluster::{Server, SuffixOrder, World, WorldOptions};
use model::cluster::{setup, time::NOW};
use serde_json::{Value, json};
use workloads::manifest;

use super::file::{ModelSpec, NodesSpec};
use crate::commands::model::usage;

/// Types that are stored and that no controller of a model reads.
const PASSIVE: [&str; 6] =
    ["Namespace", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"];

/// All objects at the start.
pub(super) fn load(
    spec: &ModelSpec,
    folder: &Path,
    notes: &mut Vec<String>,
) -> anyhow::Result<Vec<Value>> {
    let mut manifests = Vec::new();
    for path in &spec.manifests {
        let read = manifest::load(&folder.join(path), None);
        manifests.extend(read.map_err(|error| usage(error.to_string()))?);
    }
    let (mut objects, mut places) = (Vec::new(), Vec::new());
    for one in manifests {
        places.push(one.place.to_string());
        objects.push(one.object);
    }
    for nodes in &spec.nodes {
        for number in 0..nodes.count {
            places.push(format!("spec.nodes ({})", nodes.name));
            objects.push(node(nodes, number));
        }
    }
    if objects.is_empty() {
        return Err(usage("the scenario has no object: name manifests in spec.manifests"));
    }
    let stored = stored(&objects, &places)?;
    Ok(stored.into_iter().filter(|object| is_read(object, notes)).collect())
}

fn node(spec: &NodesSpec, number: u32) -> Value {
    let name = match spec.count {
        1 => spec.name.clone(),
        _ => format!("{}-{}", spec.name, number + 1),
    };
    let mut labels = json!({"kubernetes.io/hostname": name});
    for (key, value) in &spec.labels {
        labels[key] = json!(value);
    }
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": if spec.taints.is_empty() { json!({}) } else { json!({"taints": spec.taints}) },
        "status": {
            "capacity": {"cpu": spec.cpu, "memory": spec.memory, "pods": spec.pods.to_string()},
            "allocatable": {"cpu": spec.cpu, "memory": spec.memory, "pods": spec.pods.to_string()},
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "KubeletReady",
                "lastTransitionTime": NOW.rfc3339(), "lastHeartbeatTime": NOW.rfc3339(),
            }],
        },
    })
}

/// What an API server makes of these objects.
fn stored(objects: &[Value], places: &[String]) -> anyhow::Result<Vec<Value>> {
    let options = WorldOptions { start: NOW, seed: 0, suffixes: SuffixOrder::Ascending };
    let server = Server::new(World::new(options), None);
    let client = workloads::Client::new(server.service());
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let known: Vec<_> = server.world().objects().map(|(key, _)| key.clone()).collect();
    runtime.block_on(workloads::apply_manifests(&client, objects)).map_err(|error| {
        let place = places.get(error.index).map(|place| format!("{place}: ")).unwrap_or_default();
        usage(format!("{place}the API server refuses this manifest: {error}"))
    })?;
    let world = server.world();
    let made = world.objects().filter(|(key, _)| !known.contains(key));
    let made = made.map(|(_, object)| match object["kind"] == "Node" {
        true => settled(object, objects),
        false => (**object).clone(),
    });
    Ok(made.collect())
}

/// A node as its manifest says it is: at its creation, admission takes it for one that is not ready
/// (`TaintNodesByCondition`).
fn settled(node: &Value, manifests: &[Value]) -> Value {
    let is = |manifest: &&Value| {
        manifest["kind"] == "Node" && manifest["metadata"]["name"] == node["metadata"]["name"]
    };
    let mut node = node.clone();
    if let Some(manifest) = manifests.iter().find(is) {
        node["spec"]["taints"] = manifest["spec"]["taints"].clone();
        node["status"] = manifest["status"].clone();
    }
    node
}

/// Whether some controller of a model reads objects of this type.
fn is_read(object: &Value, notes: &mut Vec<String>) -> bool {
    let kind = object["kind"].as_str().unwrap_or("");
    let Err(error) = setup::key_of(object) else { return true };
    if !PASSIVE.contains(&kind) {
        notes.push(error.to_string());
    }
    false
}
