//! Services, and what tells of the pods behind them.

use serde_json::Value;
use trace::{GroupResource, ObjectKey};

use crate::{
    controller::{Affected, Change},
    object::{Body, Labels, Object, Text},
    pod::Pod,
    quota::{Amounts, Counted},
    read,
    view::View,
};

pub mod endpoints;
pub(crate) mod mirror;
pub(crate) mod slices;

pub use slices::{Endpoint, Slice};

/// `v1.IsHeadlessService`: a label of what belongs to a Service without an address.
const HEADLESS: &str = "service.kubernetes.io/headless";

/// A Service.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Service {
    /// `spec.selector`; none where the user looks after the endpoints.
    pub selector: Option<Labels>,
    /// Whether `spec.type` is ExternalName.
    pub external: bool,
    /// Whether it has an address of its own.
    pub has_address: bool,
    /// `spec.ipFamilies`.
    pub families: Vec<Text>,
    /// `spec.ports`.
    pub ports: Vec<ServicePort>,
    /// `spec.publishNotReadyAddresses`.
    pub publishes_all: bool,
    /// `spec.trafficDistribution`.
    pub traffic: Text,
    /// What quotas count.
    pub uses: Amounts,
}

/// A port of a Service.
#[derive(Debug, Clone, PartialEq)]
pub struct ServicePort {
    /// `name`.
    pub name: Text,
    /// `protocol`.
    pub protocol: Text,
    /// `appProtocol`.
    pub app_protocol: Option<Text>,
    /// `targetPort`: a number, or the name of a container's port.
    pub target: Result<i64, Text>,
}

/// A port at which a pod serves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct EndpointPort {
    /// `name`.
    pub name: Text,
    /// `protocol`.
    pub protocol: Text,
    /// `port`.
    pub port: i64,
    /// `appProtocol`.
    pub app_protocol: Option<Text>,
}

pub(crate) fn services() -> GroupResource {
    GroupResource::new("", "services")
}

/// Whether this is the key of an EndpointSlice.
pub(crate) fn is_slice(key: &ObjectKey) -> bool {
    *key.resource.resource == *"endpointslices" && key.resource == slices::slices()
}

/// What a slice tells of by its labels, where one of the two controllers looks after it: a Service, or Endpoints that
/// are mirrored.
pub(crate) fn told_of(key: &ObjectKey, slice: &Object) -> Option<ObjectKey> {
    let labels = &slice.meta.labels;
    let name = labels.get(slices::SERVICE_NAME)?;
    let resource = match &**labels.get(slices::MANAGED_BY)? {
        slices::CONTROLLER => services(),
        mirror::CONTROLLER => endpoints::endpoints(),
        _ => return None,
    };
    Some(ObjectKey::new(resource, &key.namespace, name))
}

impl Service {
    pub(crate) fn read(object: &Value) -> Service {
        let spec = &object["spec"];
        let address = read::text(spec, "clusterIP");
        let port = |port: &Value| ServicePort {
            name: read::text(port, "name"),
            protocol: read::text(port, "protocol"),
            app_protocol: port.get("appProtocol").and_then(Value::as_str).map(Text::from),
            target: match port["targetPort"].as_str() {
                Some(name) => Err(name.into()),
                None => Ok(read::number(port, "targetPort")),
            },
        };
        Service {
            selector: spec.get("selector").map(|_| read::labels(spec, "selector")),
            external: spec["type"] == "ExternalName",
            has_address: !address.is_empty() && *address != *"None",
            families: read::list(spec, "ipFamilies")
                .filter_map(Value::as_str)
                .map(Text::from)
                .collect(),
            ports: read::list(spec, "ports").map(port).collect(),
            publishes_all: read::flag(spec, "publishNotReadyAddresses"),
            traffic: read::text(spec, "trafficDistribution"),
            uses: Counted::service(object),
        }
    }

    /// Whether controllers look after its endpoints.
    fn is_managed(&self) -> bool {
        !self.external && self.selector.is_some()
    }

    fn selects(&self, labels: &Labels) -> bool {
        self.is_managed()
            && self.selector.as_ref().is_some_and(|selector| {
                selector.iter().all(|(key, value)| labels.get(key) == Some(value))
            })
    }

