//! The EndpointSliceMirroring controller (`pkg/controller/endpointslicemirroring`, Kubernetes 1.36): what users write
//! into the Endpoints of a Service without selector is there as EndpointSlices too.
//!
//! Simplification: that nothing but kind, namespace or path of a `targetRef` changed goes unnoticed. Who could notice:
//! whoever edits those, and nothing else, of an address that stays.

use std::{collections::BTreeMap, net::IpAddr};

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use super::{
    EndpointPort,
    endpoints::endpoints,
    services,
    slices::{self, Endpoint, SERVICE_NAME, Slice, slices},
};
use crate::{
    calls::{Calls, Reconciled, Response, Stop},
    controller::{Affected, Change},
    object::{Body, Labels, Meta, Object, Text},
    read,
    replica_set::controller_ref,
    request::{Memory, Request},
    view::View,
    write,
};

pub(super) const CONTROLLER: &str = "endpointslicemirroring-controller.k8s.io";
/// A label of Endpoints that are not to be mirrored.
const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";
/// An annotation of Endpoints that are a lock.
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
/// Annotations that are not copied.
const OWN: [&str; 2] = [
    "endpoints.kubernetes.io/last-change-trigger-time",
    "kubectl.kubernetes.io/last-applied-configuration",
];
/// At most this many addresses of a subset are mirrored (`--mirroring-max-endpoints-per-subset`).
const MOST: usize = 1000;

/// A family of addresses, and the ports in order.
type Group = (&'static str, Vec<EndpointPort>);
/// What there should be: endpoints by what tells them apart, with how they are written.
type Wanted = BTreeMap<Group, Vec<(Endpoint, Value)>>;
type Item<'v> = (ObjectKey, &'v Object, &'v Slice);

/// A slice to be written: a new one, or over one that is there.
struct Written<'v> {
    over: Option<Item<'v>>,
    /// Whether it was to be a new one: it is written with a name to be made up.
    made: bool,
    group: Group,
    endpoints: Vec<Value>,
}

/// `key` is the Endpoints'.
pub(crate) fn reconcile(view: &View, key: &ObjectKey, calls: &mut Calls<'_>) -> Reconciled {
    let there = mirrored(view, key);
    let service = view.get(&ObjectKey::new(services(), &key.namespace, &key.name));
    let by_user = service.is_some_and(
        |service| matches!(&service.body, Body::Service(service) if service.selector.is_none()),
    );
    let found = view.get(key).filter(|object| by_user && is_mirrored(&object.meta));
    let Some((object, Body::Endpoints(known))) = found.map(|object| (object, &object.body)) else {
        if view.misses_slices(key) {
            calls.send(|| Request::Remember { key: key.clone(), memory: Memory::NoSlices })?;
        }
        for item in &there {
            branch!(MirrorCleared);
            delete(item, calls)?;
        }
        return Ok(None);
    };
    if view.misses_slices(key) {
        branch!(MirrorAway);
        return Ok(None);
    }
    let mut by_group: BTreeMap<Group, Vec<Item<'_>>> = BTreeMap::new();
    for item in there {
        let mut ports = item.2.ports.clone();
        ports.sort();
        by_group.entry((family(&item.2.family), ports)).or_default().push(item);
    }
    let (mut changes, mut deleted) = (Vec::new(), Vec::new());
    for (group, wanted) in wanted(known.subsets()) {
        let mut existing = by_group.remove(&group).unwrap_or_default().into_iter();
        let first = existing.next();
        deleted.extend(existing);
        if first.as_ref().is_some_and(|item| is_current(item, key, &object.meta, &wanted)) {
            continue;
        }
        let endpoints = wanted.into_iter().map(|(_, written)| written).take(MOST).collect();
        changes.push(Written { made: first.is_none(), over: first, group, endpoints });
    }
    deleted.extend(by_group.into_values().flatten());
    finalize(key, &object.meta, changes, deleted, calls)
}

/// The slices that mirror these Endpoints.
fn mirrored<'v>(view: &'v View, key: &ObjectKey) -> Vec<Item<'v>> {
    let all = view.list(&slices(), &key.namespace);
    let ours = all.filter(|(_, object)| named(object).is_some_and(|name| name == key.name));
    ours.filter_map(|(key, object)| match &object.body {
        Body::Slice(slice) => Some((key, object, &**slice)),
        _ => None,
    })
    .collect()
}

