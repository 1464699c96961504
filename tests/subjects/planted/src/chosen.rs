//! A Stand is two Services with ports of the nodes, two Pods, and a ConfigMap that says what the cluster chose for them:
//! the ports, and the nodes. No bug.
//!
//! First a ConfigMap is made that says that it begins, then one thing after another. An incarnation that finds it has not
//! begun itself, and makes what is missing the other way round: so after a crash each Service gets the port of the other,
//! and each Pod the node of the other. The note says so, and is right.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, PostParams};
use kube::runtime::controller::Action;
use kube::{Client, CustomResource, Resource, ResourceExt, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::controller::{Names, child, create_if_missing, serve_again};

/// How long until it looks whether what it made has come to something.
const AGAIN: Duration = Duration::from_secs(1);

/// What the user wants.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "planted.trommel.dev", version = "v1", kind = "Stand", namespaced)]
#[kube(schema = "disabled")]
pub struct StandSpec {}

struct Context {
    client: Client,
    /// What this incarnation has begun.
    mine: Arc<Names>,
}

/// Runs the controller until it is killed.
pub async fn run(client: Client) {
    let context = Context { client: client.clone(), mine: Arc::default() };
    serve_again(client, reconcile, context).await;
}

async fn reconcile(stand: Arc<Stand>, context: Arc<Context>) -> Result<Action> {
    let (client, mine) = (&context.client, &*context.mine);
    let notes: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let (begun, note) =
        (format!("{}-begun", stand.name_any()), format!("{}-where", stand.name_any()));
    if notes.get_opt(&note).await?.is_some() {
        return Ok(Action::await_change());
    }
    if create_if_missing(&notes, &child(&*stand, &begun, ("is", "begun"))).await? {
        mine.insert(&begun);
    }
    let mut order = ["front", "back", "left", "right"];
    if !mine.contains(&begun) {
        order.reverse();
    }
    let mut data = BTreeMap::new();
    for name in order {
        let chosen = match name {
            "front" | "back" => port(client, name).await?,
            _ => node(client, name).await?,
        };
        let Some(chosen) = chosen else { return Ok(Action::requeue(AGAIN)) };
        data.insert(name.to_owned(), chosen);
    }
    data.insert("url".to_owned(), format!("http://{}:{}/", data["left"], data["front"]));
    let metadata = ObjectMeta { name: Some(note), ..Default::default() };
    create_if_missing(&notes, &ConfigMap { metadata, data: Some(data), ..Default::default() })
        .await?;
    Ok(Action::await_change())
}

/// The port of the Service, which is made if it is not there.
async fn port(client: &Client, name: &str) -> Result<Option<String>> {
    let spec = json!({"type": "NodePort", "selector": {"app": "stand"}, "ports": [{"port": 80}]});
    let service: Service = get_or_create(client, name, &spec).await?;
    let port = service.spec.and_then(|spec| spec.ports?.first()?.node_port);
    Ok(port.map(|port| port.to_string()))
}

/// The node of the Pod, which is made if it is not there. None as long as it has none.
async fn node(client: &Client, name: &str) -> Result<Option<String>> {
    let resources = json!({"requests": {"cpu": "1"}});
    let spec = json!({"containers": [{"name": "main", "image": "stand", "resources": resources}]});
    let pod: Pod = get_or_create(client, name, &spec).await?;
    Ok(pod.spec.and_then(|spec| spec.node_name))
}

async fn get_or_create<K>(client: &Client, name: &str, spec: &Value) -> Result<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + Debug + DeserializeOwned + Serialize,
{
    let api: Api<K> = Api::default_namespaced(client.clone());
    if let Some(object) = api.get_opt(name).await? {
        return Ok(object);
    }
    let object = json!({"metadata": {"name": name, "labels": {"app": "stand"}}, "spec": spec});
    let object = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
    api.create(&PostParams::default(), &object).await
}
