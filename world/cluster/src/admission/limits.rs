//! LimitRanger: defaults and bounds for what pods and claims ask for (`plugin/pkg/admission/limitranger`).

use std::ops::Bound;

use controllers::quota::amounts;
use serde_json::{Map, Value, json};
use trace::GroupResource;

use super::refuse;
use crate::{encoding::quantity_nanos, status::Refusal, verbs::Work};

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// The limits of the namespace, of all its LimitRanges.
fn limits(work: &Work<'_>) -> Vec<Value> {
    let ranges = GroupResource::new("", "limitranges");
    let found = work.live.world.store.root().scan(&ranges, &work.route.namespace, Bound::Unbounded);
    found
        .filter_map(|(_, range)| range.pointer("/spec/limits")?.as_array())
        .flatten()
        .cloned()
        .collect()
}

/// Fills in what a new pod's containers don't say.
pub(super) fn set_defaults(work: &Work<'_>, pod: &mut Value) {
    let mut said = Vec::new();
    for limit in limits(work).iter().filter(|limit| limit["type"] == "Container") {
        for (list, noun) in [("containers", "container"), ("initContainers", "init container")] {
            let containers = pod.pointer_mut(&format!("/spec/{list}"));
            for container in containers.and_then(Value::as_array_mut).into_iter().flatten() {
                let name = container["name"].as_str().unwrap_or("").to_owned();
                // Limits first, as upstream; but what is said of requests comes first.
                let limits = fill(container, "limits", &limit["default"]);
                let requests = fill(container, "requests", &limit["defaultRequest"]);
                for (what, set) in [("request", requests), ("limit", limits)] {
                    if !set.is_empty() {
                        said.push(format!("{} {what} for {noun} {name}", set.join(", ")));
                    }
                }
            }
        }
    }
    if !said.is_empty() {
        let text = format!("LimitRanger plugin set: {}", said.join("; "));
        pod["metadata"]["annotations"][ANNOTATION] = json!(text);
    }
}

/// Sets what is missing; says what was.
fn fill(container: &mut Value, part: &str, defaults: &Value) -> Vec<String> {
    let mut set = Vec::new();
    for (resource, amount) in defaults.as_object().into_iter().flatten() {
        let amounts = &mut container["resources"][part];
        if amounts.get(resource).is_none() {
            amounts[resource] = amount.clone();
            set.push(resource.clone());
        }
    }
    set
}

/// Checks a new pod. Errors: 403.
pub(super) fn check_pod(work: &Work<'_>, pod: &Value) -> Result<(), Refusal> {
    let mut errors = Vec::new();
    for limit in limits(work) {
        match limit["type"].as_str() {
            Some("Container") => {
                for list in ["containers", "initContainers"] {
                    for container in pod["spec"][list].as_array().into_iter().flatten() {
                        let amounts = |part: &str| {
                            let found = container.pointer(&format!("/resources/{part}"));
                            found.and_then(Value::as_object).cloned().unwrap_or_default()
                        };
                        check(&limit, &amounts("requests"), &amounts("limits"), &mut errors);
                    }
                }
            }
            Some("Pod") => {
                let (requests, limits) =
                    (amounts::of_pod(pod, "requests"), amounts::of_pod(pod, "limits"));
                check(&limit, &requests, &limits, &mut errors);
            }
            _ => {}
        }
    }
    refuse(work, pod, &errors)
}

/// Checks a claim's size. Errors: 403.
pub(super) fn check_claim(work: &Work<'_>, claim: &Value) -> Result<(), Refusal> {
    let requests = claim.pointer("/spec/resources/requests").and_then(Value::as_object);
    let requests = requests.cloned().unwrap_or_default();
    let mut errors = Vec::new();
    for limit in limits(work).iter().filter(|limit| limit["type"] == "PersistentVolumeClaim") {
        let bounds = Bounds { limit, requests: &requests, limits: &Map::new() };
        bounds.each("min", |resource, bound| bounds.minimum(resource, bound), &mut errors);
        bounds.each("max", |resource, bound| bounds.maximum_request(resource, bound), &mut errors);
    }
    refuse(work, claim, &errors)
}

