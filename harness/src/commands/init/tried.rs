//! Samples and their changes, tried on an embedded API server: what a schema says by rules, alternatives and
//! immutability is judged by the one that judges it in the campaign. Webhooks are the operator's, and not asked.

use std::collections::BTreeSet;

use cluster::{Server, SuffixOrder, World, WorldOptions};
use serde_json::{Value, json};
use trace::Time;
use workloads::{Client, ClientError, apply_manifests};

use super::change::Change;
use crate::exit::{Exit, Expected};

/// The query by which nothing is stored.
const DRY_RUN: &str = "?dryRun=All";

/// A server that knows the author's types.
pub struct Trial {
    client: Client,
    runtime: tokio::runtime::Runtime,
    /// Namespaces that are there.
    namespaces: BTreeSet<String>,
}

impl Trial {
    /// Defines the author's types, and of other projects' types those that it can: the others are left out of the list.
    ///
    /// # Errors
    /// A definition of the author's that the API server refuses: exit 64.
    pub fn of(types: &[&Value], other_types: &mut Vec<Value>) -> anyhow::Result<Trial> {
        let options = WorldOptions { start: Time(0), seed: 0, suffixes: SuffixOrder::Ascending };
        let server = Server::new(World::new(options), None);
        let client = Client::new(server.service());
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let define = |definition: &Value| {
            let mut definition = definition.clone();
            // Its webhook is part of an operator that does not run here.
            if let Some(spec) = definition["spec"].as_object_mut() {
                spec.remove("conversion");
            }
            runtime.block_on(apply_manifests(&client, &[definition]))
        };
        for own in types {
            define(own).map_err(|error| {
                Expected::error(Exit::Usage, format!("the API server refuses {error}"))
            })?;
        }
        other_types.retain(|other| define(other).is_ok());
        Ok(Trial { client, runtime, namespaces: BTreeSet::from(["default".to_owned()]) })
    }

    /// Creates an object, and gives what the server made of it.
    ///
    /// # Errors
    /// Why the server refuses it.
    pub fn create(&mut self, object: &Value) -> Result<Value, String> {
        self.create_with(object, "")
    }

    /// Whether an object could be created.
    ///
    /// # Errors
    /// Why the server refuses it.
    pub fn could_create(&mut self, object: &Value) -> Result<(), String> {
        self.create_with(object, DRY_RUN).map(drop)
    }

    fn create_with(&mut self, object: &Value, query: &str) -> Result<Value, String> {
        let (client, namespaces) = (&self.client, &mut self.namespaces);
        let created = self.runtime.block_on(create(client, namespaces, object, query));
        // It ends up in a comment.
        created.map_err(|error| error.to_string().replace('\n', " "))
    }

    /// The first of these changes of an object that the server accepts, and that changes what it has for the spec.
    pub fn first_accepted(&self, created: &Value, changes: Vec<Change>) -> Option<Change> {
        let accepted = |change: &Change| {
            let patched = self.runtime.block_on(patch(&self.client, created, &change.patch));
            patched.is_ok_and(|patched| patched["spec"] != created["spec"])
        };
        changes.into_iter().find(accepted)
    }
}

async fn create(
    client: &Client,
    namespaces: &mut BTreeSet<String>,
    object: &Value,
    query: &str,
) -> Result<Value, ClientError> {
    let resource = resource(client, object).await?;
    let namespace = match namespace(object) {
        "" => "default",
        named => named,
    };
    if resource.namespaced && namespaces.insert(namespace.to_owned()) {
        let object =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        apply_manifests(client, &[object]).await.map_err(|error| error.source)?;
    }
    match client.create(&resource, namespace, object, query).await {
        // One that was made above for what lies in it, or that the author has twice.
        Err(ClientError::Refused { code: 409, .. }) => Ok(object.clone()),
        answer => answer,
    }
}

/// Tries a patch, and leaves the object as it is.
async fn patch(client: &Client, created: &Value, patch: &Value) -> Result<Value, ClientError> {
    let resource = resource(client, created).await?;
    let name = created["metadata"]["name"].as_str().unwrap_or_default();
    client.merge_patch(&resource, namespace(created), (name, ""), patch, DRY_RUN).await
}

async fn resource(client: &Client, object: &Value) -> Result<workloads::Resource, ClientError> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    client.resource(text("apiVersion"), text("kind")).await
}

fn namespace(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}
