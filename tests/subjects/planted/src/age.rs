//! An Errand is prepared, and run when the user says go. Shows only to those who keep an object's
//! age.
//!
//! To run the Errand, the controller makes a claim (a ConfigMap) and then the result (another one).
//! A claim that it finds on a running Errand is its predecessor's if it is fresh, and is gone on
//! with; if it is older than a minute, it is taken for somebody else's, and left alone. That seems
//! safe: nobody is down between two writes for so long. But an incarnation that starts on a
//! prepared Errand makes the claim at once, without waiting for the user's go.
//!
//! Schedule: crash after the controller's status update to Prepared; restart (it makes the claim;
//! two minutes pass, the user says go, and all is well unless) crash after the user's go or the
//! status update to Running that follows, before the result is made; restart. Result: no result,
//! ever. After the first crash alone all ends well. Without crashes a world with the same claim and
//! without the result exists too, but there the claim is new: who takes these two for the same
//! never starts from the bad one. (The claim is younger than its Errand in both, so that the order
//! of ages tells nothing.)
//!
//! Fixed: the claim says by its owner whose it is, and is made when the user says go.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::{Client, CustomResource, ResourceExt, Result};
use serde::{Deserialize, Serialize};

use crate::controller::{Names, child, create_if_missing, serve};

/// A claim older than this many seconds is taken for somebody else's.
const EXPIRY: i64 = 60;

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
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum Phase {
    #[default]
    New,
    Prepared,
    Running,
}

struct Context {
    client: Client,
    fixed: bool,
    /// The names of the claims that this incarnation made or went on with.
    claims: Names,
    /// The names of the Errands that this incarnation prepared: their claims wait for the go.
    prepared: Names,
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

    if phase(&errand) == Phase::New {
        errand = set_phase(&errands, errand, Phase::Prepared).await?;
        context.prepared.insert(&errand.name_any());
    }
    if errand.spec.go && phase(&errand) == Phase::Prepared {
        errand = set_phase(&errands, errand, Phase::Running).await?;
    }
    let resumed = !context.fixed && !context.prepared.contains(&errand.name_any());
    if (errand.spec.go || resumed) && !claim(&context, &objects, &errand).await? {
        eprintln!("errand {}: somebody else's claim, left alone", errand.name_any());
        return Ok(());
    }
    if errand.spec.go {
        let result = child(&errand, &format!("{}-result", errand.name_any()), ("result", "done"));
        create_if_missing(&objects, &result).await?;
    }
    Ok(())
}

fn phase(errand: &Errand) -> Phase {
    errand.status.as_ref().map_or(Phase::New, |status| status.phase)
}

async fn set_phase(errands: &Api<Errand>, mut errand: Errand, phase: Phase) -> Result<Errand> {
    errand.status = Some(ErrandStatus { phase });
    errands.replace_status(&errand.name_any(), &PostParams::default(), &errand).await
}

/// Makes the claim, or finds it. Says whether it is ours.
async fn claim(context: &Context, objects: &Api<ConfigMap>, errand: &Errand) -> Result<bool> {
    let name = format!("{}-claim", errand.name_any());
    if context.fixed {
        create_if_missing(objects, &child(errand, &name, ("claimed", "yes"))).await?;
        let found = objects.get(&name).await?;
        let ours = |uid: &String| Some(uid) == errand.uid().as_ref();
        return Ok(found.owner_references().iter().any(|owner| ours(&owner.uid)));
    }
    if context.claims.contains(&name) {
        return Ok(true);
    }
    let made = create_if_missing(objects, &child(errand, &name, ("claimed", "yes"))).await?;
    // Before the user's go nobody else can have had a reason for it.
    let ours = made || !errand.spec.go || !is_expired(&objects.get(&name).await?);
    if ours {
        context.claims.insert(&name);
    }
    Ok(ours)
}

fn is_expired(claim: &ConfigMap) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let made = claim.creation_timestamp().map_or(0, |time| time.0.as_second());
    i64::try_from(now).unwrap_or(i64::MAX) - made > EXPIRY
}
