//! Pod specs, of pods and of everything that makes pods.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    check::{Check, list, text},
    probe, resources, tolerations,
};
use crate::facts::Resource;

/// What makes pods, its labels and annotations, which upstream says to be no part of its metadata
/// (`ValidatePodTemplateSpec`).
pub(super) fn template(check: &mut Check<'_>, template: &Value, at: &str) {
    let metadata = &template["metadata"];
    check.labels(&format!("{at}.labels"), &metadata["labels"]);
    check.annotations(&format!("{at}.annotations"), &metadata["annotations"]);
    spec(check, &template["spec"], &format!("{at}.spec"));
    if !list(&template["spec"], "ephemeralContainers").is_empty() {
        let why = "ephemeral containers not allowed in pod template";
        check.forbidden(&format!("{at}.spec.ephemeralContainers"), why);
    }
}

/// What is asked of pods alone, not of templates (`validatePodMetadataAndSpec`).
pub(super) fn pod(check: &mut Check<'_>, pod: &Value) {
    spec(check, &pod["spec"], "spec");
    for kind in ["containers", "initContainers"] {
        for (index, one) in list(&pod["spec"], kind).iter().enumerate() {
            trimmed_image(check, one, &format!("spec.{kind}[{index}].image"));
        }
    }
}

fn trimmed_image(check: &mut Check<'_>, container: &Value, field: &str) {
    let image = text(container, "image");
    if image.trim() != image {
        let detail = "must not have leading or trailing whitespace";
        check.invalid(field, &json!(image), detail);
    }
}

/// Checks volumes and returns the names of good ones, which containers can mount (`ValidateVolumes`).
fn volumes<'a>(check: &mut Check<'_>, spec: &'a Value, at: &str) -> BTreeSet<&'a str> {
    let mut good = BTreeSet::new();
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        let at = format!("{at}.volumes[{index}]");
        let (field, before) = (format!("{at}.name"), check.count());
        let name = text(volume, "name");
        let claim = &volume["persistentVolumeClaim"];
        if claim.is_object() && text(claim, "claimName").is_empty() {
            check.required(&format!("{at}.persistentVolumeClaim.claimName"), "");
        }
        match name {
            "" => check.required_also(&field, ""),
            name => check.label_name(&field, name),
        }
        if good.contains(name) {
            check.duplicate_key(&at, "name", &json!(name));
        } else if check.count() == before && !name.is_empty() {
            good.insert(name);
        }
    }
    good
}

pub(super) fn spec(check: &mut Check<'_>, spec: &Value, at: &str) {
    let volumes = volumes(check, spec, at);
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
    check.labels(&format!("{at}.nodeSelector"), &spec["nodeSelector"]);
    tolerations::tolerations(check, list(spec, "tolerations"), &format!("{at}.tolerations"));
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
    match text(spec, "nodeName") {
        "" => {}
        name => check.subdomain(&format!("{at}.nodeName"), name),
    }
    let constraints = list(spec, "topologySpreadConstraints");
    spread(check, constraints, &format!("{at}.topologySpreadConstraints"));
}

