//! The documents of discovery.

use std::{collections::BTreeMap, sync::OnceLock};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{
    crd::version_order,
    facts::{self, Release, Resource, api_version, older},
    world::World,
};

/// A group: its versions (preferred first) and the resources of each.
struct Group<'a> {
    name: &'a str,
    versions: Vec<(&'a str, Vec<&'a Resource>)>,
}

/// Built-in groups without core, then the groups of custom types by name.
fn groups(world: &World) -> Vec<Group<'_>> {
    let mut all = built_in_groups(world.release);
    all.extend(custom_groups(world));
    all
}

/// Built-in groups without core; the old versions that this release serves come behind the current ones, and the group
/// that has no others stands where it stood, behind the first (`apiVersionPriorities` of kube-aggregator).
fn built_in_groups(release: Release) -> Vec<Group<'static>> {
    let named = facts::groups().iter().filter(|group| !group.name.is_empty());
    let mut all: Vec<Group<'static>> = named.map(built_in).collect();
    for older in older::served(release) {
        let row = &older.row;
        let at = all.iter().position(|group| group.name == row.group).unwrap_or_else(|| {
            all.insert(1, Group { name: &row.group, versions: Vec::new() });
            1
        });
        let versions = &mut all[at].versions;
        match versions.iter_mut().find(|(version, _)| *version == row.version) {
            Some((_, rows)) => rows.push(row),
            None => versions.push((row.version.as_str(), vec![row])),
        }
    }
    all
}

fn built_in(group: &'static facts::Group) -> Group<'static> {
    let versions = group.versions.iter();
    let versions = versions.map(|of| (of.version.as_str(), of.resources.iter().collect()));
    Group { name: &group.name, versions: versions.collect() }
}

fn custom_groups(world: &World) -> Vec<Group<'_>> {
    let mut found: BTreeMap<&str, BTreeMap<&str, Vec<&Resource>>> = BTreeMap::new();
    for (resource, custom) in world.customs.iter() {
        let versions = found.entry(&resource.group).or_default();
        for version in &custom.versions {
            versions.entry(&version.row.version).or_default().push(&version.row);
        }
    }
    found
        .into_iter()
        .map(|(name, versions)| {
            let mut versions: Vec<(&str, Vec<&Resource>)> = versions.into_iter().collect();
            versions.sort_by(|a, b| version_order(a.0, b.0));
            Group { name, versions }
        })
        .collect()
}

/// `APIGroupDiscoveryList` of all groups but core.
pub(super) fn aggregated(world: &World) -> String {
    static CURRENT: OnceLock<Vec<String>> = OnceLock::new();
    let print = |groups: Vec<Group<'_>>| -> Vec<String> {
        groups.iter().map(|group| aggregated_group(group).to_string()).collect()
    };
    let current = || print(built_in_groups(Release::CURRENT));
    let built_in = match world.release == Release::CURRENT {
        true => CURRENT.get_or_init(current),
        // Clients that old read no aggregated documents: few ask.
        false => &print(built_in_groups(world.release)),
    };
    list_of(built_in.iter().cloned().chain(print(custom_groups(world))))
}

/// `APIGroupDiscoveryList` of the core group.
pub(super) fn core_list() -> String {
    let core = facts::groups().iter().filter(|group| group.name.is_empty());
    list_of(core.map(|group| aggregated_group(&built_in(group)).to_string()))
}

fn list_of(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    format!(
        "{{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{{}},\
         \"items\":[{}]}}\n",
        items.join(",")
    )
}

fn aggregated_group(group: &Group<'_>) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|(version, resources)| {
            let resources: Vec<Value> = resources.iter().map(|row| aggregated_row(row)).collect();
            json!({"version": version, "resources": resources, "freshness": "Current"})
        })
        .collect();
    let mut metadata = json!({"creationTimestamp": null});
    if !group.name.is_empty() {
        metadata["name"] = json!(group.name);
    }
    json!({"metadata": metadata, "versions": versions})
}

fn aggregated_row(row: &Resource) -> Value {
    let mut entry = json!({
        "resource": row.resource,
        "responseKind": {"group": row.group, "version": row.version, "kind": row.kind},
        "scope": if row.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": row.singular,
        "verbs": row.verbs,
    });
    if !row.short_names.is_empty() {
        entry["shortNames"] = json!(row.short_names);
    }
    if !row.categories.is_empty() {
        entry["categories"] = json!(row.categories);
    }
    if !row.subresources.is_empty() {
        let all = row.subresources.iter().map(|sub| {
            json!({
                "subresource": sub.name,
                "responseKind": {"group": sub.group, "version": sub.version, "kind": sub.kind},
                "verbs": sub.verbs,
            })
        });
        entry["subresources"] = all.collect();
    }
    entry
}

