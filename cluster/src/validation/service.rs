//! Services.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::check::{Check, list, text};

pub(super) fn service(check: &mut Check<'_>, service: &Value) {
    let spec = &service["spec"];
    let (kind, ports) = (text(spec, "type"), list(spec, "ports"));
    if ports.is_empty() && kind != "ExternalName" && text(spec, "clusterIP") != "None" {
        check.required("spec.ports", "");
    }
    if kind == "ExternalName" {
        if text(spec, "externalName").is_empty() {
            check.required("spec.externalName", "");
        }
        if !text(spec, "clusterIP").is_empty() {
            check.forbidden("spec.clusterIPs", "may not be set for ExternalName services");
        }
    }
    if matches!(kind, "NodePort" | "LoadBalancer") && text(spec, "clusterIP") == "None" {
        let detail = format!("may not be set to 'None' for {kind} services");
        check.invalid("spec.clusterIPs[0]", &json!("None"), &detail);
    }
    let mut names = BTreeSet::new();
    let mut numbers = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let at = format!("spec.ports[{index}]");
        let name = text(port, "name");
        if name.is_empty() && ports.len() > 1 {
            check.required(&format!("{at}.name"), "");
        } else if !name.is_empty() {
            check.label_name(&format!("{at}.name"), name);
            if !names.insert(name) {
                check.duplicate(&format!("{at}.name"), &json!(name));
            }
        }
        check.port(&format!("{at}.port"), port.get("port").unwrap_or(&json!(0)));
        check.port(&format!("{at}.targetPort"), &port["targetPort"]);
        if !numbers.insert((port["port"].to_string(), text(port, "protocol"))) {
            let value = json!({"port": port["port"], "protocol": port["protocol"]});
            check.duplicate(&at, &value);
        }
    }
    let ingress = service.pointer("/status/loadBalancer/ingress").and_then(Value::as_array);
    if kind != "LoadBalancer" && ingress.is_some_and(|ingress| !ingress.is_empty()) {
        let detail = "may only be used when `spec.type` is 'LoadBalancer'";
        check.forbidden("status.loadBalancer.ingress", detail);
    }
}

/// An address stays.
pub(super) fn update(check: &mut Check<'_>, old: &Value, new: &Value) {
    let of = |service: &Value| list(&service["spec"], "clusterIPs").to_vec();
    let (before, after) = (of(old), of(new));
    let external = |service: &Value| text(&service["spec"], "type") == "ExternalName";
    if before.is_empty() || external(old) || external(new) {
        return;
    }
    if before.first() != after.first() {
        check.invalid("spec.clusterIPs[0]", &Value::from(after), "may not change once set");
    }
}
