//! PersistentVolumes (`ValidatePersistentVolume`).

use serde_json::{Value, json};

use super::check::{Check, list, text};
use crate::encoding::quantity_nanos;

const ACCESS_MODES: [&str; 4] =
    ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// The kinds of volumes there are, in the order in which upstream looks for them.
const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

pub(super) fn volume(check: &mut Check<'_>, volume: &Value) {
    let spec = &volume["spec"];
    let modes = list(spec, "accessModes");
    if modes.is_empty() {
        check.required("spec.accessModes", "");
    }
    for mode in modes.iter().filter(|mode| !ACCESS_MODES.contains(&mode.as_str().unwrap_or(""))) {
        check.not_supported("spec.accessModes", mode, &ACCESS_MODES);
    }
    let of_one_pod = |mode: &Value| mode == "ReadWriteOncePod";
    if modes.iter().any(of_one_pod) && !modes.iter().all(of_one_pod) {
        let detail = "may not use ReadWriteOncePod with other access modes";
        check.forbidden("spec.accessModes", detail);
    }
    capacity(check, &spec["capacity"]);
    reclaim_policy(check, spec);
    sources(check, spec);
    if let Some(name) = spec["storageClassName"].as_str().filter(|name| !name.is_empty())
        && let Some(why) = crate::verbs::subdomain_problem(name)
    {
        check.invalid("spec.storageClassName", &json!(name), &why);
    }
    let modes = ["Block", "Filesystem"];
    if spec["volumeMode"].as_str().is_some_and(|mode| !modes.contains(&mode)) {
        check.one_of("spec.volumeMode", &spec["volumeMode"], &modes);
    }
}

fn capacity(check: &mut Check<'_>, capacity: &Value) {
    let amounts = capacity.as_object();
    if amounts.is_none_or(serde_json::Map::is_empty) {
        check.required("spec.capacity", "");
    }
    if amounts.is_none_or(|amounts| amounts.len() != 1 || !amounts.contains_key("storage")) {
        check.not_supported("spec.capacity", capacity, &["storage"]);
    }
    for (name, amount) in amounts.into_iter().flatten() {
        let nanos = amount.as_str().and_then(quantity_nanos);
        if nanos.is_some_and(|nanos| nanos <= 0) {
            check.invalid(&format!("spec.capacity[{name}]"), amount, "must be greater than zero");
        }
    }
}

fn reclaim_policy(check: &mut Check<'_>, spec: &Value) {
    const AT: &str = "spec.persistentVolumeReclaimPolicy";
    let known = ["Delete", "Recycle", "Retain"];
    let policy = text(spec, "persistentVolumeReclaimPolicy");
    if !policy.is_empty() && !known.contains(&policy) {
        check.one_of(AT, &json!(policy), &known);
    }
    let path = text(&spec["hostPath"], "path");
    if policy == "Recycle" && !path.is_empty() && path.trim_matches('/').is_empty() {
        check.forbidden(AT, "may not be 'recycle' for a hostPath mount of '/'");
    }
}

fn sources(check: &mut Check<'_>, spec: &Value) {
    let mut given = SOURCES.iter().filter(|source| spec[**source].is_object());
    if given.next().is_none() {
        check.required("spec", "must specify a volume type");
    }
    for other in given {
        check.forbidden(&format!("spec.{other}"), "may not specify more than 1 volume type");
    }
    let path = &spec["hostPath"];
    if path.is_object() && text(path, "path").is_empty() {
        check.required("spec.hostPath.path", "");
    } else if text(path, "path").split('/').any(|part| part == "..") {
        check.invalid("spec.hostPath.path", &path["path"], "must not contain '..'");
    }
    if spec["local"].is_object() {
        if text(&spec["local"], "path").is_empty() {
            check.required("spec.local.path", "");
        }
        if spec.pointer("/nodeAffinity/required").is_none_or(Value::is_null) {
            check.required("spec.nodeAffinity", "Local volume requires node affinity");
        }
    }
    for (source, fields) in [("nfs", &["server", "path"][..]), ("csi", &["driver", "volumeHandle"])]
    {
        for field in fields.iter().filter(|_| spec[source].is_object()) {
            if text(&spec[source], field).is_empty() {
                check.required(&format!("spec.{source}.{field}"), "");
            }
        }
    }
}

/// What a volume is made of stays (`ValidatePersistentVolumeUpdate`).
pub(super) fn update(check: &mut Check<'_>, old: &Value, new: &Value) {
    let source = |volume: &Value| -> Vec<(usize, Value)> {
        let all = SOURCES.iter().enumerate();
        let mut found: Vec<(usize, Value)> = all
            .map(|(index, source)| (index, volume["spec"][*source].clone()))
            .filter(|(_, source)| source.is_object())
            .collect();
        // A reference to a secret may be added.
        let late = old.pointer("/spec/csi/controllerExpandSecretRef").is_none();
        for (_, source) in found.iter_mut().filter(|_| late) {
            source.as_object_mut().map(|fields| fields.remove("controllerExpandSecretRef"));
        }
        found
    };
    if source(old) != source(new) {
        let detail = "spec.persistentvolumesource is immutable after creation";
        check.forbidden("spec.persistentvolumesource", detail);
    }
    check.unchanged("volumeMode", &old["spec"]["volumeMode"], &new["spec"]["volumeMode"]);
    let class = |volume: &Value| volume["spec"]["volumeAttributesClassName"].clone();
    if !class(old).is_null() && class(new).is_null() {
        let detail = "update from non-nil value to nil is forbidden";
        check.forbidden("spec.volumeAttributesClassName", detail);
    }
}
