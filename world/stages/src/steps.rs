//! What a stage writes (`pkg/utils/lifecycle/next.go`).

use serde_json::{Value, json};
use trace::{ObjectKey, Time};

use crate::template::{Template, TemplateError};

/// One thing that is done, checked.
pub(crate) enum Step {
    Event(Event),
    Finalizers { add: Vec<String>, remove: Vec<String>, empty: bool },
    Patch { template: Template, root: String, kind: PatchKind, subresource: String },
    Delete,
}

/// An event, as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// `Normal` or `Warning`.
    pub kind: String,
    /// One word.
    pub reason: String,
    /// For people.
    pub message: String,
}

/// How a patch is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchKind {
    /// A list of operations (RFC 6902).
    Json,
    /// A merge patch (RFC 7386).
    Merge,
    /// Kubernetes' own.
    Strategic,
}

impl PatchKind {
    /// Its `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            PatchKind::Json => "application/json-patch+json",
            PatchKind::Merge => "application/merge-patch+json",
            PatchKind::Strategic => "application/strategic-merge-patch+json",
        }
    }
}

/// A request about the object.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// An event is told.
    Event(Event),
    /// The object is patched.
    Patch {
        /// With this.
        body: Value,
        /// Meant so.
        kind: PatchKind,
        /// Or this part of it; empty for the whole.
        subresource: String,
    },
    /// The object is deleted, without grace.
    Delete,
}

/// What a template can ask of the world around its object.
pub trait Surroundings {
    /// What time it is.
    fn now(&self) -> Time;
    /// Since when whoever asks plays stages.
    fn start(&self) -> Time;
    /// The addresses of a node; the first is its own, others are of the other family.
    fn node_ips(&self, node: &str) -> Vec<String>;
    /// A fresh address for a pod of this node.
    fn pod_ip(&mut self, node: &str) -> String;
}

/// An event about an object (its kind, key and uid), to be created beside it.
pub fn event(
    event: &Event,
    (kind, key, uid): (&str, &ObjectKey, &str),
    source: &str,
    now: Time,
) -> Value {
    let namespace = if key.namespace.is_empty() { "default" } else { &key.namespace };
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"generateName": format!("{}-", key.name), "namespace": namespace},
        "involvedObject": {
            "apiVersion": "v1", "kind": kind, "namespace": key.namespace, "name": key.name, "uid": uid,
        },
        "type": event.kind, "reason": event.reason, "message": event.message, "count": 1,
        "firstTimestamp": now.rfc3339(), "lastTimestamp": now.rfc3339(),
        "source": {"component": source},
    })
}

/// The body of a DELETE without grace, of this object only.
pub fn delete_options(uid: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
        "preconditions": {"uid": uid},
    })
}

/// What a stage does with an object. Errors: a template that fails on it.
pub(crate) fn actions(
    steps: &[Step],
    object: &Value,
    around: &mut dyn Surroundings,
) -> Result<Vec<Action>, TemplateError> {
    let (mut actions, mut deleted) = (vec![], false);
    for step in steps {
        match step {
            Step::Event(event) => actions.push(Action::Event(event.clone())),
            // Nothing but events can be about what is gone.
            _ if deleted => {}
            Step::Delete => {
                deleted = true;
                actions.push(Action::Delete);
            }
            Step::Finalizers { add, remove, empty } => {
                let operations = finalizers(object, add, remove, *empty);
                if !operations.is_empty() {
                    let (kind, subresource) = (PatchKind::Json, String::new());
                    actions.push(Action::Patch { body: operations.into(), kind, subresource });
                }
            }
            Step::Patch { template, root, kind, subresource } => {
                let body = under(root, *kind, template.yaml(object, around)?);
                actions.push(Action::Patch { body, kind: *kind, subresource: subresource.clone() });
            }
        }
    }
    Ok(actions)
}

/// A patch of what is below a key of the object.
fn under(root: &str, kind: PatchKind, mut body: Value) -> Value {
    if root.is_empty() {
        return body;
    }
    if kind != PatchKind::Json {
        return json!({ root: body });
    }
    for operation in body.as_array_mut().into_iter().flatten() {
        let path = operation["path"].as_str().unwrap_or("");
        operation["path"] = json!(format!("/{root}{path}"));
    }
    body
}

/// `finalizersModify`: operations on `metadata.finalizers`.
fn finalizers(object: &Value, add: &[String], remove: &[String], empty: bool) -> Vec<Value> {
    let now = object["metadata"]["finalizers"].as_array();
    let now: Vec<&str> = now.into_iter().flatten().filter_map(Value::as_str).collect();
    let go: Vec<usize> = (0..now.len()).filter(|i| remove.iter().any(|r| r == now[*i])).collect();
    let all = !now.is_empty() && (empty || go.len() == now.len());
    let mut operations = vec![];
    if all {
        operations.push(json!({"op": "remove", "path": "/metadata/finalizers"}));
    } else if !empty {
        // From the last on: the others keep their places.
        let path = |i: &usize| json!({"op": "remove", "path": format!("/metadata/finalizers/{i}")});
        operations.extend(go.iter().rev().map(path));
    }
    if add.is_empty() {
        return operations;
    }
    if all || now.is_empty() {
        operations.push(json!({"op": "add", "path": "/metadata/finalizers", "value": add}));
        return operations;
    }
    let new = add.iter().filter(|add| !now.contains(&add.as_str()));
    operations.extend(
        new.map(|add| json!({"op": "add", "path": "/metadata/finalizers/-", "value": add})),
    );
    operations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finalizers_come_and_go() {
        let check = |now: Value, add: &[&str], remove: &[&str], empty: bool, expect: Value| {
            let object = json!({"metadata": {"finalizers": now}});
            let own = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
            let found = finalizers(&object, &own(add), &own(remove), empty);
            assert_eq!(Value::from(found), expect);
        };
        let path = "/metadata/finalizers";
        check(
            json!(null),
            &["a"],
            &[],
            false,
            json!([{"op": "add", "path": path, "value": ["a"]}]),
        );
        check(
            json!(["a"]),
            &["a", "b"],
            &[],
            false,
            json!([{"op": "add", "path": "/metadata/finalizers/-", "value": "b"}]),
        );
        check(
            json!(["a", "b", "c"]),
            &[],
            &["a", "c"],
            false,
            json!([{"op": "remove", "path": "/metadata/finalizers/2"}, {"op": "remove", "path": "/metadata/finalizers/0"}]),
        );
        check(json!(["a"]), &[], &["a"], false, json!([{"op": "remove", "path": path}]));
        check(json!(["a"]), &[], &[], true, json!([{"op": "remove", "path": path}]));
        check(json!(null), &[], &["a"], true, json!([]));
    }

    #[test]
    fn patches_go_below_their_root() {
        let operations = json!([{"op": "add", "path": "/a", "value": 1}]);
        let found = under("status", PatchKind::Json, operations);
        assert_eq!(found[0]["path"], "/status/a");
        assert_eq!(under("status", PatchKind::Merge, json!(1)), json!({"status": 1}));
    }
}
