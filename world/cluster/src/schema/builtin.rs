//! Schemas of the built-in kinds, read lazily from the OpenAPI v3 documents.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock},
};

use serde::Deserialize;

use super::{
    Gvk, Node, NodeId, Schema, Type,
    build::{Builder, Definitions, empty},
};
use crate::openapi::{documents, older};

/// An OpenAPI v3 document, of which only the component schemas are looked at, unparsed.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    components: Components<'a>,
}

#[derive(Deserialize)]
struct Components<'a> {
    #[serde(borrow)]
    schemas: Definitions<'a>,
}

/// The member that says which kinds a definition stands for.
#[derive(Deserialize)]
struct Kinds {
    #[serde(rename = "x-kubernetes-group-version-kind", default)]
    kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    group: String,
    version: String,
    kind: String,
}

/// One group-version's definitions, and which of them is which kind.
struct Table {
    definitions: Definitions<'static>,
    names: BTreeMap<Gvk, &'static str>,
}

/// A memo of a pure function of constant data.
type Memo<K, V> = Mutex<BTreeMap<K, V>>;

fn memo<K: Ord + Clone, V: Clone>(memo: &Memo<K, V>, key: K, make: impl FnOnce() -> V) -> V {
    let mut known = memo.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    known.entry(key).or_insert_with(make).clone()
}

fn table(group: &str, version: &str) -> Option<Arc<Table>> {
    static TABLES: Memo<(String, String), Option<Arc<Table>>> = Mutex::new(BTreeMap::new());
    memo(&TABLES, (group.to_owned(), version.to_owned()), || {
        let text = documents::v3(group, version).or_else(|| older::v3(group, version));
        text.map(read).map(Arc::new)
    })
}

fn read(text: &'static str) -> Table {
    let document: Document<'static> =
        serde_json::from_str(text).expect("the OpenAPI data of this crate is well formed");
    let definitions = document.components.schemas;
    let mut names = BTreeMap::new();
    for (&name, raw) in &definitions {
        let kinds: Kinds =
            serde_json::from_str(raw.get()).expect("the OpenAPI data of this crate is well formed");
        for Kind { group, version, kind } in kinds.kinds {
            names.insert(Gvk { group, version, kind }, name);
        }
    }
    Table { definitions, names }
}

/// See [`Schema::builtin`].
pub(super) fn schema(group: &str, version: &str, kind: &str) -> Option<Schema> {
    static SCHEMAS: Memo<Gvk, Option<Schema>> = Mutex::new(BTreeMap::new());
    let gvk = Gvk { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() };
    memo(&SCHEMAS, gvk.clone(), || build(gvk))
}

fn build(gvk: Gvk) -> Option<Schema> {
    let table = table(&gvk.group, &gvk.version)?;
    let name = table.names.get(&gvk)?;
    let mut builder = Builder::builtin(&table.definitions);
    let root = builder.definition(name).expect("the definitions of this crate are closed");
    Some(Schema { arena: Arc::new(builder.arena), root, gvk, builtin: true })
}

/// Names the fields that every object has, `apiVersion`, `kind` and `metadata`, in a custom resource's
/// (or embedded resource's) node, and adds the nodes of `ObjectMeta` to the arena. What the node itself
/// says about `metadata` (only `name` and `generateName` may be restricted) is kept beside it as limits.
pub(super) fn add_object_fields(arena: &mut Vec<Node>, node: &mut Node) {
    let own = node.properties.get("metadata").copied();
    let metadata = graft_object_meta(arena);
    if let Some(own) = own {
        let restricted = arena[own].properties.clone();
        for (name, id) in restricted {
            if matches!(name.as_str(), "name" | "generateName") {
                arena[metadata].properties.insert(name, id);
            }
        }
        arena[metadata].required = arena[own].required.clone();
    }
    node.properties.insert("metadata".to_owned(), metadata);
    for name in ["apiVersion", "kind"] {
        if !node.properties.contains_key(name) {
            arena.push(Node { kind: Type::String, ..empty() });
            node.properties.insert(name.to_owned(), arena.len() - 1);
        }
    }
}

/// Copies the nodes of the built-in `ObjectMeta` into another arena; returns the new root.
fn graft_object_meta(arena: &mut Vec<Node>) -> NodeId {
    static OBJECT_META: OnceLock<(Vec<Node>, NodeId)> = OnceLock::new();
    let (nodes, root) = OBJECT_META.get_or_init(|| {
        // Any document holds ObjectMeta; this is the smallest one.
        let table = table("scheduling.k8s.io", "v1").expect("the data has scheduling.k8s.io/v1");
        let mut builder = Builder::builtin(&table.definitions);
        let name = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
        let root = builder.definition(name).expect("the data has ObjectMeta");
        (builder.arena, root)
    });
    let offset = arena.len();
    arena.extend(nodes.iter().cloned().map(|node| node.shifted(offset)));
    offset + root
}

impl Node {
    /// The node with all its references moved by `offset`.
    fn shifted(mut self, offset: usize) -> Node {
        for id in self.properties.values_mut() {
            *id += offset;
        }
        if let super::Additional::Values(id) = &mut self.additional {
            *id += offset;
        }
        if let Some(id) = &mut self.items {
            *id += offset;
        }
        if let Some(limits) = &mut self.limits {
            let lists = [&mut limits.all_of, &mut limits.any_of, &mut limits.one_of];
            for id in lists.into_iter().flatten().chain(&mut limits.not) {
                *id += offset;
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{facts, schema::ListType};

    #[test]
    fn every_stored_type_and_body_has_a_schema() {
        for version in facts::groups().iter().flat_map(|group| &group.versions) {
            for row in version.resources.iter().filter(|row| row.is_stored()) {
                let schema = schema(&row.group, &row.version, &row.kind);
                let schema = schema.unwrap_or_else(|| panic!("{} has no schema", row.kind));
                assert!(schema.root().properties.contains_key("metadata"), "{}", row.kind);
            }
        }
    }

    #[test]
    fn list_types_and_patch_strategies_are_read() {
        let deployment = schema("apps", "v1", "Deployment").unwrap();
        let mut node = deployment.root();
        for name in ["spec", "template", "spec", "containers"] {
            node = deployment.field(node, name).expect(name);
        }
        assert_eq!(node.list_type, ListType::Map);
        assert_eq!(node.map_keys, ["name"]);
        assert_eq!(node.patch_merge_key.as_deref(), Some("name"));
        let container = deployment.items(node).unwrap();
        assert_eq!(container.name.as_deref(), Some("io.k8s.api.core.v1.Container"));
        let selector =
            deployment.field(deployment.field(deployment.root(), "spec").unwrap(), "selector");
        assert!(selector.unwrap().atomic_map);
        assert!(schema("apps", "v1", "Nothing").is_none());
        assert!(schema("example.com", "v1", "Foo").is_none());
    }
}
