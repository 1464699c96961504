//! What containers say twice, and how one port is in another's way.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{items, number, pods::Pod, text, volumes::of_amount};

/// A container, and where it stands.
type Placed<'a> = (String, &'a Value);

/// All containers of a pod (`VisitContainersWithPath`).
fn containers<'a>(spec: &'a Value, at: &str) -> Vec<Placed<'a>> {
    let mut found = Vec::new();
    for kind in ["initContainers", "containers", "ephemeralContainers"] {
        for (index, container) in items(&spec[kind]).iter().enumerate() {
            found.push((format!("{at}.{kind}[{index}]"), container));
        }
    }
    found
}

/// The containers of a pod.
pub(super) fn of_containers(pod: &Pod<'_>) -> Vec<String> {
    let containers = containers(pod.spec, &format!("{}spec", pod.at));
    let mut warnings = Vec::new();
    for (at, container) in &containers {
        warnings.extend(of_profiles(pod, container));
        for name in ["memory", "ephemeral-storage"] {
            for what in ["limits", "requests"] {
                let amounts = &container["resources"][what];
                warnings.extend(of_amount(amounts, name, &format!("{at}.resources.{what}")));
            }
        }
        warnings.extend(of_variables(container, at));
    }
    warnings.extend(of_ports(&containers));
    warnings.extend(of_port_names(&containers));
    warnings
}

/// Annotations where fields are meant. Those of pods themselves are told of AppArmor when it becomes a field
/// (`applyAppArmorVersionSkew`).
fn of_profiles(pod: &Pod<'_>, container: &Value) -> Vec<String> {
    let (name, own) = (text(container, "name"), &container["securityContext"]);
    let mut warnings = Vec::new();
    if own["seccompProfile"].is_null() {
        let key = format!("container.seccomp.security.alpha.kubernetes.io/{name}");
        warnings.extend(pod.annotated(&key).map(|(field, _)| {
            format!("{field}: non-functional in v1.27+; use the \"seccompProfile\" field instead")
        }));
    }
    if !pod.at.is_empty() && own["appArmorProfile"].is_null() {
        let key = format!("container.apparmor.security.beta.kubernetes.io/{name}");
        let of_pod = &pod.spec["securityContext"]["appArmorProfile"];
        let given = pod.annotated(&key);
        let given = given.filter(|(_, text)| of_pod.is_null() || *of_pod != profile(text));
        warnings.extend(given.map(|(field, _)| {
            format!("{field}: deprecated since v1.30; use the \"appArmorProfile\" field instead")
        }));
    }
    warnings
}

/// The profile that an annotation means; null if it means none (`ApparmorFieldForAnnotation`).
fn profile(annotation: &str) -> Value {
    match (annotation, annotation.strip_prefix("localhost/")) {
        ("unconfined", _) => json!({"type": "Unconfined"}),
        ("runtime/default", _) => json!({"type": "RuntimeDefault"}),
        (_, Some(local)) if !local.is_empty() => {
            json!({"type": "Localhost", "localhostProfile": local})
        }
        _ => Value::Null,
    }
}

/// Variables that are defined again, unless by what they were before.
fn of_variables(container: &Value, at: &str) -> Vec<String> {
    let mut known = BTreeSet::new();
    let mut warnings = Vec::new();
    for (index, variable) in items(&container["env"]).iter().enumerate() {
        let (name, value) = (text(variable, "name"), text(variable, "value"));
        let before = format!("$({name})");
        let hides = !variable["valueFrom"].is_null() || value == before || !value.contains(&before);
        if !known.insert(name) && hides {
            warnings.push(format!(
                "{at}.env[{index}]: hides previous definition of {name:?}, which may be dropped when using apply"
            ));
        }
    }
    warnings
}

/// Ports of all containers that are one to a client.
fn of_ports(containers: &[Placed<'_>]) -> Vec<String> {
    let mut known: Vec<Placed<'_>> = Vec::new();
    let mut warnings = Vec::new();
    for (at, container) in containers {
        for (index, port) in items(&container["ports"]).iter().enumerate() {
            let at = format!("{at}.ports[{index}]");
            if !text(port, "hostIP").is_empty() && number(port, "hostPort") == 0 {
                warnings.push(format!("{at}: hostIP set without hostPort: {}", go_port(port)));
            }
            for (other_at, other) in &known {
                let clash = clash(port, other);
                warnings.extend(
                    clash.map(|how| format!("{at}: {how} port definition with {other_at}")),
                );
            }
            known.push((at, port));
        }
    }
    warnings
}

/// How a port is in another's way.
fn clash(port: &Value, other: &Value) -> Option<&'static str> {
    let both = |field: &str| (number(port, field), number(other, field));
    let (own, others) = both("containerPort");
    if own != others || text(port, "protocol") != text(other, "protocol") {
        return None;
    }
    let (address, other_address) = (text(port, "hostIP"), text(other, "hostIP"));
    match both("hostPort") {
        (own, others) if own == others && address == other_address => Some("duplicate"),
        (0, _) | (_, 0) => Some("overlapping"),
        (own, others) if own == others && address.is_empty() != other_address.is_empty() => {
            Some("dangerously ambiguous")
        }
        _ => None,
    }
}

