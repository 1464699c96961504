//! What upstream can't make a structural schema of (`NewStructural` of
//! `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/convert.go`).

use serde_json::Value;

use super::{PRESERVE, keyword, list, schemas, text};

/// Why a schema can't be converted, as upstream says it; it says so only if nothing else is wrong.
pub(crate) fn unconvertible(schema: &Value) -> Option<String> {
    unsupported(schema).map(str::to_owned).or_else(|| {
        let nested = ["not", "items", "additionalProperties"].into_iter();
        let nested = nested.filter_map(|name| keyword(schema, name));
        let branches = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|name| list(schema, name));
        let properties = schemas(schema, "properties").into_iter().flat_map(|all| all.values());
        nested.chain(branches).chain(properties).find_map(unconvertible)
    })
}

fn unsupported(schema: &Value) -> Option<&'static str> {
    let has_texts = [
        ("id", "OpenAPIV3Schema 'id' is not supported"),
        ("$schema", "OpenAPIV3Schema 'schema' is not supported"),
        ("$ref", "OpenAPIV3Schema '$ref' is not supported"),
    ];
    let has_schemas = [
        ("patternProperties", "OpenAPIV3Schema 'patternProperties' is not supported"),
        ("dependencies", "OpenAPIV3Schema 'dependencies' is not supported"),
        ("definitions", "OpenAPIV3Schema 'definitions' is not supported"),
    ];
    let text = has_texts.into_iter().find(|(name, _)| !text(schema, name).is_empty());
    let some =
        text.or_else(|| has_schemas.into_iter().find(|(name, _)| schemas(schema, name).is_some()));
    if let Some((_, why)) = some {
        return Some(why);
    }
    if keyword(schema, "additionalItems").is_some() {
        return Some("OpenAPIV3Schema 'additionalItems' is not supported");
    }
    if schema.get(PRESERVE) == Some(&Value::Bool(false)) {
        return Some(
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
        );
    }
    let many = !list(schema, "items").is_empty();
    many.then_some("OpenAPIV3Schema 'items' must be a schema, but is an array")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_upstream_does_not_support_is_found_anywhere() {
        let check = |schema: Value, expect: Option<&str>| {
            let whole =
                json!({"type": "object", "properties": {"a": {"anyOf": [{"items": schema}]}}});
            assert_eq!(unconvertible(&whole).as_deref(), expect);
        };
        check(json!({"type": "string", "additionalItems": null, "id": ""}), None);
        check(json!({"$schema": "x"}), Some("OpenAPIV3Schema 'schema' is not supported"));
        check(
            json!({"items": [{}]}),
            Some("OpenAPIV3Schema 'items' must be a schema, but is an array"),
        );
        check(
            json!({"x-kubernetes-preserve-unknown-fields": false}),
            Some(
                "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
            ),
        );
    }
}
