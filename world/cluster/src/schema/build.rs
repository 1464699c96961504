//! Builds nodes from JSON schemas.

use std::{collections::BTreeMap, sync::Arc};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{Additional, Gvk, Limits, ListType, Node, NodeId, Schema, Type, formats};

/// A schema that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// Not a JSON schema.
    #[error("not a schema: {0}")]
    Malformed(String),
    /// A `$ref` to nowhere.
    #[error("unknown definition {0:?}")]
    UnknownDefinition(String),
    /// A pattern that is no regular expression.
    #[error("pattern {pattern:?} can't be compiled: {reason}")]
    Pattern {
        /// As written.
        pattern: String,
        /// The compiler's complaint.
        reason: String,
    },
}

/// A JSON schema as Kubernetes writes it. Unknown members are ignored.
#[derive(Debug, Clone, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Raw {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    format: Option<String>,
    nullable: bool,
    properties: BTreeMap<String, Raw>,
    additional_properties: Option<Box<RawAdditional>>,
    items: Option<Box<Raw>>,
    all_of: Vec<Raw>,
    any_of: Vec<Raw>,
    one_of: Vec<Raw>,
    not: Option<Box<Raw>>,
    #[serde(deserialize_with = "present")]
    default: Option<Value>,
    required: Vec<String>,
    #[serde(rename = "enum")]
    allowed: Vec<Value>,
    pattern: Option<String>,
    minimum: Option<f64>,
    exclusive_minimum: bool,
    maximum: Option<f64>,
    exclusive_maximum: bool,
    multiple_of: Option<f64>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    unique_items: bool,
    min_properties: Option<u64>,
    max_properties: Option<u64>,
    #[serde(rename = "x-kubernetes-int-or-string")]
    int_or_string: bool,
    #[serde(rename = "x-kubernetes-preserve-unknown-fields")]
    preserve_unknown: bool,
    #[serde(rename = "x-kubernetes-embedded-resource")]
    embedded_resource: bool,
    #[serde(rename = "x-kubernetes-list-type")]
    list_type: Option<String>,
    #[serde(rename = "x-kubernetes-list-map-keys")]
    map_keys: Vec<String>,
    #[serde(rename = "x-kubernetes-map-type")]
    map_type: Option<String>,
    #[serde(rename = "x-kubernetes-patch-strategy")]
    patch_strategy: Option<String>,
    #[serde(rename = "x-kubernetes-patch-merge-key")]
    patch_merge_key: Option<String>,
    #[serde(rename = "x-kubernetes-validations")]
    rules: Vec<Value>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum RawAdditional {
    Allowed(bool),
    Schema(Box<Raw>),
}

/// Keeps `default: null` apart from no default.
fn present<'de, D: serde::Deserializer<'de>>(de: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(de).map(Some)
}

/// Definitions by name, unparsed.
pub(super) type Definitions<'a> = BTreeMap<&'a str, &'a RawValue>;

/// Adds nodes to an arena, each definition once.
pub(super) struct Builder<'a> {
    pub(super) arena: Vec<Node>,
    definitions: Option<&'a Definitions<'a>>,
    known: BTreeMap<String, NodeId>,
    builtin: bool,
}

const PREFIX: &str = "#/components/schemas/";

