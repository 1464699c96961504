//! Services: addresses and ports, given once and kept (`pkg/registry/core/service`).
//!
//! The cluster has one address family, IPv4. Addresses come from the world's generator in 10.96.0.0/12, in
//! order; upstream draws them at random. Who could notice: nobody who does not rely on chance.

use std::{collections::BTreeSet, net::Ipv4Addr, ops::Bound};

use serde_json::{Value, json};
use trace::GroupResource;

use crate::{
    names::Names,
    schema::{FieldError, FieldErrorKind},
    status::Refusal,
    verbs::Work,
    world::meta,
};

/// 10.96.0.0/12, without its first and its last address.
const SERVICE_ADDRESSES: std::ops::RangeInclusive<u32> = 0x0a60_0001..=0x0a6f_fffe;

const NODE_PORTS: std::ops::RangeInclusive<u64> = 30000..=32767;

/// What other services have.
#[derive(Default)]
struct Taken {
    addresses: BTreeSet<String>,
    ports: BTreeSet<u64>,
}

impl Taken {
    fn by(service: &Value, taken: &mut Taken) {
        let addresses = service.pointer("/spec/clusterIPs").and_then(Value::as_array);
        let addresses = addresses.into_iter().flatten().filter_map(Value::as_str);
        taken.addresses.extend(addresses.map(str::to_owned));
        taken.ports.extend(ports(service).iter().filter_map(|port| port["nodePort"].as_u64()));
        taken.ports.extend(service.pointer("/spec/healthCheckNodePort").and_then(Value::as_u64));
    }
}

fn text<'a>(service: &'a Value, field: &str) -> &'a str {
    service["spec"].get(field).and_then(Value::as_str).unwrap_or("")
}

fn ports(service: &Value) -> &[Value] {
    service.pointer("/spec/ports").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn list_of_addresses(service: &Value) -> &[Value] {
    service.pointer("/spec/clusterIPs").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn needs_address(service: &Value) -> bool {
    text(service, "type") != "ExternalName"
}

fn needs_ports(service: &Value) -> bool {
    match text(service, "type") {
        "NodePort" => true,
        "LoadBalancer" => {
            service.pointer("/spec/allocateLoadBalancerNodePorts") != Some(&json!(false))
        }
        _ => false,
    }
}

fn needs_health_port(service: &Value) -> bool {
    text(service, "type") == "LoadBalancer" && text(service, "externalTrafficPolicy") == "Local"
}

fn drop_field(service: &mut Value, field: &str) {
    service["spec"].as_object_mut().map(|spec| spec.remove(field));
}

impl Work<'_> {
    pub(super) fn prepare_service(
        &mut self,
        old: Option<&Value>,
        new: &mut Value,
        dry_run: bool,
    ) -> Result<(), Refusal> {
        if let Some(old) = old {
            keep_allocated(old, new);
            normalize_addresses(old, new);
            drop_what_the_type_lacks(old, new);
        } else if !text(new, "clusterIP").is_empty() && list_of_addresses(new).is_empty() {
            new["spec"]["clusterIPs"] = json!([text(new, "clusterIP")]);
        }
        if text(new, "type") != "LoadBalancer" {
            new["status"]["loadBalancer"] = json!({});
        }
        let taken = self.taken(meta(new, "name"));
        // A dry run must leave no trace, so it draws from a copy.
        let mut names = self.live.world.names.clone();
        let errors = allocate(old, new, &taken, &mut names, dry_run);
        if !dry_run {
            self.live.world.names = names;
        }
        match &errors[..] {
            [] => Ok(()),
            errors => Err(self.invalid(meta(new, "name"), errors)),
        }
    }

    fn taken(&self, but: &str) -> Taken {
        let mut taken = Taken::default();
        let services = GroupResource::new("", "services");
        for (key, service) in self.live.world.store.root().scan(&services, "", Bound::Unbounded) {
            if *key.name != *but || *key.namespace != *self.route.namespace {
                Taken::by(service, &mut taken);
            }
        }
        taken
    }
}

/// Clients that know `clusterIP` only: what they do to it is done to `clusterIPs` (`normalizeClusterIPs`).
fn normalize_addresses(old: &Value, new: &mut Value) {
    let changed = text(old, "clusterIP") != text(new, "clusterIP");
    if changed && list_of_addresses(old) == list_of_addresses(new) {
        match text(new, "clusterIP") {
            "" => drop_field(new, "clusterIPs"),
            address => new["spec"]["clusterIPs"] = json!([address]),
        }
    }
}

/// An update that leaves out what was allocated keeps it (`patchAllocatedValues`).
fn keep_allocated(old: &Value, new: &mut Value) {
    if needs_address(old) && needs_address(new) {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            let missing = new["spec"].get(field).is_none_or(|value| value.is_null() || value == "");
            if missing && let Some(value) = old["spec"].get(field) {
                new["spec"][field] = value.clone();
            }
        }
    }
    if needs_ports(old) && needs_ports(new) {
        let of = |service: &Value| -> BTreeSet<u64> {
            ports(service).iter().filter_map(|port| port["nodePort"].as_u64()).collect()
        };
        let mut used: BTreeSet<u64> = of(old).intersection(&of(new)).copied().collect();
        let name = |port: &Value| port["name"].as_str().unwrap_or("").to_owned();
        let before: Vec<(String, Option<u64>)> =
            ports(old).iter().map(|port| (name(port), port["nodePort"].as_u64())).collect();
        let list = new.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
        for port in list.into_iter().flatten().filter(|port| port["nodePort"].as_u64().is_none()) {
            let known = before.iter().find(|(known, _)| *known == name(port));
            if let Some(number) = known.and_then(|(_, number)| *number)
                && used.insert(number)
            {
                port["nodePort"] = json!(number);
            }
        }
    }
    if needs_health_port(old)
        && needs_health_port(new)
        && new.pointer("/spec/healthCheckNodePort").is_none()
    {
        new["spec"]["healthCheckNodePort"] = old["spec"]["healthCheckNodePort"].clone();
    }
}

