//! The EndpointSlice controller (`pkg/controller/endpointslice`, `k8s.io/endpointslice`, Kubernetes 1.36).
//!
//! Not there: the annotation of the time of the last change, which serves to measure delays. A pod on a node that does
//! not exist is left out until the node is there; upstream tries again a few times.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use super::{EndpointPort, HEADLESS, Service, is_v6};
use crate::{
    calls::{Calls, Reconciled, Response, Stop},
    controller::{Affected, Change},
    object::{Body, Labels, Meta, Object, Text},
    pod::Pod,
    read,
    replica_set::controller_ref,
    request::Request,
    scheduler::nodes,
    view::{View, ZONE, Zones, counts_anew},
    write,
};

mod hints;
mod shares;

use hints::Distribution;
pub use hints::Hints;

pub(super) const SERVICE_NAME: &str = "kubernetes.io/service-name";
pub(super) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
pub(super) const CONTROLLER: &str = "endpointslice-controller.k8s.io";
/// What a user's labels don't count for.
const RESERVED: [&str; 3] = [SERVICE_NAME, MANAGED_BY, HEADLESS];
/// At most this many endpoints stand in a slice (`--max-endpoints-per-slice`).
const MOST: usize = 100;

/// An EndpointSlice.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Slice {
    /// `addressType`.
    pub family: Text,
    /// `ports`.
    pub ports: Vec<EndpointPort>,
    /// `endpoints`.
    pub endpoints: Vec<Endpoint>,
}

/// An endpoint of a slice.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Endpoint {
    /// `addresses`.
    pub addresses: Vec<Text>,
    /// `conditions`: ready, serving, terminating.
    pub conditions: [bool; 3],
    /// `targetRef`: name and uid.
    pub target: (Text, Text),
    /// `nodeName`.
    pub node: Option<Text>,
    /// `zone`.
    pub zone: Option<Text>,
    /// `hostname`.
    pub hostname: Option<Text>,
    /// `hints`.
    pub hints: Option<Hints>,
}

pub(super) fn slices() -> GroupResource {
    GroupResource::new("discovery.k8s.io", "endpointslices")
}

impl Slice {
    pub(crate) fn read(object: &Value) -> Slice {
        let text =
            |value: &Value, field: &str| value.get(field).and_then(Value::as_str).map(Text::from);
        let endpoint = |endpoint: &Value| {
            let conditions = &endpoint["conditions"];
            Endpoint {
                addresses: read::list(endpoint, "addresses")
                    .filter_map(Value::as_str)
                    .map(Text::from)
                    .collect(),
                conditions: ["ready", "serving", "terminating"].map(|c| read::flag(conditions, c)),
                target: (
                    read::text(&endpoint["targetRef"], "name"),
                    read::text(&endpoint["targetRef"], "uid"),
                ),
                node: text(endpoint, "nodeName"),
                zone: text(endpoint, "zone"),
                hostname: text(endpoint, "hostname"),
                hints: Hints::read(endpoint),
            }
        };
        Slice {
            family: read::text(object, "addressType"),
            ports: read::list(object, "ports").map(read_port).collect(),
            endpoints: read::list(object, "endpoints").map(endpoint).collect(),
        }
    }
}

pub(super) fn read_port(port: &Value) -> EndpointPort {
    EndpointPort {
        name: read::text(port, "name"),
        protocol: read::text(port, "protocol"),
        port: read::number(port, "port"),
        app_protocol: port.get("appProtocol").and_then(Value::as_str).map(Text::from),
    }
}

impl Endpoint {
    /// The same for what is the same endpoint, whatever its state (`hashEndpoint`).
    pub(super) fn identity(&self) -> (Vec<Text>, Option<Text>, Text) {
        (self.addresses.clone(), self.hostname.clone(), self.target.0.clone())
    }

    /// Whether it says the same, whatever its hints (`EndpointsEqualBeyondHash`).
    fn says(&self, other: &Endpoint) -> bool {
        *self == Endpoint { hints: self.hints.clone(), ..other.clone() }
    }

    fn write(&self, namespace: &str) -> Value {
        let [ready, serving, terminating] = self.conditions;
        let mut value = json!({
            "addresses": self.addresses,
            "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
            "targetRef": {
                "kind": "Pod", "namespace": namespace, "name": self.target.0, "uid": self.target.1,
            },
        });
        let fields = [("nodeName", &self.node), ("zone", &self.zone), ("hostname", &self.hostname)];
        for (field, text) in fields {
            if let Some(text) = text {
                value[field] = json!(text);
            }
        }
        if let Some(hints) = &self.hints {
            value["hints"] = hints.write();
        }
        value
    }
}

