//! ConfigMaps, Secrets, namespaces.

use serde_json::{Value, json};

use super::check::{Check, list, text};

const KEY_PROBLEM: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
    'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/// What a ConfigMap or a Secret may hold (`MaxSecretSize`).
const CONTENTS_MOST_BYTES: usize = 1024 * 1024;

/// The bytes of all values of a map of texts, or of bytes in base64.
fn contents(object: &Value, field: &str, bytes: impl Fn(&str) -> usize) -> usize {
    let values = object.get(field).and_then(Value::as_object).into_iter().flatten();
    values.filter_map(|(_, value)| value.as_str()).map(bytes).sum()
}

/// What a text in base64 stands for. Go overlooks ends of lines in it.
fn decoded(text: &str) -> usize {
    text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n' | b'=')).count() * 3 / 4
}

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
    let bytes = contents(map, "data", str::len) + contents(map, "binaryData", decoded);
    // Of no field: that is how Go prints an empty path.
    check.not_longer("[]", bytes, CONTENTS_MOST_BYTES);
}

pub(super) fn secret(check: &mut Check<'_>, secret: &Value) {
    keys(secret, "data").for_each(|key| config_key(check, "data", key));
    check.not_longer("data", contents(secret, "data", decoded), CONTENTS_MOST_BYTES);
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

/// The finalizers of a namespace's contents (`ValidateNamespace`).
pub(super) fn namespace(check: &mut Check<'_>, new: &Value) {
    const AT: &str = "spec.finalizers";
    const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];
    for name in list(&new["spec"], "finalizers") {
        let own = name.as_str().unwrap_or("");
        let before = check.count();
        check.qualified_name(AT, own);
        if check.count() == before && !own.contains('/') && !STANDARD.contains(&own) {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            check.invalid(AT, name, why);
        }
    }
}

/// The phase of a namespace says whether it is being deleted (`ValidateNamespaceStatusUpdate`).
pub(super) fn namespace_status(check: &mut Check<'_>, new: &Value) {
    let (phase, when) = match new["metadata"]["deletionTimestamp"].is_null() {
        true => ("Active", "is empty"),
        false => ("Terminating", "is not empty"),
    };
    let given = text(&new["status"], "phase");
    if given != phase {
        let why = format!("may only be '{phase}' if `deletionTimestamp` {when}");
        check.invalid("status.Phase", &json!(given), &why);
    }
}
