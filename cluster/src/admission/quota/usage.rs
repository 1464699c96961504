//! What an object uses of which resource (`pkg/quota/v1/evaluator`).

use serde_json::{Value, json};
use trace::GroupResource;

use super::{
    super::resources::{self, Amounts},
    plus,
};
use crate::encoding::quantity_nanos;

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

/// Whether a quota's resource is about objects of this type.
pub(super) fn counts(served: &GroupResource, resource: &str) -> bool {
    if *resource == count_name(served) {
        return true;
    }
    if !served.group.is_empty() {
        return false;
    }
    let own = BY_NAME.contains(&&*served.resource) && resource == &*served.resource;
    own || match &*served.resource {
        "pods" => {
            let (kind, rest) = resource.split_once('.').unwrap_or(("", resource));
            match kind {
                "" => COMPUTE.contains(&rest) || rest.starts_with("hugepages-"),
                "limits" => COMPUTE.contains(&rest),
                "requests" => {
                    COMPUTE.contains(&rest) || rest.starts_with("hugepages-") || rest.contains('/')
                }
                _ => false,
            }
        }
        "services" => matches!(resource, "services.nodeports" | "services.loadbalancers"),
        "persistentvolumeclaims" => resource == "requests.storage" || resource.contains(OF_CLASS),
        _ => false,
    }
}

/// What an object uses; nothing where it uses none.
pub(super) fn of(served: &GroupResource, object: &Value) -> Amounts {
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
    used.retain(|_, amount| amount.as_str().and_then(quantity_nanos) != Some(0));
    used
}

fn pod(pod: &Value, used: &mut Amounts) {
    if matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
        return;
    }
    used.insert("pods".to_owned(), json!("1"));
    for (resource, amount) in resources::of_pod(pod, "requests") {
        if COMPUTE.contains(&&*resource) || resource.starts_with("hugepages-") {
            used.insert(resource.clone(), amount.clone());
        }
        used.insert(format!("requests.{resource}"), amount);
    }
    for (resource, amount) in resources::of_pod(pod, "limits") {
        if COMPUTE.contains(&&*resource) {
            used.insert(format!("limits.{resource}"), amount);
        }
    }
}

fn service(service: &Value, used: &mut Amounts) {
    let ports = service["spec"]["ports"].as_array().map_or(0, Vec::len);
    let balanced = service["spec"]["type"] == "LoadBalancer";
    let ported = service["spec"]["type"] == "NodePort"
        || (balanced && service["spec"]["allocateLoadBalancerNodePorts"] != json!(false));
    used.insert("services.nodeports".to_owned(), json!(if ported { ports } else { 0 }.to_string()));
    used.insert("services.loadbalancers".to_owned(), json!(i32::from(balanced).to_string()));
}

fn claim(claim: &Value, used: &mut Amounts) {
    let size = claim.pointer("/spec/resources/requests/storage").cloned();
    let class = claim["spec"]["storageClassName"].as_str().unwrap_or("");
    if !class.is_empty() {
        used.insert(format!("{class}{OF_CLASS}persistentvolumeclaims"), json!("1"));
    }
    let Some(size) = size else { return };
    used.insert("requests.storage".to_owned(), size.clone());
    if !class.is_empty() {
        used.insert(format!("{class}{OF_CLASS}requests.storage"), size);
    }
}

/// By how much `new` is more than `old`.
pub(super) fn more(new: &Amounts, old: &Amounts) -> Amounts {
    let mut more = new.clone();
    for (resource, amount) in &mut more {
        if let Some(before) = old.get(resource).and_then(Value::as_str) {
            *amount = plus(amount, &negative(before));
        }
    }
    more.retain(|_, amount| amount.as_str().and_then(quantity_nanos).is_some_and(|n| n > 0));
    more
}

fn negative(amount: &str) -> String {
    match amount.strip_prefix('-') {
        Some(positive) => positive.to_owned(),
        None => format!("-{amount}"),
    }
}

/// What containers must say for a quota to be able to count, and don't: `cpu for: a,b; memory for: a`.
pub(super) fn unsaid(served: &GroupResource, matching: &[&String], pod: &Value) -> Option<String> {
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