impl<'a> Builder<'a> {
    /// A builder for built-in definitions.
    pub(super) fn builtin(definitions: &'a Definitions<'a>) -> Builder<'a> {
        Builder {
            arena: Vec::new(),
            definitions: Some(definitions),
            known: BTreeMap::new(),
            builtin: true,
        }
    }

    /// The node of a definition.
    pub(super) fn definition(&mut self, name: &str) -> Result<NodeId, SchemaError> {
        if let Some(&id) = self.known.get(name) {
            return Ok(id);
        }
        let raw = self
            .definitions
            .and_then(|definitions| definitions.get(name))
            .ok_or_else(|| SchemaError::UnknownDefinition(name.to_owned()))?;
        let raw: Raw = serde_json::from_str(raw.get())
            .map_err(|error| SchemaError::Malformed(error.to_string()))?;
        // The place is taken before the members are built: definitions may contain themselves.
        let id = self.arena.len();
        self.arena.push(empty());
        self.known.insert(name.to_owned(), id);
        let mut node = self.node(&raw)?;
        node.name = Some(name.into());
        special(name, &mut node);
        self.arena[id] = node;
        Ok(id)
    }

    fn add(&mut self, raw: &Raw) -> Result<NodeId, SchemaError> {
        if let Some(target) = reference(raw) {
            let id = self.definition(target)?;
            return self.overlay(id, raw);
        }
        let node = self.node(raw)?;
        self.arena.push(node);
        Ok(self.arena.len() - 1)
    }

    /// A reference with members of its own beside it gets a node of its own.
    fn overlay(&mut self, target: NodeId, raw: &Raw) -> Result<NodeId, SchemaError> {
        let default = meaningful_default(raw, self.builtin);
        let plain = default.is_none()
            && raw.map_type.is_none()
            && raw.patch_strategy.is_none()
            && raw.list_type.is_none()
            && !raw.nullable;
        // A definition that is still being built (recursion) can't be copied; none has members beside it.
        if plain || self.arena[target].is_placeholder() {
            return Ok(target);
        }
        let mut node = self.arena[target].clone();
        node.default = default.or(node.default);
        node.atomic_map |= raw.map_type.as_deref() == Some("atomic");
        node.patch_strategy = patch_strategy(raw);
        self.arena.push(node);
        Ok(self.arena.len() - 1)
    }

    fn list(&mut self, raws: &[Raw]) -> Result<Vec<NodeId>, SchemaError> {
        raws.iter().map(|raw| self.add(raw)).collect()
    }

    fn node(&mut self, raw: &Raw) -> Result<Node, SchemaError> {
        let mut node = empty();
        node.kind = kind(raw);
        node.int_or_string = raw.int_or_string || raw.format.as_deref() == Some("int-or-string");
        if node.int_or_string {
            node.kind = Type::Any;
        }
        node.preserve_unknown = raw.preserve_unknown;
        node.embedded_resource = raw.embedded_resource;
        node.nullable = raw.nullable || self.builtin;
        let kind = raw.kind.as_deref().unwrap_or("");
        let counts = |format: &&String| self.builtin || formats::is_recognized(kind, format);
        node.format = raw.format.as_ref().filter(counts).cloned();
        for (name, property) in &raw.properties {
            let id = self.add(property)?;
            node.properties.insert(name.clone(), id);
        }
        node.additional = match raw.additional_properties.as_deref() {
            None | Some(RawAdditional::Allowed(false)) => Additional::Unsaid,
            Some(RawAdditional::Allowed(true)) => Additional::Anything,
            Some(RawAdditional::Schema(schema)) => Additional::Values(self.add(schema)?),
        };
        node.items = raw.items.as_deref().map(|items| self.add(items)).transpose()?;
        node.list_type = match raw.list_type.as_deref() {
            Some("set") => ListType::Set,
            Some("map") => ListType::Map,
            _ => ListType::Atomic,
        };
        node.map_keys = raw.map_keys.clone();
        node.atomic_map = raw.map_type.as_deref() == Some("atomic");
        node.patch_strategy = patch_strategy(raw);
        node.patch_merge_key = raw.patch_merge_key.clone();
        node.default = meaningful_default(raw, self.builtin);
        node.zero = raw.default.clone().filter(|value| self.builtin && is_zero(value));
        node.required = raw.required.clone();
        node.rules = raw.rules.clone();
        node.limits = self.limits(raw)?;
        Ok(node)
    }

    fn limits(&mut self, raw: &Raw) -> Result<Option<Box<Limits>>, SchemaError> {
        let limits = Limits {
            allowed: raw.allowed.clone(),
            pattern: raw.pattern.as_deref().map(compile).transpose()?,
            minimum: raw.minimum.map(|limit| (limit, raw.exclusive_minimum)),
            maximum: raw.maximum.map(|limit| (limit, raw.exclusive_maximum)),
            multiple_of: raw.multiple_of,
            min_length: raw.min_length,
            max_length: raw.max_length,
            min_items: raw.min_items,
            max_items: raw.max_items,
            unique_items: raw.unique_items,
            min_properties: raw.min_properties,
            max_properties: raw.max_properties,
            all_of: self.list(&raw.all_of)?,
            any_of: self.list(&raw.any_of)?,
            one_of: self.list(&raw.one_of)?,
            not: raw.not.as_deref().map(|not| self.add(not)).transpose()?,
        };
        Ok(limits.says_something().then(|| Box::new(limits)))
    }
}