/// Endpoints by the ports that they serve at.
type ByPorts = BTreeMap<Vec<EndpointPort>, Vec<Endpoint>>;
type Item<'v> = (ObjectKey, &'v Object, &'v Slice);

struct Work<'v, 'c, 'r> {
    key: &'v ObjectKey,
    meta: &'v Meta,
    labels: Labels,
    distribution: Distribution,
    /// Where the endpoints are to be shared out by zones.
    zones: Option<Zones>,
    calls: &'c mut Calls<'r>,
}

/// A slice to be written: a new one, or over one that is there.
struct Written<'v> {
    over: Option<Item<'v>>,
    ports: Vec<EndpointPort>,
    endpoints: Vec<Endpoint>,
}

impl<'v> Written<'v> {
    /// A slice as it is, to be written with other hints.
    fn again(item: &Item<'v>) -> Written<'v> {
        let (ports, endpoints) = (item.2.ports.clone(), item.2.endpoints.clone());
        Written { over: Some(item.clone()), ports, endpoints }
    }
}

pub(crate) fn reconcile(view: &View, key: &ObjectKey, calls: &mut Calls<'_>) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::Service(service) = &object.body else { return Ok(None) };
    if !service.is_managed() {
        return Ok(None);
    }
    if view.misses_slices(key) {
        branch!(SliceAway);
        return Ok(None);
    }
    let labels = labels_of(key, &object.meta, service);
    let distribution = Distribution::of(&service.traffic, &object.meta.annotations);
    let zones = hints::by_shares(&object.meta.annotations).then(|| view.zones()).flatten();
    let mut work = Work { key, meta: &object.meta, labels, distribution, zones, calls };
    let families: Vec<Text> = service.families.clone();
    let mut existing: Vec<Item<'_>> = Vec::new();
    for (slice, found) in view.list(&slices(), &key.namespace) {
        let labels = &found.meta.labels;
        let ours = labels.get(SERVICE_NAME) == Some(&key.name)
            && labels.get(MANAGED_BY).is_some_and(|by| **by == *CONTROLLER);
        if let Body::Slice(body) = &found.body
            && ours
            && !found.meta.is_deleted()
        {
            existing.push((slice, found, body));
        }
    }
    for family in &families {
        let wanted = wanted(view, key, service, family);
        let there = existing.iter().filter(|(_, _, slice)| slice.family == *family);
        work.family(family, wanted, there.cloned().collect())?;
    }
    for item in existing.iter().filter(|(_, _, slice)| !families.contains(&slice.family)) {
        work.delete(item)?;
    }
    Ok(None)
}

fn not_reserved(labels: &Labels) -> impl Iterator<Item = (&Text, &Text)> {
    labels.iter().filter(|(name, _)| !RESERVED.contains(&&***name))
}

fn labels_of(key: &ObjectKey, meta: &Meta, service: &Service) -> Labels {
    let given = not_reserved(&meta.labels);
    let mut labels: Labels = given.map(|(name, value)| (name.clone(), value.clone())).collect();
    if !service.has_address {
        labels.insert(HEADLESS.into(), "".into());
    }
    labels.insert(SERVICE_NAME.into(), key.name.clone());
    labels.insert(MANAGED_BY.into(), CONTROLLER.into());
    labels
}

/// The endpoints that there should be, of a family of addresses.
fn wanted(view: &View, key: &ObjectKey, service: &Service, family: &str) -> ByPorts {
    let mut wanted = ByPorts::new();
    for (pod_key, object, pod) in service.pods(view, &key.namespace, true) {
        let ports = match service.ports.is_empty() && !service.has_address {
            true => vec![],
            false => service.ports_of(pod),
        };
        let of_ports = wanted.entry(ports).or_default();
        let node = view.get(&ObjectKey::new(nodes(), "", &pod.node));
        if node.is_none() && !service.publishes_all {
            branch!(SliceNoNode);
            continue;
        }
        let endpoint = endpoint((&pod_key, object, pod), node, (&key.name, service), family);
        of_ports.extend(endpoint);
    }
    wanted
}

fn endpoint(
    (key, object, pod): (&ObjectKey, &Object, &Pod),
    node: Option<&Object>,
    (name, service): (&str, &Service),
    family: &str,
) -> Option<Endpoint> {
    let addresses = pod.addresses.iter().filter(|ip| is_v6(ip) == (family == "IPv6"));
    let addresses: Vec<Text> = addresses.cloned().collect();
    let (serving, terminating) = (pod.ready_since.is_some(), object.meta.is_deleted());
    let zone = node.and_then(|node| node.meta.labels.get(ZONE)).filter(|zone| !zone.is_empty());
    (!addresses.is_empty()).then(|| Endpoint {
        addresses,
        conditions: [service.publishes_all || serving && !terminating, serving, terminating],
        target: (key.name.clone(), object.meta.uid.clone()),
        node: Some(pod.node.clone()).filter(|node| !node.is_empty()),
        zone: zone.cloned(),
        hostname: Service::hostname(name, pod),
        hints: None,
    })
}

impl<'v> Work<'v, '_, '_> {
    /// Slices of one family of addresses (`reconcileByAddressType`).
    fn family(
        &mut self,
        family: &Text,
        wanted: ByPorts,
        existing: Vec<Item<'v>>,
    ) -> Result<(), Stop> {
        let count = existing.len();
        let uid = &self.meta.uid;
        let owned = |item: &Item<'_>| item.1.meta.owners.iter().any(|owner| owner.uid == *uid);
        let (existing, strangers): (Vec<_>, Vec<_>) = existing.into_iter().partition(owned);
        let mut by_ports: BTreeMap<Vec<EndpointPort>, Vec<Item<'v>>> = BTreeMap::new();
        for item in existing.clone() {
            let mut ports = item.2.ports.clone();
            ports.sort();
            by_ports.entry(ports).or_default().push(item);
        }
        let (mut changes, mut deleted) = (Vec::new(), strangers);
        for (mut ports, endpoints) in wanted {
            let as_given = ports.clone();
            ports.sort();
            let there = by_ports.remove(&ports).unwrap_or_default();
            self.ports(as_given, endpoints, there, &mut changes, &mut deleted);
        }
        deleted.extend(by_ports.into_values().flatten());
        if count == deleted.len() && !changes.iter().any(|change| change.over.is_none()) {
            let labels = &self.labels;
            let placeholder = |item: &Item<'_>| {
                item.2.ports.is_empty()
                    && item.2.endpoints.is_empty()
                    && item.1.meta.labels == *labels
            };
            match &deleted[..] {
                [one] if placeholder(one) => {
                    branch!(SlicePlaceholderStays);
                    deleted.clear();
                }
                _ => {
                    branch!(SlicePlaceholder);
                    changes.push(Written { over: None, ports: vec![], endpoints: vec![] });
                }
            }
        }
        self.give_hints(&existing, &mut changes, &deleted);
        self.write(family, changes, deleted)
    }

