//! PersistentVolumeClaims, and their templates in StatefulSets (`ValidatePersistentVolumeClaim`).

use serde_json::{Value, json};

use super::{
    check::{Check, list, text},
    selector::label_selector,
};
use crate::encoding::quantity_nanos;

/// How volumes are accessed.
const ACCESS_MODES: [&str; 4] =
    ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
/// What volumes look like to a container.
pub(super) const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];
/// Where the class of a claim stood before it had a field.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// `ValidatePersistentVolumeClaimSpec`
pub(super) fn spec(check: &mut Check<'_>, spec: &Value, at: &str) {
    if list(spec, "accessModes").is_empty() {
        check.required(&format!("{at}.accessModes"), "at least 1 access mode is required");
    }
    if !spec["selector"].is_null() {
        label_selector(check, &spec["selector"], &format!("{at}.selector"));
    }
    access_modes(check, spec, &format!("{at}.accessModes"));
    let field = format!("{at}.resources[storage]");
    match spec.pointer("/resources/requests/storage") {
        None => check.required(&field, ""),
        Some(size) if size.as_str().and_then(quantity_nanos).is_some_and(|size| size <= 0) => {
            check.invalid(&field, size, "must be greater than zero");
        }
        Some(_) => {}
    }
    for class in ["storageClassName", "volumeAttributesClassName"] {
        match text(spec, class) {
            "" => {}
            name => check.subdomain(&format!("{at}.{class}"), name),
        }
    }
    let mode = &spec["volumeMode"];
    if mode.as_str().is_some_and(|mode| !VOLUME_MODES.contains(&mode)) {
        check.one_of_in_order(&format!("{at}.volumeMode"), mode, &VOLUME_MODES);
    }
}

/// Modes there are; that of one pod goes with no other.
pub(super) fn access_modes(check: &mut Check<'_>, spec: &Value, field: &str) {
    let modes = list(spec, "accessModes");
    for (index, mode) in modes.iter().enumerate() {
        check.supported(&format!("{field}[{index}]"));
        if !ACCESS_MODES.iter().any(|known| mode == known) {
            check.not_supported(field, mode, &ACCESS_MODES);
        }
    }
    let of_one_pod = ACCESS_MODES[3];
    let others = |mode: &Value| ACCESS_MODES[..3].iter().any(|known| mode == known);
    if modes.iter().any(|mode| mode == of_one_pod) && modes.iter().any(others) {
        check.forbidden(field, "may not use ReadWriteOncePod with other access modes");
    }
}

/// `ValidatePersistentVolumeClaimUpdate`
pub(super) fn update(check: &mut Check<'_>, old: &Value, new: &Value) {
    class_annotation(check, old, new);
    let (before, mut after) = (comparable(old), comparable(new));
    // A claim is bound once, and gets a class once.
    if before["volumeName"].is_null() {
        after["volumeName"] = Value::Null;
    }
    if class_may_be_added(old, new) {
        after["storageClassName"] = Value::Null;
    }
    if old["status"]["phase"] == "Bound" {
        after["volumeAttributesClassName"] = before["volumeAttributesClassName"].clone();
        if after["resources"]["requests"].is_object() {
            after["resources"]["requests"]["storage"] =
                before["resources"]["requests"]["storage"].clone();
        }
    }
    if given(&before) != given(&after) {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for \
                      bound claims";
        check.forbidden("spec", detail);
    }
    let size = |claim: &Value, at: &str| {
        let text = claim.pointer(at).and_then(Value::as_str);
        text.and_then(quantity_nanos).unwrap_or(0)
    };
    const REQUEST: &str = "/spec/resources/requests/storage";
    let wanted = size(new, REQUEST);
    // What failed to grow may be asked for less, but not for less than there is.
    if wanted < size(old, REQUEST) && wanted <= size(old, "/status/capacity/storage") {
        let detail = "field can not be less than status.capacity";
        check.forbidden("spec.resources.requests.storage", detail);
    }
    check.unchanged("volumeMode", &old["spec"]["volumeMode"], &new["spec"]["volumeMode"]);
    attributes_class(check, old, new);
}