/// `%+v` of upstream's internal `ContainerPort`.
fn go_port(port: &Value) -> String {
    format!(
        "{{Name:{} HostPort:{} ContainerPort:{} Protocol:{} HostIP:{}}}",
        text(port, "name"),
        number(port, "hostPort"),
        number(port, "containerPort"),
        text(port, "protocol"),
        text(port, "hostIP")
    )
}

/// Names of ports that another container's port has already.
fn of_port_names(containers: &[Placed<'_>]) -> Vec<String> {
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    let mut warnings = Vec::new();
    for (at, container) in containers {
        for (index, port) in items(&container["ports"]).iter().enumerate() {
            let (name, at) = (text(port, "name"), format!("{at}.ports[{index}]"));
            if name.is_empty() {
                continue;
            }
            match known.get(name) {
                Some(first) => warnings.push(format!(
                    "{at}: duplicate port name {name:?} with {first}, services and probes that select ports by name \
                     will use {first}"
                )),
                None => {
                    known.insert(name, at);
                }
            }
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(containers: Value) -> Vec<String> {
        let spec = json!({"containers": containers});
        of_containers(&Pod { annotations: &Value::Null, spec: &spec, at: "" })
    }

    #[test]
    fn variables_that_hide_others_are_told() {
        let env = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}, {"name": "B"},
            {"name": "A", "value": "$(A)"}, {"name": "B", "value": "x"},
            {"name": "B", "value": "$(B)", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]);
        let hides = |index: usize, name: &str| {
            format!(
                "spec.containers[0].env[{index}]: hides previous definition of {name:?}, which may be dropped when \
                 using apply"
            )
        };
        let expect = [hides(3, "A"), hides(4, "B"), hides(5, "B")];
        assert_eq!(told(json!([{"name": "c", "env": env}])), expect);
    }

    #[test]
    fn ports_that_are_in_each_others_way_are_told() {
        let port = |host: i64, address: &str| {
            let mut port = json!({"containerPort": 80, "protocol": "TCP"});
            port["hostPort"] = json!(host);
            port["hostIP"] = json!(address);
            port
        };
        let ports = json!([port(1, ""), port(1, "1.2.3.4"), port(2, ""), port(0, "")]);
        let other = json!([port(0, "1.2.3.4"), {"containerPort": 80, "protocol": "UDP"}]);
        let told = told(json!([{"name": "c", "ports": ports}, {"name": "d", "ports": other}]));
        let (c, d) = ("spec.containers[0].ports", "spec.containers[1].ports");
        assert_eq!(
            told,
            [
                format!("{c}[1]: dangerously ambiguous port definition with {c}[0]"),
                format!("{c}[3]: overlapping port definition with {c}[0]"),
                format!("{c}[3]: overlapping port definition with {c}[1]"),
                format!("{c}[3]: overlapping port definition with {c}[2]"),
                format!(
                    "{d}[0]: hostIP set without hostPort: {{Name: HostPort:0 ContainerPort:80 Protocol:TCP \
                     HostIP:1.2.3.4}}"
                ),
                format!("{d}[0]: overlapping port definition with {c}[0]"),
                format!("{d}[0]: overlapping port definition with {c}[1]"),
                format!("{d}[0]: overlapping port definition with {c}[2]"),
                format!("{d}[0]: overlapping port definition with {c}[3]"),
            ]
        );
    }

    #[test]
    fn names_of_ports_are_those_of_the_first() {
        let ports = json!([{"name": "http", "containerPort": 80, "protocol": "TCP"}]);
        let others = json!([{"name": "http", "containerPort": 81, "protocol": "TCP"}]);
        let told = told(json!([{"name": "c", "ports": ports}, {"name": "d", "ports": others}]));
        let first = "spec.containers[0].ports[0]";
        let expect = format!(
            "spec.containers[1].ports[0]: duplicate port name \"http\" with {first}, services and probes that select \
             ports by name will use {first}"
        );
        assert_eq!(told, [expect]);
    }

    #[test]
    fn annotations_are_told_where_no_field_says_the_same() {
        let armor = "container.apparmor.security.beta.kubernetes.io/c";
        let seccomp = "container.seccomp.security.alpha.kubernetes.io/c";
        let annotations = json!({armor: "localhost/x", seccomp: "runtime/default"});
        let check = |at: &str, of_pod: Value, of_container: Value, expect: &[&str]| {
            let spec = json!({"securityContext": of_pod,
                "containers": [{"name": "c", "securityContext": of_container}]});
            let told = of_containers(&Pod { annotations: &annotations, spec: &spec, at });
            let keys: Vec<&str> =
                told.iter().filter_map(|text| text.split_once(':')).map(|(key, _)| key).collect();
            let expect: Vec<String> =
                expect.iter().map(|key| format!("{at}metadata.annotations[{key}]")).collect();
            assert_eq!(keys, expect);
        };
        let template = "spec.template.";
        check("", json!({}), json!({}), &[seccomp]);
        check(template, json!({}), json!({}), &[seccomp, armor]);
        let same = json!({"appArmorProfile": {"type": "Localhost", "localhostProfile": "x"}});
        check(template, same.clone(), json!({}), &[seccomp]);
        let other = json!({"appArmorProfile": {"type": "Unconfined"}});
        check(template, other, json!({}), &[seccomp, armor]);
        check(template, json!({}), same, &[seccomp]);
        check(template, json!({}), json!({"seccompProfile": {"type": "Unconfined"}}), &[armor]);
    }
}
