//! What an object may look like: a tree of nodes, read from the OpenAPI v3 documents of the built-in
//! types or from the structural schema of a CustomResourceDefinition.
//!
//! One representation serves pruning, defaulting, validation, strategic merge, server-side apply and
//! printing. Nodes live in one arena and name each other by index, because built-in types refer to each
//! other and `JSONSchemaProps` to itself. A [`Schema`] is a cheap handle (arena + root).
//!
//! Built-in schemas are read on first use, one kind at a time: only the definitions that the kind
//! reaches are parsed (0.1 to 2 ms), so that a server's start costs nothing here.
//!
//! CEL rules (`x-kubernetes-validations`) are kept as they stand in [`Node::rules`]; `crd::rules` evaluates them.

mod build;
mod builtin;
mod decode;
mod default;
mod defaults;
mod error;
mod formats;
mod image;
mod internal;
pub(crate) mod keywords;
mod prune;
mod ratchet;
mod regexp;
mod structural;
mod validate;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

pub use build::SchemaError;
pub(crate) use error::shown_number;
pub use error::{FieldError, FieldErrorKind, Path};
pub(crate) use formats::is_recognized;
pub(crate) use ratchet::{old_item, unchanged};
pub(crate) use regexp::go_regexp_problem;
pub(crate) use structural::{is_structural, structural_errors, unconvertible};
pub(crate) use validate::keys_of;

/// A schema: a handle on one node of an arena.
#[derive(Debug, Clone)]
pub struct Schema {
    arena: Arc<Vec<Node>>,
    root: NodeId,
    gvk: Gvk,
    builtin: bool,
}

/// Group, version and kind of a type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gvk {
    /// API group; empty for core.
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
}

/// Index of a node in its arena.
pub type NodeId = usize;

/// The JSON type that a node asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `object`
    Object,
    /// `array`
    Array,
    /// `string`
    String,
    /// `integer`
    Integer,
    /// `number`
    Number,
    /// `boolean`
    Boolean,
    /// Nothing said, or `x-kubernetes-int-or-string`.
    Any,
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListType {
    /// Replaced as a whole. The default.
    #[default]
    Atomic,
    /// A set of scalars.
    Set,
    /// Objects named by their [`Node::map_keys`].
    Map,
}

/// `additionalProperties`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Additional {
    /// Not said: unknown fields are pruned.
    #[default]
    Unsaid,
    /// `true`: any value.
    Anything,
    /// A schema for the values.
    Values(NodeId),
}

/// One node of a schema.
#[derive(Debug, Clone)]
pub struct Node {
    /// Name of the definition that it comes from (`io.k8s.api.core.v1.Container`), if any.
    pub name: Option<Arc<str>>,
    /// JSON type.
    pub kind: Type,
    /// `x-kubernetes-int-or-string`, or the built-in type of that name.
    pub int_or_string: bool,
    /// A built-in `Quantity`: a string or a number in the input.
    pub quantity: bool,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// `nullable`. True for everything built in: Go's JSON takes null for the zero value.
    pub nullable: bool,
    /// `format`.
    pub format: Option<String>,
    /// `properties`.
    pub properties: BTreeMap<String, NodeId>,
    /// `additionalProperties`.
    pub additional: Additional,
    /// `items`.
    pub items: Option<NodeId>,
    /// `x-kubernetes-list-type`.
    pub list_type: ListType,
    /// `x-kubernetes-list-map-keys`.
    pub map_keys: Vec<String>,
    /// `x-kubernetes-map-type: atomic`.
    pub atomic_map: bool,
    /// `x-kubernetes-patch-strategy`, split at commas.
    pub patch_strategy: Vec<String>,
    /// `x-kubernetes-patch-merge-key`.
    pub patch_merge_key: Option<String>,
    /// `default`. For built-in types only those that mean something (no `{}` or zero values).
    pub default: Option<Value>,
    /// The zero value that the documents write as a built-in field's default: it is not filled in, but counts where the
    /// field is a key that an item lacks.
    pub zero: Option<Value>,
    /// `required`.
    pub required: Vec<String>,
    /// `x-kubernetes-validations` as written.
    pub rules: Vec<Value>,
    /// Value constraints; boxed because most nodes have none.
    pub limits: Option<Box<Limits>>,
}

impl Node {
    /// A built-in field that holds any object, such as a ControllerRevision's `data`: nobody owns parts of it.
    pub(crate) fn is_raw(&self) -> bool {
        self.name.as_deref().is_some_and(|name| name.ends_with(".runtime.RawExtension"))
    }
}

