//! Applies manifests before the subject starts: CRDs, RBAC, rendered charts.

use serde_json::Value;

use crate::client::{Client, ClientError};

/// A manifest that could not be applied.
#[derive(Debug, thiserror::Error)]
#[error("{object}: {source}")]
pub struct InstallError {
    /// Its position among the given ones, from 0.
    pub index: usize,
    /// The object: `CustomResourceDefinition foos.example.com`.
    pub object: String,
    /// Why.
    pub source: ClientError,
}

/// Creates or replaces all objects: CRDs first, then namespaces, then the rest in the given order. Namespaced
/// objects without a namespace go to `default`.
///
/// It waits for nothing: whether a CRD is served the moment it is created is the cluster's affair, and a
/// kind that is not there yet is an error.
pub async fn apply_manifests(client: &Client, objects: &[Value]) -> Result<(), InstallError> {
    let mut ordered: Vec<(usize, &Value)> = objects.iter().enumerate().collect();
    ordered.sort_by_key(|(_, object)| rank(object)); // stable: the given order within a rank
    for (index, object) in ordered {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("");
        put(client, object).await.map_err(|source| InstallError {
            index,
            object: format!("{} {}", text("/kind"), text("/metadata/name")),
            source,
        })?;
    }
    client.forget_resources();
    Ok(())
}

fn rank(object: &Value) -> u8 {
    match object["kind"].as_str() {
        Some("CustomResourceDefinition") => 0,
        Some("Namespace") => 1,
        _ => 2,
    }
}

async fn put(client: &Client, object: &Value) -> Result<(), ClientError> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let resource = client.resource(text("/apiVersion"), text("/kind")).await?;
    let namespace = match text("/metadata/namespace") {
        _ if !resource.namespaced => "",
        "" => "default",
        own => own,
    };
    let name = text("/metadata/name");
    let mut object = object.clone();
    if resource.namespaced {
        object["metadata"]["namespace"] = namespace.into();
    }
    match client.create(&resource, namespace, &object, "").await {
        Err(ClientError::Refused { code: 409, reason, .. }) if reason == "AlreadyExists" => {}
        answer => return answer.map(|_| ()),
    }
    let found = client.get(&resource, namespace, name).await?;
    object["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"].clone();
    client.replace(&resource, namespace, name, &object, "").await.map(|_| ())
}
