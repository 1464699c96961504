//! What a user may change of an object without knowing the operator: fields of which the schema says all values that
//! there are.
//!
//! Replicas go up or down by one, numbers with bounds move within them, an enum and a boolean get another value, an
//! annotation is added where the object has annotations for its pods. No text is made up: an operator may refuse any
//! (an image's tag, a schedule, a name), and says so only when it runs.

use serde_json::{Map, Value, json};

/// One field, changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The merge patch: what the object is called, and the way to the field.
    pub patch: Value,
    /// `spec.size`.
    pub path: String,
}

/// What may be done to a field; the first are what users do most, and are offered first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Replicas,
    Bounded,
    Enum,
    Boolean,
    Annotation,
    /// One of these fields of the spec, that the object does not have yet.
    New,
}

/// The annotation that is added.
const ANNOTATION: &str = "trommel.dev/changed";

/// Changes of an object, the best first. Its type is the one that the CRD defines.
pub fn of(crd: &Value, object: &Value) -> Vec<Change> {
    let Some(version) = version_of(crd, object) else { return vec![] };
    let scaled = version["subresources"]["scale"]["specReplicasPath"].as_str();
    let mut found = Vec::new();
    let search = Search { scaled: scaled.unwrap_or_default().trim_start_matches('.') };
    let schema = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
    search.below(schema, &object["spec"], "spec", &mut found);
    found.sort_by_key(|(rank, ..)| *rank);
    let change = |(_, path, spec): (Rank, String, Value)| {
        let mut metadata = Map::new();
        for field in ["name", "namespace"] {
            if let Some(value) = object["metadata"].get(field) {
                metadata.insert(field.to_owned(), value.clone());
            }
        }
        let (version, kind) = (&object["apiVersion"], &object["kind"]);
        let patch =
            json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec});
        Change { patch, path }
    };
    found.into_iter().map(change).collect()
}

fn version_of<'c>(crd: &'c Value, object: &Value) -> Option<&'c Value> {
    let version = object["apiVersion"].as_str()?.rsplit('/').next()?;
    crd["spec"]["versions"].as_array()?.iter().find(|one| one["name"] == version)
}

struct Search<'c> {
    /// The field of the scale subresource, `spec.replicas`; empty if there is none.
    scaled: &'c str,
}