/// A change of type takes with it what only the old type had, unless the update changes that too
/// (`dropTypeDependentFields`).
fn drop_what_the_type_lacks(old: &Value, new: &mut Value) {
    let same = |new: &Value, field: &str| old["spec"].get(field) == new["spec"].get(field);
    if needs_address(old) && !needs_address(new) {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if same(new, field) {
                drop_field(new, field);
            }
        }
        drop_field(new, "internalTrafficPolicy");
    }
    if needs_ports(old) && !needs_ports(new) {
        let before: BTreeSet<u64> =
            ports(old).iter().filter_map(|port| port["nodePort"].as_u64()).collect();
        let list = new.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
        for port in list.into_iter().flatten().filter_map(Value::as_object_mut) {
            if port.get("nodePort").and_then(Value::as_u64).is_some_and(|p| before.contains(&p)) {
                port.remove("nodePort");
            }
        }
    }
    if needs_health_port(old) && !needs_health_port(new) && same(new, "healthCheckNodePort") {
        drop_field(new, "healthCheckNodePort");
    }
    let balanced = |service: &Value| text(service, "type") == "LoadBalancer";
    if balanced(old) && !balanced(new) {
        for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if same(new, field) {
                drop_field(new, field);
            }
        }
    }
    let external = |service: &Value| matches!(text(service, "type"), "NodePort" | "LoadBalancer");
    if external(old) && !external(new) && same(new, "externalTrafficPolicy") {
        drop_field(new, "externalTrafficPolicy");
    }
}

fn allocate(
    old: Option<&Value>,
    service: &mut Value,
    taken: &Taken,
    names: &mut Names,
    dry_run: bool,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if needs_address(service) {
        // Asked before anything is given (`initIPFamilyFields`).
        errors = crate::validation::service_addresses(old, service);
        if !errors.is_empty() {
            return errors;
        }
        // An update of one that has an address gets none (`allocateUpdate`): whether it may change is asked later.
        // The API server's own Service may lie in a range of its own (`--service-cluster-ip-range` of the stand-in).
        let gets = old.is_none_or(|old| !needs_address(old)) && !is_api_server(service);
        let refuses = |address: &str| unavailable(address, taken, dry_run).filter(|_| gets);
        address(service, &refuses, taken, names, &mut errors);
    }
    if needs_ports(service) {
        node_ports(service, taken, names, &mut errors);
    }
    if needs_health_port(service) && service.pointer("/spec/healthCheckNodePort").is_none() {
        service["spec"]["healthCheckNodePort"] = json!(free_port(taken, names));
    }
    errors
}

/// `default/kubernetes`, which the API server keeps for itself.
fn is_api_server(service: &Value) -> bool {
    let metadata = &service["metadata"];
    (&metadata["namespace"], &metadata["name"]) == (&json!("default"), &json!("kubernetes"))
}

fn address(
    service: &mut Value,
    refuses: &dyn Fn(&str) -> Option<String>,
    taken: &Taken,
    names: &mut Names,
    errors: &mut Vec<FieldError>,
) {
    let given = text(service, "clusterIP").to_owned();
    let wrong = families(service, given == "None");
    if !wrong.is_empty() {
        errors.extend(wrong);
        return;
    }
    let address = match given.as_str() {
        "" => {
            let mut address = names.cluster_ip().to_string();
            while taken.addresses.contains(&address) {
                address = names.cluster_ip().to_string();
            }
            address
        }
        "None" => given,
        _ => match refuses(&given) {
            None => given,
            Some(why) => {
                let detail = format!("failed to allocate IP {given}: {why}");
                let (kind, value) = (FieldErrorKind::Invalid, json!([given]));
                errors.push(FieldError::with_value("spec.clusterIPs", kind, &value, detail));
                return;
            }
        },
    };
    let spec = &mut service["spec"];
    if spec.get("clusterIPs").is_none() {
        spec["clusterIPs"] = json!([address]);
    }
    spec["clusterIP"] = json!(address);
}

