//! What rules see of a JSON value, by its schema (`UnstructuredToVal`).
//!
//! Lists are lists for `==`: upstream compares sets and map lists without their order.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use base64::Engine as _;
use kube_cel::cel::{
    Value as Cel,
    objects::{Key, Map},
};
use serde_json::Value;

use super::run;
use crate::schema::{Additional, NodeId, Schema, Type};

/// Words that mean something in CEL.
pub(super) const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// A field's name in rules (`cel.Escape`); `None` for one that rules can't name.
pub(super) fn escape(name: &str) -> Option<Cow<'_, str>> {
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__").into());
    }
    let known = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    if !name.chars().all(known) {
        return None;
    }
    if !name.contains(['-', '.', '/']) && !name.contains("__") {
        return Some(name.into());
    }
    let escaped = name.replace("__", "\u{0}").replace('.', "__dot__").replace('-', "__dash__");
    Some(escaped.replace('/', "__slash__").replace('\u{0}', "__underscores__").into())
}

/// A value for rules. `root`: it is a resource, of whose metadata only the name shows.
pub(super) fn convert(schema: &Schema, id: NodeId, value: &Value, root: bool) -> Cel {
    let node = schema.node(id);
    let below = |id: NodeId, value| convert(schema, id, value, schema.node(id).embedded_resource);
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => match (node.kind, number.as_i64()) {
            (Type::Number, _) | (_, None) => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
            (_, Some(whole)) => Cel::Int(whole),
        },
        Value::String(text) => string(node.format.as_deref().filter(|_| !node.int_or_string), text),
        Value::Array(items) => match node.items {
            Some(id) => Cel::List(Arc::new(items.iter().map(|item| below(id, item)).collect())),
            None => plain(value),
        },
        Value::Object(fields) => {
            let mut map = HashMap::with_capacity(fields.len());
            for (name, value) in fields {
                // Words of CEL are names of fields too, from 1.30 on (`recognizeKeywordAsFieldName` of `DeclTypeProvider`).
                if let Some(&id) = node.properties.get(name).filter(|_| RESERVED.contains(&&**name))
                {
                    map.insert(Key::from(name.clone()), below(id, value));
                }
                let field = match (node.properties.get(name), node.additional) {
                    (None, Additional::Values(id)) => Some((name.clone(), below(id, value))),
                    (None, _) if root && matches!(&**name, "apiVersion" | "kind") => {
                        Some((name.clone(), plain(value)))
                    }
                    (_, _) if root && name == "metadata" => Some((name.clone(), metadata(value))),
                    (Some(&id), _) => {
                        escape(name).map(|name| (name.into_owned(), below(id, value)))
                    }
                    (None, _) => None,
                };
                if let Some((name, value)) = field {
                    map.insert(Key::from(name), value);
                }
            }
            Cel::Map(Map { map: Arc::new(map) })
        }
    }
}

fn metadata(value: &Value) -> Cel {
    let shown = ["name", "generateName"].into_iter();
    let map: HashMap<Key, Cel> =
        shown.filter_map(|name| Some((Key::from(name), plain(value.get(name)?)))).collect();
    Cel::Map(Map { map: Arc::new(map) })
}

/// Without a schema.
pub(super) fn plain(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Cel::Int(whole),
            None => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(plain).collect())),
        Value::Object(fields) => {
            let map = fields.iter().map(|(name, value)| (Key::from(name.clone()), plain(value)));
            Cel::Map(Map { map: Arc::new(map.collect()) })
        }
    }
}

/// A string of some format; one that is not well-formed stays a string (validation has refused it).
fn string(format: Option<&str>, text: &str) -> Cel {
    let known = match format {
        Some("byte") => base64::engine::general_purpose::STANDARD
            .decode(text)
            .ok()
            .map(|bytes| Cel::Bytes(Arc::new(bytes))),
        Some("date-time") => run::call("timestamp", text),
        Some("date") => run::call("timestamp", &format!("{text}T00:00:00Z")),
        Some("duration") => run::call("duration", text),
        _ => None,
    };
    known.unwrap_or_else(|| Cel::String(Arc::new(text.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_upstream() {
        let check = |name: &str, expect: Option<&str>| assert_eq!(escape(name).as_deref(), expect);
        check("my_field", Some("my_field"));
        check("my__field", Some("my__underscores__field"));
        check("a-b.c/d", Some("a__dash__b__dot__c__slash__d"));
        check("namespace", Some("__namespace__"));
        check("1a", None);
        check("a b", None);
    }
}
