//! Services (`validateService`); their addresses stand in a file of their own.

mod addresses;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    address,
    check::{Check, list, text},
};
pub(super) use addresses::{errors as address_errors, update};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const POLICIES: [&str; 2] = ["Cluster", "Local"];
const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const DISTRIBUTIONS: [&str; 3] = ["PreferClose", "PreferSameZone", "PreferSameNode"];

/// For how long a client's requests go to the same pod at most: a day.
const AFFINITY_SECONDS_MAX: i64 = 86_400;

const ONLY_BALANCED: &str = "may only be used when `type` is 'LoadBalancer'";

pub(super) fn service(check: &mut Check<'_>, old: Option<&Value>, new: &Value) {
    let spec = &new["spec"];
    topology(check, &new["metadata"]["annotations"]);
    if list(spec, "ports").is_empty()
        && !addresses::is_headless(spec)
        && text(spec, "type") != "ExternalName"
    {
        check.required("spec.ports", "");
    }
    of_type(check, spec);
    ports(check, spec);
    check.labels("spec.selector", &spec["selector"]);
    affinity(check, spec);
    addresses::related(check, old, spec);
    external_addresses(check, old, spec);
    node_ports(check, spec);
    source_ranges(check, old, new);
    balancer(check, spec);
    traffic(check, spec);
}

/// A load balancer's status, and only its (`ValidateLoadBalancerStatus`).
pub(super) fn status(check: &mut Check<'_>, old: &Value, new: &Value) {
    const AT: &str = "status.loadBalancer.ingress";
    let places = |service: &Value| -> Vec<Value> {
        let found = service.pointer("/status/loadBalancer/ingress").and_then(Value::as_array);
        found.cloned().unwrap_or_default()
    };
    let (before, after) = (places(old), places(new));
    if text(&new["spec"], "type") != "LoadBalancer" && !after.is_empty() {
        return check.forbidden(AT, "may only be used when `spec.type` is 'LoadBalancer'");
    }
    let known: Vec<&str> = before.iter().map(|place| text(place, "ip")).collect();
    for (index, place) in after.iter().enumerate() {
        let (at, ip, mode) = (format!("{AT}[{index}]"), text(place, "ip"), &place["ipMode"]);
        if !ip.is_empty() {
            address::ip(check, &format!("{at}.ip"), ip, &known);
        }
        let field = format!("{at}.ipMode");
        match (mode.as_str(), ip.is_empty()) {
            (None, false) => check.required(&field, "must be specified when `ip` is set"),
            (None, true) => {}
            (Some(_), true) => check.forbidden(&field, "may not be specified when `ip` is not set"),
            (Some(own), false) if !["Proxy", "VIP"].contains(&own) => {
                check.one_of_in_order(&field, mode, &["Proxy", "VIP"]);
            }
            _ => {}
        }
        host_name(check, &format!("{at}.hostname"), text(place, "hostname"));
    }
}

fn host_name(check: &mut Check<'_>, field: &str, name: &str) {
    if name.is_empty() {
        return;
    }
    check.subdomain(field, name);
    if address::parsed(name).is_some() {
        check.invalid(field, &json!(name), "must be a DNS name, not an IP address");
    }
}

fn topology(check: &mut Check<'_>, annotations: &Value) {
    const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    const MODE: &str = "service.kubernetes.io/topology-mode";
    let (hints, mode) = (&annotations[HINTS], &annotations[MODE]);
    if !hints.is_null() && !mode.is_null() && hints != mode {
        let why = format!("must match annotations[{HINTS}] when both are specified");
        check.invalid(&format!("metadata.annotations[{MODE}]"), mode, &why);
    }
}

