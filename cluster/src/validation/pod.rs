//! Pod specs, of pods and of everything that makes pods.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::check::{Check, list, text};
use crate::{encoding::quantity_nanos, facts::Resource};

pub(super) fn spec(check: &mut Check<'_>, spec: &Value, at: &str) {
    let volumes: BTreeSet<&str> = list(spec, "volumes").iter().map(|v| text(v, "name")).collect();
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        let field = format!("{at}.volumes[{index}].name");
        match text(volume, "name") {
            "" => check.required(&field, ""),
            name => check.label_name(&field, name),
        }
    }
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    let policy = &spec["dnsPolicy"];
    if policy.as_str().is_some_and(|policy| !policies.contains(&policy)) {
        check.one_of_in_order(&format!("{at}.dnsPolicy"), policy, &policies);
    }
    let restarts = ["Always", "OnFailure", "Never"];
    let restart = &spec["restartPolicy"];
    if restart.as_str().is_some_and(|policy| !restarts.contains(&policy)) {
        check.one_of_in_order(&format!("{at}.restartPolicy"), restart, &restarts);
    }
    let mut names = BTreeSet::new();
    for kind in ["containers", "initContainers"] {
        for (index, one) in list(spec, kind).iter().enumerate() {
            let at = format!("{at}.{kind}[{index}]");
            container(check, one, &at, &volumes);
            let name = text(one, "name");
            if !name.is_empty() && !names.insert(name) {
                check.duplicate_key(&at, "name", &json!(name));
            }
        }
    }
    if let Some(seconds) = spec.get("activeDeadlineSeconds").filter(|value| !value.is_null())
        && !seconds.as_i64().is_some_and(|seconds| (1..=2_147_483_647).contains(&seconds))
    {
        let detail = "must be between 1 and 2147483647, inclusive";
        check.invalid(&format!("{at}.activeDeadlineSeconds"), seconds, detail);
    }
    let field = format!("{at}.terminationGracePeriodSeconds");
    check.not_negative(&field, &spec["terminationGracePeriodSeconds"]);
}

/// Which pods go first, of pods and of all that makes them: a number, unless it was none before
/// (`ValidatePodSpecificAnnotations`).
pub(super) fn deletion_cost(
    check: &mut Check<'_>,
    row: &Resource,
    old: Option<&Value>,
    new: &Value,
) {
    const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
    let (pointer, at) = match (row.group.as_str(), row.resource.as_str()) {
        ("", "pods") => ("", "metadata"),
        ("", "podtemplates") => ("/template", "template"),
        ("batch", "cronjobs") => {
            ("/spec/jobTemplate/spec/template", "spec.jobTemplate.spec.template")
        }
        ("", "replicationcontrollers") | ("apps" | "batch", _) => {
            ("/spec/template", "spec.template")
        }
        _ => return,
    };
    let cost = |object: &Value| {
        let annotations = object.pointer(&format!("{pointer}/metadata/annotations"))?;
        annotations.get(COST).cloned()
    };
    let is_number = |cost: &Value| {
        let text = cost.as_str().unwrap_or("");
        let begins =
            text == "0" || text.starts_with(|c: char| c == '-' || ('1'..='9').contains(&c));
        begins && text.parse::<i32>().is_ok()
    };
    let was_wrong = old.and_then(cost).is_some_and(|cost| !is_number(&cost));
    if let Some(cost) = cost(new).filter(|cost| !was_wrong && !is_number(cost)) {
        // An update of a pod is checked as a pod and as an update, and both say so.
        let times = if pointer.is_empty() && old.is_some() { 2 } else { 1 };
        for _ in 0..times {
            check.invalid(&format!("{at}.annotations[{COST}]"), &cost, "must be a 32bit integer");
        }
    }
}

fn container(check: &mut Check<'_>, one: &Value, at: &str, volumes: &BTreeSet<&str>) {
    match text(one, "name") {
        "" => check.required(&format!("{at}.name"), ""),
        name => check.label_name(&format!("{at}.name"), name),
    }
    let image = text(one, "image");
    if image.is_empty() {
        check.required(&format!("{at}.image"), "");
    } else if image.trim() != image {
        let detail = "must not have leading or trailing whitespace";
        check.invalid(&format!("{at}.image"), &json!(image), detail);
    }
    for (index, port) in list(one, "ports").iter().enumerate() {
        let at = format!("{at}.ports[{index}]");
        match port.get("containerPort").and_then(Value::as_i64).unwrap_or(0) {
            0 => check.required(&format!("{at}.containerPort"), ""),
            _ => check.port(&format!("{at}.containerPort"), &port["containerPort"]),
        }
        check.port(&format!("{at}.hostPort"), &port["hostPort"]);
    }
    for (index, variable) in list(one, "env").iter().enumerate() {
        if text(variable, "name").is_empty() {
            check.required(&format!("{at}.env[{index}].name"), "");
        }
    }
    let mut paths = BTreeSet::new();
    for (index, mount) in list(one, "volumeMounts").iter().enumerate() {
        let at = format!("{at}.volumeMounts[{index}]");
        let (name, path) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            check.required(&format!("{at}.name"), "");
        }
        if !volumes.contains(name) {
            check.not_found(&format!("{at}.name"), &json!(name));
        }
        if path.is_empty() {
            check.required(&format!("{at}.mountPath"), "");
        }
        if !paths.insert(path) {
            check.invalid(&format!("{at}.mountPath"), &json!(path), "must be unique");
        }
    }
    resources(check, &one["resources"], &format!("{at}.resources"));
}

