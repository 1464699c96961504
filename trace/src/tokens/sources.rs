//! Which tokens one object brings into a world, whatever else is in it.

use std::net::IpAddr;

use serde_json::{Map, Value};

use super::{NODE_PORTS, TokenKind};
use crate::{
    key::ObjectKey,
    made::{self, Made},
};

/// What of an object are tokens, in the order in which they count.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    pub has_metadata: bool,
    /// Its own uid.
    pub uid: Option<String>,
    /// Its `generateName`; empty if it has none.
    pub asked_for: String,
    /// What stands before the hash of a template in its name, and the hash.
    pub template_hash: Option<(String, String)>,
    /// Template hashes by the labels that hold them, also where what they are of is not among the objects.
    pub hashes: Vec<String>,
    /// References, addresses and ports, at any depth.
    pub fields: Vec<Field>,
    /// Of a pod: the node that a scheduler chose for it.
    pub bound_to: Option<String>,
    /// Texts in fields in which nodes are asked for by name.
    pub asked_nodes: Vec<String>,
}

/// A token in one of its fields.
#[derive(Debug)]
pub(crate) struct Field {
    pub kind: TokenKind,
    pub text: String,
    /// See [`super::Token::prefix`].
    pub prefix: String,
    /// Whether it is the object's own.
    pub own: bool,
}

impl Sources {
    /// Walks through the object.
    pub fn of(key: &ObjectKey, object: &Value) -> Sources {
        let mut sources = Sources::default();
        let Some(root) = object.as_object() else { return sources };
        if let Some(metadata) = root.get("metadata").and_then(Value::as_object) {
            let text = |name: &str| metadata.get(name).and_then(Value::as_str);
            sources.has_metadata = true;
            sources.uid = text("uid").map(str::to_owned);
            sources.asked_for = text("generateName").unwrap_or_default().to_owned();
            let template = template_hash(key, metadata);
            sources.template_hash =
                template.map(|(prefix, hash)| (prefix.to_owned(), hash.to_owned()));
            sources.add_hashes(metadata);
        }
        let mut addresses = false;
        match (&*key.resource.group, &*key.resource.resource) {
            ("", "endpoints" | "nodes") | ("discovery.k8s.io", "endpointslices") => {
                addresses = true;
            }
            ("", "services") => sources.add_ports(object),
            ("", "pods") => sources.bound_to = bound_to(object),
            ("networking.k8s.io", "ipaddresses") => sources.address(&key.name, true),
            _ => {}
        }
        sources.add_fields(root, addresses);
        if Made::of(object) == Made::ByEnvironment || is_provisioned(object) {
            sources.asked_nodes.clear();
        }
        sources
    }

    /// Node ports of a Service that its allocator chose.
    fn add_ports(&mut self, service: &Value) {
        let chosen = |number: &Value, asked: bool| {
            let number = number.as_u64().filter(|number| NODE_PORTS.contains(number) && !asked)?;
            Some(number.to_string())
        };
        for port in service["spec"]["ports"].as_array().into_iter().flatten() {
            if let Some(number) = chosen(&port["nodePort"], is_asked_for(service, port)) {
                let which = port["name"]
                    .as_str()
                    .map_or_else(|| format!("{}/{}", port["port"], protocol(port)), str::to_owned);
                self.add(TokenKind::Port, &number, &which, true);
            }
        }
        let health = "healthCheckNodePort";
        let asked = made::written(service, &format!("/f:spec/f:{health}")).next().is_some();
        if let Some(number) = chosen(&service["spec"][health], asked) {
            self.add(TokenKind::Port, &number, "of health checks", true);
        }
    }

    fn add_hashes(&mut self, metadata: &Map<String, Value>) {
        let Some(labels) = metadata.get("labels").and_then(Value::as_object) else { return };
        for label in ["pod-template-hash", "controller-revision-hash"] {
            let Some(value) = labels.get(label).and_then(Value::as_str) else { continue };
            self.hashes.push(value.rsplit('-').next().unwrap_or(value).to_owned());
        }
    }