fn of_type(check: &mut Check<'_>, spec: &Value) {
    let kind = text(spec, "type");
    match kind {
        "NodePort" | "LoadBalancer" if addresses::is_headless(spec) => {
            let detail = format!("may not be set to 'None' for {kind} services");
            check.invalid("spec.clusterIPs[0]", &json!("None"), &detail);
        }
        "ExternalName" => {
            let why = "may not be set for ExternalName services";
            for field in ["clusterIPs", "ipFamilies"] {
                if !list(spec, field).is_empty() {
                    check.forbidden(&format!("spec.{field}"), why);
                }
            }
            if !spec["ipFamilyPolicy"].is_null() {
                check.forbidden("spec.ipFamilyPolicy", why);
            }
            let name = text(spec, "externalName");
            match name.strip_suffix('.').unwrap_or(name) {
                "" => check.required("spec.externalName", ""),
                name => check.subdomain("spec.externalName", name),
            }
        }
        _ => {}
    }
    one_of(check, "spec.type", kind, &TYPES);
}

/// A text that must be there, and one of these.
fn one_of(check: &mut Check<'_>, field: &str, given: &str, known: &[&str]) {
    match given {
        "" => check.required(field, ""),
        given if known.contains(&given) => {}
        given => check.one_of_in_order(field, &json!(given), known),
    }
}

fn ports(check: &mut Check<'_>, spec: &Value) {
    let ports = list(spec, "ports");
    let (mut names, mut numbers) = (BTreeSet::new(), BTreeSet::new());
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
        one_of(check, &format!("{at}.protocol"), text(port, "protocol"), &PROTOCOLS);
        check.port_or_name(&format!("{at}.targetPort"), &port["targetPort"]);
        if let Some(protocol) = port.get("appProtocol").and_then(Value::as_str) {
            check.qualified_name(&format!("{at}.appProtocol"), protocol);
        }
        if !numbers.insert((port["port"].to_string(), text(port, "protocol"))) {
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                port["protocol"], port["port"]
            );
            check.duplicate_as(&at, shown, "");
        }
    }
}

fn affinity(check: &mut Check<'_>, spec: &Value) {
    const AT: &str = "spec.sessionAffinityConfig";
    let kind = text(spec, "sessionAffinity");
    one_of(check, "spec.sessionAffinity", kind, &["ClientIP", "None"]);
    let config = &spec["sessionAffinityConfig"];
    if kind == "None" && !config.is_null() {
        check.forbidden(AT, "must not be set when session affinity is None");
    }
    if kind != "ClientIP" {
        return;
    }
    let seconds = &config["clientIP"]["timeoutSeconds"];
    let missing = match (config.is_null(), config["clientIP"].is_null(), seconds.is_null()) {
        (true, ..) => Some(""),
        (_, true, _) => Some(".clientIP"),
        (.., true) => Some(".clientIP.timeoutSeconds"),
        _ => None,
    };
    if let Some(missing) = missing {
        check.required(&format!("{AT}{missing}"), "when session affinity type is ClientIP");
    } else if !seconds.as_i64().is_some_and(|seconds| (1..=AFFINITY_SECONDS_MAX).contains(&seconds))
    {
        let why = format!("must be greater than 0 and less than {AFFINITY_SECONDS_MAX}");
        check.invalid(&format!("{AT}.clientIP.timeoutSeconds"), seconds, &why);
    }
}

fn external_addresses(check: &mut Check<'_>, old: Option<&Value>, spec: &Value) {
    let known = addresses::texts(old.map_or(&Value::Null, |old| &old["spec"]), "externalIPs");
    for (index, ip) in addresses::texts(spec, "externalIPs").into_iter().enumerate() {
        let field = format!("spec.externalIPs[{index}]");
        if address::ip(check, &field, ip, &known) {
            address::reachable(check, &field, ip);
        }
    }
}

fn node_ports(check: &mut Check<'_>, spec: &Value) {
    let mut seen = BTreeSet::new();
    for (index, port) in list(spec, "ports").iter().enumerate() {
        let field = format!("spec.ports[{index}].nodePort");
        let Some(number) = port["nodePort"].as_i64().filter(|number| *number != 0) else {
            continue;
        };
        if text(spec, "type") == "ClusterIP" {
            check.forbidden(&field, "may not be used when `type` is 'ClusterIP'");
        }
        if !seen.insert((text(port, "protocol"), number)) {
            check.duplicate(&field, &json!(number));
        }
    }
}

