//! ConfigMaps, Secrets, claims, nodes.

use serde_json::{Value, json};

use super::check::{Check, list, text};
use crate::encoding::quantity_nanos;

const KEY_PROBLEM: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
    'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

fn keys<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = &'a String> {
    object.get(field).and_then(Value::as_object).into_iter().flat_map(|fields| fields.keys())
}

fn config_key(check: &mut Check<'_>, field: &str, key: &str) {
    let at = format!("{field}[{key}]");
    let legal = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if key.is_empty() || !key.chars().all(legal) {
        check.invalid(&at, &json!(key), KEY_PROBLEM);
    } else if key == "." || key == ".." {
        check.invalid(&at, &json!(key), &format!("must not be '{key}'"));
    } else if key.starts_with("..") {
        check.invalid(&at, &json!(key), "must not start with '..'");
    }
}

pub(super) fn config_map(check: &mut Check<'_>, map: &Value) {
    for key in keys(map, "data") {
        config_key(check, "data", key);
        if map["binaryData"].get(key).is_some() {
            let detail = "duplicate of key present in binaryData";
            check.invalid(&format!("data[{key}]"), &json!(key), detail);
        }
    }
    keys(map, "binaryData").for_each(|key| config_key(check, "binaryData", key));
}

pub(super) fn secret(check: &mut Check<'_>, secret: &Value) {
    keys(secret, "data").for_each(|key| config_key(check, "data", key));
    let missing = |key: &str| secret["data"].get(key).is_none();
    let wanted: &[&str] = match text(secret, "type") {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/basic-auth" if missing("username") && missing("password") => {
            check.required("data[username]", "");
            check.required("data[password]", "");
            &[]
        }
        _ => &[],
    };
    for key in wanted.iter().filter(|key| missing(key)) {
        check.required(&format!("data[{key}]"), "");
    }
}

/// What is immutable stays so, with what it holds.
pub(super) fn immutable_contents(check: &mut Check<'_>, old: &Value, new: &Value, fields: &[&str]) {
    if old["immutable"] != json!(true) {
        return;
    }
    let detail = "field is immutable when `immutable` is set";
    if new["immutable"] != json!(true) {
        check.forbidden("immutable", detail);
    }
    for field in fields {
        if old.get(field) != new.get(field) {
            check.forbidden(field, detail);
        }
    }
}

/// A PersistentVolumeClaim's spec, also in a StatefulSet's template.
pub(super) fn claim(check: &mut Check<'_>, spec: &Value, at: &str) {
    let modes = spec["accessModes"].as_array();
    if modes.is_none_or(Vec::is_empty) {
        check.required(&format!("{at}.accessModes"), "at least 1 access mode is required");
    }
    for (index, mode) in modes.into_iter().flatten().enumerate() {
        let known = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
        if !known.contains(&mode.as_str().unwrap_or("")) {
            check.not_supported(&format!("{at}.accessModes[{index}]"), mode, &known);
        }
    }
    let field = format!("{at}.resources[storage]");
    match spec.pointer("/resources/requests/storage") {
        None => check.required(&field, ""),
        Some(size) if size.as_str().and_then(quantity_nanos).is_some_and(|size| size <= 0) => {
            check.invalid(&field, size, "must be greater than zero");
        }
        Some(_) => {}
    }
}

pub(super) fn claim_update(check: &mut Check<'_>, old: &Value, new: &Value) {
    let size = |value: &Value, path: &str| {
        value.pointer(path).and_then(Value::as_str).and_then(quantity_nanos)
    };
    let fixed = |claim: &Value| {
        let mut spec = claim["spec"].clone();
        for field in ["resources", "volumeAttributesClassName"] {
            spec.as_object_mut().map(|spec| spec.remove(field));
        }
        // A claim is bound once.
        if text(&old["spec"], "volumeName").is_empty() {
            spec.as_object_mut().map(|spec| spec.remove("volumeName"));
        }
        spec
    };
    if fixed(old) != fixed(new) {
        let detail = "spec is immutable after creation except resources.requests and \
                      volumeAttributesClassName for bound claims";
        check.forbidden("spec", detail);
    }
    let field = "spec.resources.requests.storage";
    let request = "/spec/resources/requests/storage";
    let (before, after) = (size(old, request), size(new, request));
    if after < before {
        if old["status"]["phase"] == "Bound" && after < size(old, "/status/capacity/storage") {
            check.forbidden(field, "field can not be less than status.capacity");
        } else if old["status"]["phase"] != "Bound" {
            check.forbidden(field, "field can not be less than previous value");
        }
    }
}

/// What a node got once it keeps (`ValidateNodeUpdate`).
pub(super) fn node_update(check: &mut Check<'_>, old: &Value, new: &Value) {
    let ranges = |node: &Value| list(&node["spec"], "podCIDRs").to_vec();
    if !ranges(old).is_empty() && ranges(old) != ranges(new) {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        check.forbidden("spec.podCIDRs", detail);
    }
    let before = text(&old["spec"], "providerID");
    if !before.is_empty() && before != text(&new["spec"], "providerID") {
        let detail = "node updates may not change providerID except from \"\" to valid";
        check.forbidden("spec.providerID", detail);
    }
}
