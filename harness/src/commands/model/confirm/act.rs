//! What users and nodes do, as requests.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use workloads::{Client, ClientError, Resource};

use super::file::Does;

/// A user of the API, who remembers what they applied.
pub struct User {
    client: Client,
    /// By `apiVersion`, kind, namespace and name: what was applied last, or was there at the start.
    applied: BTreeMap<[String; 4], Value>,
}

impl User {
    /// One who has applied these objects.
    pub fn new(client: Client, objects: &[Value]) -> User {
        let applied = objects.iter().map(|object| (key(object), object.clone())).collect();
        User { client, applied }
    }

    /// Does it. Drains and what pods use last longer than a request: see [`super::drain`] and [`super::usage`].
    ///
    /// # Errors
    /// The API refuses.
    pub async fn act(&mut self, does: Does<'_>) -> Result<(), ClientError> {
        let object = match does {
            Does::Drain(_) | Does::Use(_) => return Ok(()),
            Does::Apply(object)
            | Does::Create(object)
            | Does::Patch(object)
            | Does::PatchStatus(object)
            | Does::Scale(object)
            | Does::Delete(object) => object,
        };
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let (version, kind) = (text("/apiVersion"), text("/kind"));
        let resource =
            self.client.resource(version.unwrap_or_default(), kind.unwrap_or_default()).await?;
        let name = text("/metadata/name").unwrap_or_default();
        let namespace = match resource.namespaced {
            true => text("/metadata/namespace").unwrap_or("default"),
            false => "",
        };
        let patch = async |subresource: &str, patch: &Value| {
            let place = (name, subresource);
            self.client.merge_patch(&resource, namespace, place, patch, "").await.map(drop)
        };
        match does {
            Does::Create(_) => self.client.create(&resource, namespace, object, "").await.map(drop),
            Does::Patch(_) => patch("", object).await,
            Does::PatchStatus(_) => patch("status", object).await,
            Does::Scale(_) => {
                patch("scale", &json!({"spec": {"replicas": object["replicas"]}})).await
            }
            Does::Delete(_) => {
                let options = json!({"propagationPolicy": "Background"});
                self.client.delete(&resource, namespace, name, &options).await.map(drop)
            }
            Does::Apply(_) => self.apply(&resource, (namespace, name), object).await,
            Does::Drain(_) | Does::Use(_) => Ok(()),
        }
    }

    async fn apply(
        &mut self,
        resource: &Resource,
        (namespace, name): (&str, &str),
        object: &Value,
    ) -> Result<(), ClientError> {
        let before = self.applied.insert(key(object), object.clone());
        match before {
            None => self.client.create(resource, namespace, object, "").await.map(drop),
            Some(before) => {
                let patch = patch(&before, object);
                self.client.merge_patch(resource, namespace, (name, ""), &patch, "").await.map(drop)
            }
        }
    }
}

fn key(object: &Value) -> [String; 4] {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let namespace = if text("/metadata/namespace").is_empty() {
        "default"
    } else {
        text("/metadata/namespace")
    };
    [text("/apiVersion"), text("/kind"), namespace, text("/metadata/name")].map(str::to_owned)
}

/// The merge patch by which `kubectl apply` gets from one manifest to another: all that the new one says, and null for
/// what only the old one said. Lists are replaced as a whole, which kubectl does with those that have no keys.
fn patch(before: &Value, now: &Value) -> Value {
    let (Some(before), Some(now)) = (before.as_object(), now.as_object()) else {
        return now.clone();
    };
    let gone = before.keys().filter(|field| !now.contains_key(*field));
    let mut patched: Map<String, Value> = gone.map(|field| (field.clone(), Value::Null)).collect();
    for (field, value) in now {
        patched.insert(
            field.clone(),
            before.get(field).map_or(value.clone(), |old| patch(old, value)),
        );
    }
    Value::Object(patched)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_applied_no_more_is_removed() {
        let check = |before: Value, now: Value, expect: Value| {
            assert_eq!(patch(&before, &now), expect, "{before} {now}");
        };
        check(
            json!({"a": 1, "b": {"c": 2}}),
            json!({"b": {}}),
            json!({"a": null, "b": {"c": null}}),
        );
        check(json!({"a": [1, 2]}), json!({"a": [2]}), json!({"a": [2]}));
        check(json!({}), json!({"a": {"b": 1}}), json!({"a": {"b": 1}}));
    }
}
