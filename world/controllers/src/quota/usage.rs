//! What an object uses of which resource (`pkg/quota/v1/evaluator`).
//!
//! Not there: what pods use through ResourceClaims and device classes.

use serde_json::{Value, json};
use trace::GroupResource;

use super::amounts::{self, Amounts};
use crate::quantity;

/// Types that a quota can also name without `count/`.
const BY_NAME: [&str; 7] = [
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
];
const COMPUTE: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
const OF_CLASS: &str = ".storageclass.storage.k8s.io/";

/// `count/deployments.apps`.
fn count_name(served: &GroupResource) -> String {
    format!("count/{served}")
}

fn is(served: &GroupResource, resource: &str) -> bool {
    served.group.is_empty() && &*served.resource == resource
}

/// What can't be counted by name alone: types whose objects use more than one of themselves.
pub(super) fn is_measured(served: &GroupResource) -> bool {
    served.group.is_empty()
        && matches!(&*served.resource, "pods" | "services" | "persistentvolumeclaims")
}

/// The type that a resource counts the objects of, by a name without group.
pub(super) fn counted_by_name(resource: &str) -> Option<&str> {
    match resource.strip_prefix("count/") {
        Some(counted) => Some(counted),
        None => BY_NAME.contains(&resource).then_some(resource),
    }
}

/// Whether it is a resource of somebody's own (`helper.IsExtendedResourceName`).
fn is_extended(resource: &str) -> bool {
    resource.contains('/') && !resource.contains("kubernetes.io/")
}

/// Whether a quota's resource is about objects of this type (`Evaluator.MatchingResources`).
pub fn counts(served: &GroupResource, resource: &str) -> bool {
    if *resource == count_name(served) {
        return true;
    }
    if !served.group.is_empty() {
        return false;
    }
    let own = BY_NAME.contains(&&*served.resource) && resource == &*served.resource;
    own || match &*served.resource {
        "pods" => {
            let (kind, rest) = match resource.split_once('.') {
                Some((kind @ ("limits" | "requests"), rest)) => (kind, rest),
                _ => ("", resource),
            };
            match kind {
                "" => COMPUTE.contains(&rest) || rest.starts_with("hugepages-"),
                "limits" => COMPUTE.contains(&rest),
                "requests" => {
                    COMPUTE.contains(&rest) || rest.starts_with("hugepages-") || is_extended(rest)
                }
                _ => false,
            }
        }
        "services" => matches!(resource, "services.nodeports" | "services.loadbalancers"),
        "persistentvolumeclaims" => {
            let of_class = resource.split_once(OF_CLASS).map(|(_, of)| of);
            resource == "requests.storage"
                || matches!(of_class, Some("requests.storage" | "persistentvolumeclaims"))
        }
        _ => false,
    }
}

/// What an object uses; nothing where it uses none.
pub fn of(served: &GroupResource, object: &Value) -> Amounts {
    let mut used = Amounts::new();
    used.insert(count_name(served), json!("1"));
    if is(served, "pods") {
        pod(object, &mut used);
    } else if served.group.is_empty() && BY_NAME.contains(&&*served.resource) {
        used.insert(served.resource.to_string(), json!("1"));
    }
    if is(served, "services") {
        service(object, &mut used);
    } else if is(served, "persistentvolumeclaims") {
        claim(object, &mut used);
    }
    used.retain(|_, amount| amount.as_str().and_then(quantity::nanos_of) != Some(0));
    used
}

fn pod(pod: &Value, used: &mut Amounts) {
    if matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
        return;
    }
    used.insert("pods".to_owned(), json!("1"));
    compute(pod, used);
}

/// What a pod asks for, by the names that quotas have for it (`podComputeUsageHelper`).
pub(super) fn compute(pod: &Value, used: &mut Amounts) {
    for (resource, amount) in amounts::of_pod(pod, "requests") {
        let by_own_name = COMPUTE.contains(&&*resource) || resource.starts_with("hugepages-");
        if by_own_name || is_extended(&resource) {
            used.insert(format!("requests.{resource}"), amount.clone());
        }
        if by_own_name {
            used.insert(resource, amount);
        }
    }
    for (resource, amount) in amounts::of_pod(pod, "limits") {
        if COMPUTE.contains(&&*resource) {
            used.insert(format!("limits.{resource}"), amount);
        }
    }
}

