//! What a built-in object loses or gains by going through upstream's internal types.
//!
//! Upstream decodes every request body into the versioned Go type, converts it to an unversioned one and
//! stores it from there. Fields that exist in the versioned type only are folded into others on the way
//! (`pkg/apis/*/v1/conversion.go`), whichever verb brought them: so this is done wherever an object is
//! read, after its defaults.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value};

use super::Schema;

/// See [`Schema::internalize`].
pub(super) fn internalize(schema: &Schema, object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    let gvk = schema.gvk();
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Secret") => fold_string_data(fields),
        ("", "Pod") => raise_grace(fields),
        _ => {}
    }
}

/// Less time than none to end in counts as a second, in pods and not in what makes them (`Convert_v1_Pod_To_core_Pod`).
fn raise_grace(pod: &mut Map<String, Value>) {
    let seconds =
        pod.get_mut("spec").and_then(|spec| spec.get_mut("terminationGracePeriodSeconds"));
    if let Some(seconds) = seconds
        && seconds.as_i64().is_some_and(|seconds| seconds < 0)
    {
        *seconds = Value::from(1);
    }
}

/// `stringData` is written over `data` and never shown (`Convert_v1_Secret_To_core_Secret`).
fn fold_string_data(secret: &mut Map<String, Value>) {
    let Some(Value::Object(texts)) = secret.remove("stringData") else { return };
    if texts.is_empty() {
        return;
    }
    let data = secret.entry("data").or_insert(Value::Null);
    if !data.is_object() {
        *data = Value::Object(Map::new());
    }
    for (key, text) in texts {
        data[key] = Value::from(BASE64_STANDARD.encode(text.as_str().unwrap_or_default()));
    }
}
