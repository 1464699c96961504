//! HorizontalPodAutoscalers (`pkg/apis/autoscaling/validation`).

use serde_json::{Value, json};

use super::{
    check::{Check, list, text},
    resources,
};
use crate::{encoding::quantity_nanos, facts, verbs::path_segment_problem};

const STABILIZATION_SECONDS_MAX: i64 = 3600;
const PERIOD_SECONDS_MAX: i64 = 1800;

/// The sources of metrics: the type, and its field.
const SOURCES: [(&str, &str); 5] = [
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];

/// Errors are told of the fields of `v2`, whatever version was sent.
pub(super) fn autoscaler(check: &mut Check<'_>, old: Option<&Value>, new: &Value) {
    let mut new = new.clone();
    if facts::convert(&mut new, "autoscaling/v2").is_err() {
        return;
    }
    let spec = &new["spec"];
    let most = spec["maxReplicas"].as_i64().unwrap_or(0);
    let least = spec["minReplicas"].as_i64().unwrap_or(1);
    // Scaling to zero is an alpha feature, kept by those who have it.
    let kept = old.is_some_and(|old| old["spec"]["minReplicas"] == json!(0));
    if least < 1 && !(kept && least == 0) {
        let detail = "must be greater than or equal to 1";
        check.invalid("spec.minReplicas", &json!(least), detail);
    }
    match most {
        0 => check.required_also("spec.maxReplicas", "must be set and greater than 0"),
        ..0 => {
            let detail = "must be greater than or equal to 1";
            check.invalid("spec.maxReplicas", &json!(most), detail);
        }
        _ => {}
    }
    if most < least {
        let detail = "must be greater than or equal to `minReplicas`";
        check.invalid("spec.maxReplicas", &json!(most), detail);
    }
    let target = &spec["scaleTargetRef"];
    let group = match old.map(|old| &old["spec"]["scaleTargetRef"]) {
        // What is scaled already is scaled on.
        Some(old)
            if ["apiVersion", "kind"]
                .iter()
                .all(|field| text(old, field) == text(target, field)) =>
        {
            Group::Any
        }
        _ if text(target, "kind") == "ReplicationController" => Group::Core,
        _ => Group::Named,
    };
    reference(check, target, "spec.scaleTargetRef", group);
    let described = described_group(old);
    for (index, metric) in list(spec, "metrics").iter().enumerate() {
        metric_spec(check, metric, &format!("spec.metrics[{index}]"), described);
    }
    let zero = spec["minReplicas"].as_i64() == Some(0);
    let outside = |metric: &Value| matches!(text(metric, "type"), "Object" | "External");
    if zero && !list(spec, "metrics").iter().any(outside) {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        check.forbidden("spec.metrics", why);
    }
    for rules in ["scaleUp", "scaleDown"] {
        scaling_rules(check, &spec["behavior"][rules], &format!("spec.behavior.{rules}"));
    }
}

/// What the version of something that is referred to may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    /// Anything.
    Any,
    /// A version, of a group or of the core.
    Core,
    /// A version of a group that is named.
    Named,
}

/// What may be measured, unless an object that is measured already is none of that.
fn described_group(old: Option<&Value>) -> Group {
    let metrics = old.map_or(&[][..], |old| list(&old["spec"], "metrics"));
    let described = metrics
        .iter()
        .filter(|metric| metric["type"] == "Object")
        .map(|metric| text(&metric["object"]["describedObject"], "apiVersion"));
    let mut wrong = described.filter_map(|version| version_problem(version, Group::Core));
    if wrong.next().is_some() { Group::Any } else { Group::Core }
}