    fn add_fields(&mut self, map: &Map<String, Value>, addresses: bool) {
        let reference = map.contains_key("kind") && map.contains_key("name");
        for (key, value) in map {
            match (key.as_str(), value) {
                ("managedFields", _) => {}
                ("uid", Value::String(uid)) if reference => {
                    self.add(TokenKind::Uid, uid, "", false);
                }
                ("podIP" | "hostIP" | "clusterIP", Value::String(ip)) => {
                    self.address(ip, key != "hostIP");
                }
                ("podIPs" | "hostIPs" | "clusterIPs", Value::Array(items)) => {
                    for item in items {
                        if let Some(ip) = item.as_str().or_else(|| item.get("ip")?.as_str()) {
                            self.address(ip, key != "hostIPs");
                        }
                    }
                }
                ("addresses" | "notReadyAddresses", Value::Array(items)) if addresses => {
                    for item in items {
                        let ip = ["ip", "address"].iter().find_map(|name| item.get(name)?.as_str());
                        if let Some(ip) = item.as_str().or(ip) {
                            self.address(ip, false);
                        }
                    }
                }
                ("nodeName", Value::String(name))
                    if map.contains_key("containers") && self.bound_to.as_ref() != Some(name) =>
                {
                    self.asked_nodes.push(name.clone());
                }
                ("nodeSelector", Value::Object(labels)) => {
                    self.asked_nodes.extend(labels.values().filter_map(owned_text));
                    self.add_fields(labels, addresses);
                }
                ("values", Value::Array(values)) if map.contains_key("operator") => {
                    self.asked_nodes.extend(values.iter().filter_map(owned_text));
                }
                (_, Value::Object(inner)) => self.add_fields(inner, addresses),
                (_, Value::Array(items)) => {
                    for inner in items.iter().filter_map(Value::as_object) {
                        self.add_fields(inner, addresses);
                    }
                }
                _ => {}
            }
        }
    }

    fn address(&mut self, text: &str, own: bool) {
        let family = match text.parse::<IpAddr>() {
            Ok(ip) if ip.is_loopback() || ip.is_unspecified() => return,
            Ok(IpAddr::V4(_)) => "4",
            Ok(IpAddr::V6(_)) => "6",
            Err(_) => return,
        };
        self.add(TokenKind::Address, text, family, own);
    }

    fn add(&mut self, kind: TokenKind, text: &str, prefix: &str, own: bool) {
        self.fields.push(Field { kind, text: text.to_owned(), prefix: prefix.to_owned(), own });
    }
}

/// The node of a pod that was bound to it: one that nobody wrote into the pod.
fn bound_to(pod: &Value) -> Option<String> {
    let asked = made::written(pod, "/f:spec/f:nodeName").next().is_some();
    let node = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty())?;
    (made::is_known(pod) && !asked).then(|| node.to_owned())
}

/// Whether somebody wrote the node port of a Service's port.
fn is_asked_for(service: &Value, port: &Value) -> bool {
    let of_port = |key: &str| {
        let key: Value = serde_json::from_str(key.strip_prefix("k:")?).ok()?;
        Some(key["port"] == port["port"] && protocol(&key) == protocol(port))
    };
    let ports = made::written(service, "/f:spec/f:ports").filter_map(Value::as_object).flatten();
    ports
        .filter(|(_, fields)| fields.get("f:nodePort").is_some())
        .any(|(key, _)| of_port(key) == Some(true))
}

fn protocol(port: &Value) -> &str {
    port["protocol"].as_str().unwrap_or("TCP")
}

/// Whether a volume was made for a claim, on the node that the claim's pod had got.
fn is_provisioned(volume: &Value) -> bool {
    volume["metadata"]["annotations"].get("pv.kubernetes.io/provisioned-by").is_some()
}

fn owned_text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// The hash of a pod template at the end of an object's name, and what stands before it (`ComputeHash` of the Deployment
/// and history controllers; both put the hash in a label as well).
fn template_hash<'m>(
    key: &'m ObjectKey,
    metadata: &'m Map<String, Value>,
) -> Option<(&'m str, &'m str)> {
    let labels = match (&*key.resource.group, &*key.resource.resource) {
        ("apps", "replicasets") => &["pod-template-hash"][..],
        ("apps", "controllerrevisions") => {
            &["controller.kubernetes.io/hash", "controller-revision-hash"][..]
        }
        _ => return None,
    };
    let known = metadata.get("labels")?;
    let hash = labels.iter().find_map(|label| known.get(label)?.as_str())?;
    let hash = hash.rsplit('-').next()?;
    let prefix = key.name.strip_suffix(hash).filter(|_| !hash.is_empty())?;
    prefix.ends_with('-').then_some((prefix, hash))
}