/// `shouldMirror`.
fn is_mirrored(meta: &Meta) -> bool {
    meta.labels.get(SKIP).is_none_or(|skip| **skip != *"true")
        && !meta.annotations.contains_key(LEADER)
}

fn family(name: &str) -> &'static str {
    if name == "IPv6" { "IPv6" } else { "IPv4" }
}

/// The groups of endpoints that there should be, by family and ports (`RepackSubsets`, `desiredCalc`).
fn wanted(subsets: &Value) -> Wanted {
    let mut wanted = Wanted::new();
    for (ports, addresses) in repacked(subsets) {
        for (address, ready) in addresses.into_iter().take(MOST) {
            let Some((family, endpoint, written)) = endpoint(&address, ready) else { continue };
            let of_group = wanted.entry((family, ports.clone())).or_default();
            if of_group.iter().all(|(other, _)| other.identity() != endpoint.identity()) {
                of_group.push((endpoint, written));
            }
        }
    }
    wanted
}

/// Addresses, ready ones first, by the ports that all of them serve at. One that is ready and not ready at a port is
/// not ready there.
fn repacked(subsets: &Value) -> BTreeMap<Vec<EndpointPort>, Vec<(Value, bool)>> {
    type Told = (Text, Text);
    let mut told: BTreeMap<Told, Value> = BTreeMap::new();
    let mut by_port: BTreeMap<Option<EndpointPort>, BTreeMap<Told, bool>> = BTreeMap::new();
    for subset in subsets.as_array().into_iter().flatten() {
        let mut ports: Vec<_> =
            read::list(subset, "ports").map(slices::read_port).map(Some).collect();
        if ports.is_empty() {
            ports.push(None);
        }
        for (field, ready) in [("addresses", true), ("notReadyAddresses", false)] {
            for address in read::list(subset, field) {
                let key = (read::text(address, "ip"), read::text(&address["targetRef"], "uid"));
                told.entry(key.clone()).or_insert_with(|| address.clone());
                for port in &ports {
                    let known = by_port.entry(port.clone()).or_default();
                    let state = known.entry(key.clone()).or_insert(true);
                    *state &= ready;
                }
            }
        }
    }
    let mut by_addresses: BTreeMap<BTreeMap<Told, bool>, Vec<EndpointPort>> = BTreeMap::new();
    for (port, addresses) in by_port {
        by_addresses.entry(addresses).or_default().extend(port);
    }
    let told = |addresses: BTreeMap<Told, bool>| {
        let mut list: Vec<(Value, bool)> =
            addresses.into_iter().map(|(key, ready)| (told[&key].clone(), ready)).collect();
        list.sort_by_key(|(_, ready)| !ready);
        list
    };
    let mut packed = BTreeMap::new();
    for (addresses, mut ports) in by_addresses {
        ports.sort();
        packed.insert(ports, told(addresses));
    }
    packed
}

/// An address as an endpoint of a slice; none where it is no address (`addressToEndpoint`).
fn endpoint(address: &Value, ready: bool) -> Option<(&'static str, Endpoint, Value)> {
    let ip = parse(address["ip"].as_str()?)?;
    let text = |field: &str| address.get(field).and_then(Value::as_str).map(Text::from);
    let target = &address["targetRef"];
    let endpoint = Endpoint {
        addresses: vec![ip.to_string().into()],
        conditions: [ready, false, false],
        target: (read::text(target, "name"), read::text(target, "uid")),
        node: text("nodeName"),
        zone: None,
        hostname: text("hostname").filter(|name| !name.is_empty()),
        hints: None,
    };
    let mut written = json!({"addresses": endpoint.addresses, "conditions": {"ready": ready}});
    if target.is_object() {
        written["targetRef"] = target.clone();
    }
    for (field, text) in [("nodeName", &endpoint.node), ("hostname", &endpoint.hostname)] {
        if let Some(text) = text {
            written[field] = json!(text);
        }
    }
    Some((if ip.is_ipv4() { "IPv4" } else { "IPv6" }, endpoint, written))
}

