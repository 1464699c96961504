//! PersistentVolumes (`ValidatePersistentVolume`).

use serde_json::{Value, json};

use super::{
    check::{Check, list, text},
    claim::{VOLUME_MODES, access_modes},
};
use crate::encoding::quantity_nanos;

/// What is said of a change, once.
const SOURCE_IS_IMMUTABLE: &str = "spec.persistentvolumesource is immutable after creation";
const CLASS_IS_KEPT: &str = "update from non-nil value to nil is forbidden";
/// How a volume is mounted, for kinds of volumes that know of that.
const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";
const NANOS: i128 = 1_000_000_000;

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

/// Kinds of volumes that can't be mounted otherwise (`checkMountOption`).
const WITHOUT_OPTIONS: [&str; 9] = [
    "hostPath",
    "flocker",
    "fc",
    "flexVolume",
    "portworxVolume",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

pub(super) fn volume(check: &mut Check<'_>, old: Option<&Value>, volume: &Value) {
    let spec = &volume["spec"];
    if list(spec, "accessModes").is_empty() {
        check.required("spec.accessModes", "");
    }
    access_modes(check, spec, "spec.accessModes");
    capacity(check, &spec["capacity"]);
    reclaim_policy(check, spec);
    sources(check, spec);
    match text(spec, "storageClassName") {
        "" => {}
        name => check.subdomain("spec.storageClassName", name),
    }
    if spec["volumeMode"].as_str().is_some_and(|mode| !VOLUME_MODES.contains(&mode)) {
        check.one_of_in_order("spec.volumeMode", &spec["volumeMode"], &VOLUME_MODES);
    }
    attributes_class(check, spec);
    if old.is_some() {
        // The whole volume is looked at as such, and again as what changes.
        check.repeat(|error| {
            error.field.starts_with("spec")
                && ![SOURCE_IS_IMMUTABLE, CLASS_IS_KEPT].contains(&error.detail.as_str())
        });
    }
    let options = &volume["metadata"]["annotations"][MOUNT_OPTIONS];
    let source = SOURCES.iter().find(|source| spec[**source].is_object());
    if !options.is_null() && source.is_none_or(|source| WITHOUT_OPTIONS.contains(source)) {
        let detail = "may not specify mount options for this volume type";
        check.forbidden(&format!("metadata.annotations.{MOUNT_OPTIONS}"), detail);
    }
}

fn attributes_class(check: &mut Check<'_>, spec: &Value) {
    const AT: &str = "spec.volumeAttributesClassName";
    let Some(class) = spec["volumeAttributesClassName"].as_str() else { return };
    match class {
        "" => check.required(AT, "an empty string is disallowed"),
        name => check.subdomain(AT, name),
    }
    if !spec["csi"].is_object() {
        check.required("spec.csi", "has to be specified when using volumeAttributesClassName");
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
        let Some(nanos) = amount.as_str().and_then(quantity_nanos) else { continue };
        let field = format!("spec.capacity[{name}]");
        // Rounded away from zero.
        let whole = nanos.signum() * ((nanos.abs() + NANOS - 1) / NANOS);
        if whole < 0 {
            check.invalid_as(&field, whole.to_string(), "must be a valid resource quantity");
        }
        if nanos <= 0 {
            check.invalid(&field, amount, "must be greater than zero");
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
    if spec["hostPath"].is_object() {
        host_path(check, &spec["hostPath"]);
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

/// `validateHostPathVolumeSource`
fn host_path(check: &mut Check<'_>, source: &Value) {
    const TYPES: [&str; 8] = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    let path = text(source, "path");
    if path.is_empty() {
        return check.required("spec.hostPath.path", "");
    }
    if path.split('/').any(|part| part == "..") {
        check.invalid("spec.hostPath.path", &json!(path), "must not contain '..'");
    }
    if source["type"].as_str().is_some_and(|kind| !TYPES.contains(&kind)) {
        check.one_of_in_order("spec.hostPath.type", &source["type"], &TYPES);
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
        check.forbidden("spec.persistentvolumesource", SOURCE_IS_IMMUTABLE);
    }
    check.unchanged("volumeMode", &old["spec"]["volumeMode"], &new["spec"]["volumeMode"]);
    let class = |volume: &Value| volume["spec"]["volumeAttributesClassName"].clone();
    if !class(old).is_null() && class(new).is_null() {
        check.forbidden("spec.volumeAttributesClassName", CLASS_IS_KEPT);
    }
}
