//! A Rotation is carried out in two steps, and a Secret says how far it is. Shows only to those who look inside.
//!
//! The controller notes `announced` in the Secret, then `rotated`, and then makes the result (a ConfigMap).
//! An incarnation that finds `rotated` thinks that all is done.
//!
//! Schedule: crash after the Secret's update to `rotated`; restart. Result: no result, ever. A crash after the
//! Secret was created is harmless, and leaves a world that differs in nothing but what the Secret holds: who
//! takes these two for the same never starts from the bad one.
//!
//! Fixed: the result is made whenever it is missing.

use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, PostParams};
use kube::{Client, CustomResource, Resource, ResourceExt, Result};
use serde::{Deserialize, Serialize};

use crate::controller::{child, create_if_missing, serve};

/// What the user wants rotated.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "planted.trommel.dev", version = "v1", kind = "Rotation", namespaced)]
#[kube(schema = "disabled")]
pub struct RotationSpec {}

struct Context {
    client: Client,
    fixed: bool,
}

/// Runs the controller until it is killed.
pub async fn run(client: Client, fixed: bool) {
    serve(client.clone(), reconcile, Context { client, fixed }).await;
}

async fn reconcile(rotation: Arc<Rotation>, context: Arc<Context>) -> Result<()> {
    let namespace = rotation.namespace().unwrap_or_default();
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), &namespace);
    let results: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    let name = rotation.name_any();
    let creating = PostParams::default();
    let mut state = match secrets.get_opt(&name).await? {
        Some(state) => state,
        None => secrets.create(&creating, &secret(&rotation, "announced")).await?,
    };
    if step(&state) == Some(b"announced") {
        state.data = secret(&rotation, "rotated").data;
        secrets.replace(&name, &creating, &state).await?;
    } else if !context.fixed {
        return Ok(());
    }
    create_if_missing(&results, &child(&*rotation, &name, ("result", "new"))).await.map(drop)
}

fn step(state: &Secret) -> Option<&[u8]> {
    state.data.as_ref()?.get("step").map(|step| &*step.0)
}

fn secret(rotation: &Rotation, step: &str) -> Secret {
    let owner_references = rotation.controller_owner_ref(&()).map(|owner| vec![owner]);
    let name = Some(rotation.name_any());
    let metadata = ObjectMeta { name, owner_references, ..Default::default() };
    let data = [("step".to_owned(), ByteString(step.into()))].into();
    Secret { metadata, data: Some(data), ..Default::default() }
}
