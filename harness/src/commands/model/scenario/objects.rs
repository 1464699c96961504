//! What is stored at the start: manifests as an API server stores them.

use std::path::Path;

use cluster::{Server, SuffixOrder, World, WorldOptions};
use model::cluster::{setup, time::NOW};
use serde_json::{Value, json};
use workloads::{Client, ClientError, manifest};

use super::file::{ModelSpec, NodesSpec};
use crate::commands::model::usage;

/// Types that are stored and that no controller of a model reads.
const PASSIVE: [&str; 6] =
    ["Namespace", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"];

/// What is there at the start.
pub(super) struct Loaded {
    /// As the files have it.
    pub manifests: Vec<Value>,
    /// As it is stored, of the types that controllers of a model read.
    pub objects: Vec<Value>,
    /// The server that was asked.
    pub server: ApiServer,
}

/// Reads all files that a scenario names.
///
/// # Errors
/// Wrong files; what the API server refuses: exit 64.
pub(super) fn load(
    spec: &ModelSpec,
    folder: &Path,
    notes: &mut Vec<String>,
) -> anyhow::Result<Loaded> {
    let mut read = Vec::new();
    for path in &spec.manifests {
        let loaded = manifest::load(&folder.join(path), None);
        read.extend(loaded.map_err(|error| usage(error.to_string()))?);
    }
    let (mut manifests, mut places) = (Vec::new(), Vec::new());
    for (at, object) in spec.objects.iter().enumerate() {
        places.push(format!("spec.objects[{at}]"));
        manifests.push(object.clone());
    }
    for one in read {
        places.push(one.place.to_string());
        manifests.push(one.object);
    }
    for nodes in &spec.nodes {
        for name in nodes.names() {
            places.push(format!("spec.nodes ({})", nodes.name));
            manifests.push(node(nodes, &name));
        }
    }
    if manifests.is_empty() {
        return Err(usage("the scenario has no object: name manifests in spec.manifests"));
    }
    let server = ApiServer::new()?;
    let stored = server.stored(&manifests, &places)?;
    let objects = stored.into_iter().filter(|object| is_read(object, notes)).collect();
    Ok(Loaded { manifests, objects, server })
}

impl Loaded {
    /// The fields of a manifest as they are stored when it is applied: lists have their defaults then.
    ///
    /// # Errors
    /// The API server refuses it.
    pub fn applied(&self, manifest: &Value) -> Result<Value, String> {
        let stored = self.server.would_store(manifest);
        let stored = stored.map_err(|error| format!("the API server refuses it: {error}"))?;
        Ok(within(manifest, &stored))
    }
}

/// The fields of `stored` that `manifest` has too.
fn within(manifest: &Value, stored: &Value) -> Value {
    match (manifest, stored) {
        (Value::Object(said), Value::Object(stored)) => {
            let both = said.iter().filter_map(|(field, value)| {
                Some((field.clone(), within(value, stored.get(field)?)))
            });
            both.collect()
        }
        _ => stored.clone(),
    }
}

fn node(spec: &NodesSpec, name: &str) -> Value {
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

/// The embedded API server, asked for what it makes of objects.
pub(super) struct ApiServer {
    server: Server,
    client: Client,
    runtime: tokio::runtime::Runtime,
}

impl ApiServer {
    fn new() -> anyhow::Result<ApiServer> {
        let options = WorldOptions { start: NOW, seed: 0, suffixes: SuffixOrder::Ascending };
        let server = Server::new(World::new(options), None);
        let client = Client::new(server.service());
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        Ok(ApiServer { server, client, runtime })
    }

    /// What is stored of these objects.
    fn stored(&self, objects: &[Value], places: &[String]) -> anyhow::Result<Vec<Value>> {
        let known: Vec<_> = self.server.world().objects().map(|(key, _)| key.clone()).collect();
        let applied = self.runtime.block_on(workloads::apply_manifests(&self.client, objects));
        applied.map_err(|error| {
            let place = places.get(error.index).map(|place| format!("{place}: "));
            let place = place.unwrap_or_default();
            usage(format!("{place}the API server refuses this manifest: {error}"))
        })?;
        let world = self.server.world();
        let made = world.objects().filter(|(key, _)| !known.contains(key));
        let made = made.map(|(_, object)| match object["kind"] == "Node" {
            true => settled(object, objects),
            false => (**object).clone(),
        });
        Ok(made.collect())
    }

    /// What would be stored of a new object.
    pub fn would_create(&self, object: &Value) -> Result<Value, ClientError> {
        self.would(object, true)
    }

    /// What would be stored if an object were applied.
    fn would_store(&self, object: &Value) -> Result<Value, ClientError> {
        self.would(object, false)
    }

    fn would(&self, object: &Value, is_new: bool) -> Result<Value, ClientError> {
        const DRY: &str = "?dryRun=All";
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let (version, kind) = (text("/apiVersion"), text("/kind"));
        let name = text("/metadata/name").unwrap_or_default();
        self.runtime.block_on(async {
            let resource =
                self.client.resource(version.unwrap_or_default(), kind.unwrap_or_default()).await?;
            let namespace = match resource.namespaced {
                true => text("/metadata/namespace").unwrap_or("default"),
                false => "",
            };
            if is_new {
                return self.client.create(&resource, namespace, object, DRY).await;
            }
            let place = (name, "");
            match self.client.merge_patch(&resource, namespace, place, object, DRY).await {
                Err(error) if error.is_not_found() => {
                    self.client.create(&resource, namespace, object, DRY).await
                }
                answer => answer,
            }
        })
    }
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
    if kind == "CronJob" {
        notes.push("CronJob: only runs within five minutes of the start are seen".to_owned());
    }
    if kind == "ResourceQuota" {
        notes.push("ResourceQuota: its status is kept, and no write is refused for it".to_owned());
    }
    let Err(error) = setup::key_of(object) else { return true };
    if !PASSIVE.contains(&kind) {
        notes.push(error.to_string());
    }
    false
}