/// `ParseIPSloppy`: numbers of IPv4 may begin with zeros.
fn parse(text: &str) -> Option<IpAddr> {
    let numbers: Vec<&str> = text.split('.').collect();
    if numbers.len() == 4 && !text.contains(':') {
        let trimmed = numbers.iter().map(|number| match number.trim_start_matches('0') {
            "" if !number.is_empty() => "0",
            digits => digits,
        });
        return trimmed.collect::<Vec<_>>().join(".").parse().ok();
    }
    text.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

fn kept_annotations(meta: &Meta) -> Labels {
    let all = meta.annotations.iter().filter(|(name, _)| !OWN.contains(&&***name));
    all.map(|(name, text)| (name.clone(), text.clone())).collect()
}

/// Whether a slice says what the Endpoints say.
fn is_current(
    (_, object, slice): &Item<'_>,
    key: &ObjectKey,
    meta: &Meta,
    wanted: &[(Endpoint, Value)],
) -> bool {
    let mut labels = object.meta.labels.clone();
    labels.remove(SERVICE_NAME);
    labels.remove(slices::MANAGED_BY);
    let stranger = object.meta.owners.iter().any(|owner| {
        *owner.kind == *"Endpoints" && owner.name == key.name && owner.uid != meta.uid
    });
    let same = |endpoint: &Endpoint| wanted.iter().any(|(other, _)| other == endpoint);
    slice.endpoints.len() == wanted.len()
        && slice.endpoints.iter().all(same)
        && labels == meta.labels
        && kept_annotations(meta) == object.meta.annotations
        && !stranger
}

/// Writes; a slice that would go takes the place of one that would come.
fn finalize<'v>(
    key: &ObjectKey,
    meta: &Meta,
    mut changes: Vec<Written<'v>>,
    mut deleted: Vec<Item<'v>>,
    calls: &mut Calls<'_>,
) -> Reconciled {
    for change in changes.iter_mut().filter(|change| change.over.is_none()) {
        if let Some(at) = deleted.iter().position(|item| *item.2.family == *change.group.0) {
            branch!(MirrorReused);
            change.over = Some(deleted.remove(at));
        }
    }
    for change in changes.iter().filter(|change| change.over.is_none() && !meta.is_deleted()) {
        branch!(MirrorMade);
        let sent = calls.send(|| {
            let object = slice(key, meta, change);
            let key = ObjectKey::new(slices(), &key.namespace, "");
            Request::Create { key, object: Box::new(object) }
        })?;
        match sent {
            Response::Refused { reason, .. } if **reason == *"NamespaceTerminating" => {
                return Ok(None);
            }
            Response::Refused { code, message, .. } => {
                return Err(Stop::Failed(format!("{code}: {message}")));
            }
            _ => {}
        }
    }
    for change in &changes {
        let Some((over, object, _)) = &change.over else { continue };
        branch!(MirrorUpdated);
        calls.must(|| {
            let slice = slice(key, meta, change);
            let part = |pointer: &'static str| {
                (pointer, slice.pointer(pointer).cloned().unwrap_or(Value::Null))
            };
            let parts = [
                "/metadata/labels",
                "/metadata/annotations",
                "/metadata/ownerReferences",
                "/metadata/generateName",
                "/metadata/finalizers",
                "/ports",
                "/endpoints",
            ];
            Request::Update {
                key: over.clone(),
                revision: object.meta.revision,
                subresource: "",
                fields: parts.map(part).into(),
            }
        })?;
    }
    deleted.iter().try_for_each(|item| delete(item, calls))?;
    Ok(None)
}

/// `newEndpointSlice`.
fn slice(key: &ObjectKey, meta: &Meta, change: &Written<'_>) -> Value {
    let mut labels = meta.labels.clone();
    labels.insert(SERVICE_NAME.into(), key.name.clone());
    labels.insert(slices::MANAGED_BY.into(), CONTROLLER.into());
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "generateName": change.made.then(|| format!("{}-", key.name)),
            "labels": write::labels(&labels),
            "annotations": write::labels(&kept_annotations(meta)),
            "ownerReferences": [write::owner(&controller_ref("v1", "Endpoints", key, meta))],
        },
        "addressType": change.group.0,
        "ports": change.group.1.iter().map(slices::port).collect::<Vec<_>>(),
        "endpoints": change.endpoints,
    })
}

fn delete((key, object, _): &Item<'_>, calls: &mut Calls<'_>) -> Result<(), Stop> {
    calls.need(|| Request::delete(key.clone(), object.meta.uid.clone()))?;
    Ok(())
}

/// The Endpoints that a slice mirrors.
fn named(object: &Object) -> Option<Text> {
    let labels = &object.meta.labels;
    let ours = labels.get(slices::MANAGED_BY).is_some_and(|by| **by == *CONTROLLER);
    labels.get(SERVICE_NAME).filter(|_| ours).cloned()
}

