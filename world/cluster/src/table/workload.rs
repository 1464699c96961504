//! What `-o wide` shows of workloads: containers, images, selector. And the metrics of autoscalers.

use serde_json::Value;

use super::{
    builtin::{computed, or_none, wide},
    columns::{Column, age, name},
};

/// Metrics shown of an autoscaler; the rest is counted.
const METRICS_MAX: usize = 2;

/// The columns of a workload, which end with its containers and, if asked for, its selector.
pub(super) fn columns(own: impl IntoIterator<Item = Column>, with_selector: bool) -> Vec<Column> {
    let mut all = vec![name()];
    all.extend(own);
    all.push(age());
    all.push(wide(computed("Containers", "string", |object, _| containers(object, "name"))));
    all.push(wide(computed("Images", "string", |object, _| containers(object, "image"))));
    if with_selector {
        all.push(wide(computed("Selector", "string", |object, _| selector(object))));
    }
    all
}

/// A field of all containers of the pod template.
fn containers(object: &Value, field: &str) -> Value {
    let places = ["/spec/template/spec", "/spec/jobTemplate/spec/template/spec"];
    let spec = places.iter().find_map(|at| object.pointer(at));
    let list = spec.and_then(|spec| spec.get("containers")).and_then(Value::as_array);
    let texts = list.into_iter().flatten().filter_map(|one| one.get(field)?.as_str());
    Value::from(texts.collect::<Vec<_>>().join(","))
}

/// A label selector as text (`metav1.FormatLabelSelector`).
fn selector(object: &Value) -> Value {
    let places = ["/spec/selector", "/spec/jobTemplate/spec/selector"];
    let Some(selector) = places.iter().find_map(|at| object.pointer(at)) else {
        return or_none("");
    };
    let labels = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    let mut all: Vec<(String, String)> = labels
        .map(|(key, value)| (key.clone(), format!("{key}={}", value.as_str().unwrap_or(""))))
        .collect();
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    for expression in expressions.into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or("");
        let values = expression["values"].as_array().into_iter().flatten();
        let mut values: Vec<&str> = values.filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let text = match expression["operator"].as_str() {
            Some("In") => format!("{key} in ({values})"),
            Some("NotIn") => format!("{key} notin ({values})"),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key.to_owned(),
        };
        all.push((key.to_owned(), text));
    }
    all.sort();
    or_none(&all.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(","))
}

/// What an autoscaler goes by (`formatHPAMetrics`).
pub(super) fn metrics(autoscaler: &Value) -> Value {
    let specs = autoscaler.pointer("/spec/metrics").and_then(Value::as_array);
    let specs = specs.map_or(&[][..], Vec::as_slice);
    if specs.is_empty() {
        return or_none("");
    }
    let current = |index: usize| autoscaler.pointer(&format!("/status/currentMetrics/{index}"));
    let shown: Vec<String> = specs
        .iter()
        .enumerate()
        .take(METRICS_MAX)
        .map(|(index, spec)| metric(spec, current(index)))
        .collect();
    let more = match specs.len().checked_sub(METRICS_MAX) {
        Some(more) if more > 0 => format!(" + {more} more..."),
        _ => String::new(),
    };
    Value::from(format!("{}{more}", shown.join(", ")))
}

fn metric(spec: &Value, status: Option<&Value>) -> String {
    let (key, named) = match spec["type"].as_str() {
        Some("Resource") => ("resource", true),
        Some("ContainerResource") => ("containerResource", true),
        Some("Pods") => ("pods", false),
        Some("Object") => ("object", false),
        _ => ("external", false),
    };
    let read = |from: Option<&Value>, field: &str| -> Option<String> {
        let value = from?.get(field)?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let target = spec.get(key).and_then(|one| one.get("target"));
    let current = status.and_then(|status| status.get(key)?.get("current"));
    let unknown = || "<unknown>".to_owned();
    let percent = |text: String| format!("{text}%");
    let pair = match read(target, "averageValue") {
        Some(wanted) => {
            let suffix = if matches!(key, "object" | "external") { " (avg)" } else { "" };
            let found = read(current, "averageValue").unwrap_or_else(unknown);
            format!("{found}/{wanted}{suffix}")
        }
        None if named => {
            let found = read(current, "averageUtilization").map_or_else(unknown, percent);
            let auto = || "<auto>".to_owned();
            format!("{found}/{}", read(target, "averageUtilization").map_or_else(auto, percent))
        }
        None => {
            let found = read(current, "value").unwrap_or_else(unknown);
            format!("{found}/{}", read(target, "value").unwrap_or_default())
        }
    };
    match spec.get(key).and_then(|one| one.get("name")).and_then(Value::as_str) {
        Some(name) if named => format!("{name}: {pair}"),
        _ => pair,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_and_metrics_are_told() {
        let object = json!({"spec": {"selector": {"matchLabels": {"b": "1"}, "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["y", "x"]}, {"key": "c", "operator": "Exists"}]}}});
        assert_eq!(selector(&object), "a in (x,y),b=1,c");
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 50}}});
        let pods = json!({"type": "Pods", "pods": {"metric": {"name": "m"},
            "target": {"type": "AverageValue", "averageValue": "10"}}});
        let check = |specs: Value, expect: &str| {
            let status = json!({"currentMetrics": [{"type": "Resource", "resource": {"name": "cpu",
                "current": {"averageUtilization": 7}}}]});
            assert_eq!(metrics(&json!({"spec": {"metrics": specs}, "status": status})), expect);
        };
        check(json!([]), "<none>");
        check(json!([cpu, pods]), "cpu: 7%/50%, <unknown>/10");
        check(json!([pods, pods, pods]), "<unknown>/10, <unknown>/10 + 1 more...");
    }
}
