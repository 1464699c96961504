//! Whole resources within a custom object (`x-kubernetes-embedded-resource`): they have a type and metadata as any other
//! (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta`).

use serde_json::{Map, Value};

use crate::{
    schema::{FieldError, FieldErrorKind, Node, Path, Schema},
    verbs::{dns_1035_problem, metadata_errors, path_segment_problem},
};

/// What is wrong with them in an object, and with the object itself if it is to be one.
pub(crate) fn errors(schema: &Schema, object: &Value, whole: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(fields) = object.as_object().filter(|_| whole && !schema.root().embedded_resource) {
        resource(fields, object, &Path::Root, &mut errors);
    }
    walk(schema, schema.root(), object, &Path::Root, &mut errors);
    errors
}

fn walk(schema: &Schema, node: &Node, value: &Value, at: &Path<'_>, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            if node.embedded_resource {
                resource(fields, value, at, errors);
            }
            for (name, value) in fields {
                let Some(below) = schema.field(node, name) else { continue };
                let at = match node.properties.contains_key(name) {
                    true => Path::Field(at, name),
                    false => Path::Key(at, name),
                };
                walk(schema, below, value, &at, errors);
            }
        }
        Value::Array(items) => {
            let Some(below) = schema.items(node) else { return };
            for (index, item) in items.iter().enumerate() {
                walk(schema, below, item, &Path::Index(at, index), errors);
            }
        }
        _ => {}
    }
}

fn resource(
    fields: &Map<String, Value>,
    resource: &Value,
    at: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    for (name, problem) in
        [("apiVersion", group_version_problem as Problem), ("kind", kind_problem)]
    {
        let field = Path::Field(at, name).to_string();
        let detail = match fields.get(name) {
            None => {
                errors.push(FieldError::required(&field));
                continue;
            }
            Some(Value::String(text)) if text.is_empty() => Some("must not be empty".to_owned()),
            Some(Value::String(text)) => problem(text),
            Some(_) => Some("must be a string".to_owned()),
        };
        let invalid = FieldErrorKind::Invalid;
        errors
            .extend(detail.map(|why| FieldError::with_value(&field, invalid, &fields[name], why)));
    }
    if !fields.contains_key("metadata") {
        return;
    }
    let mut found = metadata_errors(resource, false);
    let name = resource["metadata"]["name"].as_str().unwrap_or("");
    if let Some(why) = path_segment_problem(name).filter(|_| !name.is_empty()) {
        let (kind, value) = (FieldErrorKind::Invalid, Value::from(name));
        found.push(FieldError::with_value("metadata.name", kind, &value, why));
    }
    errors.extend(found.into_iter().map(|mut error| {
        error.field = Path::Field(at, &error.field).to_string();
        error
    }));
}

type Problem = fn(&str) -> Option<String>;

/// `schema.ParseGroupVersion`
fn group_version_problem(text: &str) -> Option<String> {
    (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"))
}

fn kind_problem(text: &str) -> Option<String> {
    let why = dns_1035_problem(&text.to_lowercase())?;
    Some(format!("may have mixed case, but should otherwise match: {why}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Gvk;

    #[test]
    fn resources_within_have_a_type_and_metadata() {
        let gvk = Gvk { group: "example.com".into(), version: "v1".into(), kind: "Foo".into() };
        let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true});
        let schema = json!({"type": "object", "properties": {
            "list": {"type": "array", "items": embedded},
            "map": {"type": "object", "additionalProperties": embedded}}});
        let schema = Schema::custom(&gvk, Some(&schema)).unwrap();
        let check = |object: Value, expect: &[&str]| {
            let found = errors(&schema, &object, false);
            assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expect);
        };
        check(json!({"list": [{"apiVersion": "v1", "kind": "Pod"}], "map": {}}), &[]);
        check(
            json!({"list": [{}], "map": {"a": {"apiVersion": "", "kind": 1}}}),
            &[
                "list[0].apiVersion: Required value",
                "list[0].kind: Required value",
                "map[a].apiVersion: Invalid value: \"\": must not be empty",
                "map[a].kind: Invalid value: 1: must be a string",
            ],
        );
        check(
            json!({"list": [{"apiVersion": "a/b/c", "kind": "Pod",
                "metadata": {"name": "a/b", "labels": {"": "x"}}}]}),
            &[
                "list[0].apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
                "list[0].metadata.labels: Invalid value: \"\": name part must be non-empty",
                "list[0].metadata.labels: Invalid value: \"\": name part must consist of alphanumeric characters, \
                 '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or \
                 'my.name',  or '123-abc', regex used for validation is \
                 '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                "list[0].metadata.name: Invalid value: \"a/b\": may not contain '/'",
            ],
        );
    }
}