    /// Sets the hints of what is written, and writes also what has wrong ones (`AddHints`, `ReconcileHints`,
    /// `RemoveHintsFromSlices`).
    fn give_hints(
        &self,
        existing: &[Item<'v>],
        changes: &mut Vec<Written<'v>>,
        deleted: &[Item<'v>],
    ) {
        let is_there = |item: &Item<'v>| {
            let changed = changes.iter().filter_map(|change| change.over.as_ref());
            !changed.chain(deleted).any(|(key, ..)| *key == item.0)
        };
        let unchanged: Vec<&Item<'v>> = existing.iter().filter(|item| is_there(item)).collect();
        if self.share_out(&unchanged, changes) {
            return;
        }
        for item in unchanged {
            if self.distribution.are_wrong(&item.2.endpoints) {
                branch!(SliceHints);
                changes.push(Written::again(item));
            }
        }
        for change in changes {
            self.distribution.set(&mut change.endpoints);
        }
    }

    /// Slices of one set of ports (`reconcileByPortMapping`).
    fn ports(
        &self,
        ports: Vec<EndpointPort>,
        mut wanted: Vec<Endpoint>,
        existing: Vec<Item<'v>>,
        changes: &mut Vec<Written<'v>>,
        deleted: &mut Vec<Item<'v>>,
    ) {
        let (mut updated, mut unchanged) = (Vec::new(), Vec::new());
        for item in existing {
            let mut left = Vec::new();
            let mut changed = false;
            for endpoint in &item.2.endpoints {
                let same = |other: &Endpoint| other.identity() == endpoint.identity();
                if let Some(at) = wanted.iter().position(same) {
                    let found = wanted.remove(at);
                    changed |= !found.says(endpoint);
                    left.push(found);
                }
            }
            let fewer = left.len() != item.2.endpoints.len();
            if (changed || fewer) && left.is_empty() {
                branch!(SliceEmptied);
                deleted.push(item);
            } else if changed || fewer || self.is_relabelled(item.1) {
                branch!(SliceUpdated);
                updated.push((item, left));
            } else {
                let endpoints = item.2.endpoints.clone();
                unchanged.push((item, endpoints));
            }
        }
        updated.sort_by_key(|(_, endpoints)| std::cmp::Reverse(endpoints.len()));
        for (_, endpoints) in &mut updated {
            let room = MOST.saturating_sub(endpoints.len()).min(wanted.len());
            endpoints.extend(wanted.drain(..room));
        }
        while !wanted.is_empty() {
            let free = |(at, (_, have)): (usize, &(Item<'v>, Vec<Endpoint>))| {
                let room = MOST.checked_sub(wanted.len() + have.len())?;
                Some((room, at))
            };
            let best = match wanted.len() < MOST {
                true => unchanged.iter().enumerate().filter_map(free).min(),
                false => None,
            };
            let (over, mut endpoints) = match best.map(|(_, at)| unchanged.remove(at)) {
                Some((item, endpoints)) => (Some(item), endpoints),
                None => (None, vec![]),
            };
            let room = MOST.saturating_sub(endpoints.len()).min(wanted.len());
            endpoints.extend(wanted.drain(..room));
            changes.push(Written { over, ports: ports.clone(), endpoints });
        }
        let updated = updated.into_iter().map(|(item, endpoints)| Written {
            over: Some(item),
            ports: ports.clone(),
            endpoints,
        });
        changes.extend(updated);
    }

    /// Whether a slice has other labels than the Service (`setEndpointSliceLabels`). Of those that are reserved none is
    /// looked at: they are only written with the others.
    fn is_relabelled(&self, slice: &Object) -> bool {
        !not_reserved(&slice.meta.labels).eq(not_reserved(&self.labels))
    }

    /// Writes; a slice that would go takes the place of one that would come (`finalize`).
    fn write(
        &mut self,
        family: &Text,
        mut changes: Vec<Written<'v>>,
        mut deleted: Vec<Item<'v>>,
    ) -> Result<(), Stop> {
        let uid = &self.meta.uid;
        for change in changes.iter_mut().rev().filter(|change| change.over.is_none()) {
            let owned = |item: &Item<'_>| item.1.meta.owners.iter().any(|owner| owner.uid == *uid);
            if let Some(at) = deleted.iter().position(owned) {
                branch!(SliceReused);
                change.over = Some(deleted.remove(at));
            }
        }
        for change in &changes {
            match &change.over {
                None if self.meta.is_deleted() => {}
                None => self.create(family, change)?,
                Some(over) => self.update(over, change)?,
            }
        }
        deleted.iter().try_for_each(|item| self.delete(item))
    }

    fn create(&mut self, family: &Text, change: &Written<'_>) -> Result<(), Stop> {
        let (key, meta, labels) = (self.key, self.meta, &self.labels);
        let sent = self.calls.send(|| {
            let object = json!({
                "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                "metadata": {
                    "generateName": format!("{}-", key.name), "labels": write::labels(labels),
                    "ownerReferences": [write::owner(&controller_ref("v1", "Service", key, meta))],
                },
                "addressType": family,
                "ports": change.ports.iter().map(port).collect::<Vec<_>>(),
                "endpoints": endpoints(key, &change.endpoints),
            });
            let key = ObjectKey::new(slices(), &key.namespace, "");
            Request::Create { key, object: Box::new(object) }
        })?;
        match sent {
            Response::Refused { reason, code, message } if **reason != *"NamespaceTerminating" => {
                Err(Stop::Failed(format!("{code}: {message}")))
            }
            _ => Ok(()),
        }
    }

    fn update(&mut self, (key, object, _): &Item<'_>, change: &Written<'_>) -> Result<(), Stop> {
        let labels = &self.labels;
        self.calls.must(|| Request::Update {
            key: key.clone(),
            revision: object.meta.revision,
            subresource: "",
            fields: vec![
                ("/metadata/labels", write::labels(labels)),
                ("/ports", change.ports.iter().map(port).collect()),
                ("/endpoints", endpoints(key, &change.endpoints)),
            ],
        })?;
        Ok(())
    }

    fn delete(&mut self, (key, object, _): &Item<'_>) -> Result<(), Stop> {
        branch!(SliceDeleted);
        self.calls.need(|| Request::delete(key.clone(), object.meta.uid.clone()))?;
        Ok(())
    }
}

fn endpoints(key: &ObjectKey, endpoints: &[Endpoint]) -> Value {
    endpoints.iter().map(|endpoint| endpoint.write(&key.namespace)).collect()
}

/// A port, with its name even where that is empty.
pub(super) fn port(port: &EndpointPort) -> Value {
    let mut value = json!({"name": port.name, "port": port.port, "protocol": port.protocol});
    if let Some(protocol) = &port.app_protocol {
        value["appProtocol"] = json!(protocol);
    }
    value
}

fn named(_: &ObjectKey, object: &Object) -> Option<Text> {
    let managed = object.meta.labels.get(MANAGED_BY).is_some_and(|by| **by == *CONTROLLER);
    object.meta.labels.get(SERVICE_NAME).filter(|_| managed).cloned()
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let mut affected = super::affected(view, change, &slices(), named);
    if change.key.resource == nodes() && counts_anew(change.before, change.after) {
        affected.extend(shares::overloaded(view));
    }
    affected
}

#[cfg(test)]
mod tests;
