//! A Setting is copied to a ConfigMap. Shows only to those who keep `status.observedGeneration`
//! apart from `metadata.generation`.
//!
//! The controller has nothing to do where the two are equal and the ConfigMap exists. Where they
//! differ it announces the new value in the ConfigMap, notes the generation, and then copies the
//! value.
//!
//! Schedule: crash after the controller's status update that follows the user's patch (observed
//! generation 1 to 2), before the value is copied; restart. Result: the ConfigMap keeps the old
//! value, and announces the new one for ever. The worlds before and after that status update differ
//! in this one number and in nothing else, and only the later one is bad: who takes them for the
//! same never starts from it.
//!
//! Fixed: copies first and notes then, and doesn't trust the note.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::{Client, CustomResource, ResourceExt, Result};
use serde::{Deserialize, Serialize};

use crate::controller::{child, create_if_missing, entry, serve};

/// What the user wants to be set.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "planted.trommel.dev", version = "v1", kind = "Setting", namespaced)]
#[kube(status = "SettingStatus", schema = "disabled")]
pub struct SettingSpec {
    value: String,
}

/// Which generation of it was seen.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    observed_generation: Option<i64>,
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

async fn reconcile(setting: Arc<Setting>, context: Arc<Context>) -> Result<()> {
    let namespace = setting.namespace().unwrap_or_default();
    let settings: Api<Setting> = Api::namespaced(context.client.clone(), &namespace);
    let copies: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    let Some(setting) = settings.get_opt(&setting.name_any()).await? else { return Ok(()) };

    let wanted = child(&setting, &setting.name_any(), ("value", &setting.spec.value));
    create_if_missing(&copies, &wanted).await?;
    if context.fixed {
        copy(&copies, &setting).await?;
        return note(&settings, setting).await;
    }
    if observed(&setting) != setting.metadata.generation {
        announce(&copies, &setting).await?;
        note(&settings, setting.clone()).await?;
        copy(&copies, &setting).await?;
    }
    Ok(())
}

fn observed(setting: &Setting) -> Option<i64> {
    setting.status.as_ref().and_then(|status| status.observed_generation)
}

/// Says in the copy that another value is coming, unless it is there already.
async fn announce(copies: &Api<ConfigMap>, setting: &Setting) -> Result<()> {
    let mut existing = copies.get(&setting.name_any()).await?;
    if entry(&existing, "value") == Some(&setting.spec.value) {
        return Ok(());
    }
    let data = existing.data.get_or_insert_default();
    data.insert("coming".into(), setting.spec.value.clone());
    copies.replace(&setting.name_any(), &PostParams::default(), &existing).await.map(drop)
}

/// Makes the existing copy say the value and nothing else. Writes nothing if it does already.
async fn copy(copies: &Api<ConfigMap>, setting: &Setting) -> Result<()> {
    let mut existing = copies.get(&setting.name_any()).await?;
    let wanted = Some([("value".to_string(), setting.spec.value.clone())].into());
    if existing.data == wanted {
        return Ok(());
    }
    existing.data = wanted;
    copies.replace(&setting.name_any(), &PostParams::default(), &existing).await.map(drop)
}

/// Notes the generation that was just read. Writes nothing if it is noted already.
async fn note(settings: &Api<Setting>, mut setting: Setting) -> Result<()> {
    let observed_generation = setting.metadata.generation;
    if observed(&setting) == observed_generation {
        return Ok(());
    }
    setting.status = Some(SettingStatus { observed_generation });
    settings.replace_status(&setting.name_any(), &PostParams::default(), &setting).await.map(drop)
}