/// `ValidateCrossVersionObjectReference`
fn reference(check: &mut Check<'_>, reference: &Value, at: &str, group: Group) {
    for field in ["kind", "name"] {
        let (value, field) = (text(reference, field), format!("{at}.{field}"));
        if value.is_empty() {
            check.required(&field, "");
        } else if let Some(why) = path_segment_problem(value) {
            check.invalid(&field, &json!(value), &why);
        }
    }
    let version = text(reference, "apiVersion");
    if let Some(why) = version_problem(version, group) {
        check.invalid(&format!("{at}.apiVersion"), &json!(version), &why);
    }
}

/// `ValidateAPIVersion`
fn version_problem(api_version: &str, group: Group) -> Option<String> {
    let slashes = api_version.matches('/').count();
    let unnamed = slashes == 0 || api_version.starts_with('/');
    match group {
        Group::Any => None,
        _ if slashes > 1 => Some(format!("unexpected GroupVersion string: {api_version}")),
        Group::Named if unnamed => Some("apiVersion must specify API group".to_owned()),
        _ => None,
    }
}

fn metric_spec(check: &mut Check<'_>, metric: &Value, at: &str, described: Group) {
    let kind = text(metric, "type");
    let field = format!("{at}.type");
    if kind.is_empty() {
        check.required(&field, "must specify a metric source type");
    }
    let own = SOURCES.iter().find(|(name, _)| *name == kind).map(|(_, field)| *field);
    if own.is_none() {
        check.not_supported(&field, &json!(kind), &SOURCES.map(|(name, _)| name));
        check.not_supported(&field, &json!(kind), &SOURCES.map(|(name, _)| name));
    }
    // In the order of upstream's checks: only the first source is looked at.
    let order = ["object", "external", "pods", "resource", "containerResource"];
    let given: Vec<&str> = order.into_iter().filter(|field| metric[*field].is_object()).collect();
    if let Some(first) = given.first() {
        source(check, first, &metric[*first], &format!("{at}.{first}"), described);
    }
    if let Some(own) = own.filter(|own| !given.contains(own)) {
        let detail = "must populate information for the given metric source";
        check.required(&format!("{at}.{own}"), detail);
    }
    if given.len() != 1 {
        for other in given.iter().filter(|field| Some(**field) != own) {
            let detail = "must populate the given metric source only";
            check.forbidden(&format!("{at}.{other}"), detail);
        }
    }
}

fn source(check: &mut Check<'_>, kind: &str, source: &Value, at: &str, described: Group) {
    let target = &source["target"];
    let has = |field: &str| !target[field].is_null();
    let average = format!("{at}.target.averageValue");
    match kind {
        "object" => {
            reference(
                check,
                &source["describedObject"],
                &format!("{at}.describedObject"),
                described,
            );
            identifier(check, source, at);
            metric_target(check, target, at);
            if !has("value") && !has("averageValue") {
                check.required(&average, "must set either a target value or averageValue");
            }
        }
        "external" => {
            identifier(check, source, at);
            metric_target(check, target, at);
            if !has("value") && !has("averageValue") {
                let detail = "must set either a target value for metric or a per-pod target";
                check.required(&average, detail);
            }
            if has("value") && has("averageValue") {
                let detail = "may not set both a target value for metric and a per-pod target";
                check.forbidden(&format!("{at}.target.value"), detail);
            }
        }
        "pods" => {
            identifier(check, source, at);
            metric_target(check, target, at);
            if !has("averageValue") {
                check.required(&average, "must specify a positive target averageValue");
            }
        }
        _ => resource_source(check, kind, source, at),
    }
}

fn resource_source(check: &mut Check<'_>, kind: &str, source: &Value, at: &str) {
    let target = &source["target"];
    let has = |field: &str| !target[field].is_null();
    match text(source, "name") {
        "" => check.required(&format!("{at}.name"), "must specify a resource name"),
        name if kind == "containerResource" => {
            resources::container_name(check, &format!("{at}.name"), name);
        }
        _ => {}
    }
    if kind == "containerResource" {
        match text(source, "container") {
            "" => check.required(&format!("{at}.container"), "must specify a container"),
            name => check.label_name(&format!("{at}.container"), name),
        }
    }
    metric_target(check, target, at);
    if !has("averageUtilization") && !has("averageValue") {
        let detail = "must set either a target raw value or a target utilization";
        check.required(&format!("{at}.target.averageUtilization"), detail);
    }
    if has("averageUtilization") && has("averageValue") {
        let detail = "may not set both a target raw value and a target utilization";
        check.forbidden(&format!("{at}.target.averageValue"), detail);
    }
}