impl Search<'_> {
    /// Fields at and below this one. In what is found, a patch holds the way from here down.
    fn below(
        &self,
        schema: &Value,
        value: &Value,
        path: &str,
        found: &mut Vec<(Rank, String, Value)>,
    ) {
        let Value::Object(fields) = value else {
            found.extend(
                self.other(schema, value, path).map(|(rank, new)| (rank, path.to_owned(), new)),
            );
            return;
        };
        if path.ends_with(".annotations") && schema["additionalProperties"]["type"] == "string" {
            found.push((Rank::Annotation, path.to_owned(), json!({ANNOTATION: "true"})));
            return;
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let (path, before) = (format!("{path}.{name}"), found.len());
            match fields.get(name) {
                Some(value) => self.below(field, value, &path, found),
                // Deeper, a new field is more than a user's change: `hostNetwork` of a template.
                None if path.matches('.').count() == 1 => {
                    let new = self.other(field, &Value::Null, &path);
                    found.extend(new.map(|(_, new)| (Rank::New, path, new)));
                }
                None => {}
            }
            for (_, _, below) in &mut found[before..] {
                *below = json!({name.as_str(): below.take()});
            }
        }
    }

    /// Another value of one field, as its schema has them.
    fn other(&self, schema: &Value, value: &Value, path: &str) -> Option<(Rank, Value)> {
        if let Some(values) = schema["enum"].as_array() {
            return Some((Rank::Enum, values.iter().find(|other| *other != value)?.clone()));
        }
        match schema["type"].as_str() {
            Some("boolean") => Some((Rank::Boolean, json!(!value.as_bool().unwrap_or(false)))),
            Some("integer") => {
                let is_replicas = path == self.scaled || path.ends_with(".replicas");
                let (least, most) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
                let rank = match is_replicas {
                    true => Rank::Replicas,
                    false => least.or(most).map(|_| Rank::Bounded)?,
                };
                let now = value.as_i64().or_else(|| is_replicas.then_some(1))?;
                let step = schema["multipleOf"].as_i64().unwrap_or(1);
                let fits = |next: &i64| {
                    least.is_none_or(|least| *next as f64 >= least)
                        && most.is_none_or(|most| *next as f64 <= most)
                };
                let next = [now.checked_add(step)?, now.checked_sub(step)?];
                Some((rank, json!(next.into_iter().find(fits)?)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(schema: &Value, spec: &Value) -> Vec<(Value, String)> {
        let schema = json!({"properties": {"spec": schema}});
        let scale = json!({"scale": {"specReplicasPath": ".spec.members"}});
        let crd = json!({"spec": {"versions": [
            {"name": "v1", "schema": {"openAPIV3Schema": schema}, "subresources": scale},
        ]}});
        let object = json!({
            "apiVersion": "g/v1", "kind": "K", "metadata": {"name": "k", "labels": {}}, "spec": spec,
        });
        let found = of(&crd, &object);
        for change in &found {
            assert_eq!(change.patch["metadata"], json!({"name": "k"}));
        }
        found.into_iter().map(|change| (change.patch["spec"].clone(), change.path)).collect()
    }

    fn check(field: Value, spec: Value, expect: Option<Value>) {
        let schema = json!({"properties": {"o": {"properties": {"f": field}}}});
        let found = changes(&schema, &json!({"o": {"f": spec}}));
        let expect = expect.map(|new| (json!({"o": {"f": new}}), "spec.o.f".to_owned()));
        assert_eq!(found, Vec::from_iter(expect), "{schema}");
    }

    #[test]
    fn a_field_is_changed_if_its_schema_says_all_of_its_values() {
        let number = |minimum: i64, maximum: i64| json!({"type": "integer", "minimum": minimum, "maximum": maximum});
        check(number(1, 5), json!(3), Some(json!(4)));
        check(number(1, 3), json!(3), Some(json!(2)));
        check(number(3, 3), json!(3), None);
        check(json!({"type": "integer", "minimum": 0, "multipleOf": 5}), json!(5), Some(json!(10)));
        check(json!({"type": "string", "enum": ["a", "b"]}), json!("a"), Some(json!("b")));
        check(json!({"type": "boolean"}), json!(true), Some(json!(false)));
    }

    #[test]
    fn what_an_operator_may_refuse_is_not_made_up() {
        for text in ["busybox:1.36", "*/1 * * * *", "example"] {
            check(json!({"type": "string"}), json!(text), None);
        }
        check(json!({"type": "integer"}), json!(8080), None);
        check(json!({"type": "string", "enum": ["only"]}), json!("only"), None);
        check(json!({"x-kubernetes-int-or-string": true}), json!(1), None);
    }

    #[test]
    fn replicas_come_first_and_new_fields_last() {
        let schema = json!({"properties": {
            "extra": {"type": "boolean"},
            "limit": {"type": "integer", "minimum": 0},
            "members": {"type": "integer"},
            "template": {"properties": {"metadata": {"properties": {"annotations": {
                "type": "object", "additionalProperties": {"type": "string"}}}}}},
            "workers": {"properties": {"paused": {"type": "boolean"}, "replicas": {"type": "integer"}}},
        }});
        let spec = json!({
            "limit": 1, "members": 1, "template": {"metadata": {"annotations": {"a": "b"}}},
            "workers": {"replicas": 2},
        });
        let found = changes(&schema, &spec);
        let paths: Vec<&str> = found.iter().map(|(_, path)| path.as_str()).collect();
        let annotations = "spec.template.metadata.annotations";
        assert_eq!(
            paths,
            ["spec.members", "spec.workers.replicas", "spec.limit", annotations, "spec.extra"]
        );
        assert_eq!(found[1].0, json!({"workers": {"replicas": 3}}));
        assert_eq!(
            found[3].0,
            json!({"template": {"metadata": {"annotations": {ANNOTATION: "true"}}}})
        );
    }
}
