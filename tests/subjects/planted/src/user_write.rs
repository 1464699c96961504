//! A Release is rolled out to a ConfigMap. Shows after a crash right after a *user's* write.
//!
//! The controller installs a new Release, and from then on compares its version with the one that
//! it saw last: a change is rolled out. After a restart it has seen none yet, and takes the version
//! that it finds in an installed Release as the one that is running.
//!
//! Schedule: crash after the user's patch of `spec.version` (before the ConfigMap is updated);
//! restart. The same world comes about when the controller is killed any time after the install and
//! started again after the user's patch. Result: the ConfigMap stays at the old version for ever.
//! Crashes after any of the controller's own writes are harmless: each of them finishes a job.
//!
//! Fixed: nothing is remembered; the ConfigMap itself says which version is running.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::{Client, CustomResource, ResourceExt, Result};
use serde::{Deserialize, Serialize};

use crate::controller::{child, create_if_missing, entry, serve};

/// What the user wants to run.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "planted.trommel.dev", version = "v1", kind = "Release", namespaced)]
#[kube(status = "ReleaseStatus", schema = "disabled")]
pub struct ReleaseSpec {
    version: String,
}

/// Whether it ever ran.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReleaseStatus {
    #[serde(default)]
    installed: bool,
}

struct Context {
    client: Client,
    fixed: bool,
    /// The version of each Release, by uid, that this incarnation saw last.
    seen: Mutex<BTreeMap<String, String>>,
}

impl Context {
    /// Remembers `version` as seen, and returns what was seen before.
    fn see(&self, release: &Release) -> Option<String> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(release.uid().unwrap_or_default(), release.spec.version.clone())
    }

    fn last_seen(&self, release: &Release) -> Option<String> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(&release.uid().unwrap_or_default()).cloned()
    }
}

/// Runs the controller until it is killed.
pub async fn run(client: Client, fixed: bool) {
    let context = Context { client: client.clone(), fixed, seen: Mutex::default() };
    serve(client, reconcile, context).await;
}

async fn reconcile(release: Arc<Release>, context: Arc<Context>) -> Result<()> {
    let namespace = release.namespace().unwrap_or_default();
    let releases: Api<Release> = Api::namespaced(context.client.clone(), &namespace);
    let running: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    let Some(release) = releases.get_opt(&release.name_any()).await? else { return Ok(()) };

    let installed = release.status.as_ref().is_some_and(|status| status.installed);
    if !installed {
        roll_out(&running, &release).await?;
        context.see(&release);
        return note_installed(&releases, release).await;
    }
    let changed = match context.last_seen(&release) {
        Some(seen) => seen != release.spec.version,
        None => context.fixed, // the bug: an unknown version is taken for the running one
    };
    if changed {
        eprintln!("release {}: rolling out {}", release.name_any(), release.spec.version);
        roll_out(&running, &release).await?;
    }
    context.see(&release);
    Ok(())
}

/// Makes the ConfigMap say the Release's version. Writes nothing if it does already.
async fn roll_out(running: &Api<ConfigMap>, release: &Release) -> Result<()> {
    let name = release.name_any();
    let wanted = child(release, &name, ("version", &release.spec.version));
    if create_if_missing(running, &wanted).await? {
        return Ok(());
    }
    let mut existing = running.get(&name).await?;
    if entry(&existing, "version") != Some(&release.spec.version) {
        existing.data = wanted.data;
        running.replace(&name, &PostParams::default(), &existing).await?;
    }
    Ok(())
}

async fn note_installed(releases: &Api<Release>, mut release: Release) -> Result<()> {
    release.status = Some(ReleaseStatus { installed: true });
    releases.replace_status(&release.name_any(), &PostParams::default(), &release).await.map(drop)
}