fn check(
    limit: &Value,
    requests: &Map<String, Value>,
    limits: &Map<String, Value>,
    errors: &mut Vec<String>,
) {
    let bounds = Bounds { limit, requests, limits };
    bounds.each("min", |resource, bound| bounds.minimum(resource, bound), errors);
    bounds.each("max", |resource, bound| bounds.maximum(resource, bound), errors);
    bounds.each("maxLimitRequestRatio", |resource, bound| bounds.ratio(resource, bound), errors);
}

/// One limit, held against what is asked for.
struct Bounds<'a> {
    limit: &'a Value,
    requests: &'a Map<String, Value>,
    limits: &'a Map<String, Value>,
}

fn text(amounts: &Map<String, Value>, resource: &str) -> Option<String> {
    amounts.get(resource).and_then(Value::as_str).map(str::to_owned)
}

fn nanos(amount: &str) -> i128 {
    quantity_nanos(amount).unwrap_or(0)
}

impl Bounds<'_> {
    fn each(
        &self,
        field: &str,
        check: impl Fn(&str, &str) -> Option<String>,
        errors: &mut Vec<String>,
    ) {
        for (resource, bound) in self.limit[field].as_object().into_iter().flatten() {
            errors.extend(check(resource, bound.as_str().unwrap_or("")));
        }
    }

    fn head(&self, what: &str, resource: &str, bound: &str) -> String {
        let kind = self.limit["type"].as_str().unwrap_or("");
        format!("{what} {resource} usage per {kind} is {bound}")
    }

    fn minimum(&self, resource: &str, bound: &str) -> Option<String> {
        let head = self.head("minimum", resource, bound);
        let Some(request) = text(self.requests, resource) else {
            return Some(format!("{head}.  No request is specified"));
        };
        if nanos(&request) < nanos(bound) {
            return Some(format!("{head}, but request is {request}"));
        }
        let limit = text(self.limits, resource)?;
        (nanos(&limit) < nanos(bound)).then(|| format!("{head}, but limit is {limit}"))
    }

    fn maximum(&self, resource: &str, bound: &str) -> Option<String> {
        let head = self.head("maximum", resource, bound);
        let Some(limit) = text(self.limits, resource) else {
            return Some(format!("{head}.  No limit is specified"));
        };
        if nanos(&limit) > nanos(bound) {
            return Some(format!("{head}, but limit is {limit}"));
        }
        let request = text(self.requests, resource)?;
        (nanos(&request) > nanos(bound)).then(|| format!("{head}, but request is {request}"))
    }

    fn maximum_request(&self, resource: &str, bound: &str) -> Option<String> {
        let head = self.head("maximum", resource, bound);
        let Some(request) = text(self.requests, resource) else {
            return Some(format!("{head}.  No request is specified"));
        };
        (nanos(&request) > nanos(bound)).then(|| format!("{head}, but request is {request}"))
    }

    fn ratio(&self, resource: &str, bound: &str) -> Option<String> {
        let kind = self.limit["type"].as_str().unwrap_or("");
        let head = format!("{resource} max limit to request ratio per {kind} is {bound}, but");
        let amount = |amounts| text(amounts, resource).map(|text| nanos(&text)).unwrap_or(0);
        let (request, limit) = (amount(self.requests), amount(self.limits));
        if request == 0 {
            return Some(format!("{head} no request is specified or request is 0"));
        }
        if limit == 0 {
            return Some(format!("{head} no limit is specified or limit is 0"));
        }
        let ratio = limit as f64 / request as f64;
        let most = nanos(bound) as f64 / 1e9;
        (ratio > most).then(|| format!("{head} provided ratio is {ratio:.6}"))
    }
}
