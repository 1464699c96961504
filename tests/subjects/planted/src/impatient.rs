//! An Errand looks at a cache until that shows what was written. No bug: its end is always the same.
//!
//! The controller creates a note (a ConfigMap), and looks for it in a cache of its own. While it is not there, it
//! changes the Errand's status, and the event of that write is the next reason to look.
//!
//! Schedule: restart after the note was made, with ConfigMaps from a cache that is behind it; answers and events come
//! one at a time. Result: nothing but the end of the old cache ends the looking. In a cluster the event comes some
//! time; who waits for a quiet moment before it comes waits for ever.
//!
//! `streamed` is the same with a streamed first list of notes, for which kube-rs asks with `resourceVersion=0`: a cache that
//! is behind shows its older state. Where the server streams no lists kube-rs asks for it again, and no cache shows it one.

use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, CustomResource, ResourceExt, Result};
use serde::{Deserialize, Serialize};

use crate::controller::{RETRY, child, create_if_missing};

/// What is to be noted.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "planted.trommel.dev", version = "v1", kind = "Errand", namespaced)]
#[kube(status = "ErrandStatus", schema = "disabled")]
pub struct ErrandSpec {}

/// Whether the cache showed the note; until then, something that changes with each look.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ErrandStatus {
    #[serde(default)]
    odd: bool,
    #[serde(default)]
    done: bool,
}

struct Context {
    client: Client,
    notes: Store<ConfigMap>,
}

/// First lists that any state may answer. With a page size kube-rs asks for the newest state after all.
pub fn from_cache() -> watcher::Config {
    watcher::Config { page_size: None, ..watcher::Config::default().any_semantic() }
}

/// Runs the controller until it is killed, with a cache of notes that is filled so.
pub async fn run(client: Client, how: watcher::Config) {
    let (notes, writer) = reflector::store();
    let all_notes: Api<ConfigMap> = Api::all(client.clone());
    let changes = watcher(all_notes, how).default_backoff().reflect(writer);
    Controller::new(Api::<Errand>::all(client.clone()), watcher::Config::default())
        .reconcile_all_on(changes.touched_objects().map(|_| ()))
        .run(reconcile, |_, _, _| Action::requeue(RETRY), Arc::new(Context { client, notes }))
        .for_each(|_| std::future::ready(()))
        .await;
}

async fn reconcile(errand: Arc<Errand>, context: Arc<Context>) -> Result<Action> {
    let namespace = errand.namespace().unwrap_or_default();
    let errands: Api<Errand> = Api::namespaced(context.client.clone(), &namespace);
    let objects: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    let name = errand.name_any();
    let Some(mut errand) = errands.get_opt(&name).await? else {
        return Ok(Action::await_change());
    };
    let status = errand.status.take().unwrap_or_default();
    if status.done {
        return Ok(Action::await_change());
    }
    let note = format!("{name}-note");
    create_if_missing(&objects, &child(&errand, &note, ("of", &name))).await?;
    let seen = context.notes.get(&ObjectRef::new(&note).within(&namespace)).is_some();
    errand.status = Some(ErrandStatus { odd: !seen && !status.odd, done: seen });
    errands.replace_status(&name, &PostParams::default(), &errand).await?;
    Ok(Action::await_change())
}
