//! kube-rs: three reflectors, whose stores are told as lines of JSON: all of it when a line comes on stdin, and from
//! then on whenever something changed.

use std::collections::BTreeMap;

use futures::{Stream, StreamExt, stream::select_all};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ApiResource, DynamicObject},
    runtime::{
        WatchStreamExt,
        reflector::{self, Store},
        watcher,
    },
};
use tokio::io::{AsyncBufReadExt, BufReader};

/// Name of the object → its revision and its value.
type Held = BTreeMap<String, String>;
type Read = Box<dyn Fn() -> Held>;

/// Tells until its stdin ends.
pub async fn mirror(client: Client) -> anyhow::Result<()> {
    let config_maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let kind = ApiResource {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        api_version: "example.com/v1".to_owned(),
        kind: "Widget".to_owned(),
        plural: "widgets".to_owned(),
    };
    let widgets: Api<DynamicObject> = Api::default_namespaced_with(client, &kind);
    let value = |object: &ConfigMap| {
        object.data.as_ref().and_then(|data| data.get("value")).cloned().unwrap_or_default()
    };
    let every = watcher::Config::default();
    let (all, all_changes) = kept(config_maps.clone(), every.clone(), (), value);
    let (some, some_changes) = kept(config_maps, every.clone().labels("keep=yes"), (), value);
    let (custom, custom_changes) = kept(widgets, every, kind, |object: &DynamicObject| {
        object.data["spec"]["value"].as_str().unwrap_or_default().to_owned()
    });
    let caches = [("configmaps", all), ("selected", some), ("widgets", custom)];
    let mut changes = select_all([all_changes, some_changes, custom_changes]);
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut asked = false;
    loop {
        tokio::select! {
            line = lines.next_line(), if !asked => match line? {
                Some(_) => asked = true,
                None => return Ok(()),
            },
            _ = changes.next() => {}
        }
        if asked {
            let held: BTreeMap<_, _> = caches.iter().map(|(name, read)| (name, read())).collect();
            println!("{}", serde_json::to_string(&held)?);
        }
    }
}

/// What a reflector's store holds, and a word for each of its changes.
fn kept<K>(
    api: Api<K>,
    config: watcher::Config,
    kind: K::DynamicType,
    value: impl Fn(&K) -> String + 'static,
) -> (Read, std::pin::Pin<Box<dyn Stream<Item = ()>>>)
where
    K: Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Clone + Eq + std::hash::Hash + Send + Sync,
{
    let writer = reflector::store::Writer::<K>::new(kind);
    let store: Store<K> = writer.as_reader();
    let changes = watcher(api, config).default_backoff().reflect(writer).map(|_| ());
    let read = move || {
        let told = |object: &std::sync::Arc<K>| {
            let revision = object.resource_version().unwrap_or_default();
            (object.name_any(), format!("{revision} {}", value(object)))
        };
        store.state().iter().map(told).collect()
    };
    (Box::new(read), Box::pin(changes))
}