fn resources(check: &mut Check<'_>, resources: &Value, at: &str) {
    let amounts = |what: &str| resources.get(what).and_then(Value::as_object).into_iter().flatten();
    for what in ["limits", "requests"] {
        for (name, amount) in amounts(what) {
            let field = format!("{at}.{what}[{name}]");
            if !is_resource(name) {
                let detail = "must be a standard resource type or fully qualified";
                check.invalid(&field, &json!(name), detail);
                check.invalid(&field, &json!(name), "must be a standard resource for containers");
            }
            check.amount(&field, amount);
        }
    }
    for (name, request) in amounts("requests") {
        let number = |value: &Value| value.as_str().and_then(quantity_nanos);
        let limit = &resources["limits"][name.as_str()];
        if let (Some(asked), Some(most)) = (number(request), number(limit))
            && asked > most
        {
            let shown = limit.as_str().unwrap_or("");
            let detail = format!("must be less than or equal to {name} limit of {shown}");
            check.invalid(&format!("{at}.requests"), request, &detail);
        }
    }
}

fn is_resource(name: &str) -> bool {
    name.contains('/')
        || name.starts_with("hugepages-")
        || ["cpu", "memory", "ephemeral-storage", "storage"].contains(&name)
}

/// A resize changes what containers ask for, and nothing that follows from it (`ValidatePodResize`).
pub(super) fn resize(check: &mut Check<'_>, old: &Value, new: &Value) {
    let class = controllers::quota::qos_class(old);
    if class != controllers::quota::qos_class(new) {
        let detail = "Pod QOS Class may not change as a result of resizing";
        check.invalid("spec", &json!(class), detail);
    }
}

/// Of a pod that exists few fields change (`ValidatePodUpdate`).
pub(super) fn update(check: &mut Check<'_>, old: &Value, new: &Value) {
    for kind in ["containers", "initContainers"] {
        if list(old, kind).len() != list(new, kind).len() {
            let detail = "pod updates may not add or remove containers";
            check.forbidden(&format!("spec.{kind}"), detail);
            return;
        }
    }
    if !tolerations_grow(list(old, "tolerations"), list(new, "tolerations")) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        check.forbidden("spec.tolerations", detail);
    }
    if deadline_grows(old, new) {
        let value = &new["activeDeadlineSeconds"];
        match value {
            Value::Null => check.invalid(
                "spec.activeDeadlineSeconds",
                &old["activeDeadlineSeconds"],
                "must not update from a positive integer to nil value",
            ),
            value => {
                let detail = "must be less than or equal to previous value";
                check.invalid("spec.activeDeadlineSeconds", value, detail);
            }
        }
    }
    if fixed_parts(old) != fixed_parts(new) {
        let detail = "pod updates may not change fields other than \
            `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
            `spec.tolerations` (only additions to existing tolerations),\
            `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
        check.forbidden("spec", detail);
    }
}

fn deadline_grows(old: &Value, new: &Value) -> bool {
    let seconds = |spec: &Value| spec.get("activeDeadlineSeconds").and_then(Value::as_i64);
    match (seconds(old), seconds(new)) {
        (Some(before), Some(after)) => after > before,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

fn tolerations_grow(old: &[Value], new: &[Value]) -> bool {
    let bare = |toleration: &Value| {
        let mut bare = toleration.clone();
        bare.as_object_mut().map(|fields| fields.remove("tolerationSeconds"));
        bare
    };
    let new: Vec<Value> = new.iter().map(bare).collect();
    old.iter().all(|toleration| new.contains(&bare(toleration)))
}

/// Everything that stays.
fn fixed_parts(spec: &Value) -> Value {
    let mut spec = spec.clone();
    for kind in ["containers", "initContainers"] {
        let containers = spec.get_mut(kind).and_then(Value::as_array_mut).into_iter().flatten();
        for one in containers.filter_map(Value::as_object_mut) {
            one.remove("image");
        }
    }
    if let Some(fields) = spec.as_object_mut() {
        for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
            fields.remove(field);
        }
    }
    spec
}
