//! By which of the cluster's own programs an object was written, as its managed fields tell (API concepts, Field
//! management): the newest entry is the last write's.
//!
//! kube-controller-manager's controllers share a name there. Which of them it was follows from the object: each type has
//! its own. The names are those of the embedded cluster, so that plans and replay files mean the same on both.

use serde_json::Value;
use trace::{Actor, Change, ObjectKey};

/// Who made this commit, as far as the object shows it.
pub fn of(key: &ObjectKey, object: &Value, change: Change) -> Actor {
    let by = match change {
        Change::Deleted => remover(key, object),
        Change::Created | Change::Updated => {
            let newest = newest(object);
            let manager = newest.and_then(|entry| entry["manager"].as_str()).unwrap_or_default();
            match manager {
                "kube-controller-manager" => controller(key, object, newest, change),
                "kube-scheduler" => "scheduler",
                "" => "cluster",
                other => other,
            }
        }
    };
    Actor::Environment(by.into())
}

/// The entry of the last write. Entries are in order of time, those of applies first (`sortEncodedManagedFields`).
fn newest(object: &Value) -> Option<&Value> {
    let entries = object["metadata"]["managedFields"].as_array()?;
    entries.iter().max_by_key(|entry| entry["time"].as_str())
}

fn remover(key: &ObjectKey, object: &Value) -> &'static str {
    let metadata = &object["metadata"];
    let of_pods = &*key.resource.resource == "pods" && key.resource.group.is_empty();
    let bound = object["spec"]["nodeName"].is_string();
    let owned = metadata["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
    match () {
        () if of_pods && bound && metadata["deletionTimestamp"].is_string() => "kubelet",
        () if &*key.resource.resource == "namespaces" => "namespace-controller",
        () if owned => "garbage-collector-controller",
        () => "cluster",
    }
}

/// Which of kube-controller-manager's.
fn controller(
    key: &ObjectKey,
    object: &Value,
    entry: Option<&Value>,
    change: Change,
) -> &'static str {
    let owner = object["metadata"]["ownerReferences"][0]["kind"].as_str().unwrap_or_default();
    let status = entry.is_some_and(|entry| entry["subresource"] == "status");
    let created = change == Change::Created;
    match (&*key.resource.group, &*key.resource.resource) {
        ("apps", "deployments") => "deployment-controller",
        ("apps", "replicasets") if status => "replicaset-controller",
        ("apps", "replicasets") => "deployment-controller",
        ("apps", "statefulsets") => "statefulset-controller",
        ("apps", "daemonsets") => "daemonset-controller",
        ("batch", "jobs") if created => "cronjob-controller",
        ("batch", "jobs") => "job-controller",
        ("batch", "cronjobs") => "cronjob-controller",
        ("", "pods") | ("apps", "controllerrevisions") => of_owner(owner),
        ("", "persistentvolumeclaims") if created => "statefulset-controller",
        ("", "persistentvolumeclaims" | "persistentvolumes") => {
            "persistentvolume-binder-controller"
        }
        ("", "endpoints") => "endpoints-controller",
        ("discovery.k8s.io", "endpointslices") => match owner {
            "Endpoints" => "endpointslice-mirroring-controller",
            _ => "endpointslice-controller",
        },
        ("policy", "poddisruptionbudgets") => "disruption-controller",
        ("autoscaling", "horizontalpodautoscalers") => "horizontal-pod-autoscaler-controller",
        ("", "serviceaccounts") => "serviceaccount-controller",
        ("", "configmaps") => "root-ca-certificate-publisher-controller",
        ("", "replicationcontrollers") => "replicationcontroller-controller",
        ("", "resourcequotas") => "resourcequota-controller",
        ("", "namespaces") => "namespace-controller",
        ("", "nodes") => "node-lifecycle-controller",
        _ => "kube-controller-manager",
    }
}

/// The controller that makes things for owners of this kind.
fn of_owner(kind: &str) -> &'static str {
    match kind {
        "ReplicaSet" => "replicaset-controller",
        "StatefulSet" => "statefulset-controller",
        "DaemonSet" => "daemonset-controller",
        "Job" => "job-controller",
        "ReplicationController" => "replicationcontroller-controller",
        _ => "kube-controller-manager",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_entry_tells_who_wrote() {
        let entry = |manager: &str, time: &str, subresource: &str| json!({"manager": manager, "time": time, "subresource": subresource});
        let check = |key: &str, metadata: Value, change: Change, expect: &str| {
            let object = json!({"metadata": metadata, "spec": {"nodeName": "n"}});
            let by = of(&key.parse().unwrap(), &object, change);
            assert_eq!(by, Actor::Environment(expect.into()), "{key}");
        };
        let manager = "kube-controller-manager";
        let fields = json!({"managedFields": [entry(manager, "2026-01-01T00:00:01Z", "")]});
        check("deployments.apps/default/web", fields, Change::Updated, "deployment-controller");
        let fields = json!({"managedFields": [
            entry(manager, "2026-01-01T00:00:02Z", "status"), entry("kubectl", "2026-01-01T00:00:01Z", ""),
        ]});
        check("replicasets.apps/default/web-1", fields, Change::Updated, "replicaset-controller");
        let owned = json!({
            "ownerReferences": [{"kind": "StatefulSet"}],
            "managedFields": [entry(manager, "2026-01-01T00:00:01Z", "")],
        });
        check("pods/default/web-0", owned.clone(), Change::Created, "statefulset-controller");
        check("pods/default/web-0", owned, Change::Deleted, "garbage-collector-controller");
        let ends = json!({"deletionTimestamp": "2026-01-01T00:00:01Z"});
        check("pods/default/web-0", ends, Change::Deleted, "kubelet");
        let fields = json!({"managedFields": [entry("kubelet", "2026-01-01T00:00:01Z", "status")]});
        check("pods/default/web-0", fields, Change::Updated, "kubelet");
        check("foos.example.com/default/a", json!({}), Change::Updated, "cluster");
    }
}
