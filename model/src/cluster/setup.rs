//! What a model consists of.

use std::{sync::Arc, time::Duration};

use controllers::Controller;
use serde_json::{Value, json};
use trace::ObjectKey;

use super::{
    api::Admission,
    events::{Event, Monitor},
    history::Consistency,
    kinds::KindId,
    state::Budgets,
    time::NOW,
};

/// How much of what a controller does is one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Granularity {
    /// All that a controller has to do: as in Kivi.
    Drain,
    /// All requests about one key.
    Reconcile,
    /// One request; the reconcile goes on with what it has read.
    Write,
    /// Sending a request, and hearing of it.
    Request,
    /// One request; the controller reads anew afterwards: as in Themelios.
    Step,
}

/// A model of a cluster.
#[derive(Debug)]
pub struct Setup {
    /// What is stored at the start: whole objects, with their defaults.
    pub objects: Vec<Value>,
    /// What becomes of objects that are made later; none if controllers make them whole.
    pub admission: Option<Box<dyn Admission>>,
    /// Who runs.
    pub clients: Vec<ClientSetup>,
    /// How much is one step.
    pub granularity: Granularity,
    /// What clients may have read.
    pub consistency: Consistency,
    /// By how many writes a client may be behind, at most.
    pub lag_max: u16,
    /// Whether at most one client at a time may be behind, then by at most `lag_max` writes: it falls behind in a step of its
    /// own, which a budget allows. Else all may be.
    pub one_behind: bool,
    /// What may go wrong.
    pub budgets: Budgets,
    /// What else may happen.
    pub events: Vec<Box<dyn Event>>,
    /// What is kept of the run so far.
    pub monitors: Vec<Box<dyn Monitor>>,
    /// What happened longer ago than this happened just as long ago.
    pub horizon: Duration,
    /// How much time may pass in a run, in seconds; none for any.
    pub seconds: Option<u32>,
    /// Whether each node that the scheduler likes best is a step of its own; else it takes the first by name.
    pub all_ties: bool,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            objects: vec![],
            admission: None,
            clients: vec![],
            granularity: Granularity::Write,
            consistency: Consistency::Synchronous,
            lag_max: u16::MAX,
            one_behind: false,
            budgets: Budgets::default(),
            events: vec![],
            monitors: vec![],
            horizon: Duration::from_secs(300),
            seconds: None,
            all_ties: false,
        }
    }
}

/// A controller that runs, once.
#[derive(Debug, Clone)]
pub struct ClientSetup {
    /// How traces call it.
    pub name: Arc<str>,
    /// Which.
    pub controller: Controller,
    /// Of a kubelet: the node whose pods it runs (`cluster/kubelet.rs`); none for all pods, of which it keeps nothing in
    /// mind.
    pub node: Option<Arc<str>>,
    /// Whether what it does takes place at once, in the step of whoever gave it cause.
    pub at_once: bool,
    /// Whether it has one queue, the scheduler's or a small controller's: of the keys with which it has something to do
    /// it takes the first by name. Else it may take any, as one with many workers.
    pub in_order: bool,
    /// Whether it may fall behind, where one alone may be behind ([`Setup::one_behind`]).
    pub lags: bool,
}

impl ClientSetup {
    /// A controller under its own name.
    pub fn of(controller: Controller) -> ClientSetup {
        ClientSetup {
            name: controller.short_name().into(),
            controller,
            node: None,
            at_once: false,
            in_order: false,
            lags: true,
        }
    }

    /// The kubelet of one node.
    pub fn kubelet_of(node: &str) -> ClientSetup {
        let name = format!("kubelet {node}").into();
        ClientSetup { name, node: Some(node.into()), ..ClientSetup::of(Controller::Kubelet) }
    }

    /// How often it looks at a key, whatever happens; none if it looks when something does.
    pub(super) fn period(&self) -> Option<Duration> {
        match self.controller {
            Controller::Autoscaler => Some(Duration::from_secs(15)),
            // The interval of the project's own manifests.
            Controller::Descheduler => Some(Duration::from_secs(300)),
            _ => None,
        }
    }
}

/// Why there is no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// An object of a type that no model has.
    #[error(
        "model a cluster: {api_version} {kind} {name:?}: no built-in controller of a model reads this type; leave it out"
    )]
    UnknownKind {
        /// `apiVersion`.
        api_version: String,
        /// `kind`.
        kind: String,
        /// `metadata.name`.
        name: String,
    },
    /// Two objects of one key.
    #[error("model a cluster: two objects are {0}")]
    Twice(String),
}

/// Whether the descheduler takes its policy from this object: the ConfigMap of the project's own manifests
/// (`kubernetes/base/configmap.yaml`).
pub fn is_descheduler_policy(object: &Value) -> bool {
    key_of(object).is_ok_and(|key| controllers::descheduler::is_policy(&key))
}

/// The key of an object as it is written.
pub fn key_of(object: &Value) -> Result<ObjectKey, SetupError> {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    let name = text(&object["metadata"]["name"]);
    let Some(id) = KindId::of_object(&api_version, &kind) else {
        return Err(SetupError::UnknownKind { api_version, kind, name });
    };
    let namespace = match object["metadata"]["namespace"].as_str() {
        _ if !id.is_namespaced() => "",
        Some(namespace) => namespace,
        None => "default",
    };
    Ok(ObjectKey::new(id.resource(), namespace, &name))
}

/// The object with what each object has.
pub(super) fn complete(key: &ObjectKey, object: &Value) -> Value {
    let mut object = object.clone();
    let metadata = &mut object["metadata"];
    if !key.namespace.is_empty() {
        metadata["namespace"] = json!(key.namespace);
    }
    for (field, value) in [
        ("uid", json!(key.to_string())),
        ("resourceVersion", json!("1")),
        ("creationTimestamp", json!(NOW.rfc3339())),
    ] {
        if metadata[field].is_null() {
            metadata[field] = value;
        }
    }
    metadata["resourceVersion"] = json!("1");
    if let Some(kind) = KindId::of(&key.resource)
        && super::api::has_generation(kind)
        && metadata["generation"].is_null()
    {
        metadata["generation"] = json!(1);
    }
    if let Some(fields) = metadata.as_object_mut() {
        fields.remove("managedFields");
    }
    object
}
