//! The Endpoints controller (`pkg/controller/endpoint`, Kubernetes 1.36; the type is deprecated in favour of
//! EndpointSlices, and still filled).
//!
//! Not there: the limit of 1000 addresses, and the annotation of the time of the last change.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use super::{EndpointPort, HEADLESS, Service, is_v6};
use crate::{
    calls::{Calls, Reconciled, Response, Stop},
    controller::{Affected, Change},
    object::{Body, Labels, Object, Text},
    request::Request,
    view::View,
    write,
};

const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const CONTROLLER: &str = "endpoint-controller";

/// Endpoints: `subsets`, as they are stored.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Endpoints(Value);

/// An address of a subset.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Address {
    ip: Text,
    uid: Text,
    name: Text,
    node: Text,
    hostname: Option<Text>,
}

pub(super) fn endpoints() -> GroupResource {
    GroupResource::new("", "endpoints")
}

impl Endpoints {
    pub(crate) fn read(object: &Value) -> Endpoints {
        Endpoints(object.get("subsets").cloned().unwrap_or_else(|| json!([])))
    }

    pub(super) fn subsets(&self) -> &Value {
        &self.0
    }
}

pub(crate) fn reconcile(view: &View, key: &ObjectKey, calls: &mut Calls<'_>) -> Reconciled {
    let of = ObjectKey::new(endpoints(), &key.namespace, &key.name);
    let current = view.get(&of);
    let Some(object) = view.get(key) else {
        if let Some(current) = current {
            branch!(EndpointsGo);
            calls.need(|| Request::delete(of.clone(), current.meta.uid.clone()))?;
        }
        return Ok(None);
    };
    let Body::Service(service) = &object.body else { return Ok(None) };
    if !service.is_managed() {
        return Ok(None);
    }
    let subsets = subsets(view, key, service);
    let mut labels = object.meta.labels.clone();
    labels.remove(HEADLESS);
    let given = |labels: &Labels| {
        let mut labels = labels.clone();
        labels.remove(HEADLESS);
        labels.remove(MANAGED_BY);
        labels
    };
    if let Some(current) = current
        && let Body::Endpoints(known) = &current.body
        && known.0 == subsets
        && given(&current.meta.labels) == given(&labels)
    {
        return Ok(None);
    }
    if !service.has_address {
        labels.insert(HEADLESS.into(), "".into());
    }
    labels.insert(MANAGED_BY.into(), CONTROLLER.into());
    write(&of, current, &labels, &subsets, calls)
}

fn write(
    key: &ObjectKey,
    current: Option<&Object>,
    labels: &Labels,
    subsets: &Value,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let none = subsets.as_array().is_none_or(Vec::is_empty);
    let subsets = if none { Value::Null } else { subsets.clone() };
    if let Some(current) = current {
        branch!(EndpointsUpdated);
        calls.must(|| Request::Update {
            key: key.clone(),
            revision: current.meta.revision,
            subresource: "",
            fields: vec![("/metadata/labels", write::labels(labels)), ("/subsets", subsets)],
        })?;
        return Ok(None);
    }
    let sent = calls.send(|| {
        let mut object = json!({
            "apiVersion": "v1", "kind": "Endpoints",
            "metadata": {
                "name": key.name, "namespace": key.namespace, "labels": write::labels(labels),
            },
        });
        if !subsets.is_null() {
            object["subsets"] = subsets;
        }
        Request::Create { key: key.clone(), object: Box::new(object) }
    })?;
    match sent {
        Response::Refused { reason, code, message } if **reason != *"NamespaceTerminating" => {
            Err(Stop::Failed(format!("{code}: {message}")))
        }
        _ => Ok(None),
    }
}

/// The pods behind a Service, grouped so that what serves at the same ports stands together (`RepackSubsets`).
fn subsets(view: &View, key: &ObjectKey, service: &Service) -> Value {
    let v6 = service.families.first().is_some_and(|family| **family == *"IPv6");
    let mut by_port: BTreeMap<Option<EndpointPort>, BTreeMap<Address, bool>> = BTreeMap::new();
    for (pod_key, object, pod) in service.pods(view, &key.namespace, service.publishes_all) {
        let Some(ip) = pod.addresses.iter().find(|ip| is_v6(ip) == v6) else { continue };
        let address = Address {
            ip: ip.clone(),
            uid: object.meta.uid.clone(),
            name: pod_key.name.clone(),
            node: pod.node.clone(),
            hostname: Service::hostname(&key.name, pod),
        };
        let mut ports: Vec<Option<EndpointPort>> =
            service.ports_of(pod).into_iter().map(Some).collect();
        if service.ports.is_empty() && !service.has_address {
            branch!(EndpointsWithoutPorts);
            ports.push(None);
        }
        let ready = service.publishes_all || pod.ready_since.is_some();
        for port in ports {
            by_port.entry(port).or_default().insert(address.clone(), ready);
        }
    }
    let mut by_addresses: BTreeMap<BTreeMap<Address, bool>, Vec<EndpointPort>> = BTreeMap::new();
    for (port, addresses) in by_port {
        by_addresses.entry(addresses).or_default().extend(port);
    }
    by_addresses.iter().map(|(addresses, ports)| subset(&key.namespace, addresses, ports)).collect()
}

fn subset(namespace: &str, all: &BTreeMap<Address, bool>, ports: &[EndpointPort]) -> Value {
    let mut subset = json!({});
    for (field, wanted) in [("addresses", true), ("notReadyAddresses", false)] {
        let some = all.iter().filter(|(_, ready)| **ready == wanted);
        let some: Vec<Value> = some.map(|(of, _)| address(namespace, of)).collect();
        if !some.is_empty() {
            subset[field] = json!(some);
        }
    }
    let port = |port: &EndpointPort| {
        let mut value = json!({"port": port.port, "protocol": port.protocol});
        let protocol = port.app_protocol.as_deref().unwrap_or("");
        write::texts(&mut value, &[("name", &port.name), ("appProtocol", protocol)]);
        value
    };
    if !ports.is_empty() {
        subset["ports"] = ports.iter().map(port).collect();
    }
    subset
}

fn address(namespace: &str, address: &Address) -> Value {
    let mut value = json!({
        "ip": address.ip, "nodeName": address.node,
        "targetRef": {
            "kind": "Pod", "namespace": namespace, "name": address.name, "uid": address.uid,
        },
    });
    if let Some(hostname) = &address.hostname {
        value["hostname"] = json!(hostname);
    }
    value
}

fn named(key: &ObjectKey, _: &Object) -> Option<Text> {
    Some(key.name.clone())
}

/// Endpoints count only when they go: those that users make, with or without a Service, are theirs.
pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    if change.key.resource == endpoints() && change.after.is_some() {
        return vec![];
    }
    super::affected(view, change, &endpoints(), named)
}
