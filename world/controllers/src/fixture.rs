//! Worlds for unit tests: objects as YAML-like JSON, and what a controller does with them.

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey, Time};

use crate::{Affected, Change, Controller, Kind, Kinds, Next, Object, Request, Response, View};

/// 2026-01-01T00:00:00Z.
pub(crate) const NOW: Time = Time(1_767_225_600_000_000_000);

/// A namespaced object `resource.group/default/name` or a cluster-scoped `resource/name`; its uid is its name.
pub(crate) fn object(key: &str, fields: Value) -> (ObjectKey, Value) {
    let key: ObjectKey = key.parse().expect("a key");
    let mut object = json!({"metadata": {
        "name": key.name, "uid": key.name, "resourceVersion": "7",
        "creationTimestamp": "2025-12-31T23:00:00Z",
    }});
    merge(&mut object, &fields);
    (key, object)
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// A view of these objects, with a few types served.
pub(crate) fn view(objects: &[(ObjectKey, Value)]) -> View {
    let mut view = View::default();
    view.kinds = kinds();
    for (key, object) in objects {
        view.set(key, Some(Object::read(key, object)));
    }
    view
}

fn kinds() -> Kinds {
    let rows = [
        ("v1", "ConfigMap", "configmaps", true),
        ("v1", "Pod", "pods", true),
        ("v1", "Node", "nodes", false),
        ("v1", "Namespace", "namespaces", false),
        ("apps/v1", "ReplicaSet", "replicasets.apps", true),
        ("apps/v1", "Deployment", "deployments.apps", true),
        ("apps/v1", "StatefulSet", "statefulsets.apps", true),
        ("batch/v1", "Job", "jobs.batch", true),
    ];
    let kind = |(api_version, kind, resource, namespaced): (&str, &str, &str, bool)| {
        let resource: GroupResource = resource.parse().expect("a type");
        ((api_version.into(), kind.into()), Kind { resource, namespaced })
    };
    rows.into_iter().map(kind).collect()
}

/// An owner reference to `kind/name` of version v1, whose uid is its name, with `!` if it blocks.
pub(crate) fn owned_by(owners: &[&str]) -> Value {
    let reference = |text: &&str| {
        let (text, blocks) =
            text.strip_suffix('!').map_or((*text, false), |without| (without, true));
        let (kind, name) = text.split_once('/').expect("Kind/name");
        json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": name, "blockOwnerDeletion": blocks})
    };
    json!({"metadata": {"ownerReferences": owners.iter().map(reference).collect::<Vec<_>>()}})
}

/// Sends what the controller wants until it is done, answering each write with success and each list with
/// `listed`; the requests and the end.
pub(crate) fn run(
    controller: Controller,
    view: &View,
    key: &str,
    listed: &[Value],
) -> (Vec<Request>, Next) {
    let key: ObjectKey = key.parse().expect("a key");
    let (mut sent, mut responses) = (Vec::new(), Vec::new());
    loop {
        let next = match controller.next(view, &key, NOW, &responses) {
            // One after the other: the rest has to be what is said after the first.
            Next::Requests(mut requests) => Next::Request(Box::new(requests.swap_remove(0))),
            other => other,
        };
        match next {
            Next::Request(request) => {
                responses.push(match &*request {
                    Request::List { .. } => Response::Listed(
                        listed.iter().map(|value| Object::read(&key, value).meta).collect(),
                    ),
                    _ => Response::Written(view.get(&key).cloned()),
                });
                sent.push(*request);
            }
            end => return (sent, end),
        }
    }
}

/// The keys that a change of one object puts on the queue, in the view after it.
pub(crate) fn affected(
    controller: Controller,
    view: &View,
    key: &str,
    before: Option<Value>,
    after: Option<Value>,
) -> Vec<Affected> {
    let key: ObjectKey = key.parse().expect("a key");
    let read = |value: Option<Value>| value.map(|value| Object::read(&key, &value));
    let (before, after) = (read(before), read(after));
    let change = Change { key: &key, before: before.as_ref(), after: after.as_ref() };
    controller.keys_affected(view, &change, NOW)
}
