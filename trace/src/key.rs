//! How things are named: resource types, objects, revisions.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

/// A revision of the store: Kubernetes' `resourceVersion` read as a number (KEP-5504: comparable decimals).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Revision(pub u64);

impl Revision {
    /// Parses a `resourceVersion`; `None` for anything that is not a canonical decimal.
    pub fn parse(text: &str) -> Option<Revision> {
        let canonical = !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && (text == "0" || !text.starts_with('0'));
        canonical.then(|| text.parse().ok().map(Revision)).flatten()
    }

    /// The next revision.
    pub fn next(self) -> Revision {
        Revision(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A resource type without its version: `deployments.apps`, `configmaps`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// API group; empty for the core group.
    pub group: Arc<str>,
    /// Plural resource name as in the request path.
    pub resource: Arc<str>,
}

impl GroupResource {
    /// `GroupResource::new("apps", "deployments")`; the core group is `""`.
    pub fn new(group: &str, resource: &str) -> GroupResource {
        GroupResource { group: group.into(), resource: resource.into() }
    }

    /// Whether a type is one of Kubernetes' own. Custom types too may stand below `k8s.io`.
    pub fn is_built_in(&self) -> bool {
        let group = &*self.group;
        matches!(group, "" | "apps" | "autoscaling" | "batch" | "extensions" | "policy")
            || group.strip_suffix(".k8s.io").is_some_and(|group| {
                matches!(
                    group,
                    "admissionregistration"
                        | "apiextensions"
                        | "apiregistration"
                        | "authentication"
                        | "authorization"
                        | "certificates"
                        | "coordination"
                        | "discovery"
                        | "events"
                        | "flowcontrol.apiserver"
                        | "internal.apiserver"
                        | "networking"
                        | "node"
                        | "rbac.authorization"
                        | "resource"
                        | "scheduling"
                        | "storage"
                        | "storagemigration"
                )
            })
    }

    /// Leases and Events: traffic that says nothing about the work (design §1.2). They are counted apart
    /// and are no part of a world's identity.
    pub fn is_bookkeeping(&self) -> bool {
        matches!(
            (&*self.group, &*self.resource),
            ("coordination.k8s.io", "leases") | ("" | "events.k8s.io", "events")
        )
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        Ok(())
    }
}

impl FromStr for GroupResource {
    type Err = ParseKeyError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (resource, group) = text.split_once('.').unwrap_or((text, ""));
        if resource.is_empty() {
            return Err(ParseKeyError(text.to_owned()));
        }
        Ok(GroupResource::new(group, resource))
    }
}

/// One object: `foos.example.com/default/foo-1`, or `namespaces/default` where it has no namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Its resource type.
    pub resource: GroupResource,
    /// Its namespace; empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// Names an object; `namespace` is empty for cluster-scoped ones.
    pub fn new(resource: GroupResource, namespace: &str, name: &str) -> ObjectKey {
        ObjectKey { resource, namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.resource)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

impl FromStr for ObjectKey {
    type Err = ParseKeyError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split('/').collect();
        match parts[..] {
            [resource, name] => Ok(ObjectKey::new(resource.parse()?, "", name)),
            [resource, namespace, name] => Ok(ObjectKey::new(resource.parse()?, namespace, name)),
            _ => Err(ParseKeyError(text.to_owned())),
        }
    }
}

/// A text that names no resource or object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a key of the form resource.group/namespace/name: {0:?}")]
pub struct ParseKeyError(pub String);

macro_rules! serde_as_text {
    ($type:ty) => {
        impl Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(de: D) -> Result<Self, D::Error> {
                String::deserialize(de)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_as_text;
serde_as_text!(GroupResource);
serde_as_text!(ObjectKey);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_text() {
        for text in ["foos.example.com/default/foo-1", "configmaps/default/a", "namespaces/default"]
        {
            assert_eq!(text.parse::<ObjectKey>().unwrap().to_string(), text);
        }
        assert!("a".parse::<ObjectKey>().is_err());
        assert!("a/b/c/d".parse::<ObjectKey>().is_err());
    }

    #[test]
    fn revisions_are_canonical_decimals() {
        assert_eq!(Revision::parse("12"), Some(Revision(12)));
        for text in ["", "012", "-1", "1a", "99999999999999999999999"] {
            assert_eq!(Revision::parse(text), None, "{text}");
        }
    }
}
