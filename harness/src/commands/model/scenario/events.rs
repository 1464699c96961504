//! What users do and nodes suffer.

use model::cluster::{
    events::{Modifiers, When},
    kinds::{KindId, node_key},
    setup::key_of,
    user::{Deed, UserEvent},
};
use serde_json::{Value, json};
use trace::ObjectKey;

use super::file::{self, EventSpec, ObjectSpec};

/// All of them. `applied` are the fields of a manifest as they are stored, `there` the objects at the start and those that
/// are applied.
///
/// # Errors
/// What is wrong with one, with its place in the file.
pub(super) fn all(
    specs: &[EventSpec],
    applied: &dyn Fn(&Value) -> Result<Value, String>,
    there: &[ObjectKey],
) -> Result<Vec<UserEvent>, String> {
    let read = |(at, spec): (usize, &EventSpec)| {
        let deed = deed(spec, applied);
        let deed = deed.and_then(|deed| known(&deed, there).map(|()| deed));
        let deed = deed.map_err(|what| format!("spec.events[{at}] ({}): {what}", spec.name))?;
        let when = match spec.when {
            file::When::Anytime => When::Anytime,
            file::When::Stable => When::Stable,
            file::When::Settled => When::Settled,
            file::When::First => When::First,
        };
        let modifiers = Modifiers { when, is_urgent: spec.urgent };
        Ok(UserEvent { name: spec.name.clone(), modifiers, times: spec.times, deed })
    };
    specs.iter().enumerate().map(read).collect()
}

fn deed(
    spec: &EventSpec,
    applied: &dyn Fn(&Value) -> Result<Value, String>,
) -> Result<Deed, String> {
    let mut all = Vec::new();
    if let Some(objects) = &spec.apply {
        let keyed = |object: &Value| {
            let key = key_of(object).map_err(|error| error.to_string())?;
            Ok((key, applied(object)?))
        };
        let keyed: Result<_, String> = objects.iter().map(keyed).collect();
        all.push(Deed::Apply(keyed.map_err(|error| format!("apply: {error}"))?));
    }
    if let Some(patch) = &spec.patch {
        all.push(Deed::Patch(key("patch.object", &patch.object)?, patch.ways.clone()));
    }
    if let Some(scale) = &spec.scale {
        let ways = scale.replicas.iter().map(|count| json!({"spec": {"replicas": count}}));
        all.push(Deed::Patch(key("scale.object", &scale.object)?, ways.collect()));
    }
    if let Some(object) = &spec.delete {
        all.push(Deed::Delete(key("delete", object)?));
    }
    all.extend(spec.node_fails.clone().map(Deed::NodeFails));
    all.extend(spec.node_returns.clone().map(Deed::NodeReturns));
    all.extend(spec.drain.clone().map(Deed::Drain));
    all.extend(spec.maintenance.clone().map(Deed::Maintenance));
    all.extend(spec.uncordon.clone().map(Deed::Uncordon));
    if let Some(usage) = &spec.usage {
        let labels = usage.labels.clone().into_iter().collect();
        all.push(Deed::Usage { labels, usages: usage.ways.clone() });
    }
    match all.len() {
        1 => Ok(all.remove(0)),
        _ => Err("an event has one of apply, patch, scale, delete, nodeFails, nodeReturns, drain, maintenance, uncordon, usage".to_owned()),
    }
}

/// Whether a deed is about something that is there: at the start, or because another event makes it.
fn known(deed: &Deed, there: &[ObjectKey]) -> Result<(), String> {
    let is_there = |key: &ObjectKey| match there.contains(key) {
        true => Ok(()),
        false => Err(format!("there is no {key}")),
    };
    match deed {
        Deed::Patch(key, _) | Deed::Delete(key) => is_there(key),
        Deed::NodeFails(node)
        | Deed::NodeReturns(node)
        | Deed::Drain(node)
        | Deed::Uncordon(node) => is_there(&node_key(node)),
        Deed::Maintenance(nodes) => nodes.iter().try_for_each(|node| is_there(&node_key(node))),
        Deed::Apply(_) | Deed::Usage { .. } => Ok(()),
    }
}

fn key(field: &str, of: &ObjectSpec) -> Result<ObjectKey, String> {
    let kind = KindId::named(&of.kind)
        .ok_or_else(|| format!("{field}: kind {:?}: no model has objects of it", of.kind))?;
    let namespace = match kind.is_namespaced() {
        true => of.namespace.as_deref().unwrap_or("default"),
        false => "",
    };
    Ok(ObjectKey::new(kind.resource(), namespace, &of.name))
}
