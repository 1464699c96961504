//! Reads the discovery documents into the table of [`crate::facts`].

use serde::Deserialize;

use super::{Group, Resource, Subresource, Version};

const CORE: &str = include_str!("../../data/discovery-api.json");
const OTHERS: &str = include_str!("../../data/discovery-apis.json");

#[derive(Deserialize)]
struct Document {
    items: Vec<GroupItem>,
}

#[derive(Deserialize)]
struct GroupItem {
    metadata: Metadata,
    versions: Vec<VersionItem>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct VersionItem {
    version: String,
    resources: Vec<ResourceItem>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceItem {
    resource: String,
    response_kind: Kind,
    scope: String,
    singular_resource: String,
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
    #[serde(default)]
    subresources: Vec<SubresourceItem>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SubresourceItem {
    subresource: String,
    response_kind: Kind,
    verbs: Vec<String>,
}

#[derive(Deserialize)]
struct Kind {
    group: String,
    version: String,
    kind: String,
}

/// Parses both documents. They are constants of this crate, so a failure is a fault of the build.
pub(super) fn groups() -> Vec<Group> {
    [CORE, OTHERS]
        .into_iter()
        .flat_map(|text| {
            let document: Document = serde_json::from_str(text)
                .expect("the discovery data of this crate is well formed");
            document.items
        })
        .map(group)
        .collect()
}

fn group(item: GroupItem) -> Group {
    let name = item.metadata.name;
    let versions = item.versions.into_iter().map(|version| self::version(&name, version)).collect();
    Group { name, versions }
}

fn version(group: &str, item: VersionItem) -> Version {
    let version = item.version;
    let resources = item.resources.into_iter().map(|row| resource(group, &version, row)).collect();
    Version { version, resources }
}

fn resource(group: &str, version: &str, item: ResourceItem) -> Resource {
    let subresources = item
        .subresources
        .into_iter()
        .map(|subresource| {
            // An empty version means: the same group and version as the resource itself.
            let body = subresource.response_kind;
            let own = body.version.is_empty();
            Subresource {
                name: subresource.subresource,
                group: if own { group.to_owned() } else { body.group },
                version: if own { version.to_owned() } else { body.version },
                kind: body.kind,
                verbs: subresource.verbs,
            }
        })
        .collect();
    Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        resource: item.resource,
        singular: item.singular_resource,
        kind: item.response_kind.kind,
        namespaced: item.scope == "Namespaced",
        verbs: item.verbs,
        short_names: item.short_names,
        categories: item.categories,
        subresources,
    }
}
