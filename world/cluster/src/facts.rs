//! What Kubernetes 1.36 serves by itself: groups, versions, resources and their subresources.
//!
//! Read from the aggregated discovery documents of a real 1.36 server (`cluster/data/discovery-*.json`),
//! parsed once on first use (25 KB, well under a millisecond) into one constant table. Custom resources
//! are not here: they live in the world. Beta versions that a world of an older release serves beside these are a table
//! of their own ([`older`]).

mod convert;
pub(crate) mod older;
mod read;
mod release;

use std::sync::OnceLock;

use trace::GroupResource;

pub use convert::{ConvertError, convert};
pub use release::{NoRelease, Release};

/// An API group with its versions, preferred version first.
#[derive(Debug, Clone)]
pub struct Group {
    /// Name as in the path; empty for the core group.
    pub name: String,
    /// Served versions; the first is the preferred one.
    pub versions: Vec<Version>,
}

/// One version of a group.
#[derive(Debug, Clone)]
pub struct Version {
    /// `v1`, `v2`.
    pub version: String,
    /// Its resources in discovery order (by name).
    pub resources: Vec<Resource>,
}

/// One resource type in one version.
#[derive(Debug, Clone)]
pub struct Resource {
    /// API group; empty for core.
    pub group: String,
    /// API version.
    pub version: String,
    /// Plural name as in the path.
    pub resource: String,
    /// Singular name.
    pub singular: String,
    /// Kind of its objects. For create-only types (`bindings`) the kind of the body.
    pub kind: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Verbs in discovery order (alphabetic).
    pub verbs: Vec<String>,
    /// `po`, `deploy`.
    pub short_names: Vec<String>,
    /// `all`.
    pub categories: Vec<String>,
    /// Subresources by name.
    pub subresources: Vec<Subresource>,
}

/// A subresource and the type of its body.
#[derive(Debug, Clone)]
pub struct Subresource {
    /// `status`, `scale`, `eviction`.
    pub name: String,
    /// Group of its body's type.
    pub group: String,
    /// Version of its body's type.
    pub version: String,
    /// Kind of its body.
    pub kind: String,
    /// Verbs in discovery order.
    pub verbs: Vec<String>,
}

impl Resource {
    /// `apps/v1`, or `v1` for core.
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// Whether `verb` (`create`, `list`, `deletecollection`) is served.
    pub fn serves(&self, verb: &str) -> bool {
        self.verbs.iter().any(|served| served == verb)
    }

    /// A subresource by name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }

    /// Whether the server keeps objects of this type. Reviews, bindings and the like are only answered,
    /// and `componentstatuses` are computed.
    pub fn is_stored(&self) -> bool {
        self.serves("get") && self.serves("create")
    }
}

/// All built-in groups; core first, then in the order of a real server's `/apis`.
pub fn groups() -> &'static [Group] {
    static GROUPS: OnceLock<Vec<Group>> = OnceLock::new();
    GROUPS.get_or_init(read::groups)
}

/// The group of this name.
pub fn group(name: &str) -> Option<&'static Group> {
    groups().iter().find(|group| group.name == name)
}

/// Whether a server of this release has the group by itself.
pub fn has_group(name: &str, release: Release) -> bool {
    group(name).is_some() || older::served(release).any(|older| older.row.group == name)
}

/// Every resource of every version that a server of this release has by itself.
pub fn resources(release: Release) -> impl Iterator<Item = &'static Resource> {
    let versions = groups().iter().flat_map(|group| &group.versions);
    let rows = versions.flat_map(|version| &version.resources);
    rows.chain(older::served(release).map(|older| &older.row))
}

/// The version `version` of `group`.
pub fn version(group_name: &str, version: &str) -> Option<&'static Version> {
    group(group_name)?.versions.iter().find(|candidate| candidate.version == version)
}

/// The resource served at `/apis/GROUP/VERSION/…/RESOURCE` (`/api/v1/…` for core).
pub fn resource(group: &str, version_name: &str, resource: &str) -> Option<&'static Resource> {
    version(group, version_name)?.resources.iter().find(|row| row.resource == resource)
}

/// The resource whose objects have this kind.
pub fn by_kind(group: &str, version_name: &str, kind: &str) -> Option<&'static Resource> {
    version(group, version_name)?.resources.iter().find(|row| row.kind == kind)
}

/// Under which name objects of this type are stored: types served in several groups share storage.
pub fn storage(group: &str, resource: &str) -> GroupResource {
    match (group, resource) {
        ("events.k8s.io", "events") => GroupResource::new("", "events"),
        ("extensions", "ingresses") => GroupResource::new("networking.k8s.io", "ingresses"),
        _ => GroupResource::new(group, resource),
    }
}

/// In which version (`apiVersion`) objects of a built-in type are stored; the one into which
/// [`convert`] is called before a write. `None` for types that are not built in.
pub fn storage_api_version(group_name: &str, resource: &str) -> Option<String> {
    let storage = storage(group_name, resource);
    let first = group(&storage.group)?
        .versions
        .iter()
        .find(|version| version.resources.iter().any(|row| row.resource == *storage.resource))?;
    Some(api_version(&storage.group, &first.version))
}

/// `GROUP/VERSION`, or `VERSION` for core.
pub fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// Splits an `apiVersion` into group and version.
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_found_by_path_and_kind() {
        let check = |group, version, name, kind, namespaced| {
            let row = resource(group, version, name).expect(name);
            assert_eq!((row.kind.as_str(), row.namespaced), (kind, namespaced));
            assert_eq!(by_kind(group, version, kind).expect(kind).resource, name);
        };
        check("", "v1", "pods", "Pod", true);
        check("", "v1", "namespaces", "Namespace", false);
        check("apps", "v1", "deployments", "Deployment", true);
        check("autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", true);
        check("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true);
        assert!(resource("example.com", "v1", "foos").is_none());
    }

    #[test]
    fn subresources_know_their_bodies() {
        let check = |group, resource_name, name, body: (&str, &str, &str)| {
            let row = resource(group, "v1", resource_name).expect(resource_name);
            let found = row.subresource(name).expect(name);
            assert_eq!((&*found.group, &*found.version, &*found.kind), body);
        };
        check("apps", "deployments", "scale", ("autoscaling", "v1", "Scale"));
        check("apps", "deployments", "status", ("apps", "v1", "Deployment"));
        check("", "pods", "eviction", ("policy", "v1", "Eviction"));
        check("", "pods", "status", ("", "v1", "Pod"));
    }

    #[test]
    fn shared_storage_has_one_name_and_version() {
        assert_eq!(storage("events.k8s.io", "events"), GroupResource::new("", "events"));
        let check = |group, name, expect| {
            assert_eq!(storage_api_version(group, name).as_deref(), expect);
        };
        check("events.k8s.io", "events", Some("v1"));
        check("extensions", "ingresses", Some("networking.k8s.io/v1"));
        check("autoscaling", "horizontalpodautoscalers", Some("autoscaling/v2"));
        check("apps", "deployments", Some("apps/v1"));
        check("example.com", "foos", None);
        assert!(resource("", "v1", "pods").unwrap().is_stored());
        assert!(!resource("", "v1", "bindings").unwrap().is_stored());
    }
}
