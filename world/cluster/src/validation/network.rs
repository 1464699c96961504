//! Endpoints, EndpointSlices, Ingresses (`pkg/apis/core/validation`, `pkg/apis/discovery/validation`,
//! `pkg/apis/networking/validation`).

use std::{collections::BTreeSet, net::IpAddr};

use serde_json::{Value, json};

use super::{
    address::{not_an_ip, parsed, reachable},
    check::{Check, list, text},
};
use crate::verbs::subdomain_problem;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const PATH_TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];

/// Parts and ends that no path of an Ingress has (`invalidPathSequences`, `invalidPathSuffixes`).
const NOT_IN_PATHS: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
const NOT_AT_THE_END: [&str; 2] = ["/..", "/."];

/// Objects that were written when less was asked stay writable, as long as this part of them stays.
fn unchanged(old: Option<&Value>, new: &Value, field: &str) -> bool {
    old.is_some_and(|old| old.get(field) == new.get(field))
}

pub(super) fn endpoints(check: &mut Check<'_>, old: Option<&Value>, new: &Value) {
    if unchanged(old, new, "subsets") {
        return;
    }
    for (index, subset) in list(new, "subsets").iter().enumerate() {
        let at = format!("subsets[{index}]");
        if list(subset, "addresses").is_empty() && list(subset, "notReadyAddresses").is_empty() {
            check.required(&at, "must specify `addresses` or `notReadyAddresses`");
        }
        for field in ["addresses", "notReadyAddresses"] {
            for (index, address) in list(subset, field).iter().enumerate() {
                endpoint_address(check, &format!("{at}.{field}[{index}]"), address);
            }
        }
        let ports = list(subset, "ports");
        for (index, port) in ports.iter().enumerate() {
            let at = format!("{at}.ports[{index}]");
            match text(port, "name") {
                "" if ports.len() > 1 => check.required(&format!("{at}.name"), ""),
                "" => {}
                name => check.label_name(&format!("{at}.name"), name),
            }
            check.port(&format!("{at}.port"), port.get("port").unwrap_or(&json!(0)));
            protocol(check, &at, port);
        }
    }
}

fn protocol(check: &mut Check<'_>, at: &str, port: &Value) {
    if !PROTOCOLS.contains(&text(port, "protocol")) {
        check.not_supported(&format!("{at}.protocol"), &port["protocol"], &PROTOCOLS);
    }
}

fn endpoint_address(check: &mut Check<'_>, at: &str, address: &Value) {
    let ip = text(address, "ip");
    let field = format!("{at}.ip");
    if parsed(ip).is_none() {
        not_an_ip(check, &field, ip);
    }
    if !text(address, "hostname").is_empty() {
        check.label_name(&format!("{at}.hostname"), text(address, "hostname"));
    }
    node_name(check, at, address);
    reachable(check, &field, ip);
}

fn node_name(check: &mut Check<'_>, at: &str, endpoint: &Value) {
    if let Some(name) = endpoint.get("nodeName").and_then(Value::as_str)
        && let Some(why) = subdomain_problem(name)
    {
        check.invalid(&format!("{at}.nodeName"), &json!(name), &why);
    }
}

pub(super) fn slice(check: &mut Check<'_>, old: Option<&Value>, new: &Value) {
    if text(new, "addressType").is_empty() {
        check.required("addressType", "");
    }
    let mut names = BTreeSet::new();
    for (index, port) in list(new, "ports").iter().enumerate() {
        let (at, name) = (format!("ports[{index}]"), text(port, "name"));
        if !name.is_empty() {
            check.label_name(&format!("{at}.name"), name);
        }
        if !names.insert(name) {
            check.duplicate(&format!("{at}.name"), &json!(name));
        }
        protocol(check, &at, port);
    }
    if unchanged(old, new, "endpoints") {
        return;
    }
    for (index, endpoint) in list(new, "endpoints").iter().enumerate() {
        let at = format!("endpoints[{index}]");
        let addresses = list(endpoint, "addresses");
        if addresses.is_empty() {
            check.required(&format!("{at}.addresses"), "must contain at least 1 address");
        }
        for (index, address) in addresses.iter().filter_map(Value::as_str).enumerate() {
            let all = format!("{at}.addresses");
            slice_address(check, &all, index, address, text(new, "addressType"));
        }
        node_name(check, &at, endpoint);
        if let Some(name) = endpoint.get("hostname").and_then(Value::as_str) {
            check.label_name(&format!("{at}.hostname"), name);
        }
    }
}

