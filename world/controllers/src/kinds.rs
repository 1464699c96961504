//! Which types the cluster serves: what a RESTMapper and discovery tell upstream's controllers.

use std::{collections::BTreeMap, sync::Arc};

use trace::GroupResource;

use crate::object::Text;

/// A served type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// Under which name its objects are stored.
    pub resource: GroupResource,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

/// All served types, by `apiVersion` and `kind`. Cloning it copies a pointer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kinds(Arc<BTreeMap<(Text, Text), Kind>>);

impl Kinds {
    /// The type of an `apiVersion` and `kind`, if it is served.
    pub fn get(&self, api_version: &str, kind: &str) -> Option<&Kind> {
        self.0.get(&(api_version.into(), kind.into()))
    }

    /// The type of a `kind` of a group, in whichever version it is served.
    pub fn of_group(&self, group: &str, kind: &str) -> Option<&Kind> {
        let mut all = self.0.iter();
        let found = all.find(|((_, name), one)| **name == *kind && *one.resource.group == *group);
        found.map(|(_, one)| one)
    }

    /// Whether objects of this type live in namespaces.
    pub fn is_namespaced(&self, resource: &GroupResource) -> bool {
        self.0.values().any(|kind| kind.namespaced && kind.resource == *resource)
    }
}

impl FromIterator<((Text, Text), Kind)> for Kinds {
    fn from_iter<I: IntoIterator<Item = ((Text, Text), Kind)>>(kinds: I) -> Kinds {
        Kinds(Arc::new(kinds.into_iter().collect()))
    }
}