/// Why an address can't be given (`MetaAllocator.AllocateService`): the first and the last of a range are nobody's.
fn unavailable(address: &str, taken: &Taken, dry_run: bool) -> Option<String> {
    let within = |address: Ipv4Addr| SERVICE_ADDRESSES.contains(&u32::from(address));
    match (address.parse().is_ok_and(within), dry_run) {
        // A dry run asks one range and not all there may be, and does not look whether it is free (`Allocator.DryRun`).
        (false, true) => Some(format!(
            "the provided IP ({address}) is not in the valid range. The range of valid IPs is 10.96.0.0/12"
        )),
        (false, false) => Some("the provided network does not match the current range".to_owned()),
        (true, false) if taken.addresses.contains(address) => {
            Some("provided IP is already allocated".to_owned())
        }
        (true, _) => None,
    }
}

/// Sets which families of addresses a Service has, in a cluster of one family (`initIPFamilyFields`). Errors: what it asks
/// for and such a cluster has not.
fn families(service: &mut Value, headless: bool) -> Vec<FieldError> {
    const SINGLE: &str = "SingleStack";
    let selects = service.pointer("/spec/selector").and_then(Value::as_object);
    let anywhere = headless && selects.is_none_or(serde_json::Map::is_empty);
    let spec = &mut service["spec"];
    if spec.get("ipFamilyPolicy").is_none_or(Value::is_null) {
        spec["ipFamilyPolicy"] = json!(if anywhere { "RequireDualStack" } else { SINGLE });
    }
    let policy = spec["ipFamilyPolicy"].clone();
    let given = spec.get("ipFamilies").and_then(Value::as_array).cloned().unwrap_or_default();
    let invalid = |field: &str, value: &Value, detail: &str| {
        FieldError::with_value(field, FieldErrorKind::Invalid, value, detail)
    };
    if policy == SINGLE && given.len() == 2 {
        let detail = "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified";
        return vec![invalid("spec.ipFamilyPolicy", &policy, detail)];
    }
    let addresses = spec.get("clusterIPs").and_then(Value::as_array).cloned().unwrap_or_default();
    let foreign = |at: &usize| addresses[*at].as_str().is_some_and(|address| address.contains(':'));
    let foreign: Vec<FieldError> = (given.len()..addresses.len())
        .filter(foreign)
        .map(|at| {
            let (field, all) = (format!("spec.clusterIPs[{at}]"), Value::from(addresses.clone()));
            invalid(&field, &all, "IPv6 is not configured on this cluster")
        })
        .collect();
    if !foreign.is_empty() {
        return foreign;
    }
    let mut families = if given.is_empty() { vec![json!("IPv4")] } else { given.clone() };
    let mut errors = Vec::new();
    if anywhere {
        if families.len() < 2 && policy != SINGLE {
            let other = if families[0] == "IPv4" { "IPv6" } else { "IPv4" };
            families.push(json!(other));
        }
    } else {
        if policy == "RequireDualStack" {
            let detail = "this cluster is not configured for dual-stack services";
            errors.push(invalid("spec.ipFamilyPolicy", &policy, detail));
        }
        let unknown = given.iter().enumerate().filter(|(_, family)| **family != "IPv4");
        errors.extend(unknown.map(|(index, family)| {
            let field = format!("spec.ipFamilies[{index}]");
            invalid(&field, family, "not configured on this cluster")
        }));
    }
    spec["ipFamilies"] = families.into();
    errors
}

fn node_ports(service: &mut Value, taken: &Taken, names: &mut Names, errors: &mut Vec<FieldError>) {
    let list = service.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
    for (index, port) in list.into_iter().flatten().enumerate() {
        let Some(given) = port.get("nodePort").and_then(Value::as_u64).filter(|port| *port != 0)
        else {
            port["nodePort"] = json!(free_port(taken, names));
            continue;
        };
        let detail = if !NODE_PORTS.contains(&given) {
            "provided port is not in the valid range. The range of valid ports is 30000-32767"
        } else if taken.ports.contains(&given) {
            "provided port is already allocated"
        } else {
            continue;
        };
        let (field, value) = (format!("spec.ports[{index}].nodePort"), json!(given));
        errors.push(FieldError::with_value(&field, FieldErrorKind::Invalid, &value, detail));
    }
}

fn free_port(taken: &Taken, names: &mut Names) -> u16 {
    let mut port = names.node_port();
    // More services than ports would turn for ever: after one round the port is given twice.
    for _ in NODE_PORTS {
        if !taken.ports.contains(&u64::from(port)) {
            break;
        }
        port = names.node_port();
    }
    port
}
