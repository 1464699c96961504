//! Applies manifests before the subject starts: CRDs, RBAC, rendered charts.

use serde_json::Value;

use crate::client::{Client, ClientError};

/// A manifest that could not be applied.
#[derive(Debug, thiserror::Error)]
#[error("{object}: {source}{}", help(source))]
pub struct InstallError {
    /// Its position among the given ones, from 0.
    pub index: usize,
    /// The object: `CustomResourceDefinition foos.example.com`.
    pub object: String,
    /// Why.
    pub source: ClientError,
}

/// What to do about it, where that is known.
fn help(source: &ClientError) -> String {
    let ClientError::Refused { code: 404, message, .. } = source else { return String::new() };
    let named = message.strip_prefix("namespaces \"").and_then(|rest| rest.split_once('"'));
    let Some((namespace, _)) = named else { return String::new() };
    format!(
        "; no manifest creates the namespace: add one of kind Namespace with the name {namespace}. In a project of \
         kubebuilder, config/rbac has no namespace of its own: name config/default instead, which has all, or config/crd, \
         which needs none"
    )
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
    } else if let Some(metadata) = object["metadata"].as_object_mut() {
        // kustomize gives one to all types that it does not know.
        metadata.remove("namespace");
    }
    match client.create(&resource, namespace, &object, "").await {
        Err(ClientError::Refused { code: 409, reason, .. }) if reason == "AlreadyExists" => {}
        answer => return answer.map(|_| ()),
    }
    let found = client.get(&resource, namespace, name).await?;
    object["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"].clone();
    client.replace(&resource, namespace, name, &object, "").await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_namespace_says_what_to_do() {
        let check = |message: &str, expect: &str| {
            let (reason, message) = ("NotFound".to_owned(), message.to_owned());
            let source = ClientError::Refused { code: 404, reason, message };
            let object = "ServiceAccount a".to_owned();
            let error = InstallError { index: 0, object, source }.to_string();
            assert!(error.ends_with(expect), "{error}");
        };
        check(
            "namespaces \"system\" not found",
            "add one of kind Namespace with the name system. In a project of kubebuilder, config/rbac has no namespace of \
             its own: name config/default instead, which has all, or config/crd, which needs none",
        );
        check("foos \"a\" not found", "foos \"a\" not found (404 NotFound)");
        let (reason, message) = (String::new(), "unable to parse requirement".to_owned());
        let source = ClientError::Refused { code: 500, reason, message };
        assert_eq!(source.to_string(), "unable to parse requirement (500)");
    }
}
