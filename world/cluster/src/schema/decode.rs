//! What upstream's decoder refuses before validation: values of a wrong JSON type in built-in objects.

use serde_json::Value;

use super::{Additional, Node, Schema, Type, validate::type_fits};
use crate::encoding;

/// See [`Schema::decode_error`].
pub(super) fn decode_error(schema: &Schema, object: &Value) -> Option<String> {
    // Of custom objects the metadata alone are a Go struct.
    let (node, value) = match schema.builtin {
        true => (schema.root(), object),
        false => (schema.field(schema.root(), "metadata")?, object.get("metadata")?),
    };
    let (given, owner, path, wanted) = misfit(schema, node, value, "", "")?;
    // What a type's own decoder refuses ends the decoding; other misfits are told once all is read, the first of them.
    if let Some(why) = unreadable(schema, node, value) {
        return Some(why);
    }
    let place = if owner.is_empty() {
        "Go value".to_owned()
    } else {
        format!("Go struct field {owner}.{path}")
    };
    Some(format!("json: cannot unmarshal {given} into {place} of type {wanted}"))
}

/// The first time that can't be read, in Go's words.
fn unreadable(schema: &Schema, node: &Node, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => encoding::time_problem(short_name(node)?, text),
        Value::Object(fields) => {
            let mut fields = fields.iter();
            fields.find_map(|(name, value)| unreadable(schema, schema.field(node, name)?, value))
        }
        Value::Array(items) => {
            let node = schema.items(node)?;
            items.iter().find_map(|item| unreadable(schema, node, item))
        }
        _ => None,
    }
}

type Misfit = (&'static str, String, String, String);

/// The first value of a wrong type: what it is, the struct around it, its path, the Go type wanted.
fn misfit(schema: &Schema, node: &Node, value: &Value, owner: &str, path: &str) -> Option<Misfit> {
    // What is kept as it was sent may be anything.
    let raw = node.name.as_deref().is_some_and(|name| name.ends_with(".runtime.RawExtension"));
    if value.is_null() || raw {
        return None;
    }
    if !type_fits(node, value) {
        let given = match value {
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            _ => "object",
        };
        return Some((given, owner.to_owned(), path.to_owned(), go_type(schema, node)));
    }
    match value {
        Value::Object(fields) => {
            let own = short_name(node).unwrap_or(owner);
            fields.iter().find_map(|(name, value)| {
                let field = schema.field(node, name)?;
                let is_map = matches!(node.additional, Additional::Values(_));
                let below = match (path, is_map) {
                    (_, true) => path.to_owned(),
                    ("", _) => name.clone(),
                    _ => format!("{path}.{name}"),
                };
                misfit(schema, field, value, own, &below)
            })
        }
        Value::Array(items) => {
            let node = schema.items(node)?;
            items.iter().find_map(|item| misfit(schema, node, item, owner, path))
        }
        _ => None,
    }
}

fn short_name(node: &Node) -> Option<&str> {
    node.name.as_deref()?.rsplit('.').next()
}

fn go_type(schema: &Schema, node: &Node) -> String {
    if let Some(name) = short_name(node) {
        return format!("v1.{name}");
    }
    match node.kind {
        Type::Integer => node.format.clone().unwrap_or_else(|| "int64".to_owned()),
        Type::Number => "float64".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::String => "string".to_owned(),
        Type::Array => {
            let item = schema.items(node).map(|item| go_type(schema, item));
            format!("[]{}", item.unwrap_or_default())
        }
        Type::Object => match node.additional {
            Additional::Values(id) => format!("map[string]{}", go_type(schema, schema.node(id))),
            _ => "map[string]interface {}".to_owned(),
        },
        Type::Any => "interface {}".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn decoding_refuses_wrong_types_in_go_words() {
        let deployment = Schema::builtin("apps", "v1", "Deployment").unwrap();
        let error = deployment.decode_error(&json!({"spec": {"replicas": "three"}}));
        assert_eq!(
            error.as_deref(),
            Some(
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type \
                 int32"
            )
        );
        assert_eq!(deployment.decode_error(&json!({"spec": {"replicas": null}})), None);
        let lease = Schema::builtin("coordination.k8s.io", "v1", "Lease").unwrap();
        let two =
            json!({"spec": {"leaseDurationSeconds": {}, "renewTime": "2020-01-01T00:00:01.5Z"}});
        let error = lease.decode_error(&two).expect("two mistakes");
        assert!(error.starts_with("parsing time \"2020-01-01T00:00:01.5Z\""), "{error}");
    }
}
