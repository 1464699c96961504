//! Requests in words, for labels of steps: verb, type, name, and of the body what tells one request from another.

use controllers::Request;
use trace::ObjectKey;

use super::kinds::KindId;

/// A request in words.
pub(super) fn of(request: &Request) -> String {
    match request {
        Request::Create { key, object } => {
            let name = object["metadata"]["name"].as_str().unwrap_or(&key.name);
            format!("create {}", named(key, name))
        }
        Request::CreatePod { namespace, generate_name, .. } => {
            format!("create Pod {namespace}/{generate_name}")
        }
        Request::CreateReplicaSet(new) => {
            format!("create {} replicas={}", name(&new.key), new.replicas)
        }
        Request::Delete { key, .. } => format!("delete {}", name(key)),
        Request::DeleteCollection { resource, namespace, .. } => {
            format!("delete all {resource} in {namespace}")
        }
        Request::List { resource, namespace } => format!("list {resource} in {namespace}"),
        Request::Evict { key, plugin, .. } => format!("evict {} for {plugin}", name(key)),
        Request::Bind { key, node, .. } => format!("bind {} to {node}", name(key)),
        Request::SetScale { key, replicas, .. } => {
            format!("scale {} replicas={replicas}", name(key))
        }
        Request::GetScale { key } => format!("get scale of {}", name(key)),
        Request::UpdateReplicaSet { key, replicas, .. } => {
            format!("update {} replicas={replicas}", name(key))
        }
        Request::Update { key, subresource, fields, .. } => {
            let fields: Vec<&str> = fields.iter().map(|(pointer, _)| *pointer).collect();
            let of = if subresource.is_empty() { "" } else { "status of " };
            format!("update {of}{} {}", name(key), fields.join(" "))
        }
        Request::ReplicaSetStatus { key, status, .. } => {
            format!(
                "update status of {} replicas={} ready={}",
                name(key),
                status.replicas,
                status.ready
            )
        }
        Request::DeploymentStatus { key, status, .. } => {
            let (all, updated, ready) = (status.replicas, status.updated, status.ready);
            format!("update status of {} replicas={all} updated={updated} ready={ready}", name(key))
        }
        Request::PodPhase { key, state, .. } => {
            let state = format!("{state:?}");
            let word = state.split([' ', '{', '(']).next().unwrap_or("");
            format!("update status of {} {word}", name(key))
        }
        Request::PodCondition { key, kind, phase, .. } => {
            format!("update status of {} {}", name(key), phase.unwrap_or(kind))
        }
        Request::PatchStatus { key, .. } => format!("update status of {}", name(key)),
        Request::Remember { key, .. } => format!("remember {}", name(key)),
        Request::RemoveOwners { key, .. } | Request::UnblockOwners { key, .. } => {
            format!("release {}", name(key))
        }
        Request::Adopt { key, .. } => format!("adopt {}", name(key)),
        Request::SetFinalizers { key, .. } | Request::RemoveFinalizer { key, .. } => {
            format!("finalize {}", name(key))
        }
        other => {
            let text = format!("{other:?}");
            text.split([' ', '{', '(']).next().unwrap_or("").to_lowercase()
        }
    }
}

/// `Kind namespace/name`.
pub(super) fn name(key: &ObjectKey) -> String {
    named(key, &key.name)
}

fn named(key: &ObjectKey, name: &str) -> String {
    let kind = KindId::of(&key.resource).map_or("object", KindId::kind);
    match key.namespace.is_empty() {
        true => format!("{kind} {name}"),
        false => format!("{kind} {}/{name}", key.namespace),
    }
}
