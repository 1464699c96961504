//! Autoscalers of `autoscaling/v2beta1` (`pkg/apis/autoscaling/v2beta1/conversion.go` of Kubernetes 1.24): a metric's
//! name, target and current value are fields side by side.
//!
//! What it has no field for is kept where upstream keeps it: `behavior` in an annotation, which only this version shows.

use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

/// Where versions keep what they have no field for (`pkg/apis/autoscaling/annotations.go`); none of them is stored.
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const ANNOTATIONS: [&str; 4] = [
    BEHAVIOR,
    "autoscaling.alpha.kubernetes.io/metrics",
    "autoscaling.alpha.kubernetes.io/current-metrics",
    "autoscaling.alpha.kubernetes.io/conditions",
];

/// Fields of a metric: here, and by path since `v2beta2`. Others have the same name in both.
type Moves = &'static [(&'static str, &'static str)];

/// What is asked for of a metric, by its source.
const SOURCES: [(&str, Moves); 5] = [
    (
        "object",
        &[
            ("target", "describedObject"),
            ("metricName", "metric.name"),
            ("selector", "metric.selector"),
            ("targetValue", "target.value"),
            ("averageValue", "target.averageValue"),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", "metric.name"),
            ("selector", "metric.selector"),
            ("targetAverageValue", "target.averageValue"),
        ],
    ),
    ("resource", ASKED),
    ("containerResource", ASKED),
    (
        "external",
        &[
            ("metricName", "metric.name"),
            ("metricSelector", "metric.selector"),
            ("targetValue", "target.value"),
            ("targetAverageValue", "target.averageValue"),
        ],
    ),
];

/// What was found of it.
const STATES: [(&str, Moves); 5] = [
    (
        "object",
        &[
            ("target", "describedObject"),
            ("metricName", "metric.name"),
            ("selector", "metric.selector"),
            ("currentValue", "current.value"),
            ("averageValue", "current.averageValue"),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", "metric.name"),
            ("selector", "metric.selector"),
            ("currentAverageValue", "current.averageValue"),
        ],
    ),
    ("resource", FOUND),
    ("containerResource", FOUND),
    (
        "external",
        &[
            ("metricName", "metric.name"),
            ("metricSelector", "metric.selector"),
            ("currentValue", "current.value"),
            ("currentAverageValue", "current.averageValue"),
        ],
    ),
];

const ASKED: Moves = &[
    ("targetAverageUtilization", "target.averageUtilization"),
    ("targetAverageValue", "target.averageValue"),
];

const FOUND: Moves = &[
    ("currentAverageUtilization", "current.averageUtilization"),
    ("currentAverageValue", "current.averageValue"),
];

pub(super) fn up(object: &mut Value) {
    each(object, "/spec/metrics", &SOURCES, |name, moves, source| {
        let mut current = moved(source, moves.iter().map(|(from, to)| (*from, *to)));
        let target = current.entry("target").or_insert_with(|| json!({}));
        target["type"] = json!(target_type(name, target));
        *source = current;
    });
    each(object, "/status/currentMetrics", &STATES, |_, moves, state| {
        *state = moved(state, moves.iter().map(|(from, to)| (*from, *to)));
    });
    if let Some(behavior) = kept_behavior(object)
        && object["spec"].is_object()
    {
        object["spec"]["behavior"] = behavior;
    }
    drop_annotations(object);
}

/// What the annotation says, if it says anything.
fn kept_behavior(object: &Value) -> Option<Value> {
    let text = object["metadata"]["annotations"][BEHAVIOR].as_str()?;
    let kept: Value = serde_json::from_str(text).ok()?;
    let mut behavior = respelled(&kept, lower_first);
    drop_nulls(&mut behavior);
    behavior.as_object().is_some_and(|rules| !rules.is_empty()).then_some(behavior)
}

