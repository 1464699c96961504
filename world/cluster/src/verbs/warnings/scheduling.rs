//! Labels of nodes that have better names, and selectors that select nothing (`pkg/api/node/util.go`).

use serde_json::Value;

use super::{items, text};
use crate::verbs::label_value_problems;

/// Labels of nodes that nobody should ask for any more.
const OLD_LABELS: &[(&str, &str)] = &[
    ("beta.kubernetes.io/arch", r#"deprecated since v1.14; use "kubernetes.io/arch" instead"#),
    ("beta.kubernetes.io/os", r#"deprecated since v1.14; use "kubernetes.io/os" instead"#),
    (
        "failure-domain.beta.kubernetes.io/region",
        r#"deprecated since v1.17; use "topology.kubernetes.io/region" instead"#,
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        r#"deprecated since v1.17; use "topology.kubernetes.io/zone" instead"#,
    ),
    (
        "beta.kubernetes.io/instance-type",
        r#"deprecated since v1.17; use "node.kubernetes.io/instance-type" instead"#,
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    ("node-role.kubernetes.io/master", r#"use "node-role.kubernetes.io/control-plane" instead"#),
];

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const SELECTS_NOTHING: &str = "a null labelSelector results in matching no pod";

fn old_label(name: &str) -> Option<&'static str> {
    OLD_LABELS.iter().find(|(label, _)| *label == name).map(|(_, why)| *why)
}

/// On which nodes a pod may run. Upstream warns of the labels of `nodeSelector` in no order.
pub(super) fn of_nodes(spec: &Value, at: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    for name in spec["nodeSelector"].as_object().into_iter().flat_map(|labels| labels.keys()) {
        warnings.extend(old_label(name).map(|why| format!("{at}.nodeSelector[{name}]: {why}")));
    }
    let affinity = &spec["affinity"]["nodeAffinity"];
    let field = format!("{at}.affinity.nodeAffinity");
    for (index, term) in items(&affinity[REQUIRED]["nodeSelectorTerms"]).iter().enumerate() {
        let at = format!("{field}.{REQUIRED}.nodeSelectorTerms[{index}]");
        warnings.extend(of_term(term, false, &at));
    }
    for (index, preferred) in items(&affinity[PREFERRED]).iter().enumerate() {
        let at = format!("{field}.{PREFERRED}[{index}].preference");
        warnings.extend(of_term(&preferred["preference"], true, &at));
    }
    for (index, constraint) in items(&spec["topologySpreadConstraints"]).iter().enumerate() {
        let at = format!("{at}.topologySpreadConstraints[{index}]");
        let key = text(constraint, "topologyKey");
        warnings.extend(old_label(key).map(|why| format!("{at}.topologyKey: {key} is {why}")));
        if constraint["labelSelector"].is_null() {
            warnings.push(format!("{at}.labelSelector: {SELECTS_NOTHING}"));
        }
    }
    warnings
}

/// A term of a selector of nodes (`GetWarningsForNodeSelectorTerm`). Of one that must hold the values are validated.
fn of_term(term: &Value, looks_at_values: bool, at: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    for (index, expression) in items(&term["matchExpressions"]).iter().enumerate() {
        let at = format!("{at}.matchExpressions[{index}]");
        let key = text(expression, "key");
        warnings.extend(old_label(key).map(|why| format!("{at}.key: {key} is {why}")));
        let values = if looks_at_values { items(&expression["values"]) } else { &[] };
        for (index, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or("");
            let problems = label_value_problems(value).into_iter();
            warnings.extend(
                problems.map(|why| format!("{at}.values[{index}]: {value} is invalid, {why}")),
            );
        }
    }
    warnings
}

/// Near which pods a pod wants to run, and near which not.
pub(super) fn of_neighbours(spec: &Value, at: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    for kind in ["podAffinity", "podAntiAffinity"] {
        let terms = &spec["affinity"][kind];
        let at = format!("{at}.affinity.{kind}");
        for (index, term) in items(&terms[REQUIRED]).iter().enumerate() {
            if term["labelSelector"].is_null() {
                let at = format!("{at}.{REQUIRED}[{index}]");
                warnings.push(format!("{at}.labelSelector: {SELECTS_NOTHING}"));
            }
        }
        for (index, term) in items(&terms[PREFERRED]).iter().enumerate() {
            if term["podAffinityTerm"]["labelSelector"].is_null() {
                let at = format!("{at}.{PREFERRED}[{index}].podAffinityTerm");
                warnings.push(format!("{at}.labelSelector: {SELECTS_NOTHING}"));
            }
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn old_labels_are_told_with_what_to_use_instead() {
        let expression = json!({"key": "beta.kubernetes.io/os", "operator": "In", "values": ["-"]});
        let term = json!({"matchExpressions": [expression]});
        let spec = json!({
            "nodeSelector": {"app.kubernetes.io/created-by": "me", "mine": "x"},
            "affinity": {"nodeAffinity": {
                REQUIRED: {"nodeSelectorTerms": [{}, term]},
                PREFERRED: [{"weight": 1, "preference": term}]}},
            "topologySpreadConstraints": [
                {"topologyKey": "node-role.kubernetes.io/master", "labelSelector": {}},
                {"topologyKey": "mine"}]});
        let affinity = "spec.affinity.nodeAffinity";
        let old =
            "beta.kubernetes.io/os is deprecated since v1.14; use \"kubernetes.io/os\" instead";
        let required = format!("{affinity}.{REQUIRED}.nodeSelectorTerms[1].matchExpressions[0]");
        let preferred = format!("{affinity}.{PREFERRED}[0].preference.matchExpressions[0]");
        let value = label_value_problems("-").remove(0);
        assert_eq!(
            of_nodes(&spec, "spec"),
            [
                "spec.nodeSelector[app.kubernetes.io/created-by]: deprecated since v1.9".to_owned(),
                format!("{required}.key: {old}"),
                format!("{preferred}.key: {old}"),
                format!("{preferred}.values[0]: - is invalid, {value}"),
                "spec.topologySpreadConstraints[0].topologyKey: node-role.kubernetes.io/master is use \
                 \"node-role.kubernetes.io/control-plane\" instead"
                    .to_owned(),
                format!("spec.topologySpreadConstraints[1].labelSelector: {SELECTS_NOTHING}"),
            ]
        );
    }

    #[test]
    fn a_selector_that_is_missing_selects_nothing() {
        let spec = json!({"affinity": {
            "podAffinity": {REQUIRED: [{"labelSelector": {}}, {}]},
            "podAntiAffinity": {PREFERRED: [{"podAffinityTerm": {"labelSelector": null}}]}}});
        let at = "spec.template.spec";
        assert_eq!(
            of_neighbours(&spec, at),
            [
                format!("{at}.affinity.podAffinity.{REQUIRED}[1].labelSelector: {SELECTS_NOTHING}"),
                format!(
                    "{at}.affinity.podAntiAffinity.{PREFERRED}[0].podAffinityTerm.labelSelector: \
                     {SELECTS_NOTHING}"
                ),
            ]
        );
    }
}
