//! What the planted controllers share: the loop around a reconciler, and ConfigMaps as children.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DeleteParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;
use kube::{Client, Error, Resource, Result};
use serde::de::DeserializeOwned;

/// How long a failed reconcile waits before it is tried again.
pub const RETRY: Duration = Duration::from_millis(500);

/// Calls `reconcile` for every `K` that exists and whenever one changes, never twice at once for
/// the same object, and again after an error. Runs until the process is killed.
pub async fn serve<K, Context, Reconcile, Running>(
    client: Client,
    reconcile: Reconcile,
    context: Context,
) where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    Context: Send + Sync + 'static,
    Reconcile: Fn(Arc<K>, Arc<Context>) -> Running,
    Running: Future<Output = Result<()>> + Send + 'static,
{
    let reconcile = move |object, context| {
        let running = reconcile(object, context);
        async { running.await.map(|()| Action::await_change()) }
    };
    serve_again(client, reconcile, context).await;
}

/// [`serve`] for a `reconcile` that says when it wants to see the object again.
pub async fn serve_again<K, Context, Reconcile, Running>(
    client: Client,
    reconcile: Reconcile,
    context: Context,
) where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    Context: Send + Sync + 'static,
    Reconcile: FnMut(Arc<K>, Arc<Context>) -> Running,
    Running: Future<Output = Result<Action>> + Send + 'static,
{
    let watched: Api<K> = Api::all(client);
    let on_error = |_, error: &Error, _| {
        eprintln!("{error}; again in {RETRY:?}");
        Action::requeue(RETRY)
    };
    Controller::new(watched, watcher::Config::default())
        .run(reconcile, on_error, Arc::new(context))
        .for_each(|_| std::future::ready(()))
        .await;
}

/// A ConfigMap of one entry, owned by `owner`.
pub fn child<K>(owner: &K, name: &str, entry: (&str, &str)) -> ConfigMap
where
    K: Resource<DynamicType = ()>,
{
    let owner_references = owner.controller_owner_ref(&()).map(|owner| vec![owner]);
    let metadata = ObjectMeta { name: Some(name.into()), owner_references, ..Default::default() };
    let (key, value) = entry;
    ConfigMap { metadata, data: Some([(key.into(), value.into())].into()), ..Default::default() }
}

/// The value under `key` of a ConfigMap's data.
pub fn entry<'a>(config_map: &'a ConfigMap, key: &str) -> Option<&'a str> {
    config_map.data.as_ref()?.get(key).map(String::as_str)
}

/// Creates `wanted` unless there is one of that name. Says whether it was created now.
pub async fn create_if_missing(api: &Api<ConfigMap>, wanted: &ConfigMap) -> Result<bool> {
    match api.create(&PostParams::default(), wanted).await {
        Ok(_) => Ok(true),
        Err(Error::Api(status)) if status.is_already_exists() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Deletes the ConfigMap of that name if there is one.
pub async fn delete_if_there(api: &Api<ConfigMap>, name: &str) -> Result<()> {
    match api.delete(name, &DeleteParams::default()).await {
        Ok(_) => Ok(()),
        Err(Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Names that an incarnation remembers: what a crash makes it forget.
#[derive(Debug, Default)]
pub struct Names(Mutex<BTreeSet<String>>);

impl Names {
    /// Remembers a name.
    pub fn insert(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.into());
    }

    /// Whether it is remembered.
    pub fn contains(&self, name: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }
}
