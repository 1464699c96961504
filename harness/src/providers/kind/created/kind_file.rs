//! The configuration file that `kind create cluster` gets: the user's, or one of the counts, with what campaigns need.

use std::path::Path;

use serde_json::{Value, json};

use crate::{
    config::{Campaign, CreateSpec},
    exit::{Exit, Expected},
};

/// kind's only version of it.
const API_VERSION: &str = "kind.x-k8s.io/v1alpha4";
/// From this release on every kubelet knows how to restart containers soon (KEP-4603, beta in 1.35).
const SHORT_BACK_OFF_SINCE: u32 = 35;

/// The file that the campaign names, or one with as many nodes as it says.
///
/// # Errors
/// A file that can't be read, or is no configuration of kind: exit 64.
pub fn read(create: &CreateSpec, campaign: &Campaign) -> anyhow::Result<Value> {
    let Some(file) = &create.config else { return Ok(of_counts(create)) };
    let path = campaign.resolve(file);
    parse(&path).map_err(|why| {
        let message = format!("spec.cluster.kind.create.config: {}: {why}", path.display());
        Expected::error(Exit::Usage, message)
    })
}

fn parse(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let file: Value = serde_saphyr::from_str(&text).map_err(|error| error.to_string())?;
    match (file["kind"].as_str(), file["apiVersion"].as_str()) {
        (Some("Cluster"), Some(API_VERSION)) => Ok(file),
        _ => Err(format!(
            "it is no configuration of kind (kind: Cluster, apiVersion: {API_VERSION})"
        )),
    }
}

fn of_counts(create: &CreateSpec) -> Value {
    let (planes, workers) = create.counts();
    let roles = std::iter::repeat_n("control-plane", planes);
    let roles = roles.chain(std::iter::repeat_n("worker", workers));
    let nodes: Vec<Value> = roles.map(|role| json!({ "role": role })).collect();
    json!({ "kind": "Cluster", "apiVersion": API_VERSION, "nodes": nodes })
}

/// The file with a mount in each node that says who made it, and with kubelets that restart containers soon, where all of
/// them can.
pub fn complete(mut file: Value, create: &CreateSpec, note: &str) -> Value {
    if file["nodes"].as_array().is_none_or(Vec::is_empty) {
        file["nodes"] = json!([{ "role": "control-plane" }]);
    }
    let mut all_can = true;
    for node in file["nodes"].as_array_mut().into_iter().flatten() {
        let mount = json!({ "hostPath": "/dev/null", "containerPath": note, "readOnly": true });
        push(&mut node["extraMounts"], mount);
        let image = create.node_image.as_deref().or(node["image"].as_str());
        all_can &= image.is_some_and(restarts_soon);
    }
    if all_can {
        let kubelet = json!({ "kind": "KubeletConfiguration", "crashLoopBackOff": back_off() });
        push(&mut file["kubeadmConfigPatches"], kubelet.to_string().into());
    }
    file
}

fn push(list: &mut Value, item: Value) {
    match list.as_array_mut() {
        Some(items) => items.push(item),
        None => *list = json!([item]),
    }
}

/// A killed controller comes back after a second at most, instead of up to five minutes (`CrashLoopBackOffConfig`).
pub fn back_off() -> Value {
    json!({ "maxContainerRestartPeriod": "1s" })
}

/// Whether the tag of a node image says that its kubelet takes [`back_off`]. One that does not know it does not start.
pub fn restarts_soon(image: &str) -> bool {
    let image = image.split('@').next().unwrap_or_default();
    let minor = image.rsplit_once(":v1.").map(|(_, rest)| rest.split(['.', '-']).next());
    let minor = minor.flatten().and_then(|minor| minor.parse::<u32>().ok());
    minor.is_some_and(|minor| minor >= SHORT_BACK_OFF_SINCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_says_whether_kubelets_can_restart_soon() {
        for image in ["kindest/node:v1.36.3", "localhost:5000/node:v1.35.0@sha256:ab", "node:v1.37"]
        {
            assert!(restarts_soon(image), "{image}");
        }
        for image in ["kindest/node:v1.34.9", "node:latest", "node", "node@sha256:ab", "node:v1.x"]
        {
            assert!(!restarts_soon(image), "{image}");
        }
    }

    #[test]
    fn counts_become_nodes_that_say_who_made_them() {
        let create = CreateSpec {
            node_image: Some("kindest/node:v1.36.3".to_owned()),
            workers: Some(1),
            ..CreateSpec::default()
        };
        let file = complete(of_counts(&create), &create, "/kind/trommel/campaign/me");
        let mounts = json!([{"hostPath": "/dev/null", "containerPath": "/kind/trommel/campaign/me", "readOnly": true}]);
        let patch = r#"{"crashLoopBackOff":{"maxContainerRestartPeriod":"1s"},"kind":"KubeletConfiguration"}"#;
        let expect = json!({
            "kind": "Cluster", "apiVersion": "kind.x-k8s.io/v1alpha4",
            "nodes": [
                {"role": "control-plane", "extraMounts": mounts},
                {"role": "worker", "extraMounts": mounts},
            ],
            "kubeadmConfigPatches": [patch],
        });
        assert_eq!(file, expect);
    }

    #[test]
    fn what_the_user_wrote_stays() {
        let file = json!({
            "nodes": [{"role": "control-plane", "image": "node:v1.34.0", "extraMounts": [{"hostPath": "/a"}]}],
            "kubeadmConfigPatches": ["kind: ClusterConfiguration"],
        });
        let done = complete(file.clone(), &CreateSpec::default(), "/n");
        assert_eq!(
            done["kubeadmConfigPatches"], file["kubeadmConfigPatches"],
            "1.34 does not know it"
        );
        assert_eq!(done["nodes"][0]["extraMounts"].as_array().map(Vec::len), Some(2));
        let newer =
            CreateSpec { node_image: Some("node:v1.36.0".to_owned()), ..CreateSpec::default() };
        let done = complete(file, &newer, "/n");
        assert_eq!(done["kubeadmConfigPatches"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn a_file_without_nodes_has_the_one_that_kind_makes_of_it() {
        let done = complete(json!({}), &CreateSpec::default(), "/n");
        assert_eq!(done["nodes"][0]["role"], "control-plane");
        assert_eq!(done.get("kubeadmConfigPatches"), None);
    }
}
