//! Beta versions that 1.36 serves no more and controllers built years ago still ask for.
//!
//! A world serves those that a server of its release served by default ([`Release`]); in a world of 1.36, the default,
//! none, so that their paths are 404 as on the real server. They are rows beside the table of 1.36, each made from the
//! row of the version that replaced it; objects are stored in that version only, and converted on their way in and out
//! as upstream converts them (`convert` below).
//!
//! Not here: types that went without a successor (`policy/v1beta1` PodSecurityPolicy), types that a beta group shares
//! with `apps/v1` (`extensions/v1beta1` Deployment, gone since 1.16), and betas of types that controllers write rarely
//! (`scheduling`, `node`, `certificates`, `flowcontrol`). Asking for one of them is a 404.

mod autoscaler;
mod budget;
mod convert;
mod definition;
mod ingress;
mod slice;

use std::sync::OnceLock;

use super::{Release, Resource};

pub(crate) use convert::{down, up};

/// A resource in an old version.
#[derive(Debug)]
pub(crate) struct Older {
    /// Its row in discovery.
    pub(crate) row: Resource,
    /// Group and version that replaced it.
    pub(crate) current: (&'static str, &'static str),
    first: Release,
    deprecated: Release,
    /// The first release that does not serve it.
    removed: Release,
}

/// Group, version, plural; the group and version that replaced it; the minor releases that brought it, deprecated it
/// and removed it (`zz_generated.prerelease-lifecycle.go` beside each API's types, and the deprecation guide).
type Line = (&'static str, &'static str, &'static str, (&'static str, &'static str), [u8; 3]);

/// In the order in which a group shows its versions: behind those that 1.36 still has.
const LINES: &[Line] = &[
    (EXTENSIONS, "v1beta1", "ingresses", (NETWORKING, "v1"), [1, 14, 22]),
    ("events.k8s.io", "v1beta1", "events", ("events.k8s.io", "v1"), [8, 22, 25]),
    ("autoscaling", "v2beta1", AUTOSCALERS, ("autoscaling", "v2"), [8, 22, 25]),
    ("autoscaling", "v2beta2", AUTOSCALERS, ("autoscaling", "v2"), [12, 23, 26]),
    ("batch", "v1beta1", "cronjobs", ("batch", "v1"), [8, 21, 25]),
    (NETWORKING, "v1beta1", "ingressclasses", (NETWORKING, "v1"), [18, 19, 22]),
    (NETWORKING, "v1beta1", "ingresses", (NETWORKING, "v1"), [14, 19, 22]),
    ("policy", "v1beta1", "poddisruptionbudgets", ("policy", "v1"), [5, 21, 25]),
    (RBAC, "v1beta1", "clusterrolebindings", (RBAC, "v1"), [6, 17, 22]),
    (RBAC, "v1beta1", "clusterroles", (RBAC, "v1"), [6, 17, 22]),
    (RBAC, "v1beta1", "rolebindings", (RBAC, "v1"), [6, 17, 22]),
    (RBAC, "v1beta1", "roles", (RBAC, "v1"), [6, 17, 22]),
    (STORAGE, "v1beta1", "csidrivers", (STORAGE, "v1"), [14, 19, 22]),
    (STORAGE, "v1beta1", "csinodes", (STORAGE, "v1"), [14, 17, 22]),
    (STORAGE, "v1beta1", "csistoragecapacities", (STORAGE, "v1"), [21, 24, 27]),
    (STORAGE, "v1beta1", "storageclasses", (STORAGE, "v1"), [4, 19, 22]),
    (STORAGE, "v1beta1", "volumeattachments", (STORAGE, "v1"), [10, 19, 22]),
    (ADMISSION, "v1beta1", "mutatingwebhookconfigurations", (ADMISSION, "v1"), [9, 16, 22]),
    (ADMISSION, "v1beta1", "validatingwebhookconfigurations", (ADMISSION, "v1"), [9, 16, 22]),
    (APIEXTENSIONS, "v1beta1", "customresourcedefinitions", (APIEXTENSIONS, "v1"), [7, 16, 22]),
    (COORDINATION, "v1beta1", "leases", (COORDINATION, "v1"), [12, 19, 22]),
    // In 1.16 it existed and was not served by default.
    (DISCOVERY, "v1beta1", "endpointslices", (DISCOVERY, "v1"), [17, 21, 25]),
];

/// The group that 1.36 has no version of.
const EXTENSIONS: &str = "extensions";
const AUTOSCALERS: &str = "horizontalpodautoscalers";
const NETWORKING: &str = "networking.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const STORAGE: &str = "storage.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";
const APIEXTENSIONS: &str = "apiextensions.k8s.io";
const COORDINATION: &str = "coordination.k8s.io";
const DISCOVERY: &str = "discovery.k8s.io";

impl Older {
    fn read(&(group, version, plural, current, [first, deprecated, removed]): &Line) -> Older {
        let newer = super::resource(current.0, current.1, plural).expect("1.36 has its successor");
        let mut row =
            Resource { group: group.to_owned(), version: version.to_owned(), ..newer.clone() };
        // Attachments had no endpoint for their status: it was written with the object.
        row.subresources.retain(|_| plural != "volumeattachments");
        for below in &mut row.subresources {
            if (below.group.as_str(), below.version.as_str()) == current {
                (below.group, below.version) = (group.to_owned(), version.to_owned());
            }
        }
        let [first, deprecated, removed] = [first, deprecated, removed].map(Release::of);
        Older { row, current, first, deprecated, removed }
    }

    /// Whether a server of this release serves it.
    pub(crate) fn is_served(&self, release: Release) -> bool {
        self.first <= release && release < self.removed
    }

    /// What a server of this release warns of when it is used (`deprecation.WarningMessage`); servers warn since 1.19.
    pub(crate) fn warning(&self, release: Release) -> Option<String> {
        let Older { row, deprecated, removed, .. } = self;
        let newer = match row.version.as_str() {
            // Deprecated before `v2` was there.
            "v2beta1" => ("autoscaling", "v2beta2"),
            _ => self.current,
        };
        (release >= Release::of(19).max(*deprecated)).then(|| {
            let (old, kind) = (row.api_version(), &row.kind);
            let (group, version) = newer;
            format!(
                "{old} {kind} is deprecated in v{deprecated}+, unavailable in v{removed}+; use \
                 {group}/{version} {kind}"
            )
        })
    }
}

fn all() -> &'static [Older] {
    static ALL: OnceLock<Vec<Older>> = OnceLock::new();
    ALL.get_or_init(|| LINES.iter().map(Older::read).collect())
}