    /// Where it serves at a pod (`FindPort`).
    fn ports_of(&self, pod: &Pod) -> Vec<EndpointPort> {
        let found = |port: &ServicePort| {
            let number = match &port.target {
                Ok(number) => *number,
                Err(name) => {
                    let named = |one: &&(Text, Text, i64)| one.0 == *name && one.1 == port.protocol;
                    pod.ports.iter().find(named)?.2
                }
            };
            Some(EndpointPort {
                name: port.name.clone(),
                protocol: port.protocol.clone(),
                port: number,
                app_protocol: port.app_protocol.clone(),
            })
        };
        self.ports.iter().filter_map(found).collect()
    }

    /// The pods behind it that have an address and have not ended.
    fn pods<'v>(
        &self,
        view: &'v View,
        namespace: &str,
        terminating: bool,
    ) -> Vec<(ObjectKey, &'v Object, &'v Pod)> {
        let pods = view.list(&GroupResource::new("", "pods"), namespace);
        pods.filter(|(_, object)| {
            self.selects(&object.meta.labels) && (terminating || !object.meta.is_deleted())
        })
        .filter_map(|(key, object)| match &object.body {
            Body::Pod(pod) if !pod.has_ended() && !pod.addresses.is_empty() => {
                Some((key, object, &**pod))
            }
            _ => None,
        })
        .collect()
    }

    /// The name by which a pod is known behind the Service, where it has one.
    fn hostname(name: &str, pod: &Pod) -> Option<Text> {
        let named = !pod.hostname.is_empty() && *pod.subdomain == *name;
        named.then(|| pod.hostname.clone())
    }
}

/// Whether a text is an address of IPv6.
fn is_v6(address: &str) -> bool {
    address.contains(':')
}

/// The Services that a change of a pod, a Service, or of a type that tells of pods concerns.
fn affected(view: &View, change: &Change<'_>, of: &GroupResource, named: Named) -> Vec<Affected> {
    let resource = &change.key.resource;
    let objects = || [change.before, change.after].into_iter().flatten();
    let mut affected = Vec::new();
    if *resource == services() {
        affected.push(Affected::now(change.key));
    } else if resource == of {
        let names = objects().filter_map(|object| named(change.key, object));
        affected.extend(
            names.map(|name| {
                Affected::now(&ObjectKey::new(services(), &change.key.namespace, &name))
            }),
        );
    } else if *resource == GroupResource::new("", "pods") {
        let (before, after) = (change.before.and_then(seen), change.after.and_then(seen));
        // Upstream compares the addresses of the two times of deletion, which always differ.
        let deleted = change.after.is_some_and(|object| object.meta.is_deleted());
        if before != after || deleted {
            for (key, object) in view.list(&services(), &change.key.namespace) {
                let Body::Service(service) = &object.body else { continue };
                if objects().any(|pod| service.selects(&pod.meta.labels)) {
                    affected.push(Affected::now(&key));
                }
            }
        }
    } else if *resource == crate::scheduler::nodes() && change.before.is_none() {
        // Pods that were bound to it before.
        for (pod, object) in view.on_node(&change.key.name) {
            for (key, service) in view.list(&services(), &pod.namespace) {
                let Body::Service(service) = &service.body else { continue };
                if service.selects(&object.meta.labels) {
                    affected.push(Affected::now(&key));
                }
            }
        }
    }
    affected.dedup();
    affected
}

/// The Service that an object tells of.
type Named = fn(&ObjectKey, &Object) -> Option<Text>;

/// What of a pod makes controllers look at its Services (`podEndpointsChanged`). That it has ended does not: a kubelet
/// says at the same time that it is not ready.
fn seen(object: &Object) -> Option<impl PartialEq> {
    let Body::Pod(pod) = &object.body else { return None };
    Some((
        (object.meta.uid.clone(), object.meta.labels.clone(), object.meta.is_deleted()),
        (pod.ready_since.is_some(), pod.addresses.clone()),
        (pod.hostname.clone(), pod.subdomain.clone()),
    ))
}
