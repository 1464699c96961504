//! A Folder is a ConfigMap, made at once; every five minutes those that belong to no Folder are swept away. Shows only to
//! those who wait for a sweep *after a restart*: undisturbed, no sweep ever finds anything.
//!
//! Which ConfigMaps belong to a Folder, the controller only remembers: one that it finds, and did not make itself, it
//! sweeps away.
//!
//! Schedule: crash after the ConfigMap is made; restart; wait for five minutes. Result: it is gone, and stays away.
//!
//! Fixed: the ConfigMap says whose it is.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams};
use kube::{Client, CustomResource, ResourceExt, Result};
use serde::{Deserialize, Serialize};

use crate::controller::{Names, child, create_if_missing, delete_if_there, entry, serve};

/// How long after one sweep the next comes.
const SWEPT_EVERY: Duration = Duration::from_secs(300);

/// What the user wants.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "planted.trommel.dev", version = "v1", kind = "Folder", namespaced)]
#[kube(status = "FolderStatus", schema = "disabled")]
pub struct FolderSpec {}

/// Which ConfigMap it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FolderStatus {
    #[serde(default)]
    contents: String,
}

struct Context {
    client: Client,
    /// The names of the ConfigMaps that this incarnation made.
    mine: Arc<Names>,
}

/// Runs the controller until it is killed.
pub async fn run(client: Client, fixed: bool) {
    let mine = Arc::new(Names::default());
    tokio::spawn(sweep_again(client.clone(), mine.clone(), fixed));
    let context = Context { client: client.clone(), mine };
    serve(client, reconcile, context).await;
}

async fn reconcile(folder: Arc<Folder>, context: Arc<Context>) -> Result<()> {
    let namespace = folder.namespace().unwrap_or_default();
    let objects: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    let name = format!("{}-contents", folder.name_any());
    if create_if_missing(&objects, &child(&*folder, &name, ("of", &folder.name_any()))).await? {
        context.mine.insert(&name);
    }
    let folders: Api<Folder> = Api::namespaced(context.client.clone(), &namespace);
    let Some(mut folder) = folders.get_opt(&folder.name_any()).await? else { return Ok(()) };
    if folder.status.as_ref().is_none_or(|status| status.contents != name) {
        folder.status = Some(FolderStatus { contents: name });
        folders.replace_status(&folder.name_any(), &PostParams::default(), &folder).await?;
    }
    Ok(())
}

async fn sweep_again(client: Client, mine: Arc<Names>, fixed: bool) {
    let mut pause = tokio::time::interval(SWEPT_EVERY);
    pause.tick().await; // the first is at once
    loop {
        pause.tick().await;
        if let Err(error) = sweep(&client, &mine, fixed).await {
            eprintln!("the sweep: {error}; again in {SWEPT_EVERY:?}");
        }
    }
}

async fn sweep(client: &Client, mine: &Names, fixed: bool) -> Result<()> {
    let objects: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let folders: Api<Folder> = Api::default_namespaced(client.clone());
    for object in objects.list(&ListParams::default()).await? {
        let (name, Some(of)) = (object.name_any(), entry(&object, "of")) else { continue };
        let belongs = match fixed {
            true => folders.get_opt(of).await?.is_some(),
            false => mine.contains(&name),
        };
        if !belongs {
            eprintln!("{name} belongs to nobody");
            delete_if_there(&objects, &name).await?;
        }
    }
    Ok(())
}
