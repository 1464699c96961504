//! Users: Themelios' arbitrary client, and one that scales by a plan.

use std::sync::Arc;

use serde_json::{Value, json};
use trace::ObjectKey;

use crate::cluster::{
    Store,
    api::Api,
    events::{Choice, Event},
};

/// What a user may edit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edits {
    /// One replica more or fewer of a Deployment, ReplicaSet that nobody owns, or StatefulSet.
    pub scale: bool,
    /// The image of a Deployment or StatefulSet: `v1` and `v2` in turn.
    pub image: bool,
    /// Whether a Deployment is paused.
    pub pause: bool,
    /// Whether a Job is suspended.
    pub suspend: bool,
}

/// A user who edits anything, so often at most.
#[derive(Debug)]
pub struct Arbitrary {
    /// What.
    pub edits: Edits,
    /// How often.
    pub most: u64,
}

impl Event for Arbitrary {
    fn name(&self) -> &str {
        "client"
    }

    fn choices(&self, api: &Api<'_>, store: &Store, progress: u64) -> Vec<Choice> {
        if progress == self.most {
            return vec![];
        }
        let workloads = store.values(api.objects).filter(|(_, value)| is_of_users(value));
        let edits = workloads.flat_map(|(key, value)| self.of(key, value));
        let choice = |(key, value, told)| edited(api, store, &key, value, told, progress + 1);
        edits.map(choice).collect()
    }
}

impl Arbitrary {
    /// All edits of an object.
    fn of(&self, key: &ObjectKey, value: &Value) -> Vec<(ObjectKey, Value, String)> {
        let kind = value["kind"].as_str().unwrap_or("");
        let mut all = Vec::new();
        let mut add = |pointer: &str, new: Value, told: String| {
            let mut edited = value.clone();
            if let Some((parent, field)) = pointer.rsplit_once('/')
                && let Some(parent) = edited.pointer_mut(parent)
            {
                parent[field] = new;
                all.push((key.clone(), edited, told));
            }
        };
        let name = format!("{kind} {}/{}", key.namespace, key.name);
        if self.edits.scale && matches!(kind, "Deployment" | "ReplicaSet" | "StatefulSet") {
            let replicas = value["spec"]["replicas"].as_i64().unwrap_or(1);
            for to in [replicas + 1, replicas - 1].into_iter().filter(|to| *to >= 0) {
                add("/spec/replicas", json!(to), format!("scale {name} replicas={to}"));
            }
        }
        if self.edits.image && matches!(kind, "Deployment" | "StatefulSet") {
            let pointer = "/spec/template/spec/containers/0/image";
            let other = if value.pointer(pointer) == Some(&json!("v1")) { "v2" } else { "v1" };
            add(pointer, json!(other), format!("set image of {name} to {other}"));
        }
        for (may, of, pointer) in [
            (self.edits.pause, "Deployment", "/spec/paused"),
            (self.edits.suspend, "Job", "/spec/suspend"),
        ] {
            if may && kind == of {
                let to = value.pointer(pointer) != Some(&json!(true));
                add(pointer, json!(to), format!("set {} of {name} to {to}", &pointer[6..]));
            }
        }
        all
    }
}

/// A user who scales all that nobody owns to one number after the other.
#[derive(Debug)]
pub struct Scales {
    /// The numbers of replicas.
    pub to: Vec<u32>,
}

impl Event for Scales {
    fn name(&self) -> &str {
        "client"
    }

    fn choices(&self, api: &Api<'_>, store: &Store, progress: u64) -> Vec<Choice> {
        let Some(to) = self.to.get(progress as usize) else { return vec![] };
        let scales = |value: &Value| is_of_users(value) && value["spec"].get("replicas").is_some();
        let workloads = store.values(api.objects).filter(|(_, value)| scales(value));
        let choice = |(key, value): (&ObjectKey, &Value)| {
            let mut value = value.clone();
            value["spec"]["replicas"] = json!(to);
            let told = format!("scale {} replicas={to}", key.name);
            edited(api, store, key, value, told, progress + 1)
        };
        workloads.map(choice).collect()
    }
}

/// Whether users edit it: a workload that nobody controls.
fn is_of_users(value: &Value) -> bool {
    let owners = value["metadata"]["ownerReferences"].as_array();
    owners.is_none_or(Vec::is_empty) && value["metadata"]["deletionTimestamp"].is_null()
}

fn edited(
    api: &Api<'_>,
    store: &Store,
    key: &ObjectKey,
    value: Value,
    told: String,
    progress: u64,
) -> Choice {
    let store = api.put(store, key, value);
    let told: Arc<str> = format!("client: {told}").into();
    Choice { told, store, progress }
}
