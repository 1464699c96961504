//! An Errand is prepared, and done when the user says go. Shows only to those who keep an object's age.
//!
//! To do the Errand, the controller makes a claim (a ConfigMap) and then the result (another one). A claim
//! that it finds and didn't make itself is its predecessor's if it is fresh, and is gone on with; if it
//! is older than ten minutes, it is taken for somebody else's, and left alone. That seems safe: nobody
//! is down between two writes for so long. But an incarnation that starts on a prepared Errand makes the
//! claim at once, without waiting for the user's go.
//!
//! Schedule: crash after the controller's status update (prepared); restart (it makes the claim; an
//! hour passes, the user says go, and all is well unless) crash any time after that claim and before
//! the result is made, for instance after the user's go; restart. Result: no result, ever. After the
//! first crash alone all ends well. Without crashes a world with the same claim and without the result
//! exists too, but there the claim is new: who takes these two for the same never starts from the bad
//! one. (Each step of the user has an hour of its own so that the *order* of ages is the same in both.)
//!
//! Fixed: the claim says by its owner whose it is, and is made when the user says go.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::{Client, CustomResource, ResourceExt, Result};
use serde::{Deserialize, Serialize};

use crate::controller::{child, create_if_missing, serve};

/// A claim older than this many seconds is taken for somebody else's.
const EXPIRY: i64 = 600;

/// What the user wants done, and how far.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "planted.trommel.dev", version = "v1", kind = "Errand", namespaced)]
#[kube(status = "ErrandStatus", schema = "disabled")]
pub struct ErrandSpec {
    #[serde(default)]
    prepare: bool,
    #[serde(default)]
    go: bool,
}

/// How far it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ErrandStatus {
    #[serde(default)]
    prepared: bool,
}

struct Context {
    client: Client,
    fixed: bool,
    /// The names of the claims that this incarnation made or went on with.
    claims: Mutex<BTreeSet<String>>,
    /// The names of the Errands that this incarnation prepared: their claims wait for the go.
    prepared: Mutex<BTreeSet<String>>,
}

/// Runs the controller until it is killed.
pub async fn run(client: Client, fixed: bool) {
    let (claims, prepared) = Default::default();
    serve(client.clone(), reconcile, Context { client, fixed, claims, prepared }).await;
}

async fn reconcile(errand: Arc<Errand>, context: Arc<Context>) -> Result<()> {
    let namespace = errand.namespace().unwrap_or_default();
    let errands: Api<Errand> = Api::namespaced(context.client.clone(), &namespace);
    let objects: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    let Some(mut errand) = errands.get_opt(&errand.name_any()).await? else { return Ok(()) };
    if !errand.spec.prepare {
        return Ok(());
    }

    if !errand.status.as_ref().is_some_and(|status| status.prepared) {
        errand.status = Some(ErrandStatus { prepared: true });
        errand =
            errands.replace_status(&errand.name_any(), &PostParams::default(), &errand).await?;
        remember(&context.prepared, &errand.name_any());
    }
    let resumed = !context.fixed && !remembers(&context.prepared, &errand.name_any());
    if (errand.spec.go || resumed) && !claim(&context, &objects, &errand).await? {
        eprintln!("errand {}: somebody else's claim, left alone", errand.name_any());
        return Ok(());
    }
    if errand.spec.go {
        create_if_missing(&objects, &child(&errand, &result_name(&errand), ("result", "done")))
            .await?;
    }
    Ok(())
}

fn claim_name(errand: &Errand) -> String {
    format!("{}-claim", errand.name_any())
}

fn result_name(errand: &Errand) -> String {
    format!("{}-result", errand.name_any())
}

/// Makes the claim, or finds it. Says whether it is ours.
async fn claim(context: &Context, objects: &Api<ConfigMap>, errand: &Errand) -> Result<bool> {
    let name = claim_name(errand);
    if context.fixed {
        create_if_missing(objects, &child(errand, &name, ("claimed", "yes"))).await?;
        let found = objects.get(&name).await?;
        let ours = |uid: &String| Some(uid) == errand.uid().as_ref();
        return Ok(found.owner_references().iter().any(|owner| ours(&owner.uid)));
    }
    if remembers(&context.claims, &name) {
        return Ok(true);
    }
    let made = create_if_missing(objects, &child(errand, &name, ("claimed", "yes"))).await?;
    let ours = made || !is_expired(&objects.get(&name).await?);
    if ours && errand.spec.go || made {
        remember(&context.claims, &name);
    }
    Ok(ours)
}

fn is_expired(claim: &ConfigMap) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let made = claim.creation_timestamp().map_or(0, |time| time.0.as_second());
    i64::try_from(now).unwrap_or(i64::MAX) - made > EXPIRY
}

fn remember(names: &Mutex<BTreeSet<String>>, name: &str) {
    names.lock().unwrap_or_else(PoisonError::into_inner).insert(name.into());
}

fn remembers(names: &Mutex<BTreeSet<String>>, name: &str) -> bool {
    names.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
}
