//! A Takeover makes the controller an owner of a field in a user's ConfigMap. Shows only to those
//! who keep managed fields.
//!
//! The controller notes in the status that it is Taking, applies the field's present value
//! (server-side apply, forced), which changes nothing but `metadata.managedFields`, and notes that
//! it is Taken. Whoever finds the field owned already takes the whole job for done.
//!
//! Schedule: crash after the controller's apply of the ConfigMap, before the second status update;
//! restart. Result: `status.phase` stays at Taking. The worlds before and after the apply differ in
//! managed fields alone, and only the later one is bad: who takes them for the same never starts
//! from it.
//!
//! Fixed: owning the field and having noted it are two questions.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, CustomResource, ResourceExt, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::controller::{entry, serve};

const MANAGER: &str = "planted";
const KEY: &str = "mode";

/// What is to be taken over.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "planted.trommel.dev", version = "v1", kind = "Takeover", namespaced)]
#[kube(status = "TakeoverStatus", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct TakeoverSpec {
    config_map: String,
}

/// How far it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TakeoverStatus {
    #[serde(default)]
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum Phase {
    #[default]
    New,
    Taking,
    Taken,
}

struct Context {
    client: Client,
    fixed: bool,
}

/// Runs the controller until it is killed.
pub async fn run(client: Client, fixed: bool) {
    let context = Context { client: client.clone(), fixed };
    serve(client, reconcile, context).await;
}

async fn reconcile(takeover: Arc<Takeover>, context: Arc<Context>) -> Result<()> {
    let namespace = takeover.namespace().unwrap_or_default();
    let takeovers: Api<Takeover> = Api::namespaced(context.client.clone(), &namespace);
    let config_maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    let Some(mut takeover) = takeovers.get_opt(&takeover.name_any()).await? else { return Ok(()) };

    let config_map = config_maps.get(&takeover.spec.config_map).await?;
    let owned = is_ours(&config_map);
    if owned && !context.fixed {
        return Ok(());
    }
    if phase(&takeover) == Phase::New {
        takeover = set_phase(&takeovers, takeover, Phase::Taking).await?;
    }
    if !owned {
        apply(&config_maps, &config_map).await?;
    }
    if phase(&takeover) == Phase::Taking {
        set_phase(&takeovers, takeover, Phase::Taken).await?;
    }
    Ok(())
}

fn phase(takeover: &Takeover) -> Phase {
    takeover.status.as_ref().map_or(Phase::New, |status| status.phase)
}

/// Do we, as an applier, own the field?
fn is_ours(config_map: &ConfigMap) -> bool {
    let path = format!("/f:data/f:{KEY}");
    config_map.managed_fields().iter().any(|entry| {
        entry.manager.as_deref() == Some(MANAGER)
            && entry.operation.as_deref() == Some("Apply")
            && entry.fields_v1.as_ref().is_some_and(|fields| fields.0.pointer(&path).is_some())
    })
}

/// Applies the field as it is: a change of its owners only.
async fn apply(config_maps: &Api<ConfigMap>, config_map: &ConfigMap) -> Result<()> {
    let name = config_map.name_any();
    let value = entry(config_map, KEY).unwrap_or_default();
    let ours = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {KEY: value},
    });
    let as_manager = PatchParams::apply(MANAGER).force();
    config_maps.patch(&name, &as_manager, &Patch::Apply(ours)).await.map(drop)
}

async fn set_phase(
    takeovers: &Api<Takeover>,
    mut takeover: Takeover,
    phase: Phase,
) -> Result<Takeover> {
    takeover.status = Some(TakeoverStatus { phase });
    takeovers.replace_status(&takeover.name_any(), &PostParams::default(), &takeover).await
}
