//! Which tokens one object brings into a world, whatever else is in it.

use std::net::IpAddr;

use serde_json::{Map, Value};

use super::TokenKind;
use crate::key::ObjectKey;

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
    /// References and addresses, at any depth.
    pub fields: Vec<Field>,
}

/// A token in one of its fields.
#[derive(Debug)]
pub(crate) struct Field {
    pub kind: TokenKind,
    pub text: String,
    /// Of an address.
    pub family: &'static str,
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
        let addresses = matches!(
            (&*key.resource.group, &*key.resource.resource),
            ("", "endpoints" | "nodes") | ("discovery.k8s.io", "endpointslices")
        );
        sources.add_fields(root, addresses);
        sources
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

    fn add(&mut self, kind: TokenKind, text: &str, family: &'static str, own: bool) {
        self.fields.push(Field { kind, text: text.to_owned(), family, own });
    }
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
