//! Which objects of a type a list or a watch is about.

use std::{ops::Bound, sync::Arc};

use serde_json::Value;
use trace::ObjectKey;

use crate::{
    route::Route,
    server::request::Request,
    status::Refusal,
    store::{Root, Slot, Stored},
    verbs::selector::{Fields, Labels},
    world::kinds::Kind,
};

/// A type, perhaps a namespace, perhaps selectors.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) kind: Kind,
    pub(crate) namespace: String,
    /// A single object, by its name in the path or in a field selector.
    pub(crate) name: Option<String>,
    labels: Labels,
    fields: Fields,
}

impl Scope {
    /// Reads it from a request. Errors: 400 for selectors that can't be read.
    pub(crate) fn read(kind: Kind, route: &Route, request: &Request) -> Result<Scope, Refusal> {
        let labels = Labels::parse(request.query("labelSelector"))?;
        let problem = |field: &str| (!kind.selects_by(field)).then(|| kind.no_selector(field));
        let fields = Fields::parse(request.query("fieldSelector"), problem)?;
        let name = match route.name.as_str() {
            "" => fields.demanded("metadata.name").map(str::to_owned),
            name => Some(name.to_owned()),
        };
        Ok(Scope { namespace: route.namespace.clone(), name, labels, fields, kind })
    }

    /// Whether selectors narrow it.
    pub(crate) fn is_selective(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty() || self.name.is_some()
    }

    /// Whether an object of this key can belong to it.
    pub(crate) fn covers(&self, key: &ObjectKey) -> bool {
        key.resource == self.kind.storage
            && (self.namespace.is_empty() || *key.namespace == *self.namespace)
            && self.name.as_deref().is_none_or(|name| *key.name == *name)
    }

    /// Whether selectors look at more than an object's key.
    pub(crate) fn looks_inside(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }

    /// Whether an object that is covered satisfies the selectors: one in the scope's version, or a stored one that no
    /// webhook has to convert.
    pub(crate) fn selects(&self, object: &Arc<Value>) -> bool {
        if !self.labels.matches(object) {
            return false;
        }
        // Fields are those of the version that was asked for.
        self.fields.is_empty()
            || self.kind.present(object).is_ok_and(|object| self.fields.matches(&object))
    }

    /// Objects at a root, from a slot on, in list order, that belong to it by their keys.
    pub(crate) fn covered<'a>(
        &'a self,
        root: &'a Root,
        from: Bound<Slot>,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Stored)> {
        root.stored(&self.kind.storage, &self.namespace, from).filter(|(key, _)| self.covers(key))
    }
}