/// The spec, in which what is absent is null.
fn comparable(claim: &Value) -> Value {
    let mut spec = claim["spec"].clone();
    for field in ["volumeName", "storageClassName", "volumeAttributesClassName", "resources"] {
        let given = claim["spec"][field].clone();
        spec[field] = if given == "" && field == "volumeName" { Value::Null } else { given };
    }
    spec
}

/// What a value says: what is empty is as good as absent (`Semantic.DeepEqual`), unless it is a text behind a pointer.
fn given(value: &Value) -> Value {
    let says = |name: &str, value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty() || name.ends_with("ClassName"),
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    match value {
        Value::Object(fields) => {
            let parts = fields.iter().map(|(name, value)| (name.clone(), given(value)));
            parts
                .filter(|(name, value)| says(name, value))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
        Value::Array(items) => items.iter().map(given).collect(),
        other => other.clone(),
    }
}

fn annotated_class(claim: &Value) -> &Value {
    &claim["metadata"]["annotations"][CLASS_ANNOTATION]
}

/// Where there was no class; where there was an annotation for it, that one.
fn class_may_be_added(old: &Value, new: &Value) -> bool {
    let (before, after) = (&old["spec"]["storageClassName"], &new["spec"]["storageClassName"]);
    let annotated = annotated_class(old);
    before.is_null() && !after.is_null() && (annotated.is_null() || after == annotated)
}

/// The annotation stays, unless the field says the same from now on.
fn class_annotation(check: &mut Check<'_>, old: &Value, new: &Value) {
    let (before, after) = (annotated_class(old), annotated_class(new));
    let moved = !before.is_null() && after.is_null() && class_may_be_added(old, new);
    if before != after && !moved {
        let field = format!("metadata.annotations.{CLASS_ANNOTATION}");
        check.invalid(&field, &json!(after.as_str().unwrap_or("")), "field is immutable");
    }
}

fn attributes_class(check: &mut Check<'_>, old: &Value, new: &Value) {
    const FIELD: &str = "volumeAttributesClassName";
    let (before, after) = (&old["spec"][FIELD], &new["spec"][FIELD]);
    if before == after || old["status"]["currentVolumeAttributesClassName"].is_null() {
        return;
    }
    let to = match after.as_str() {
        None => "nil",
        Some("") => "empty string",
        Some(_) => return,
    };
    let detail = format!(
        "update to {to} is forbidden when status.currentVolumeAttributesClassName is not nil"
    );
    check.forbidden(&format!("spec.{FIELD}"), &detail);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a change of a claim's fields and of its size.
    fn told(old: (Value, &str), new: (Value, &str), status: &Value) -> Vec<String> {
        let claim = |(mut spec, size): (Value, &str)| {
            spec["resources"] = json!({"requests": {"storage": size}});
            json!({"metadata": {}, "spec": spec, "status": status})
        };
        let mut errors = Vec::new();
        update(&mut Check::new(&mut errors), &claim(old), &claim(new));
        errors.iter().map(|error| error.field.clone()).collect()
    }

    #[test]
    fn of_a_claim_little_changes() {
        let pending = json!({"phase": "Pending"});
        let bound = json!({"phase": "Bound", "capacity": {"storage": "1Gi"}});
        let none = Vec::<String>::new();
        let (plain, class) = (json!({}), json!({"storageClassName": "s"}));
        let volume = json!({"volumeName": "v"});
        let size = "2Gi";
        assert_eq!(told((plain.clone(), size), (volume, size), &pending), none);
        assert_eq!(told((plain.clone(), size), (class.clone(), size), &pending), none);
        let empty =
            json!({"storageClassName": "s", "selector": {}, "volumeName": "", "dataSource": null});
        assert_eq!(told((plain.clone(), size), (empty, size), &pending), none);
        assert_eq!(told((class, size), (plain.clone(), size), &pending), ["spec"]);
        let resized =
            |from: &str, to: &str, status: &Value| told((json!({}), from), (json!({}), to), status);
        assert_eq!(resized("2Gi", "3Gi", &pending), ["spec"]);
        assert_eq!(resized("2Gi", "3Gi", &bound), none);
        assert_eq!(resized("3Gi", "2Gi", &bound), none);
        assert_eq!(resized("2Gi", "1Gi", &bound), ["spec.resources.requests.storage"]);
    }
}
