//! Plug-ins that look at pods: Priority, DefaultTolerationSeconds.

use std::ops::Bound;

use serde_json::{Value, json};
use trace::ObjectKey;

use crate::{
    status::Refusal,
    verbs::Work,
    world::{meta, priority_classes},
};

/// Fills in priority and preemption policy from the pod's class (Priority). Errors: 403.
pub(super) fn priority(work: &Work<'_>, pod: &mut Value) -> Result<(), Refusal> {
    let class = pod["spec"]["priorityClassName"].as_str().unwrap_or("").to_owned();
    let (name, value, policy) = match class.as_str() {
        "" => default_class(work).unwrap_or_default(),
        class => named_class(work, class).ok_or_else(|| {
            let why = format!("no PriorityClass with name {class} was found");
            Refusal::forbidden(&work.kind.served(), meta(pod, "name"), &why)
        })?,
    };
    if let Some(given) = pod["spec"]["priority"].as_i64().filter(|given| *given != value) {
        let why = format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission \
             controller computed {value} from the given PriorityClass name"
        );
        return Err(Refusal::forbidden(&work.kind.served(), meta(pod, "name"), &why));
    }
    if !name.is_empty() {
        pod["spec"]["priorityClassName"] = json!(name);
    }
    let policy = if policy.is_empty() { "PreemptLowerPriority".to_owned() } else { policy };
    if let Some(given) = pod["spec"]["preemptionPolicy"].as_str().filter(|given| *given != policy) {
        let why = format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority \
             admission controller computed {policy} from the given PriorityClass name"
        );
        return Err(Refusal::forbidden(&work.kind.served(), meta(pod, "name"), &why));
    }
    pod["spec"]["priority"] = json!(value);
    pod["spec"]["preemptionPolicy"] = json!(policy);
    Ok(())
}

/// Only one class is for everybody (Priority). Errors: 403.
pub(super) fn one_default_class(work: &Work<'_>, class: &Value) -> Result<(), Refusal> {
    if class["globalDefault"] != json!(true) {
        return Ok(());
    }
    let name = meta(class, "name");
    let all = work.live.world.store.root().scan(&priority_classes(), "", Bound::Unbounded);
    let mut others = all.filter(|(_, other)| other["globalDefault"] == json!(true));
    match others.find(|(_, other)| meta(other, "name") != name) {
        None => Ok(()),
        Some((_, other)) => {
            let why = format!(
                "PriorityClass {} is already marked as default. Only one default can exist",
                meta(other, "name")
            );
            super::refuse(work, class, &[why])
        }
    }
}

/// An update that leaves them out keeps them (Priority).
pub(super) fn keep_priority(old: &Value, pod: &mut Value) {
    for field in ["priority", "preemptionPolicy"] {
        if pod["spec"].get(field).is_none_or(Value::is_null)
            && let Some(value) = old["spec"].get(field)
        {
            pod["spec"][field] = value.clone();
        }
    }
}

/// Name, value, preemption policy.
type Class = (String, i64, String);

fn read(class: &Value) -> Class {
    let policy = class["preemptionPolicy"].as_str().unwrap_or("");
    (meta(class, "name").to_owned(), class["value"].as_i64().unwrap_or(0), policy.to_owned())
}

fn named_class(work: &Work<'_>, name: &str) -> Option<Class> {
    work.live
        .world
        .store
        .get(&ObjectKey::new(priority_classes(), "", name))
        .map(|class| read(class))
}

/// The lowest of the classes that are for everybody.
fn default_class(work: &Work<'_>) -> Option<Class> {
    let all = work.live.world.store.root().scan(&priority_classes(), "", Bound::Unbounded);
    let global = all.filter(|(_, class)| class["globalDefault"] == json!(true));
    global.map(|(_, class)| read(class)).min_by_key(|(_, value, _)| *value)
}

/// Pods stay five minutes on nodes that are not ready or can't be reached, unless they say otherwise
/// (DefaultTolerationSeconds).
pub(super) fn tolerations(pod: &mut Value) {
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let list = pod["spec"]["tolerations"].as_array();
        let tolerated = list.into_iter().flatten().any(|toleration| {
            let field = |name: &str| toleration[name].as_str().unwrap_or("");
            matches!(field("effect"), "" | "NoExecute")
                && (field("key") == key || field("key").is_empty())
        });
        if tolerated {
            continue;
        }
        let toleration = json!({
            "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
        });
        match pod["spec"]["tolerations"].as_array_mut() {
            Some(list) => list.push(toleration),
            None => pod["spec"]["tolerations"] = json!([toleration]),
        }
    }
}
