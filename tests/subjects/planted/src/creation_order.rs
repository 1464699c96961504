//! A Ring has a seed and, if the user wants two members, a joiner. Shows only to those who keep the
//! order in which objects were created.
//!
//! The controller notes that the Ring is started and then makes the seed. (The wrong way round, but
//! harmless: a missing seed is made before a joiner is.) When the user goes back to one member, the
//! seed must stay. The incarnation that made it knows which one it is; any other takes the oldest
//! member for the seed, the first by name among equally old ones: and `ring-joiner` comes before
//! `ring-seed`.
//!
//! Schedule: crash after the controller's status update, before the seed is made; restart; (a
//! minute passes, the user scales to two, seed and joiner are made at the same time, and all is
//! well until) crash after the controller's create of the joiner, or after the user's scaling back
//! to one; restart. Result: the seed is deleted and the joiner stays. After the first crash alone
//! all ends well. Without crashes the same objects exist, but the seed is a minute older than the
//! joiner: who takes these two worlds for the same never starts from the bad one.
//!
//! Fixed: the seed is the member of that name, and is made before it is noted.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams};
use kube::{Client, CustomResource, ResourceExt, Result};
use serde::{Deserialize, Serialize};

use crate::controller::{child, create_if_missing, delete_if_there, serve};

/// How many members the user wants: one or two.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "planted.trommel.dev", version = "v1", kind = "Ring", namespaced)]
#[kube(status = "RingStatus", schema = "disabled")]
pub struct RingSpec {
    members: u32,
}

/// Whether it ever had a member.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RingStatus {
    #[serde(default)]
    started: bool,
}

struct Context {
    client: Client,
    fixed: bool,
    /// The names of the seeds that this incarnation made.
    seeds: Mutex<BTreeSet<String>>,
}

/// Runs the controller until it is killed.
pub async fn run(client: Client, fixed: bool) {
    let context = Context { client: client.clone(), fixed, seeds: Mutex::default() };
    serve(client, reconcile, context).await;
}

async fn reconcile(ring: Arc<Ring>, context: Arc<Context>) -> Result<()> {
    let namespace = ring.namespace().unwrap_or_default();
    let rings: Api<Ring> = Api::namespaced(context.client.clone(), &namespace);
    let members: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    let Some(ring) = rings.get_opt(&ring.name_any()).await? else { return Ok(()) };

    if context.fixed {
        ensure_seed(&context, &members, &ring).await?;
        resize(&context, &members, &ring).await?;
        return note_started(&rings, &ring).await;
    }
    if !is_started(&ring) {
        note_started(&rings, &ring).await?;
        ensure_seed(&context, &members, &ring).await?;
    }
    resize(&context, &members, &ring).await
}

/// Two members: seed and joiner. One: nothing but the seed.
async fn resize(context: &Context, members: &Api<ConfigMap>, ring: &Ring) -> Result<()> {
    if ring.spec.members > 1 {
        ensure_seed(context, members, ring).await?;
        create_if_missing(members, &child(ring, &joiner_name(ring), ("member", "yes"))).await?;
        return Ok(());
    }
    let all = of(members, ring).await?;
    let seed = if context.fixed { seed_name(ring) } else { guess_seed(context, ring, &all) };
    for name in all.iter().map(ConfigMap::name_any).filter(|name| *name != seed) {
        eprintln!("ring {}: dropping {name}", ring.name_any());
        delete_if_there(members, &name).await?;
    }
    Ok(())
}

fn seed_name(ring: &Ring) -> String {
    format!("{}-seed", ring.name_any())
}

fn joiner_name(ring: &Ring) -> String {
    format!("{}-joiner", ring.name_any())
}

async fn ensure_seed(context: &Context, members: &Api<ConfigMap>, ring: &Ring) -> Result<()> {
    let seed = seed_name(ring);
    if create_if_missing(members, &child(ring, &seed, ("member", "yes"))).await? {
        context.seeds.lock().unwrap_or_else(PoisonError::into_inner).insert(seed);
    }
    Ok(())
}

/// Which member is the seed? Known to who made it, guessed by the others: that's the bug.
fn guess_seed(context: &Context, ring: &Ring, members: &[ConfigMap]) -> String {
    let made = seed_name(ring);
    if context.seeds.lock().unwrap_or_else(PoisonError::into_inner).contains(&made) {
        return made;
    }
    let by_age = |member: &&ConfigMap| (member.creation_timestamp(), member.name_any());
    members.iter().min_by_key(by_age).map_or(made, ConfigMap::name_any)
}

async fn of(members: &Api<ConfigMap>, ring: &Ring) -> Result<Vec<ConfigMap>> {
    let mut all = members.list(&ListParams::default()).await?.items;
    all.retain(|member| {
        member.owner_references().iter().any(|owner| Some(&owner.uid) == ring.uid().as_ref())
    });
    Ok(all)
}

fn is_started(ring: &Ring) -> bool {
    ring.status.as_ref().is_some_and(|status| status.started)
}

/// Notes that the Ring is started. Writes nothing if it is noted already.
async fn note_started(rings: &Api<Ring>, ring: &Ring) -> Result<()> {
    if is_started(ring) {
        return Ok(());
    }
    let mut ring = ring.clone();
    ring.status = Some(RingStatus { started: true });
    rings.replace_status(&ring.name_any(), &PostParams::default(), &ring).await.map(drop)
}
