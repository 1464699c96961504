//! A Bucket has a ConfigMap that isn't owned by it. Shows if the Bucket is deleted while the
//! controller is down.
//!
//! The ConfigMap stands for something outside the cluster: no owner reference, so no garbage
//! collector takes care of it. The controller removes it when it sees its Bucket being deleted.
//!
//! Schedule: crash after the user's delete of the Bucket (before the ConfigMap is deleted);
//! restart. The same world comes about when the controller is killed any time after it made the
//! ConfigMap and started again after the user's delete. Result: the ConfigMap stays for ever.
//!
//! Fixed: a finalizer, put on the Bucket before the ConfigMap is made and taken off after it is
//! gone, so no Bucket can go unseen.

use std::pin::pin;
use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, CustomResource, Error, ResourceExt, Result};
use serde::{Deserialize, Serialize};

use crate::controller::{child, create_if_missing, delete_if_there, serve};

const FINALIZER: &str = "planted.trommel.dev/bucket";

/// What the user wants to have kept outside the cluster.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "planted.trommel.dev", version = "v1", kind = "Bucket", namespaced)]
#[kube(schema = "disabled")]
pub struct BucketSpec {
    region: String,
}

/// Runs the controller until it is killed.
pub async fn run(client: Client, fixed: bool) {
    if fixed {
        serve(client.clone(), reconcile, client).await;
    } else {
        while let Err(error) = follow(&client).await {
            eprintln!("{error}; watching again");
        }
    }
}

/// As written: acts on what the watch says. A Bucket that is gone before the watch starts says
/// nothing. Returns when a ConfigMap couldn't be written, to begin again with a new list.
async fn follow(client: &Client) -> Result<()> {
    let buckets: Api<Bucket> = Api::all(client.clone());
    let mut events = pin!(watcher(buckets, watcher::Config::default()).default_backoff());
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(bucket) | Event::InitApply(bucket)) => {
                create_if_missing(&outside_of(client, &bucket), &outside(&bucket)).await?;
            }
            Ok(Event::Delete(bucket)) => {
                delete_if_there(&outside_of(client, &bucket), &bucket.name_any()).await?;
            }
            Ok(Event::Init | Event::InitDone) => {}
            Err(error) => eprintln!("watch: {error}"),
        }
    }
    Ok(())
}

/// Fixed: acts on what there is.
async fn reconcile(bucket: Arc<Bucket>, client: Arc<Client>) -> Result<()> {
    let namespace = bucket.namespace().unwrap_or_default();
    let buckets: Api<Bucket> = Api::namespaced(Client::clone(&client), &namespace);
    let Some(bucket) = buckets.get_opt(&bucket.name_any()).await? else { return Ok(()) };
    let outside_objects = outside_of(&client, &bucket);
    let guarded = bucket.finalizers().iter().any(|finalizer| finalizer == FINALIZER);
    if bucket.metadata.deletion_timestamp.is_none() {
        if !guarded {
            set_finalizer(&buckets, &bucket, true).await?;
        }
        create_if_missing(&outside_objects, &outside(&bucket)).await?;
    } else if guarded {
        delete_if_there(&outside_objects, &bucket.name_any()).await?;
        set_finalizer(&buckets, &bucket, false).await?;
    }
    Ok(())
}

fn outside_of(client: &Client, bucket: &Bucket) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), &bucket.namespace().unwrap_or_default())
}

fn outside(bucket: &Bucket) -> ConfigMap {
    let mut outside = child(bucket, &bucket.name_any(), ("region", &bucket.spec.region));
    outside.metadata.owner_references = None;
    outside
}

/// Puts our finalizer on, or takes it off. A Bucket that is gone by then needs neither.
async fn set_finalizer(buckets: &Api<Bucket>, bucket: &Bucket, on: bool) -> Result<()> {
    let mut bucket = bucket.clone();
    bucket.finalizers_mut().retain(|finalizer| finalizer != FINALIZER);
    if on {
        bucket.finalizers_mut().push(FINALIZER.into());
    }
    match buckets.replace(&bucket.name_any(), &PostParams::default(), &bucket).await {
        Err(Error::Api(status)) if !on && status.is_not_found() => Ok(()),
        result => result.map(drop),
    }
}
