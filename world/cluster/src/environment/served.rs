//! Which types are served, for controllers.

use std::sync::Arc;

use controllers::Kinds;
use rpds::RedBlackTreeMapSync;
use trace::GroupResource;

use crate::{
    crd::CustomType,
    facts::{self, Release, api_version},
    world::{World, kinds::Kind},
};

/// All served types whose objects are kept, by version and kind.
pub(crate) fn kinds(
    customs: &RedBlackTreeMapSync<GroupResource, Arc<CustomType>>,
    release: Release,
) -> Kinds {
    let built_in = facts::resources(release).filter(|row| row.is_stored());
    let built_in = built_in.map(|row| (row, facts::storage(&row.group, &row.resource)));
    let custom = customs.values().flat_map(|custom| {
        custom.versions.iter().map(|served| (&served.row, custom.resource.clone()))
    });
    built_in
        .chain(custom)
        .map(|(row, resource)| {
            let kind = controllers::Kind { resource, namespaced: row.namespaced };
            ((api_version(&row.group, &row.version).into(), row.kind.as_str().into()), kind)
        })
        .collect()
}

/// A type by the name under which its objects are stored, and the version in which controllers write it: the
/// stored one where it is served.
pub(crate) fn kind_of(world: &World, resource: &GroupResource) -> Option<(Kind, String)> {
    let version = match world.customs.get(resource) {
        Some(custom) => {
            let stored = custom.storage_api_version();
            let served = custom.versions.iter().map(|served| &served.row);
            let stored = served.clone().find(|row| row.api_version() == stored);
            stored.or(served.into_iter().next())?.version.clone()
        }
        None => {
            let stored = facts::storage_api_version(&resource.group, &resource.resource)?;
            stored.rsplit('/').next()?.to_owned()
        }
    };
    let kind = world.kind(&resource.group, &version, &resource.resource)?;
    Some((kind, version))
}
