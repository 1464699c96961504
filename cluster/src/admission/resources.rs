//! What a pod asks for as a whole (`k8s.io/component-helpers/resource`).

use serde_json::{Map, Value, json};

use crate::encoding::{quantity_nanos, quantity_sum};

/// Amounts by resource.
pub(super) type Amounts = Map<String, Value>;

fn text(amounts: &Amounts, resource: &str) -> String {
    amounts.get(resource).and_then(Value::as_str).unwrap_or("0").to_owned()
}

/// Adds `more` to `total`.
pub(super) fn add(total: &mut Amounts, more: &Amounts) {
    for (resource, amount) in more {
        let sum = match total.get(resource) {
            Some(_) => quantity_sum(&text(total, resource), amount.as_str().unwrap_or("0")),
            None => amount.as_str().unwrap_or("0").to_owned(),
        };
        total.insert(resource.clone(), json!(sum));
    }
}

fn raise(total: &mut Amounts, least: &Amounts) {
    let nanos = |amount: &str| quantity_nanos(amount).unwrap_or(0);
    for (resource, amount) in least {
        let more = nanos(amount.as_str().unwrap_or("0")) > nanos(&text(total, resource));
        if more || !total.contains_key(resource) {
            total.insert(resource.clone(), amount.clone());
        }
    }
}

/// The pod's `requests` or `limits`: the sum of its containers and of the init containers that go on running, or
/// what the largest step of its start needs; with its overhead, and what it says for itself as a pod.
pub(super) fn of_pod(pod: &Value, part: &str) -> Amounts {
    let spec = &pod["spec"];
    let amounts = |container: &Value| {
        let found = container.pointer(&format!("/resources/{part}"));
        found.and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let mut total = Amounts::new();
    for container in spec["containers"].as_array().into_iter().flatten() {
        add(&mut total, &amounts(container));
    }
    let (mut running, mut start) = (Amounts::new(), Amounts::new());
    for container in spec["initContainers"].as_array().into_iter().flatten() {
        let mut step = amounts(container);
        if container["restartPolicy"] == "Always" {
            add(&mut total, &step);
            add(&mut running, &step);
            step = running.clone();
        } else {
            add(&mut step, &running);
        }
        raise(&mut start, &step);
    }
    raise(&mut total, &start);
    for (resource, amount) in amounts(spec) {
        total.insert(resource, amount);
    }
    let overhead = spec["overhead"].as_object().cloned().unwrap_or_default();
    if part == "requests" {
        add(&mut total, &overhead);
    } else {
        let limited = overhead.into_iter().filter(|(name, _)| total.contains_key(name)).collect();
        add(&mut total, &limited);
    }
    total
}
