//! StorageClasses and IngressClasses.

use serde_json::{Value, json};

use super::check::{Check, text};
use crate::verbs::{path_segment_problem, qualified_name_problems};

const PARAMETERS_MOST: usize = 512;
const PARAMETERS_MOST_BYTES: usize = 256 * 1024;
const CONTROLLER_MOST_BYTES: usize = 250;

/// `ValidateStorageClass`
pub(super) fn storage_class(check: &mut Check<'_>, class: &Value) {
    match text(class, "provisioner") {
        "" => check.required("provisioner", ""),
        name => {
            let name = name.to_lowercase();
            for why in qualified_name_problems(&name) {
                check.invalid("provisioner", &json!(name), &why);
            }
        }
    }
    parameters(check, &class["parameters"]);
    for (field, known) in [
        ("reclaimPolicy", ["Delete", "Retain"]),
        ("volumeBindingMode", ["Immediate", "WaitForFirstConsumer"]),
    ] {
        if class[field].as_str().is_some_and(|value| !known.contains(&value)) {
            check.one_of_in_order(field, &class[field], &known);
        }
    }
}

fn parameters(check: &mut Check<'_>, parameters: &Value) {
    const AT: &str = "parameters";
    let Some(parameters) = parameters.as_object() else { return };
    if parameters.len() > PARAMETERS_MOST {
        return check.not_longer(AT, parameters.len(), PARAMETERS_MOST);
    }
    if parameters.contains_key("") {
        check.invalid(AT, &json!(""), "field can not be empty.");
    }
    let size = |(key, value): (&String, &Value)| key.len() + value.as_str().map_or(0, str::len);
    check.not_longer(AT, parameters.iter().map(size).sum(), PARAMETERS_MOST_BYTES);
}

/// `ValidateStorageClassUpdate`
pub(super) fn storage_class_update(check: &mut Check<'_>, old: &Value, new: &Value) {
    for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
        // Without a provisioner it is an empty text.
        let of = |class: &Value| match field {
            "provisioner" => Value::from(text(class, field)),
            _ => class[field].clone(),
        };
        check.unchanged(field, &of(old), &of(new));
    }
}

/// `ValidateIngressClass`
pub(super) fn ingress_class(check: &mut Check<'_>, spec: &Value) {
    const AT: &str = "spec.controller";
    let controller = text(spec, "controller");
    check.not_longer(AT, controller.len(), CONTROLLER_MOST_BYTES);
    check.domain_prefixed_path(AT, controller);
    if spec["parameters"].is_object() {
        class_parameters(check, &spec["parameters"]);
    }
}

/// `validateIngressClassParametersReference`
fn class_parameters(check: &mut Check<'_>, parameters: &Value) {
    let at = |field: &str| format!("spec.parameters.{field}");
    if let Some(group) = parameters["apiGroup"].as_str() {
        check.subdomain(&at("apiGroup"), group);
    }
    for field in ["kind", "name"] {
        let name = text(parameters, field);
        if name.is_empty() {
            check.required(&at(field), "");
        } else if let Some(why) = path_segment_problem(name) {
            check.invalid(&at(field), &json!(name), &why);
        }
    }
    let namespace = &parameters["namespace"];
    match text(parameters, "scope") {
        "Cluster" if !namespace.is_null() => {
            check.forbidden(&at("namespace"), "`parameters.scope` is set to 'Cluster'");
        }
        "Cluster" => {}
        "Namespace" => match namespace.as_str() {
            None => check.required(&at("namespace"), "`parameters.scope` is set to 'Namespace'"),
            Some(name) => check.label_name(&at("namespace"), name),
        },
        _ => check.one_of_in_order(&at("scope"), &parameters["scope"], &["Cluster", "Namespace"]),
    }
}

/// `validateIngressClassSpecUpdate`
pub(super) fn ingress_class_update(check: &mut Check<'_>, old: &Value, new: &Value) {
    let controller = |class: &Value| json!(text(&class["spec"], "controller"));
    check.unchanged("spec.controller", &controller(old), &controller(new));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(judge: fn(&mut Check<'_>, &Value), object: Value) -> Vec<String> {
        let mut errors = Vec::new();
        judge(&mut Check::new(&mut errors), &object);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn ingress_classes_are_judged_in_upstreams_words() {
        assert_eq!(told(ingress_class, json!({"controller": "x.io/y"})), Vec::<String>::new());
        let parameters = json!({"scope": "Namespace", "kind": "a/b"});
        assert_eq!(
            told(ingress_class, json!({"controller": "x", "parameters": parameters})),
            [
                "spec.controller: Invalid value: \"x\": must be a domain-prefixed path (such as \"acme.io/foo\")",
                "spec.parameters.kind: Invalid value: \"a/b\": may not contain '/'",
                "spec.parameters.name: Required value",
                "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
            ]
        );
    }

    #[test]
    fn storage_classes_are_judged_in_upstreams_words() {
        let told = told(storage_class, json!({"provisioner": "A!", "parameters": {"": "1"}}));
        // In small letters, whatever was sent.
        assert!(told[0].starts_with("provisioner: Invalid value: \"a!\": name part"), "{told:?}");
        assert_eq!(told[1..], ["parameters: Invalid value: \"\": field can not be empty."]);
    }
}