pub(super) fn down(object: &mut Value) {
    drop_annotations(object);
    each(object, "/spec/metrics", &SOURCES, |_, moves, source| {
        if let Some(target) = source.get_mut("target").and_then(Value::as_object_mut) {
            target.remove("type");
        }
        *source = moved(source, moves.iter().map(|(to, from)| (*from, *to)));
    });
    each(object, "/status/currentMetrics", &STATES, |_, moves, state| {
        *state = moved(state, moves.iter().map(|(to, from)| (*from, *to)));
    });
    let spec = object.get_mut("spec").and_then(Value::as_object_mut);
    if let Some(behavior) = spec.and_then(|spec| spec.remove("behavior")) {
        let text = whole(&behavior).to_string();
        if object["metadata"]["annotations"].is_null() {
            object["metadata"]["annotations"] = json!({});
        }
        object["metadata"]["annotations"][BEHAVIOR] = json!(text);
    }
}

/// Takes away what other versions keep in annotations (`DropRoundTripHorizontalPodAutoscalerAnnotations`).
pub(super) fn drop_annotations(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let Some(Value::Object(annotations)) = metadata.get_mut("annotations") else { return };
    annotations.retain(|name, _| !ANNOTATIONS.contains(&name.as_str()));
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

fn each(
    object: &mut Value,
    list: &str,
    kinds: &[(&str, Moves)],
    change: impl Fn(&str, Moves, &mut Fields),
) {
    let metrics = object.pointer_mut(list).and_then(Value::as_array_mut);
    for metric in metrics.into_iter().flatten() {
        for (name, moves) in kinds {
            if let Some(fields) = metric.get_mut(*name).and_then(Value::as_object_mut) {
                change(name, moves, fields);
            }
        }
    }
}

/// Fields of which some have been put elsewhere. A path has at most two steps.
fn moved<'a>(fields: &Fields, moves: impl Iterator<Item = (&'a str, &'a str)>) -> Fields {
    let mut rest = Value::Object(fields.clone());
    let mut taken = Vec::new();
    for (from, to) in moves {
        let (holder, name) = from.rsplit_once('.').unwrap_or(("", from));
        let holder = if holder.is_empty() { Some(&mut rest) } else { rest.get_mut(holder) };
        let value = holder.and_then(Value::as_object_mut).and_then(|holder| holder.remove(name));
        taken.extend(value.map(|value| (to, value)));
    }
    let Value::Object(mut rest) = rest else { return Fields::new() };
    // What was moved out of it leaves nothing behind.
    rest.retain(|_, value| value.as_object().is_none_or(|fields| !fields.is_empty()));
    for (to, value) in taken {
        match to.split_once('.') {
            None => {
                rest.insert(to.to_owned(), value);
            }
            Some((holder, name)) => {
                let holder = rest.entry(holder).or_insert_with(|| json!({}));
                holder[name] = value;
            }
        }
    }
    rest
}

fn target_type(source: &str, target: &Value) -> &'static str {
    let has = |field: &str| target.get(field).is_some_and(|value| !value.is_null());
    match source {
        "resource" | "containerResource" if has("averageUtilization") => "Utilization",
        "object" if !has("averageValue") => "Value",
        "external" if has("value") => "Value",
        _ => "AverageValue",
    }
}

/// A behavior as Go writes the fields of its internal type: capitalised, and all of them.
fn whole(behavior: &Value) -> Value {
    let rules = |rules: &Value| {
        let mut rules = rules.as_object()?.clone();
        for field in ["stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance"] {
            rules.entry(field).or_insert(Value::Null);
        }
        Some(Value::Object(rules))
    };
    let all = json!({
        "scaleUp": rules(&behavior["scaleUp"]), "scaleDown": rules(&behavior["scaleDown"]),
    });
    respelled(&all, upper_first)
}

/// The value with its fields' names spelled otherwise.
fn respelled(value: &Value, spell: fn(&str) -> String) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter();
            fields.map(|(name, value)| (spell(name), respelled(value, spell))).collect()
        }
        Value::Array(items) => items.iter().map(|item| respelled(item, spell)).collect(),
        other => other.clone(),
    }
}