/// Where the server is, for whoever asks without saying how they came.
pub(super) const SERVER_ADDRESS: &str = "127.0.0.1:443";

/// `/api`.
pub(super) fn api_versions() -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": SERVER_ADDRESS}],
    })
}

/// `/apis`.
pub(super) fn group_list(world: &World) -> Value {
    let groups: Vec<Value> = groups(world).iter().map(group_entry).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`.
pub(super) fn group(world: &World, name: &str) -> Option<Value> {
    let groups = groups(world);
    let mut entry = groups.iter().find(|group| group.name == name).map(group_entry)?;
    entry["kind"] = json!("APIGroup");
    entry["apiVersion"] = json!("v1");
    Some(entry)
}

fn group_entry(group: &Group<'_>) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|(version, _)| {
            json!({"groupVersion": api_version(group.name, version), "version": version})
        })
        .collect();
    json!({"name": group.name, "preferredVersion": versions.first(), "versions": versions})
}

/// `/api/v1`, `/apis/GROUP/VERSION`.
pub(super) fn resources(world: &World, group: &str, version: &str) -> Option<Value> {
    let all = match group {
        "" => facts::groups().iter().filter(|of| of.name.is_empty()).map(built_in).collect(),
        _ => groups(world),
    };
    let group = all.iter().find(|of| of.name == group)?;
    let (_, rows) = group.versions.iter().find(|(of, _)| *of == version)?;
    let stored = |row: &Resource| {
        let custom = world.customs.get(&trace::GroupResource::new(&row.group, &row.resource))?;
        Some(custom.storage_api_version())
    };
    let resources: Vec<Value> =
        rows.iter().flat_map(|row| legacy_rows(row, stored(row).as_deref())).collect();
    let mut document = json!({
        "kind": "APIResourceList",
        "groupVersion": api_version(group.name, version),
        "resources": resources,
    });
    if !group.name.is_empty() {
        document["apiVersion"] = json!("v1");
    }
    Some(document)
}

/// `discovery.StorageVersionHash`: by which clients see that a type is stored in another version.
fn storage_version_hash(api_version: &str, kind: &str) -> String {
    let (group, version) = facts::split_api_version(api_version);
    let digest = Sha256::digest(format!("{group}/{version}/{kind}"));
    BASE64_STANDARD.encode(&digest[..8])
}

fn legacy_rows(row: &Resource, custom_storage: Option<&str>) -> Vec<Value> {
    let mut entry = json!({
        "name": row.resource,
        "singularName": row.singular,
        "namespaced": row.namespaced,
        "kind": row.kind,
        "verbs": row.verbs,
    });
    if !row.short_names.is_empty() {
        entry["shortNames"] = json!(row.short_names);
    }
    if !row.categories.is_empty() {
        entry["categories"] = json!(row.categories);
    }
    let stored = facts::storage_api_version(&row.group, &row.resource);
    let stored = stored.or_else(|| custom_storage.map(str::to_owned));
    if let Some(version) = stored.filter(|_| row.is_stored()) {
        // Definitions are kept in their beta version upstream (`apiextensions-apiserver/pkg/apiserver`).
        let version = match row.resource.as_str() {
            "customresourcedefinitions" => format!("{}beta1", version),
            _ => version,
        };
        entry["storageVersionHash"] = json!(storage_version_hash(&version, &row.kind));
    }
    let mut rows = vec![entry];
    rows.extend(row.subresources.iter().map(|sub| {
        let mut entry = Map::new();
        entry.insert("name".to_owned(), json!(format!("{}/{}", row.resource, sub.name)));
        entry.insert("singularName".to_owned(), json!(""));
        entry.insert("namespaced".to_owned(), json!(row.namespaced));
        entry.insert("kind".to_owned(), json!(sub.kind));
        entry.insert("verbs".to_owned(), json!(sub.verbs));
        if (&sub.group, &sub.version) != (&row.group, &row.version) {
            entry.insert("group".to_owned(), json!(sub.group));
            entry.insert("version".to_owned(), json!(sub.version));
        }
        Value::Object(entry)
    }));
    rows
}

/// `/`.
pub(super) fn paths(world: &World) -> Value {
    let first = ["/.well-known/openid-configuration", "/api", "/api/v1", "/apis"];
    let mut paths: Vec<String> = first.map(str::to_owned).into();
    for group in groups(world) {
        paths.push(format!("/apis/{}", group.name));
        paths.extend(
            group.versions.iter().map(|(version, _)| format!("/apis/{}/{version}", group.name)),
        );
    }
    paths.extend(
        [
            "/healthz",
            "/livez",
            "/openapi/v2",
            "/openapi/v3",
            "/openid/v1/jwks",
            "/readyz",
            "/version",
        ]
        .map(str::to_owned),
    );
    json!({"paths": paths})
}