pub(crate) fn keys_affected(change: &Change<'_>) -> Vec<Affected> {
    let objects = || [change.before, change.after].into_iter().flatten();
    let of = |name: &str| Affected::now(&ObjectKey::new(endpoints(), &change.key.namespace, name));
    let is = |resource: GroupResource| change.key.resource == resource;
    let mut affected = Vec::new();
    if is(endpoints()) {
        affected.extend(
            objects().any(|object| is_mirrored(&object.meta)).then(|| of(&change.key.name)),
        );
    } else if is(services()) {
        let by_user = |object: &Object| match &object.body {
            Body::Service(service) => service.selector.is_none(),
            _ => false,
        };
        let (before, after) = (change.before.map(by_user), change.after.map(by_user));
        if before != after && (before == Some(true) || after == Some(true)) {
            affected.push(of(&change.key.name));
        }
    } else if is(slices()) {
        affected.extend(objects().filter_map(named).map(|name| of(&name)));
    }
    affected.dedup();
    affected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Controller,
        fixture::{object, run, view},
    };

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(parse(text).map(|ip| ip.to_string()).as_deref(), expect, "{text}");
        };
        check("10.0.0.1", Some("10.0.0.1"));
        check("010.000.0.01", Some("10.0.0.1"));
        check("fd00:0:0::1", Some("fd00::1"));
        check("::ffff:10.0.0.1", Some("10.0.0.1"));
        check("10.0.0", None);
        check("10.0.0.256", None);
        check("host", None);
    }

    #[test]
    fn no_more_than_a_thousand_of_a_subset() {
        let address = |n: usize| json!({"ip": format!("10.{}.{}.1", n / 250, n % 250)});
        let addresses: Vec<Value> = (0..1005).map(address).collect();
        let port = json!({"name": "", "port": 80, "protocol": "TCP"});
        let subsets = json!([{"addresses": addresses, "ports": [port]}]);
        let world = view(&[
            object("services/default/shop", json!({"spec": {}})),
            object("endpoints/default/shop", json!({"subsets": subsets})),
        ]);
        let mirroring = Controller::EndpointSliceMirroring;
        let (sent, _) = run(mirroring, &world, "endpoints/default/shop", &[]);
        let [Request::Create { object, .. }] = &sent[..] else { panic!("{} sent", sent.len()) };
        assert_eq!(object["endpoints"].as_array().map(Vec::len), Some(MOST));
    }

    #[test]
    fn a_mirror_that_was_given_away_is_missed() {
        let subsets = json!([{"addresses": [{"ip": "10.9.0.1"}]}]);
        let labels = json!({
            "kubernetes.io/service-name": "shop", "endpointslice.kubernetes.io/managed-by": CONTROLLER,
        });
        let owner = json!({"apiVersion": "v1", "kind": "Endpoints", "name": "shop", "uid": "shop"});
        let endpoints = "endpoints/default/shop";
        let (key, mut slice) = object(
            "endpointslices.discovery.k8s.io/default/a",
            json!({
                "metadata": {"labels": labels, "ownerReferences": [owner]}, "addressType": "IPv4",
            }),
        );
        // Its uid is that of the Service too, which is no matter: keys tell them apart.
        let (service, by_user) = object("services/default/shop", json!({"spec": {}}));
        let mut seen = view(&[
            (service.clone(), by_user),
            object(endpoints, json!({"subsets": subsets})),
            (key.clone(), slice.clone()),
        ]);
        slice["metadata"]["labels"]["kubernetes.io/service-name"] = json!("other");
        seen.set(&key, Some(Object::read(&key, &slice)));
        let sent = |seen: &View| run(Controller::EndpointSliceMirroring, seen, endpoints, &[]).0;
        assert!(sent(&seen).is_empty());
        // Whose pods are selected, it is no longer mirrored, and nothing is missed any more.
        let (_, selects) =
            object("services/default/shop", json!({"spec": {"selector": {"a": "b"}}}));
        seen.set(&service, Some(Object::read(&service, &selects)));
        let found = sent(&seen);
        assert!(
            matches!(&found[..], [Request::Remember { memory: Memory::NoSlices, .. }]),
            "{found:?}"
        );
        seen.remember(&endpoints.parse().expect("a key"), Memory::NoSlices);
        assert_eq!((sent(&seen), seen.all_strays().count()), (vec![], 0));
    }
}