fn slice_address(check: &mut Check<'_>, at: &str, index: usize, address: &str, kind: &str) {
    let one = format!("{at}[{index}]");
    let ip = match kind {
        "IPv4" => parsed(address),
        "IPv6" => address.parse().ok(),
        _ => return,
    };
    match (kind, ip) {
        (_, None) => return not_an_ip(check, &one, address),
        ("IPv4", Some(IpAddr::V6(_))) => {
            check.invalid(at, &json!(address), "must be an IPv4 address");
        }
        ("IPv6", Some(IpAddr::V4(_))) => {
            check.invalid(at, &json!(address), "must be an IPv6 address");
        }
        ("IPv6", Some(ip)) if ip.to_string() != address => {
            let why = format!("must be in canonical form ({:?})", ip.to_string());
            return check.invalid(&one, &json!(address), &why);
        }
        _ => {}
    }
    reachable(check, &one, address);
}

pub(super) fn ingress(check: &mut Check<'_>, ingress: &Value) {
    let spec = &ingress["spec"];
    let rules = list(spec, "rules");
    if rules.is_empty() && spec.get("defaultBackend").is_none() {
        let why = "either `defaultBackend` or `rules` must be specified";
        let shown = if spec.get("rules").is_some() { "[]" } else { "null" };
        check.invalid_as("spec", shown.to_owned(), why);
    }
    if let Some(backend) = spec.get("defaultBackend") {
        ingress_backend(check, "spec.defaultBackend", backend);
    }
    for (index, rule) in rules.iter().enumerate() {
        let at = format!("spec.rules[{index}]");
        host(check, &format!("{at}.host"), text(rule, "host"));
        let Some(http) = rule.get("http") else { continue };
        let paths = list(http, "paths");
        if paths.is_empty() {
            check.required(&format!("{at}.http.paths"), "");
        }
        for (index, path) in paths.iter().enumerate() {
            ingress_path(check, &format!("{at}.http.paths[{index}]"), path);
        }
    }
    if let Some(name) = spec.get("ingressClassName").and_then(Value::as_str)
        && let Some(why) = subdomain_problem(name)
    {
        check.invalid("spec.ingressClassName", &json!(name), &why);
    }
}

/// Names with an asterisk are not looked at.
fn host(check: &mut Check<'_>, field: &str, host: &str) {
    if host.is_empty() {
        return;
    }
    if parsed(host).is_some() {
        check.invalid(field, &json!(host), "must be a DNS name, not an IP address");
    }
    if !host.contains('*')
        && let Some(why) = subdomain_problem(host)
    {
        check.invalid(field, &json!(host), &why);
    }
}

fn ingress_path(check: &mut Check<'_>, at: &str, path: &Value) {
    let Some(kind) = path.get("pathType").and_then(Value::as_str) else {
        return check.required(&format!("{at}.pathType"), "pathType must be specified");
    };
    let (field, own) = (format!("{at}.path"), text(path, "path"));
    let mut wrong = |why: &str| check.invalid(&field, &json!(own), why);
    match kind {
        "Exact" | "Prefix" => {
            if !own.starts_with('/') {
                wrong("must be an absolute path");
            }
            for part in NOT_IN_PATHS.iter().filter(|part| own.contains(*part)) {
                wrong(&format!("must not contain '{part}'"));
            }
            for end in NOT_AT_THE_END.iter().filter(|end| own.ends_with(*end)) {
                wrong(&format!("cannot end with '{end}'"));
            }
        }
        "ImplementationSpecific" if !own.is_empty() && !own.starts_with('/') => {
            wrong("must be an absolute path");
        }
        "ImplementationSpecific" => {}
        _ => check.not_supported(&format!("{at}.pathType"), &json!(kind), &PATH_TYPES),
    }
    ingress_backend(check, &format!("{at}.backend"), &path["backend"]);
}

fn ingress_backend(check: &mut Check<'_>, at: &str, backend: &Value) {
    let (service, resource) = (backend.get("service"), backend.get("resource"));
    let service = match (service, resource) {
        (Some(_), Some(_)) => {
            return check.invalid(at, &json!(""), "cannot set both resource and service backends");
        }
        (None, None) => {
            return check.invalid(at, &json!(""), "resource or service backend is required");
        }
        (None, Some(resource)) => {
            for field in ["kind", "name"] {
                if text(resource, field).is_empty() {
                    check.required(&format!("{at}.resource.{field}"), "");
                }
            }
            return;
        }
        (Some(service), None) => service,
    };
    match text(service, "name") {
        "" => check.required(&format!("{at}.service.name"), ""),
        name => check.label_name(&format!("{at}.service.name"), name),
    }
    let port = &service["port"];
    let number = port["number"].as_i64().unwrap_or(0);
    match (text(port, "name"), number) {
        ("", 0) => check.required(at, "port name or number is required"),
        ("", _) => check.port(&format!("{at}.service.port.number"), &port["number"]),
        (_, 0) => {}
        _ => check.invalid(at, &json!(""), "cannot set both port name & port number"),
    }
}
