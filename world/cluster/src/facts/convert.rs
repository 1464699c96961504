//! Conversion between versions of a built-in type that share storage.
//!
//! Two types of 1.36 are served twice: events (core `v1` and `events.k8s.io/v1`) and horizontal pod
//! autoscalers (`autoscaling/v1` and `v2`). Old versions are converted by way of the one that replaced them.

use serde_json::{Map, Value, json};

use super::{api_version, older};

/// A conversion that this server doesn't know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no conversion of {kind} from {from} to {to}")]
pub struct ConvertError {
    /// Kind of the object.
    pub kind: String,
    /// Its `apiVersion`.
    pub from: String,
    /// The wanted `apiVersion`.
    pub to: String,
}

/// Rewrites a built-in object into another `apiVersion` of the same kind; nothing to do when it has it.
pub fn convert(object: &mut Value, to: &str) -> Result<(), ConvertError> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
    let (kind, from) = (text("kind"), text("apiVersion"));
    if from == to {
        return Ok(());
    }
    if let Some(found) = older::by_kind(&from, &kind) {
        older::up(object, &kind, &found.row.version);
        object["apiVersion"] = api_version(found.current.0, found.current.1).into();
        return convert(object, to);
    }
    if let Some(found) = older::by_kind(to, &kind) {
        convert(object, &api_version(found.current.0, found.current.1))?;
        older::down(object, &kind, &found.row.version);
        object["apiVersion"] = to.into();
        return Ok(());
    }
    match (kind.as_str(), from.as_str(), to) {
        ("Event", "v1", "events.k8s.io/v1") => rename(object, EVENT_NAMES, false),
        ("Event", "events.k8s.io/v1", "v1") => rename(object, EVENT_NAMES, true),
        ("HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2") => autoscaler_up(object),
        ("HorizontalPodAutoscaler", "autoscaling/v2", "autoscaling/v1") => autoscaler_down(object),
        _ => return Err(ConvertError { kind, from, to: to.to_owned() }),
    }
    object["apiVersion"] = Value::from(to);
    Ok(())
}

/// Field names of events: core, events.k8s.io.
const EVENT_NAMES: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

fn rename(object: &mut Value, names: &[(&str, &str)], backwards: bool) {
    let Some(fields) = object.as_object_mut() else { return };
    for &(left, right) in names {
        let (from, to) = if backwards { (right, left) } else { (left, right) };
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
    // Core events show who reports also where nobody does.
    let reporter = if backwards { "reportingComponent" } else { "reportingController" };
    for name in [reporter, "reportingInstance"] {
        if backwards {
            fields.entry(name).or_insert_with(|| "".into());
        } else if fields.get(name).is_some_and(|value| value == "") {
            fields.remove(name);
        }
    }
}

/// `targetCPUUtilizationPercentage` becomes a resource metric on `cpu`.
fn autoscaler_up(object: &mut Value) {
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
        && let Some(target) = spec.remove("targetCPUUtilizationPercentage")
    {
        spec.insert(
            "metrics".to_owned(),
            json!([{
                "type": "Resource",
                "resource": {
                    "name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": target},
                },
            }]),
        );
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut)
        && let Some(current) = status.remove("currentCPUUtilizationPercentage")
    {
        status.insert(
            "currentMetrics".to_owned(),
            json!([{
                "type": "Resource",
                "resource": {
                    "name": "cpu",
                    "current": {"averageUtilization": current, "averageValue": "0"},
                },
            }]),
        );
    }
}

/// The reverse. What v1 cannot say (other metrics, behavior, conditions) is left out; the real server
/// keeps it in annotations, which a client of v1 could read and this one can't show.
fn autoscaler_down(object: &mut Value) {
    let cpu = |metrics: Option<Value>, side: &str| {
        let metrics = metrics?;
        let cpu = metrics.as_array()?.iter().find(|metric| {
            metric.get("type") == Some(&Value::from("Resource"))
                && metric.pointer("/resource/name") == Some(&Value::from("cpu"))
        })?;
        cpu.pointer(&format!("/resource/{side}/averageUtilization")).cloned()
    };
    let fields = |object: &mut Value, part: &str| -> Option<Map<String, Value>> {
        object.get_mut(part).and_then(Value::as_object_mut).map(std::mem::take)
    };
    if let Some(mut spec) = fields(object, "spec") {
        spec.remove("behavior");
        if let Some(target) = cpu(spec.remove("metrics"), "target") {
            spec.insert("targetCPUUtilizationPercentage".to_owned(), target);
        }
        object["spec"] = Value::Object(spec);
    }
    if let Some(mut status) = fields(object, "status") {
        status.remove("conditions");
        // The one version leaves out a zero, the other does not.
        status.entry("currentReplicas").or_insert_with(|| 0.into());
        if let Some(current) = cpu(status.remove("currentMetrics"), "current") {
            status.insert("currentCPUUtilizationPercentage".to_owned(), current);
        }
        object["status"] = Value::Object(status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_give_the_same_object() {
        for (object, other) in [
            (
                json!({"apiVersion": "v1", "kind": "Event", "involvedObject": {"name": "a"},
                    "message": "m", "count": 2, "reportingComponent": "c", "reportingInstance": ""}),
                "events.k8s.io/v1",
            ),
            (
                json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
                    "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 80}}),
                "autoscaling/v2",
            ),
        ] {
            let mut converted = object.clone();
            convert(&mut converted, other).unwrap();
            assert_eq!(converted["apiVersion"], other);
            assert_ne!(converted, object);
            let back = object["apiVersion"].as_str().unwrap();
            convert(&mut converted, back).unwrap();
            assert_eq!(converted, object);
        }
        let mut event =
            json!({"apiVersion": "events.k8s.io/v1beta1", "kind": "Event", "note": "n"});
        convert(&mut event, "v1").unwrap();
        assert_eq!((&event["apiVersion"], &event["message"]), (&json!("v1"), &json!("n")));
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod"});
        assert!(convert(&mut pod, "v2").is_err());
    }
}
