//! What a type's strategy makes of an object that is about to be validated (`PrepareForCreate`,
//! `PrepareForUpdate`, and the allocators behind services): after admission, and so managed by nobody.

mod job;
mod service;
mod signing;

use serde_json::{Value, json};

use super::{Work, object};
use crate::status::Refusal;

impl Work<'_> {
    /// Errors: what an allocator refuses. 422.
    pub(super) fn prepare(
        &mut self,
        old: Option<&Value>,
        new: &mut Value,
        dry_run: bool,
    ) -> Result<(), Refusal> {
        if self.kind.storage == signing::requests() {
            self.prepare_signing(old, new);
            return Ok(());
        }
        if self.kind.is_custom() || !matches!(self.route.subresource.as_str(), "" | "resize") {
            return Ok(());
        }
        let row = self.kind.row();
        match (row.group.as_str(), row.resource.as_str()) {
            ("", "pods") if old.is_none() => {
                new["status"]["qosClass"] = json!(controllers::quota::qos_class(new));
                let gates = new.pointer("/spec/schedulingGates").and_then(Value::as_array);
                if gates.is_some_and(|gates| !gates.is_empty()) {
                    new["status"]["conditions"] = json!([self.gated()]);
                }
            }
            ("", "services") => return self.prepare_service(old, new, dry_run),
            ("", "namespaces") => prepare_namespace(old, new),
            ("", "nodes") if old.is_none() => prepare_node(new),
            ("", "persistentvolumes") if old.is_none() => {
                new["status"]["lastPhaseTransitionTime"] = json!(self.now_text());
            }
            ("apps", "daemonsets") => count_templates(old, new),
            ("apps", "statefulsets") => {
                name_claims(new);
                drop_max_unavailable(old, new);
            }
            ("batch", "jobs") if old.is_none() => job::generate_selector(new),
            _ => {}
        }
        Ok(())
    }

    /// What is said of a pod that is not to be scheduled yet (`applySchedulingGatedCondition`).
    fn gated(&self) -> Value {
        json!({
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": null, "lastTransitionTime": self.now_text(),
        })
    }
}

/// How often the template of a DaemonSet was changed (`pkg/registry/apps/daemonset/strategy.go`, and the annotation of
/// `Convert_apps_DaemonSet_To_v1_DaemonSet`).
fn count_templates(old: Option<&Value>, new: &mut Value) {
    const GENERATION: &str = "deprecated.daemonset.template.generation";
    let count = |set: &Value| {
        let text = set["metadata"]["annotations"][GENERATION].as_str();
        text.and_then(|text| text.parse::<i64>().ok()).unwrap_or(0)
    };
    let count = match old {
        None => count(new).max(1),
        Some(old) => {
            let changed = old.pointer("/spec/template") != new.pointer("/spec/template");
            count(old) + i64::from(changed)
        }
    };
    new["metadata"]["annotations"][GENERATION] = json!(count.to_string());
}

/// Claim templates say what they are (`Convert_apps_StatefulSetSpec_To_v1_StatefulSetSpec`).
fn name_claims(set: &mut Value) {
    let templates = set.pointer_mut("/spec/volumeClaimTemplates").and_then(Value::as_array_mut);
    for template in templates.into_iter().flatten() {
        template["apiVersion"] = json!("v1");
        template["kind"] = json!("PersistentVolumeClaim");
    }
}

/// What 1.36 does not offer by default (`MaxUnavailableStatefulSet`) is dropped, unless it is there already.
fn drop_max_unavailable(old: Option<&Value>, new: &mut Value) {
    const ROLLING: &str = "/spec/updateStrategy/rollingUpdate";
    let of = |set: &Value| set.pointer(ROLLING).is_some_and(|how| !how["maxUnavailable"].is_null());
    if old.is_some_and(of) {
        return;
    }
    if let Some(rolling) = new.pointer_mut(ROLLING).and_then(Value::as_object_mut) {
        rolling.remove("maxUnavailable");
    }
}

/// The finalizer is there from the start, and only `/finalize` takes it away.
fn prepare_namespace(old: Option<&Value>, new: &mut Value) {
    match old {
        Some(old) => object::copy_field(new, old, "spec"),
        None => {
            // Where the name was given, defaulting has set it already, and then it has an owner.
            new["metadata"]["labels"]["kubernetes.io/metadata.name"] =
                new["metadata"]["name"].clone();
            let given = new.pointer("/spec/finalizers").and_then(Value::as_array);
            let mut finalizers = given.cloned().unwrap_or_default();
            if !finalizers.contains(&json!("kubernetes")) {
                finalizers.push(json!("kubernetes"));
            }
            new["spec"]["finalizers"] = Value::Array(finalizers);
        }
    }
}

/// What a node can allocate is what it has, unless it says otherwise (`SetDefaults_NodeStatus`).
fn prepare_node(new: &mut Value) {
    let capacity = new.pointer("/status/capacity").cloned();
    if let Some(capacity) = capacity
        && new.pointer("/status/allocatable").is_none()
    {
        new["status"]["allocatable"] = capacity;
    }
}