/// Constraints on values.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// `enum`
    pub allowed: Vec<Value>,
    /// `pattern`, compiled.
    pub pattern: Option<regex::Regex>,
    /// `minimum`, with whether it is exclusive.
    pub minimum: Option<(f64, bool)>,
    /// `maximum`, with whether it is exclusive.
    pub maximum: Option<(f64, bool)>,
    /// `multipleOf`
    pub multiple_of: Option<f64>,
    /// `minLength`
    pub min_length: Option<u64>,
    /// `maxLength`
    pub max_length: Option<u64>,
    /// `minItems`
    pub min_items: Option<u64>,
    /// `maxItems`
    pub max_items: Option<u64>,
    /// `uniqueItems`
    pub unique_items: bool,
    /// `minProperties`
    pub min_properties: Option<u64>,
    /// `maxProperties`
    pub max_properties: Option<u64>,
    /// `allOf`: value validations only.
    pub all_of: Vec<NodeId>,
    /// `anyOf`
    pub any_of: Vec<NodeId>,
    /// `oneOf`
    pub one_of: Vec<NodeId>,
    /// `not`
    pub not: Option<NodeId>,
}

impl Schema {
    /// The schema of a built-in kind, of `Scale`, `Status`, `DeleteOptions` and their like; `None` if
    /// neither Kubernetes 1.36 nor the older releases that a world can be of have such a kind.
    pub fn builtin(group: &str, version: &str, kind: &str) -> Option<Schema> {
        builtin::schema(group, version, kind)
    }

    /// The schema of a custom resource version, from its `openAPIV3Schema`. `apiVersion`, `kind` and the
    /// whole of `metadata` are added, as upstream does. Without a schema (`None`) all is preserved.
    pub fn custom(gvk: &Gvk, open_api_v3_schema: Option<&Value>) -> Result<Schema, SchemaError> {
        build::custom(gvk, open_api_v3_schema)
    }

    /// Whether this is a type of Kubernetes itself. Built-in objects go through Go structs upstream, which
    /// decides what happens to nulls, zero values and unknown fields.
    pub fn is_builtin(&self) -> bool {
        self.builtin
    }

    /// Group, version and kind of the objects.
    pub fn gvk(&self) -> &Gvk {
        &self.gvk
    }

    /// The root node.
    pub fn root(&self) -> &Node {
        &self.arena[self.root]
    }

    /// The root node's index.
    pub fn root_id(&self) -> NodeId {
        self.root
    }

    /// The schema of a part, by its node.
    pub(crate) fn part(&self, root: NodeId) -> Schema {
        Schema { root, ..self.clone() }
    }

    /// A node of this schema's arena.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.arena[id]
    }

    /// The node of a field of an object node: its property, or the schema of its map values.
    pub fn field<'a>(&'a self, node: &'a Node, name: &str) -> Option<&'a Node> {
        match (node.properties.get(name), node.additional) {
            (Some(&id), _) | (None, Additional::Values(id)) => Some(&self.arena[id]),
            _ => None,
        }
    }

    /// The node of the items of a list node.
    pub fn items<'a>(&'a self, node: &Node) -> Option<&'a Node> {
        node.items.map(|id| &self.arena[id])
    }

    /// Removes what the schema doesn't know and returns the paths of what was removed, sorted, in the
    /// form of upstream's messages: `spec.zzz`, `spec.containers[0].x`. The message is
    /// [`unknown_field_message`].
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(self, object)
    }

    /// Fills in defaults: for custom resources by the rules of structural schemas (nulls that may not be
    /// null are dropped first); for built-in types those that upstream's Go code sets for common kinds.
    pub fn default(&self, object: &mut Value) {
        default::default(self, object);
    }

    /// Drops the nulls of a custom resource that may not be null and have no default.
    pub fn drop_nulls(&self, object: &mut Value) {
        default::drop_nulls(self, self.root(), object);
    }

    /// Folds the fields that built-in types have in their versioned form only into those that are stored
    /// (`Secret.stringData`). Custom resources have none.
    pub fn internalize(&self, object: &mut Value) {
        if self.builtin {
            internal::internalize(self, object);
        }
    }

    /// Everything wrong with the object, in order of path. For built-in types, whose validation is Go code
    /// upstream, only what the schema can say safely (missing lists and names, unsupported values).
    ///
    /// Of an update, `old` is what was there before: errors of unchanged values of custom resources don't count
    /// (KEP-4008).
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        validate::validate(self, object, old)
    }

    /// For built-in types: a value of a wrong JSON type, which upstream's decoder refuses with 400. The
    /// message is what Go's decoder says; a BadRequest status wraps it.
    pub fn decode_error(&self, object: &Value) -> Option<String> {
        decode::decode_error(self, object)
    }
}

/// Upstream's strict-decoding message for an unknown field.
pub fn unknown_field_message(path: &str) -> String {
    format!("unknown field \"{path}\"")
}
