//! What Kivi leaves unread in manifests, or reads otherwise than Kubernetes.

use serde_json::Value;

use super::{InputError, Note, field::Field};
use crate::kivi::amounts::{self, GIB};

/// A note about a field.
pub(super) fn of(field: &Field<'_>, text: impl Into<String>) -> Note {
    Note { file: field.file.to_owned(), field: field.path.clone(), text: text.into() }
}

/// What Kivi reads of a Deployment's spec, of a pod's spec, and of an autoscaler's.
const OF_DEPLOYMENT: [&str; 3] = ["replicas", "selector", "template"];
const OF_PODS: [&str; 3] = ["containers", "topologySpreadConstraints", "nodeName"];
const OF_AUTOSCALER: [&str; 4] = ["scaleTargetRef", "minReplicas", "maxReplicas", "metrics"];
/// Fields with these values are as if they were not there.
const DEFAULTS: [(&str, &str); 8] = [
    ("dnsPolicy", r#""ClusterFirst""#),
    ("restartPolicy", r#""Always""#),
    ("schedulerName", r#""default-scheduler""#),
    ("securityContext", "{}"),
    ("terminationGracePeriodSeconds", "30"),
    ("progressDeadlineSeconds", "600"),
    ("revisionHistoryLimit", "10"),
    (
        "strategy",
        r#"{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"},"type":"RollingUpdate"}"#,
    ),
];
const UNREAD: &str = "Kivi leaves it unread; here it counts";

fn unread(spec: &Field<'_>, read: &[&str], notes: &mut Vec<Note>) -> Result<(), InputError> {
    let is_default = |name: &str, value: &Value| {
        let default = DEFAULTS.iter().find(|(field, _)| *field == name);
        let default = default.and_then(|(_, text)| serde_json::from_str::<Value>(text).ok());
        default.as_ref() == Some(value)
    };
    for (name, value) in spec.object()? {
        if !read.contains(&name.as_str()) && !is_default(name, value) {
            notes.push(of(&spec.get(name), UNREAD));
        }
    }
    Ok(())
}

/// Of a Deployment.
pub(super) fn of_deployment(spec: &Field<'_>, notes: &mut Vec<Note>) -> Result<(), InputError> {
    unread(spec, &OF_DEPLOYMENT, notes)?;
    of_pods(&spec.get("template").get("spec"), notes)
}

/// Of a pod's spec.
pub(super) fn of_pods(spec: &Field<'_>, notes: &mut Vec<Note>) -> Result<(), InputError> {
    unread(spec, &OF_PODS, notes)?;
    for (at, container) in spec.get("containers").items()?.iter().enumerate() {
        if at > 0 {
            notes.push(of(container, "Kivi reads one container of a pod; here all count"));
        }
        let memory = container.get("resources").get("requests").get("memory");
        let bytes = memory.value.as_str().and_then(amounts::bytes);
        if let Some(bytes) = bytes.filter(|bytes| !bytes.is_multiple_of(GIB)) {
            let text =
                format!("Kivi takes it for {} GiB; here it is as it is", bytes.div_ceil(GIB));
            notes.push(of(&memory, text));
        }
    }
    for constraint in spec.get("topologySpreadConstraints").items()? {
        let expressions = constraint.get("labelSelector").get("matchExpressions");
        if expressions.is_there() {
            notes.push(of(&expressions, UNREAD));
        }
    }
    Ok(())
}

/// Of an autoscaler.
pub(super) fn of_autoscaler(spec: &Field<'_>, notes: &mut Vec<Note>) -> Result<(), InputError> {
    unread(spec, &OF_AUTOSCALER, notes)?;
    if !spec.get("behavior").is_there() {
        let text = "Kivi's autoscaler follows what is used at once; this one, as Kubernetes' own, waits five minutes \
                    before it scales down";
        notes.push(of(&spec.get("behavior"), text));
    }
    for metric in spec.get("metrics").items()? {
        if metric.get("type").value != "Resource" {
            notes.push(of(&metric.get("type"), UNREAD));
        }
        let target = metric.get("resource").get("target");
        if target.get("averageValue").is_there() {
            notes.push(of(&target.get("averageValue"), UNREAD));
        }
        if target.get("value").is_there() {
            let text = "Kubernetes knows no value of a resource metric, only averageValue; Kivi reads it as an average";
            notes.push(of(&target.get("value"), text));
        }
    }
    Ok(())
}
