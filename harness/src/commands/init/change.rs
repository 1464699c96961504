//! What a user may change of a sample: one field of its spec, by its schema.

use serde_json::{Map, Value, json};

/// A patch of the object that changes one field, and which; none where the spec has nothing that can be changed simply.
pub fn of(crd: &Value, object: &Value) -> Option<(Value, String)> {
    let versions = crd["spec"]["versions"].as_array()?;
    let version = object["apiVersion"].as_str()?.rsplit('/').next()?;
    let version = versions.iter().find(|one| one["name"] == version)?;
    let schema = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let (spec, path) = changed(schema, &object["spec"], "spec")?;
    let mut metadata = Map::new();
    for field in ["name", "namespace"] {
        if let Some(value) = object["metadata"].get(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let patch = json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": metadata, "spec": spec,
    });
    Some((patch, path))
}

/// Another value, with the path to what differs; in objects only the way there.
fn changed(schema: &Value, value: &Value, path: &str) -> Option<(Value, String)> {
    let immutable =
        |rule: &Value| rule["rule"].as_str().is_some_and(|rule| rule.contains("oldSelf"));
    if schema["x-kubernetes-validations"].as_array().into_iter().flatten().any(immutable) {
        return None;
    }
    let new = match (value, schema["type"].as_str()) {
        (Value::Object(fields), _) => {
            let below = |(name, value): (&String, &Value)| {
                let (value, path) =
                    changed(&schema["properties"][name], value, &format!("{path}.{name}"))?;
                Some((json!({ name.as_str(): value }), path))
            };
            return fields.iter().find_map(below);
        }
        (current, _) if schema["enum"].is_array() => {
            schema["enum"].as_array()?.iter().find(|other| *other != current)?.clone()
        }
        (Value::Number(number), Some("integer")) => {
            let next = number.as_i64()? + 1;
            let fits = schema["maximum"].as_f64().is_none_or(|most| next as f64 <= most);
            json!(if fits { next } else { next - 2 })
        }
        (Value::Bool(value), _) => json!(!value),
        (Value::String(text), Some("string")) if free(schema, text) => json!(format!("{text}-2")),
        _ => return None,
    };
    Some((new, path.to_owned()))
}

/// Whether a text may be any other that is two characters longer.
fn free(schema: &Value, text: &str) -> bool {
    let bound = ["pattern", "format"].iter().any(|name| schema.get(name).is_some());
    let longest = schema["maxLength"].as_u64().unwrap_or(u64::MAX);
    !bound && text.len() as u64 + 2 <= longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &Value, spec: &Value, expect: Option<(Value, &str)>) {
        let schema = json!({"properties": {"spec": schema}});
        let versions = json!([{"name": "v1", "schema": {"openAPIV3Schema": schema}}]);
        let crd = json!({"spec": {"versions": versions}});
        let object = json!({
            "apiVersion": "g/v1", "kind": "K", "metadata": {"name": "k", "labels": {}}, "spec": spec,
        });
        let found = of(&crd, &object);
        let found = found.as_ref().map(|(patch, path)| (patch["spec"].clone(), path.as_str()));
        assert_eq!(found, expect, "{schema}");
    }

    #[test]
    fn one_field_is_changed_as_its_schema_allows() {
        let text = json!({"properties": {"t": {"type": "string", "maxLength": 6}}});
        check(&text, &json!({"t": "some"}), Some((json!({"t": "some-2"}), "spec.t")));
        check(&text, &json!({"t": "longer"}), None);
        let integer = |more: Value| {
            let mut field = json!({"type": "integer"});
            field.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"properties": {"a": {"type": "string", "pattern": "x"}, "o": {"properties": {"n": field}}}})
        };
        let spec = json!({"a": "x", "o": {"n": 3}});
        let path = "spec.o.n";
        check(&integer(json!({})), &spec, Some((json!({"o": {"n": 4}}), path)));
        check(&integer(json!({"maximum": 3})), &spec, Some((json!({"o": {"n": 2}}), path)));
        let fixed = json!({"x-kubernetes-validations": [{"rule": "self == oldSelf"}]});
        check(&integer(fixed), &spec, None);
        let words = json!({"properties": {"w": {"type": "string", "enum": ["a", "b"]}}});
        check(&words, &json!({"w": "a"}), Some((json!({"w": "b"}), "spec.w")));
    }
}