pub(super) fn service(service: &Value, used: &mut Amounts) {
    let ports = service["spec"]["ports"].as_array().map_or(&[][..], Vec::as_slice);
    let chosen = ports.iter().filter(|port| port["nodePort"].as_i64().is_some_and(|n| n != 0));
    let asked = service["spec"]["allocateLoadBalancerNodePorts"] != json!(false);
    let (balancers, ports) = match service["spec"]["type"].as_str() {
        Some("NodePort") => (0, ports.len()),
        Some("LoadBalancer") if asked => (1, ports.len()),
        Some("LoadBalancer") => (1, chosen.count()),
        _ => return,
    };
    used.insert("services.nodeports".to_owned(), json!(ports.to_string()));
    used.insert("services.loadbalancers".to_owned(), json!(balancers.to_string()));
}

pub(super) fn claim(claim: &Value, used: &mut Amounts) {
    let beta = claim["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"].as_str();
    let class = beta.or(claim["spec"]["storageClassName"].as_str()).unwrap_or("");
    if !class.is_empty() {
        used.insert(format!("{class}{OF_CLASS}persistentvolumeclaims"), json!("1"));
    }
    let storage = |at: &str| claim.pointer(at).and_then(Value::as_str);
    let Some(asked) = storage("/spec/resources/requests/storage") else { return };
    let size = match storage("/status/allocatedResources/storage") {
        Some(given) if quantity::nanos_of(given) > quantity::nanos_of(asked) => given,
        _ => asked,
    };
    let size = json!(quantity::rounded_up(size));
    used.insert("requests.storage".to_owned(), size.clone());
    if !class.is_empty() {
        used.insert(format!("{class}{OF_CLASS}requests.storage"), size);
    }
}

/// By how much `new` is more than `old`.
pub fn more(new: &Amounts, old: &Amounts) -> Amounts {
    let mut more = new.clone();
    for (resource, amount) in &mut more {
        if let Some(before) = old.get(resource).and_then(Value::as_str) {
            let now = amount.as_str().unwrap_or("0");
            *amount = json!(quantity::sum(now, &negative(before)));
        }
    }
    more.retain(|_, amount| amount.as_str().and_then(quantity::nanos_of).is_some_and(|n| n > 0));
    more
}

fn negative(amount: &str) -> String {
    match amount.strip_prefix('-') {
        Some(positive) => positive.to_owned(),
        None => format!("-{amount}"),
    }
}

/// What containers must say for a quota to be able to count, and don't: `cpu for: a,b; memory for: a`.
pub fn unsaid(served: &GroupResource, matching: &[&String], pod: &Value) -> Option<String> {
    if !is(served, "pods") {
        return None;
    }
    let lists = ["containers", "initContainers"];
    let containers: Vec<&Value> =
        lists.iter().filter_map(|list| pod["spec"][list].as_array()).flatten().collect();
    let said = |container: &Value, resource: &str| {
        let (part, name) = resource.split_once('.').unwrap_or(("requests", resource));
        container.pointer(&format!("/resources/{part}/{name}")).is_some()
    };
    let needed = matching.iter().filter(|resource| {
        let name = resource.split_once('.').map_or(resource.as_str(), |(_, name)| name);
        matches!(name, "cpu" | "memory")
    });
    let missing: Vec<String> = needed
        .filter_map(|resource| {
            let mut names: Vec<&str> = containers
                .iter()
                .filter(|container| !said(container, resource))
                .filter_map(|container| container["name"].as_str())
                .collect();
            names.sort_unstable();
            (!names.is_empty()).then(|| format!("{resource} for: {}", names.join(",")))
        })
        .collect();
    (!missing.is_empty()).then(|| missing.join("; "))
}
