//! What a CustomResourceDefinition says of a type: where it is served, and which fields it keeps.

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

impl<'s> Definition<'s> {
    /// What is kept of objects of this version; unknown where they are stored in another one.
    pub fn schema(self) -> Schema<'s> {
        match &self.0["schema"]["openAPIV3Schema"] {
            schema @ Value::Object(_) if self.0["storage"] == true => Schema::Declared(schema),
            _ => Schema::Unknown,
        }
    }
}

/// What is known of a field of a custom type (structural schemas, KEP-2337 and the documentation of CRDs, *field pruning*).
#[derive(Debug, Clone, Copy)]
pub enum Schema<'s> {
    /// It is kept, and this is said of it.
    Declared(&'s Value),
    /// It is kept, whatever it is.
    Open,
    /// It is pruned, or nothing is known of it.
    Unknown,
}

impl<'s> Schema<'s> {
    /// Of a member of an object.
    pub fn member(self, name: &str) -> Schema<'s> {
        let Schema::Declared(schema) = self else { return self };
        // Metadata of an object within is read as such, and comes out as the server writes it.
        if schema["x-kubernetes-embedded-resource"] == true && name == "metadata" {
            return Schema::Unknown;
        }
        let open = schema["x-kubernetes-preserve-unknown-fields"] == true;
        match (&schema["properties"][name], &schema["additionalProperties"]) {
            (Value::Null, more @ Value::Object(_)) => Schema::Declared(more),
            (Value::Null, Value::Bool(true)) => Schema::Open,
            (Value::Null, _) if open => Schema::Open,
            (Value::Null, _) => Schema::Unknown,
            (declared, _) => Schema::Declared(declared),
        }
    }

    /// Of an item of a list.
    pub fn item(self) -> Schema<'s> {
        let Schema::Declared(schema) = self else { return self };
        match &schema["items"] {
            items @ Value::Object(_) => Schema::Declared(items),
            _ => Schema::Unknown,
        }
    }

    /// Whether a value is kept.
    pub fn keeps(self) -> bool {
        !matches!(self, Schema::Unknown)
    }

    /// Whether it is filled in where it is left out.
    pub fn has_default(self) -> bool {
        matches!(self, Schema::Declared(schema) if schema.get("default").is_some())
    }
}
