//! What a CustomResourceDefinition says of a type: where it is served.

use serde_json::Value;
use trace::{GroupResource, ObjectKey, Revision};

use super::Store;

/// A version of a custom type.
#[derive(Debug, Clone, Copy)]
pub struct Definition<'s>(&'s Value);

/// What is known of a type.
#[derive(Debug, Clone, Copy)]
pub enum Defined<'s> {
    /// All the time its definition said this.
    So(Definition<'s>),
    /// Its definition changed, does not count yet, or has no such version.
    Otherwise,
    /// The store has no definition of it: it is built in, or came from elsewhere.
    Nowhere,
}

impl<'s> Definition<'s> {
    /// Of a type in a version, as it was from one revision to another.
    pub fn of(
        store: &'s Store,
        resource: &GroupResource,
        version: &str,
        since: Revision,
        now: Revision,
    ) -> Defined<'s> {
        let definitions = GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions");
        let key = ObjectKey::new(definitions, "", &resource.to_string());
        if !store.knows(&key) {
            return Defined::Nowhere;
        }
        let mut states = store.between(&key, since, now);
        let (Some(Some(state)), None) = (states.next(), states.next()) else {
            return Defined::Otherwise;
        };
        let is_established = state["status"]["conditions"].as_array().is_some_and(|conditions| {
            conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True")
        });
        let mut versions = state["spec"]["versions"].as_array().into_iter().flatten();
        match versions.find(|one| one["name"] == *version && one["served"] == true) {
            Some(version) if is_established => Defined::So(Definition(version)),
            _ => Defined::Otherwise,
        }
    }

    /// Whether it has the subresource; empty for the type itself.
    pub fn serves(&self, subresource: &str) -> bool {
        subresource.is_empty() || self.0["subresources"][subresource].is_object()
    }
}