/// From where a load balancer is reached, as a field or as an annotation.
fn source_ranges(check: &mut Check<'_>, old: Option<&Value>, new: &Value) {
    const ANNOTATION: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
    const AT: &str = "spec.LoadBalancerSourceRanges";
    let balanced = text(&new["spec"], "type") == "LoadBalancer";
    let trimmed = |spec| -> Vec<&str> {
        addresses::texts(spec, "loadBalancerSourceRanges").into_iter().map(str::trim).collect()
    };
    let ranges = trimmed(&new["spec"]);
    let annotated = |service: &Value| {
        service["metadata"]["annotations"][ANNOTATION].as_str().map(str::to_owned)
    };
    if !ranges.is_empty() {
        if !balanced {
            check.forbidden(AT, ONLY_BALANCED);
        }
        let known = trimmed(old.map_or(&Value::Null, |old| &old["spec"]));
        for (index, range) in ranges.iter().enumerate() {
            address::cidr(check, &format!("{AT}[{index}]"), range, &known);
        }
    } else if let Some(text) = annotated(new) {
        let field = format!("metadata.annotations[{ANNOTATION}]");
        if !balanced {
            check.forbidden(&field, ONLY_BALANCED);
        }
        let same = old.and_then(annotated).is_some_and(|before| before == text);
        let ranges = text.split(',').filter(|_| !same && !text.trim().is_empty());
        ranges.for_each(|range| address::cidr(check, &field, range.trim(), &[]));
    }
}

fn balancer(check: &mut Check<'_>, spec: &Value) {
    let balanced = text(spec, "type") == "LoadBalancer";
    let allocates = &spec["allocateLoadBalancerNodePorts"];
    if !balanced && !allocates.is_null() {
        check.forbidden("spec.allocateLoadBalancerNodePorts", ONLY_BALANCED);
    } else if balanced && allocates.is_null() {
        check.required("allocateLoadBalancerNodePorts", "");
    }
    if let Some(class) = spec["loadBalancerClass"].as_str() {
        match balanced {
            true => check.qualified_name("spec.loadBalancerClass", class),
            false => check.forbidden("spec.loadBalancerClass", ONLY_BALANCED),
        }
    }
}

/// Which pods get what comes from outside, and from inside.
fn traffic(check: &mut Check<'_>, spec: &Value) {
    let kind = text(spec, "type");
    let outside = &spec["externalTrafficPolicy"];
    let own = outside.as_str().unwrap_or("");
    let external = matches!(kind, "LoadBalancer" | "NodePort")
        || (kind == "ClusterIP" && !list(spec, "externalIPs").is_empty());
    if external {
        one_of(check, "spec.externalTrafficPolicy", own, &POLICIES);
    } else if !own.is_empty() {
        let why = "may only be set for externally-accessible services";
        check.invalid("spec.externalTrafficPolicy", outside, why);
    }
    let (at, port) = ("spec.healthCheckNodePort", &spec["healthCheckNodePort"]);
    let number = port.as_i64().unwrap_or(0);
    match (kind == "LoadBalancer" && own == "Local", number) {
        (true, 0) => check.required(at, ""),
        (true, _) => check.port(at, port),
        (false, 0) => {}
        (false, _) => {
            let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            check.invalid(at, port, why);
        }
    }
    let inside = &spec["internalTrafficPolicy"];
    match inside.as_str() {
        None if matches!(kind, "NodePort" | "LoadBalancer" | "ClusterIP") => {
            check.required("spec.internalTrafficPolicy", "");
        }
        Some(own) if !POLICIES.contains(&own) => {
            check.one_of_in_order("spec.internalTrafficPolicy", inside, &POLICIES);
        }
        _ => {}
    }
    let distribution = &spec["trafficDistribution"];
    if distribution.as_str().is_some_and(|own| !DISTRIBUTIONS.contains(&own)) {
        check.one_of_in_order("spec.trafficDistribution", distribution, &DISTRIBUTIONS);
    }
}
