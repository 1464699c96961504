//! A Backup is taken, and kept five minutes later. Shows only to those who wait for it.
//!
//! The controller makes a snapshot (a ConfigMap), waits five minutes for it to prove good, and marks the Backup
//! as kept. That it made the snapshot, it only remembers: one that it finds is somebody else's business.
//!
//! Schedule: crash after the snapshot is made; restart. Result: the Backup is never kept. Who takes a cluster
//! for settled after a quiet minute never sees one kept, with crashes or without.
//!
//! Fixed: the snapshot's age says how long is left to wait.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::runtime::controller::Action;
use kube::{Client, CustomResource, ResourceExt, Result};
use serde::{Deserialize, Serialize};

use crate::controller::{Names, child, create_if_missing, serve_again};

/// How long a snapshot has to prove good.
const PROBATION: Duration = Duration::from_secs(300);

/// What the user wants saved.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "planted.trommel.dev", version = "v1", kind = "Backup", namespaced)]
#[kube(status = "BackupStatus", schema = "disabled")]
pub struct BackupSpec {}

/// Whether it is kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BackupStatus {
    #[serde(default)]
    kept: bool,
}

struct Context {
    client: Client,
    fixed: bool,
    /// The names of the snapshots that this incarnation made.
    mine: Names,
}

/// Runs the controller until it is killed.
pub async fn run(client: Client, fixed: bool) {
    serve_again(client.clone(), reconcile, Context { client, fixed, mine: Names::default() }).await;
}

async fn reconcile(backup: Arc<Backup>, context: Arc<Context>) -> Result<Action> {
    let namespace = backup.namespace().unwrap_or_default();
    let backups: Api<Backup> = Api::namespaced(context.client.clone(), &namespace);
    let objects: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    let name = backup.name_any();
    let Some(mut backup) = backups.get_opt(&name).await? else {
        return Ok(Action::await_change());
    };
    if backup.status.as_ref().is_some_and(|status| status.kept) {
        return Ok(Action::await_change());
    }
    let snapshot = format!("{name}-snapshot");
    let made = create_if_missing(&objects, &child(&backup, &snapshot, ("of", &name))).await?;
    if !made && !context.fixed && !context.mine.contains(&snapshot) {
        eprintln!("backup {name}: somebody else's snapshot, left alone");
        return Ok(Action::await_change());
    }
    context.mine.insert(&snapshot);
    let left = PROBATION.saturating_sub(age(&objects.get(&snapshot).await?));
    if !left.is_zero() {
        return Ok(Action::requeue(left));
    }
    // As most controllers do: what is said before a write must not make the pause before it look shorter.
    eprintln!("backup {name}: its snapshot has proved good");
    backup.status = Some(BackupStatus { kept: true });
    backups.replace_status(&name, &PostParams::default(), &backup).await?;
    Ok(Action::await_change())
}

fn age(object: &ConfigMap) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let made = object.creation_timestamp().map_or(0, |time| time.0.as_second());
    now.saturating_sub(Duration::from_secs(u64::try_from(made).unwrap_or_default()))
}