/// The old versions that a release serves.
pub(crate) fn served(release: Release) -> impl Iterator<Item = &'static Older> {
    all().iter().filter(move |older| older.is_served(release))
}

/// The resource at a path, if it is one in an old version, of whatever release.
pub(crate) fn find(group: &str, version: &str, resource: &str) -> Option<&'static Older> {
    all().iter().find(|older| {
        let row = &older.row;
        (row.group.as_str(), row.version.as_str(), row.resource.as_str())
            == (group, version, resource)
    })
}

/// The rows of an old group and version.
pub(crate) fn of_version(group: &str, version: &str) -> Vec<&'static Older> {
    let of = |older: &&Older| older.row.group == group && older.row.version == version;
    all().iter().filter(of).collect()
}

/// The old version of this `apiVersion` and kind.
pub(crate) fn by_kind(api_version: &str, kind: &str) -> Option<&'static Older> {
    all().iter().find(|older| older.row.kind == kind && older.row.api_version() == api_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_serves_what_it_served() {
        let check = |minor: u8, expect: &[&str]| {
            let mut found: Vec<String> =
                served(Release::of(minor)).map(|older| older.row.api_version()).collect();
            found.dedup();
            assert_eq!(found, expect, "1.{minor}");
        };
        check(36, &[]);
        check(27, &[]);
        check(26, &["storage.k8s.io/v1beta1"]);
        check(25, &["autoscaling/v2beta2", "storage.k8s.io/v1beta1"]);
        let with_betas = [
            "events.k8s.io/v1beta1",
            "autoscaling/v2beta1",
            "autoscaling/v2beta2",
            "batch/v1beta1",
            "policy/v1beta1",
            "storage.k8s.io/v1beta1",
            "discovery.k8s.io/v1beta1",
        ];
        check(24, &with_betas);
        check(22, &with_betas);
        assert_eq!(served(Release::of(21)).count(), LINES.len());
        let resources = |minor| served(Release::of(minor)).map(|older| older.row.resource.clone());
        assert!(resources(17).all(|name| name != "ingressclasses"));
        assert!(resources(16).all(|name| name != "endpointslices"));
    }

    #[test]
    fn rows_are_those_of_the_version_that_replaced_them() {
        let ingress = find("extensions", "v1beta1", "ingresses").unwrap();
        assert_eq!(ingress.row.api_version(), "extensions/v1beta1");
        assert_eq!(ingress.row.short_names, ["ing"]);
        let status = ingress.row.subresource("status").unwrap();
        assert_eq!((&*status.group, &*status.version), ("extensions", "v1beta1"));
        let attachment = find("storage.k8s.io", "v1beta1", "volumeattachments").unwrap();
        assert!(attachment.row.subresource("status").is_none());
        assert!(find("policy", "v1", "poddisruptionbudgets").is_none());
    }

    #[test]
    fn warnings_are_upstreams() {
        let warning =
            |older: Option<&'static Older>, minor| older.unwrap().warning(Release::of(minor));
        let budget = find("policy", "v1beta1", "poddisruptionbudgets");
        assert_eq!(warning(budget, 20), None);
        assert_eq!(
            warning(budget, 21).as_deref(),
            Some(
                "policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+; \
                 use policy/v1 PodDisruptionBudget"
            )
        );
        let definition = find("apiextensions.k8s.io", "v1beta1", "customresourcedefinitions");
        assert_eq!(warning(definition, 18), None, "servers warn since 1.19");
        assert!(warning(definition, 19).is_some());
    }
}