/// Pods are spread over places of a kind in one way, or in two that differ in what becomes of the rest; the earlier of
/// two alike is told (`ValidateSpreadConstraintNotRepeat`).
fn spread(check: &mut Check<'_>, constraints: &[Value], at: &str) {
    fn key(constraint: &Value) -> (&str, &str) {
        (text(constraint, "topologyKey"), text(constraint, "whenUnsatisfiable"))
    }
    for (index, one) in constraints.iter().enumerate() {
        if constraints[index + 1..].iter().any(|other| key(other) == key(one)) {
            let (place, otherwise) = key(one);
            let field = format!("{at}[{index}].{{topologyKey, whenUnsatisfiable}}");
            check.duplicate(&field, &json!(format!("{{{place}, {otherwise}}}")));
        }
    }
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
        // An update of a pod is checked as a pod and as an update, a StatefulSet's template as any and as its own, and
        // both say so.
        let twice = (pointer.is_empty() && old.is_some()) || row.resource == "statefulsets";
        let times = if twice { 2 } else { 1 };
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
    if text(one, "image").is_empty() {
        check.required(&format!("{at}.image"), "");
    }
    let mut names = BTreeSet::new();
    for (index, port) in list(one, "ports").iter().enumerate() {
        let at = format!("{at}.ports[{index}]");
        let name = text(port, "name");
        let (field, before) = (format!("{at}.name"), check.count());
        if !name.is_empty() {
            check.port_or_name(&field, &port["name"]);
            if check.count() == before && !names.insert(name) {
                check.duplicate(&field, &json!(name));
            }
        }
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
    probe::probes(check, one, at);
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
    resources::requirements(check, &one["resources"], &format!("{at}.resources"));
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
            return check.forbidden(&format!("spec.{kind}"), detail);
        }
        for (index, one) in list(new, kind).iter().enumerate() {
            let field = format!("spec.{kind}[{index}].image");
            if text(one, "image").is_empty() {
                // Once as a change, once more as of any container.
                check.required_each_time(&field, "");
                check.required_each_time(&field, "");
            }
            trimmed_image(check, one, &field);
        }
    }
    if !deadline(check, &old["activeDeadlineSeconds"], &new["activeDeadlineSeconds"]) {
        return;
    }
    if !tolerations_grow(list(old, "tolerations"), list(new, "tolerations")) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        check.forbidden("spec.tolerations", detail);
    }
    gates(check, list(old, "schedulingGates"), list(new, "schedulingGates"));
    if fixed_parts(old) != fixed_parts(new) {
        let detail = "pod updates may not change fields other than \
            `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
            `spec.tolerations` (only additions to existing tolerations),\
            `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
        check.forbidden("spec", detail);
    }
}

/// A deadline comes nearer. Whether the rest of the change is looked at.
fn deadline(check: &mut Check<'_>, old: &Value, new: &Value) -> bool {
    const AT: &str = "spec.activeDeadlineSeconds";
    let Some(seconds) = new.as_i64() else {
        if !old.is_null() {
            let detail = "must not update from a positive integer to nil value";
            check.invalid(AT, &Value::Null, detail);
        }
        return true;
    };
    let before = check.count();
    if !(0..=i64::from(i32::MAX)).contains(&seconds) {
        check.invalid(AT, new, "must be between 0 and 2147483647, inclusive");
    } else if old.as_i64().is_some_and(|old| old < seconds) {
        check.invalid(AT, new, "must be less than or equal to previous value");
    }
    check.count() == before
}

/// Gates are opened, not added.
fn gates(check: &mut Check<'_>, old: &[Value], new: &[Value]) {
    for (index, gate) in new.iter().enumerate() {
        if !old.iter().any(|old| old["name"] == gate["name"]) {
            let name = text(gate, "name");
            let detail =
                format!("only deletion is allowed, but found new scheduling gate '{name}'");
            check.forbidden(&format!("spec.schedulingGates[{index}].name"), &detail);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_spread_over_places_of_a_kind_once_in_each_way() {
        let one = |key: &str, rest: &str| json!({"topologyKey": key, "whenUnsatisfiable": rest});
        let told = |constraints: &[Value]| -> Vec<String> {
            let mut errors = Vec::new();
            spread(&mut Check::new(&mut errors), constraints, "s");
            errors.into_iter().map(|error| error.to_string()).collect()
        };
        let (no, anyway) = ("DoNotSchedule", "ScheduleAnyway");
        assert_eq!(told(&[one("a", no), one("a", anyway), one("b", no)]), Vec::<String>::new());
        assert_eq!(
            told(&[one("a", no), one("b", no), one("a", no)]),
            ["s[0].{topologyKey, whenUnsatisfiable}: Duplicate value: \"{a, DoNotSchedule}\""]
        );
    }
}
