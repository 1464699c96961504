//! What a write that succeeded must have left: what was sent is shown, what was deleted is gone or goes.
//!
//! A server fills in, prunes, and writes some values in its own way. So looked at are single values that the answer
//! shows too, and only where no server rewrites them.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use trace::{Answer, Call, GroupResource, ObjectKey, Revision, Verb};

use super::{
    Look, Rule, content,
    refusals::Named,
    said,
    selector::{Scope, is_built_in},
};

impl Look<'_> {
    /// What was sent is what is shown, where nobody is asked who may change it.
    pub(super) fn keeps(&mut self, call: &Call, scope: &Scope, shown: &Value) {
        let policies =
            GroupResource::new("admissionregistration.k8s.io", "mutatingadmissionpolicies");
        if self.hooked.contains(&call.id) || self.store.has(&policies) {
            return self.unseen("writes that others may have changed");
        }
        if let Some(lost) = lost(call, scope, shown) {
            let text = format!("{} succeeds, and {lost} is not what was sent", said(call));
            self.object(Rule::Write, text);
        }
    }

    /// What is deleted is gone, or marked as going.
    pub(super) fn deleted(&mut self, call: &Call, scope: &Scope, since: Revision, answer: &Answer) {
        let Some(body) = answer.body.json() else { return };
        let Some(resource) = &scope.resource else { return };
        let (keys, at_once): (Vec<ObjectKey>, bool) = match body["items"].as_array() {
            Some(items) => (items.iter().map(|item| content::key(resource, item)).collect(), false),
            None => (scope.object_key().into_iter().collect(), body["kind"] == "Status"),
        };
        for key in keys {
            let states = || self.store.between(&key, since, self.now);
            let gone = states().skip(1).any(|state| state.is_none());
            let mut marks = states().flatten().map(|state| &state["metadata"]["deletionTimestamp"]);
            if !gone && (at_once || !marks.any(Value::is_string)) {
                let text = format!("{} succeeds, and {key} stays", said(call));
                return self.object(Rule::Write, text);
            }
            let named = Named::of(call);
            if call.verb == Verb::Delete && !states().flatten().any(|state| named.is(state)) {
                let text = format!("{} succeeds, and {key} never was what it names", said(call));
                return self.object(Rule::Write, text);
            }
        }
    }
}

/// What was sent and is shown otherwise.
fn lost(call: &Call, scope: &Scope, shown: &Value) -> Option<String> {
    let patches =
        ["merge-patch", "apply-patch"].iter().any(|kind| call.content_type.contains(kind));
    if call.verb == Verb::Create || (call.verb == Verb::Patch && !patches) {
        return None;
    }
    let sent = call.body.json()?.as_object()?;
    let stands_for = |name: &str, expect: &Value| sent.get(name).is_none_or(|sent| sent == expect);
    // Of another version or form it says less, or the same elsewhere.
    if shown["apiVersion"] != *scope.api_version
        || !["apiVersion", "kind"].iter().all(|name| stands_for(name, &shown[name]))
    {
        return None;
    }
    let resource = scope.resource.as_ref()?;
    // Updates of requests for certificates leave what was asked for (`PrepareForUpdate`).
    if *resource.group == *"certificates.k8s.io" {
        return None;
    }
    let ours = is_built_in(resource);
    if call.subresource == "status" {
        return below("status", sent.get("status")?, &shown["status"], ours);
    }
    let parts = sent.iter().filter(|(name, _)| {
        // A type with the subresource takes its status there only.
        !matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status" | "stringData")
    });
    let metadata = sent.get("metadata").and_then(Value::as_object);
    let mut parts = parts.map(|(name, sent)| (name.clone(), sent, &shown[name]));
    metadata
        .and_then(|metadata| lost_metadata(call, metadata, &shown["metadata"], ours))
        .or_else(|| parts.find_map(|(name, sent, shown)| below(&name, sent, shown, ours)))
}

/// Labels and annotations; a replaced object has the finalizers that were sent, and no others.
fn lost_metadata(
    call: &Call,
    sent: &Map<String, Value>,
    shown: &Value,
    ours: bool,
) -> Option<String> {
    let texts = |value: Option<&Value>| -> BTreeSet<String> {
        let items = value.and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let other = texts(sent.get("finalizers")) != texts(shown.get("finalizers"));
    if call.verb == Verb::Update && other {
        return Some("metadata.finalizers".to_owned());
    }
    // Servers keep some of their own in those of built-in types.
    let fields = if ours { &["labels"][..] } else { &["labels", "annotations"] };
    fields.iter().find_map(|field| {
        let sent = sent.get(*field)?.as_object()?;
        let other = sent.iter().find(|(name, sent)| {
            let shown = &shown[field][name.as_str()];
            !name.contains("kubernetes.io/")
                && shown.is_string()
                && sent.is_string()
                && shown != *sent
        });
        other.map(|(name, _)| format!("metadata.{field}.{name}"))
    })
}

/// The first single value that is shown otherwise. `ours`: of a built-in type, where texts may be quantities and times,
/// which have many forms, and what is empty is filled in.
fn below(path: &str, sent: &Value, shown: &Value, ours: bool) -> Option<String> {
    let other = match (sent, shown) {
        (Value::Object(sent), Value::Object(shown)) => {
            return sent.iter().find_map(|(name, sent)| {
                below(&format!("{path}.{name}"), sent, shown.get(name)?, ours)
            });
        }
        (Value::String(sent), Value::String(shown)) => !ours && sent != shown,
        (Value::Bool(sent), Value::Bool(shown)) => sent != shown,
        // Negative times of grace are made one second.
        (Value::Number(sent), Value::Number(shown)) => {
            sent.as_f64() != shown.as_f64() && !(ours && sent.as_f64() < Some(0.0))
        }
        _ => false,
    };
    (other && !(ours && content::is_empty(sent))).then(|| path.to_owned())
}
