//! The pods of a Job, which stay as they are.

use serde_json::{Value, json};

use super::super::check::{Check, list};

/// While a Job is suspended and none of its pods is at work they may be labelled otherwise, ask for other resources and
/// be placed elsewhere (`validatePodTemplateUpdate`, KEP-2926, KEP-5440).
pub(super) fn update(check: &mut Check<'_>, old: &Value, new: &Value) {
    let suspended = old["spec"]["suspend"] == json!(true);
    // `shouldAllowMutablePodTemplate`
    let status = &old["status"];
    let told = list(status, "conditions")
        .iter()
        .any(|condition| condition["type"] == "Suspended" && condition["status"] == "True");
    let idle = status["active"].as_i64().unwrap_or(0) == 0;
    let rests = suspended && idle && (status["startTime"].is_null() || told);
    let (mut before, after) = (old["spec"]["template"].clone(), &new["spec"]["template"]);
    if !rests {
        if without_nulls(&before) != without_nulls(after) {
            check.invalid("spec.template", after, "field is immutable");
        }
        return;
    }
    for field in ["nodeSelector", "tolerations", "schedulingGates"] {
        before["spec"][field] = after["spec"][field].clone();
    }
    let affinity = after.pointer("/spec/affinity/nodeAffinity").cloned();
    before["spec"]["affinity"]["nodeAffinity"] = affinity.unwrap_or_default();
    for kind in ["containers", "initContainers"] {
        let new = list(&after["spec"], kind);
        let old = before["spec"][kind].as_array_mut().filter(|old| old.len() == new.len());
        for (old, new) in old.into_iter().flatten().zip(new) {
            if old["name"] == new["name"] {
                old["resources"] = new["resources"].clone();
            }
        }
    }
    if without_nulls(&before["spec"]) != without_nulls(&after["spec"]) {
        check.invalid("spec.template.spec", &after["spec"], "field is immutable");
    }
}

/// A value without what is null or holds nothing, which Go's structs don't tell from what is absent.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().map(|(name, value)| (name.clone(), without_nulls(value)));
            let empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
            kept.filter(|(_, value)| !value.is_null() && !empty(value)).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}
