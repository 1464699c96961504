//! Parts of the objects that controllers write, as JSON. Only built where a request is sent.

use serde_json::{Map, Value, json};

use crate::{
    object::{Labels, Owner},
    template::Template,
};

/// Labels, annotations; null where there are none.
pub fn labels(labels: &Labels) -> Value {
    if labels.is_empty() {
        return Value::Null;
    }
    labels.iter().map(|(key, value)| (key.to_string(), json!(value))).collect::<Map<_, _>>().into()
}

/// `metadata.ownerReferences`; null where there are none.
pub fn owners(owners: &[Owner]) -> Value {
    if owners.is_empty() { Value::Null } else { owners.iter().map(owner).collect() }
}

/// An entry of `metadata.ownerReferences`.
pub fn owner(owner: &Owner) -> Value {
    let mut value = json!({
        "apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid,
    });
    for (field, set) in [("controller", owner.controller), ("blockOwnerDeletion", owner.blocks)] {
        if set {
            value[field] = json!(true);
        }
    }
    value
}

/// `controller.GetPodFromTemplate`; the caller names it.
pub(crate) fn pod(of: &Owner, template: &Template) -> Value {
    let given = &template.value["metadata"];
    let mut metadata = json!({"ownerReferences": [owner(of)]});
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(value) = given.get(field) {
            metadata[field] = value.clone();
        }
    }
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.value["spec"],
    })
}

/// Sets numbers that are not zero, as Go's `omitempty`.
pub(crate) fn counts(status: &mut Value, counts: &[(&str, i64)]) {
    for (field, count) in counts.iter().filter(|(_, count)| *count != 0) {
        status[*field] = json!(count);
    }
}

/// Sets texts that are not empty.
pub(crate) fn texts(object: &mut Value, texts: &[(&str, &str)]) {
    for (field, text) in texts.iter().filter(|(_, text)| !text.is_empty()) {
        object[*field] = json!(text);
    }
}
