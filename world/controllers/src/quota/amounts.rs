//! What a pod asks for as a whole (`k8s.io/component-helpers/resource`).

use serde_json::{Map, Value, json};

use crate::quantity;

/// Amounts by resource.
pub type Amounts = Map<String, Value>;

fn text(amounts: &Amounts, resource: &str) -> String {
    amounts.get(resource).and_then(Value::as_str).unwrap_or("0").to_owned()
}

/// Adds `more` to `total`.
pub fn add(total: &mut Amounts, more: &Amounts) {
    for (resource, amount) in more {
        let sum = match total.get(resource) {
            Some(_) => quantity::sum(&text(total, resource), amount.as_str().unwrap_or("0")),
            None => amount.as_str().unwrap_or("0").to_owned(),
        };
        total.insert(resource.clone(), json!(sum));
    }
}

fn raise(total: &mut Amounts, least: &Amounts) {
    let nanos = |amount: &str| quantity::nanos_of(amount).unwrap_or(0);
    for (resource, amount) in least {
        let more = nanos(amount.as_str().unwrap_or("0")) > nanos(&text(total, resource));
        if more || !total.contains_key(resource) {
            total.insert(resource.clone(), amount.clone());
        }
    }
}

fn map(amounts: &Value) -> Amounts {
    amounts.as_object().cloned().unwrap_or_default()
}

/// What a container that goes on running holds while it is being resized: the most of what it asks for, what it was
/// given and what it has; where the new size can't be had, not what it asks for (`determineEffectiveRequests`).
fn effective(pod: &Value, container: &Value, part: &str) -> Amounts {
    let said = map(&container["resources"][part]);
    let list = |field: &str| pod["status"][field].as_array().into_iter().flatten();
    let mut statuses = list("containerStatuses").chain(list("initContainerStatuses"));
    let status = statuses.find(|status| status["name"] == container["name"]);
    let Some(status) = status.filter(|status| status["resources"].is_object()) else { return said };
    let pending = list("conditions").find(|condition| condition["type"] == "PodResizePending");
    let mut held = match pending {
        Some(pending) if pending["reason"] == "Infeasible" => Amounts::new(),
        _ => said,
    };
    raise(&mut held, &map(&status["resources"][part]));
    if part == "requests" {
        raise(&mut held, &map(&status["allocatedResources"]));
    }
    held
}

/// The pod's `requests` or `limits`: the sum of its containers and of the init containers that go on running, or
/// what the largest step of its start needs; with its overhead, and what it says for itself as a pod.
pub fn of_pod(pod: &Value, part: &str) -> Amounts {
    let spec = &pod["spec"];
    let said = |object: &Value| map(&object["resources"][part]);
    let mut total = Amounts::new();
    for container in spec["containers"].as_array().into_iter().flatten() {
        add(&mut total, &effective(pod, container, part));
    }
    let (mut running, mut start) = (Amounts::new(), Amounts::new());
    for container in spec["initContainers"].as_array().into_iter().flatten() {
        let mut step = said(container);
        if container["restartPolicy"] == "Always" {
            step = effective(pod, container, part);
            add(&mut total, &step);
            add(&mut running, &step);
            step = running.clone();
        } else {
            add(&mut step, &running);
        }
        raise(&mut start, &step);
    }
    raise(&mut total, &start);
    for (resource, amount) in said(spec) {
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
