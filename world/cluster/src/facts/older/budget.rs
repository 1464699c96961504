//! Disruption budgets of `policy/v1beta1` (`pkg/apis/policy/v1beta1/conversion.go`): an empty selector selects no pods
//! there, and all since `policy/v1`. A requirement for a label that no pod has says what the other version can't.

use serde_json::{Value, json};

const LABEL: &str = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";

fn requirement(operator: &str) -> Value {
    json!({"matchExpressions": [{"key": LABEL, "operator": operator}]})
}

/// In `v1` selects no pod.
fn none() -> Value {
    requirement("Exists")
}

/// In `v1beta1` selects all pods.
fn all() -> Value {
    requirement("DoesNotExist")
}

pub(super) fn up(object: &mut Value) {
    let Some(selector) = selector(object) else { return };
    if is_empty(selector) {
        *selector = none();
    } else if *selector == all() {
        *selector = json!({});
    } else {
        strip(selector);
    }
}

pub(super) fn down(object: &mut Value) {
    let Some(selector) = selector(object) else { return };
    if *selector == none() {
        *selector = json!({});
    } else if is_empty(selector) {
        *selector = all();
    }
}

fn selector(object: &mut Value) -> Option<&mut Value> {
    object.pointer_mut("/spec/selector").filter(|selector| selector.is_object())
}

fn is_empty(selector: &Value) -> bool {
    let parts = [&selector["matchLabels"], &selector["matchExpressions"]];
    parts.iter().all(|part| match part {
        Value::Object(labels) => labels.is_empty(),
        Value::Array(expressions) => expressions.is_empty(),
        _ => true,
    })
}

/// The label has a meaning only where nothing is beside it.
fn strip(selector: &mut Value) {
    let expressions = selector.get_mut("matchExpressions").and_then(Value::as_array_mut);
    if let Some(expressions) = expressions {
        expressions.retain(|expression| expression["key"] != LABEL);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::convert::check, *};

    fn budget(selector: Value) -> Value {
        json!({"spec": {"minAvailable": 1, "selector": selector}})
    }

    #[test]
    fn a_selector_selects_the_same_pods_in_both_versions() {
        let check = |old: Value, current: Value| {
            check("PodDisruptionBudget", "v1beta1", &budget(old), &budget(current));
        };
        check(json!({}), none());
        check(all(), json!({}));
        check(json!({"matchLabels": {"a": "b"}}), json!({"matchLabels": {"a": "b"}}));
        check(Value::Null, Value::Null);
        let mut mixed = none();
        mixed["matchLabels"] = json!({"a": "b"});
        let mut mixed = budget(mixed);
        up(&mut mixed);
        assert_eq!(
            mixed,
            budget(json!({"matchLabels": {"a": "b"}, "matchExpressions": []})),
            "beside others the label is taken away"
        );
    }
}
