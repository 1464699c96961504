//! Lists whose items are told apart: sets, and lists of maps with keys
//! (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    super::{FieldError, FieldErrorKind, ListType, Node, Path, Schema},
    Check,
};

impl Check<'_> {
    /// Items of a set are distinct; items of a map list are objects with distinct keys.
    pub(super) fn list_type(&mut self, node: &Node, items: &[Value], at: &Path<'_>) {
        if node.list_type == ListType::Atomic {
            return;
        }
        let custom = !self.schema.is_builtin();
        if custom && node.list_type == ListType::Map {
            let stranger = |item: &Value| !item.is_object() && !item.is_null();
            if let Some(index) = items.iter().position(stranger) {
                let detail = "must be an object for an array of list-type map";
                self.invalid(&Path::Index(at, index), &items[index], detail.to_owned());
                return;
            }
        }
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for (index, item) in items.iter().enumerate() {
            let identity = match node.list_type {
                ListType::Map => keys_of(self.schema, node, item),
                _ => item.clone(),
            };
            let count = seen.entry(identity.to_string()).or_default();
            *count += 1;
            // Of custom types, only the first item that repeats another is told.
            let told = if custom { *count == 2 } else { *count > 1 };
            if told {
                let field = Path::Index(at, index).to_string();
                let kind = FieldErrorKind::Duplicate;
                self.errors.push(FieldError::with_value(&field, kind, &identity, ""));
            }
        }
    }
}

/// The keys of an item of a map list, with defaults filled in.
pub(crate) fn keys_of(schema: &Schema, node: &Node, item: &Value) -> Value {
    let item_node = schema.items(node);
    let key = |name: &String| {
        let default = || {
            let field = schema.field(item_node?, name)?;
            field.default.clone().or_else(|| field.zero.clone())
        };
        let value = item.get(name).cloned().or_else(default)?;
        Some((name.clone(), value))
    };
    Value::Object(node.map_keys.iter().filter_map(key).collect::<Map<_, _>>())
}