/// Nulls of Go's nil pointers.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn upper_first(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn lower_first(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::{super::convert::check, *};

    fn autoscaler(metrics: Value, found: Value) -> Value {
        json!({"metadata": {"name": "a"}, "spec": {"maxReplicas": 3, "metrics": metrics},
            "status": {"currentMetrics": found}})
    }

    #[test]
    fn metrics_of_all_sources_are_shown_as_each_version_has_them() {
        let reference = json!({"kind": "Service", "name": "s"});
        let selector = json!({"matchLabels": {"a": "b"}});
        let old = autoscaler(
            json!([
                {"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 80}},
                {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}},
                {"type": "ContainerResource", "containerResource":
                    {"name": "cpu", "container": "c", "targetAverageUtilization": 50}},
                {"type": "Pods", "pods":
                    {"metricName": "m", "selector": selector, "targetAverageValue": "5"}},
                {"type": "Object", "object":
                    {"target": reference, "metricName": "m", "targetValue": "7"}},
                {"type": "External", "external":
                    {"metricName": "m", "metricSelector": selector, "targetAverageValue": "9"}},
            ]),
            json!([
                {"type": "Resource", "resource": {"name": "cpu", "currentAverageUtilization": 70,
                    "currentAverageValue": "70m"}},
                {"type": "Object", "object":
                    {"target": reference, "metricName": "m", "currentValue": "6"}},
            ]),
        );
        let target = |kind: &str, field: &str, value: Value| json!({"type": kind, field: value});
        let current = autoscaler(
            json!([
                {"type": "Resource", "resource":
                    {"name": "cpu", "target": target("Utilization", "averageUtilization", json!(80))}},
                {"type": "Resource", "resource":
                    {"name": "memory", "target": target("AverageValue", "averageValue", json!("1Gi"))}},
                {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c",
                    "target": target("Utilization", "averageUtilization", json!(50))}},
                {"type": "Pods", "pods": {"metric": {"name": "m", "selector": selector},
                    "target": target("AverageValue", "averageValue", json!("5"))}},
                {"type": "Object", "object": {"describedObject": reference, "metric": {"name": "m"},
                    "target": target("Value", "value", json!("7"))}},
                {"type": "External", "external": {"metric": {"name": "m", "selector": selector},
                    "target": target("AverageValue", "averageValue", json!("9"))}},
            ]),
            json!([
                {"type": "Resource", "resource": {"name": "cpu",
                    "current": {"averageUtilization": 70, "averageValue": "70m"}}},
                {"type": "Object", "object": {"describedObject": reference, "metric": {"name": "m"},
                    "current": {"value": "6"}}},
            ]),
        );
        check("HorizontalPodAutoscaler", "v2beta1", &old, &current);
    }

    #[test]
    fn behavior_survives_in_an_annotation() {
        let behavior = json!({"scaleDown": {"policies": [
            {"type": "Pods", "value": 1, "periodSeconds": 60}], "selectPolicy": "Max"}});
        let current = json!({"metadata": {"name": "a", "annotations": {"own": "kept"}},
            "spec": {"maxReplicas": 3, "behavior": behavior}});
        let mut object = current.clone();
        down(&mut object);
        assert_eq!(object["spec"], json!({"maxReplicas": 3}));
        let text = object["metadata"]["annotations"][BEHAVIOR].as_str().unwrap();
        let kept: Value = serde_json::from_str(text).unwrap();
        assert_eq!(kept["ScaleDown"]["Policies"][0]["PeriodSeconds"], 60);
        assert_eq!(kept["ScaleUp"], Value::Null);
        up(&mut object);
        assert_eq!(object, current);
    }

    #[test]
    fn annotations_of_other_versions_are_not_stored() {
        let mut object = json!({"metadata": {"annotations": {(ANNOTATIONS[1]): "[]"}}, "spec": {}});
        up(&mut object);
        assert_eq!(object, json!({"metadata": {}, "spec": {}}));
    }
}