impl Limits {
    fn says_something(&self) -> bool {
        let numbers = [self.minimum.is_some(), self.maximum.is_some(), self.multiple_of.is_some()];
        let sizes = [
            self.min_length,
            self.max_length,
            self.min_items,
            self.max_items,
            self.min_properties,
            self.max_properties,
        ];
        let parts = [&self.all_of, &self.any_of, &self.one_of];
        !self.allowed.is_empty()
            || self.pattern.is_some()
            || self.unique_items
            || self.not.is_some()
            || numbers.contains(&true)
            || sizes.iter().any(Option::is_some)
            || parts.iter().any(|part| !part.is_empty())
    }
}

impl Node {
    fn is_placeholder(&self) -> bool {
        self.name.is_none()
            && self.kind == Type::Any
            && self.properties.is_empty()
            && !self.int_or_string
            && !self.preserve_unknown
            && !self.nullable
    }
}

/// A node that says nothing.
pub(super) fn empty() -> Node {
    Node {
        name: None,
        kind: Type::Any,
        int_or_string: false,
        quantity: false,
        preserve_unknown: false,
        embedded_resource: false,
        nullable: false,
        format: None,
        properties: BTreeMap::new(),
        additional: Additional::Unsaid,
        items: None,
        list_type: ListType::Atomic,
        map_keys: Vec::new(),
        atomic_map: false,
        patch_strategy: Vec::new(),
        patch_merge_key: None,
        default: None,
        zero: None,
        required: Vec::new(),
        rules: Vec::new(),
        limits: None,
    }
}

/// `$ref`, plain or as the only member of `allOf`.
fn reference(raw: &Raw) -> Option<&str> {
    let direct = raw.reference.as_deref();
    let wrapped = || match raw.all_of.as_slice() {
        [only] => only.reference.as_deref(),
        _ => None,
    };
    direct.or_else(wrapped)?.strip_prefix(PREFIX)
}

fn kind(raw: &Raw) -> Type {
    match raw.kind.as_deref() {
        Some("object") => Type::Object,
        Some("array") => Type::Array,
        Some("string") => Type::String,
        Some("integer") => Type::Integer,
        Some("number") => Type::Number,
        Some("boolean") => Type::Boolean,
        _ => Type::Any,
    }
}

fn patch_strategy(raw: &Raw) -> Vec<String> {
    let text = raw.patch_strategy.as_deref().unwrap_or("");
    text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The generator of the built-in documents writes a zero default for every field that is no pointer; only
/// other values are defaults that the server applies.
fn meaningful_default(raw: &Raw, builtin: bool) -> Option<Value> {
    raw.default.clone().filter(|value| !builtin || !is_zero(value))
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(value) => !value,
        Value::Null => true,
        Value::Array(_) => false,
    }
}

fn compile(pattern: &str) -> Result<regex::Regex, SchemaError> {
    regex::Regex::new(pattern).map_err(|error| SchemaError::Pattern {
        pattern: pattern.to_owned(),
        reason: error.to_string().lines().last().unwrap_or_default().to_owned(),
    })
}

/// Built-in types with a JSON form of their own.
fn special(name: &str, node: &mut Node) {
    match name.rsplit('.').next().unwrap_or(name) {
        "Quantity" if name.contains(".api.resource.") => {
            node.quantity = true;
            node.kind = Type::Any;
            node.limits = None;
        }
        "IntOrString" => {
            node.int_or_string = true;
            node.kind = Type::Any;
            node.limits = None;
        }
        "RawExtension" | "FieldsV1" | "JSON" => node.preserve_unknown = true,
        "JSONSchemaPropsOrBool" | "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrStringArray" => {
            node.preserve_unknown = true;
        }
        _ => {}
    }
}

/// See [`Schema::custom`].
pub(super) fn custom(gvk: &Gvk, schema: Option<&Value>) -> Result<Schema, SchemaError> {
    let mut builder =
        Builder { arena: Vec::new(), definitions: None, known: BTreeMap::new(), builtin: false };
    let mut node = match schema {
        None => Node { kind: Type::Object, preserve_unknown: true, ..empty() },
        Some(schema) => {
            let raw: Raw = serde_json::from_value(schema.clone())
                .map_err(|error| SchemaError::Malformed(error.to_string()))?;
            builder.node(&raw)?
        }
    };
    let mut arena = builder.arena;
    super::builtin::add_object_fields(&mut arena, &mut node);
    for id in 0..arena.len() {
        if arena[id].embedded_resource {
            let mut embedded = arena[id].clone();
            super::builtin::add_object_fields(&mut arena, &mut embedded);
            arena[id] = embedded;
        }
    }
    arena.push(node);
    let root = arena.len() - 1;
    Ok(Schema { arena: Arc::new(arena), root, gvk: gvk.clone(), builtin: false })
}