fn identifier(check: &mut Check<'_>, source: &Value, at: &str) {
    let (name, field) = (text(&source["metric"], "name"), format!("{at}.metric.name"));
    if name.is_empty() {
        check.required(&field, "must specify a metric name");
    } else if let Some(why) = path_segment_problem(name) {
        check.invalid(&field, &json!(name), &why);
    }
}

fn metric_target(check: &mut Check<'_>, target: &Value, at: &str) {
    let at = format!("{at}.target");
    let kind = text(target, "type");
    if kind.is_empty() {
        check.required(&format!("{at}.type"), "must specify a metric target type");
    }
    if !["Utilization", "Value", "AverageValue"].contains(&kind) {
        let detail = "must be either Utilization, Value, or AverageValue";
        check.invalid(&format!("{at}.type"), &json!(kind), detail);
    }
    for field in ["value", "averageValue"] {
        let amount = target[field].as_str().and_then(quantity_nanos);
        if amount.is_some_and(|amount| amount <= 0) {
            check.invalid(&format!("{at}.{field}"), &target[field], "must be positive");
        }
    }
    if target["averageUtilization"].as_i64().is_some_and(|share| share < 1) {
        let field = format!("{at}.averageUtilization");
        check.invalid(&field, &target["averageUtilization"], "must be greater than 0");
    }
}

fn scaling_rules(check: &mut Check<'_>, rules: &Value, at: &str) {
    if !rules.is_object() {
        return;
    }
    let (field, window) =
        (format!("{at}.stabilizationWindowSeconds"), &rules["stabilizationWindowSeconds"]);
    if window.as_i64().is_some_and(|seconds| seconds < 0) {
        check.invalid(&field, window, "must be greater than or equal to zero");
    }
    if window.as_i64().is_some_and(|seconds| seconds > STABILIZATION_SECONDS_MAX) {
        let detail = format!("must be less than or equal to {STABILIZATION_SECONDS_MAX}");
        check.invalid(&field, window, &detail);
    }
    let select = &rules["selectPolicy"];
    let known = ["Disabled", "Max", "Min"];
    if select.as_str().is_some_and(|select| !known.contains(&select)) {
        check.one_of(&format!("{at}.selectPolicy"), select, &known);
    }
    let policies = list(rules, "policies");
    if policies.is_empty() {
        check.required(&format!("{at}.policies"), "must specify at least one Policy");
    }
    for (index, policy) in policies.iter().enumerate() {
        scaling_policy(check, policy, &format!("{at}.policies[{index}]"));
    }
    check.amount(&format!("{at}.tolerance"), &rules["tolerance"]);
}

fn scaling_policy(check: &mut Check<'_>, policy: &Value, at: &str) {
    let known = ["Percent", "Pods"];
    if !known.contains(&text(policy, "type")) {
        check.one_of(&format!("{at}.type"), &json!(text(policy, "type")), &known);
    }
    let number = |field: &str| policy[field].as_i64().unwrap_or(0);
    for field in ["value", "periodSeconds"] {
        if number(field) <= 0 {
            let detail = "must be greater than zero";
            check.invalid(&format!("{at}.{field}"), &json!(number(field)), detail);
        }
    }
    if number("periodSeconds") > PERIOD_SECONDS_MAX {
        let detail = format!("must be less than or equal to {PERIOD_SECONDS_MAX}");
        check.invalid(&format!("{at}.periodSeconds"), &policy["periodSeconds"], &detail);
    }
}
