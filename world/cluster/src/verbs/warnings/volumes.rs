//! Volumes that no kubelet mounts any more, files that hide each other, and claims.

use std::fmt;

use serde_json::Value;

use super::{items, text};
use crate::encoding::quantity_nanos;

/// Plug-ins that are gone: their field, how messages write it, and since when.
const GONE: [(&str, &str, &str); 7] = [
    (
        "photonPersistentDisk",
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
];

/// Those that went after claims inside of volumes came.
const GONE_LATER: [(&str, &str, &str); 2] = [
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// The volumes of a pod.
pub(super) fn of_volumes(spec: &Value, at: &str) -> Vec<String> {
    let volumes = items(&spec["volumes"]);
    let mut warnings = Vec::new();
    for (index, volume) in volumes.iter().enumerate() {
        let at = format!("{at}.volumes[{index}]");
        let gone = |&(field, shown, why): &(&str, &str, &str)| {
            (!volume[field].is_null()).then(|| format!("{at}.{shown}: {why}"))
        };
        warnings.extend(GONE.iter().filter_map(gone));
        let claim = &volume["ephemeral"]["volumeClaimTemplate"]["spec"];
        warnings.extend(of_claim(claim, &format!("{at}.ephemeral.volumeClaimTemplate.spec")));
        warnings.extend(GONE_LATER.iter().filter_map(gone));
    }
    warnings.extend(volumes.iter().flat_map(of_paths));
    warnings
}

/// A claim (`GetWarningsForPersistentVolumeClaimSpec`).
pub(super) fn of_claim(spec: &Value, at: &str) -> Vec<String> {
    let amounts = ["requests", "limits"];
    let of = |what: &&str| {
        let amounts = &spec["resources"][*what];
        of_amount(amounts, "storage", &format!("{at}.resources.{what}"))
    };
    amounts.iter().filter_map(of).collect()
}

/// An amount of bytes that is no whole number.
pub(super) fn of_amount(amounts: &Value, name: &str, at: &str) -> Option<String> {
    const NANOS_OF_A_THOUSANDTH: i128 = 1_000_000;
    let amount = amounts[name].as_str()?;
    let nanos = quantity_nanos(amount)?;
    // Less than a thousandth is rounded up.
    let rest = i128::from(nanos.rem_euclid(NANOS_OF_A_THOUSANDTH) != 0);
    let thousandths = nanos.div_euclid(NANOS_OF_A_THOUSANDTH) + rest;
    (thousandths % 1000 != 0).then(|| {
        format!("{at}[{name}]: fractional byte value {amount:?} is invalid, must be an integer")
    })
}

/// A file of a volume, and of what it is made; of nothing where the volume says it.
struct File<'a> {
    path: &'a str,
    source: String,
}

impl fmt::Display for File<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source.as_str() {
            "" => write!(f, "{:?}", self.path),
            source => write!(f, "{:?} ({source})", self.path),
        }
    }
}

impl File<'_> {
    /// Whether one of the two is the other, or is written into it as if that were a folder.
    fn hides(&self, other: &File<'_>) -> bool {
        let (own, other) = (format!("{}/", self.path), format!("{}/", other.path));
        own != "/" && other != "/" && (own.starts_with(&other) || other.starts_with(&own))
    }
}

/// The files that a list of items makes.
fn listed<'a>(from: &'a Value, source: &str) -> Vec<File<'a>> {
    let file = |item: &'a Value| File { path: text(item, "path"), source: source.to_owned() };
    items(&from["items"]).iter().map(file).collect()
}

/// Files of one volume that hide each other (`warningsForOverlappingVirtualPaths`).
fn of_paths(volume: &Value) -> Vec<String> {
    let name = text(volume, "name");
    let mut warnings = Vec::new();
    let config = format!("ConfigMap {:?}", text(&volume["configMap"], "name"));
    let secret = format!("Secret {:?}", text(&volume["secret"], "secretName"));
    for (field, shown) in
        [("configMap", &*config), ("secret", &*secret), ("downwardAPI", "DownwardAPI")]
    {
        let files = listed(&volume[field], "");
        warnings.extend(hidden(name, shown, &mut Vec::new(), files));
    }
    let mut known = Vec::new();
    for source in items(&volume["projected"]["sources"]) {
        if source.as_object().is_none_or(|fields| fields.values().all(Value::is_null)) {
            warnings.push(format!("volume {name:?} (Projected) has no sources provided"));
            continue;
        }
        warnings.extend(hidden(name, "Projected", &mut known, projected(source)));
    }
    warnings
}

/// Adds files to those of a volume, and tells which of those they hide.
fn hidden<'a>(
    volume: &str,
    shown: &str,
    known: &mut Vec<File<'a>>,
    files: Vec<File<'a>>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    for file in files {
        let file = File { path: file.path.trim_end_matches('/'), ..file };
        for other in known.iter().filter(|other| file.hides(other)) {
            warnings.push(format!(
                "volume {volume:?} ({shown}): overlapping paths: {file} with {other}"
            ));
        }
        known.push(file);
    }
    warnings
}

/// The files that a source of a projected volume makes.
fn projected(source: &Value) -> Vec<File<'_>> {
    let named = |field: &str, kind: &str| {
        let from = &source[field];
        listed(from, &format!("{kind} {:?}", text(from, "name")))
    };
    let (bundle, certificate) = (&source["clusterTrustBundle"], &source["podCertificate"]);
    let file = |path, source: String| File { path, source };
    if source["configMap"]["items"].is_array() {
        named("configMap", "ConfigMap")
    } else if source["secret"]["items"].is_array() {
        named("secret", "Secret")
    } else if source["downwardAPI"]["items"].is_array() {
        listed(&source["downwardAPI"], "DownwardAPI")
    } else if source["serviceAccountToken"].is_object() {
        let path = text(&source["serviceAccountToken"], "path");
        vec![file(path, "ServiceAccountToken".to_owned())]
    } else if bundle.is_object() {
        let name = bundle["name"].as_str().unwrap_or_else(|| text(bundle, "signerName"));
        vec![file(text(bundle, "path"), format!("ClusterTrustBundle {name:?}"))]
    } else {
        let paths = [
            ("certificateChainPath", "PodCertificate chain"),
            ("keyPath", "PodCertificate key"),
            ("credentialBundlePath", "PodCertificate credential bundle"),
        ];
        let given = paths.into_iter().filter(|(field, _)| !text(certificate, field).is_empty());
        given.map(|(field, shown)| file(text(certificate, field), shown.to_owned())).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(volume: Value, expect: &[&str]) {
        assert_eq!(of_volumes(&json!({"volumes": [volume]}), "spec"), expect);
    }

    #[test]
    fn volumes_that_are_gone_are_told() {
        let size = json!({"requests": {"storage": "1500m"}, "limits": {"storage": "2"}});
        let volume = json!({"name": "v", "storageos": {}, "rbd": {"image": "i"},
            "ephemeral": {"volumeClaimTemplate": {"spec": {"resources": size}}}});
        check(
            volume,
            &[
                "spec.volumes[0].storageOS: deprecated in v1.22, non-functional in v1.25+",
                "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte \
                 value \"1500m\" is invalid, must be an integer",
                "spec.volumes[0].rbd: deprecated in v1.28, non-functional in v1.31+",
            ],
        );
        check(json!({"name": "v", "emptyDir": {}}), &[]);
    }

    #[test]
    fn files_that_hide_each_other_are_told() {
        let paths = |paths: &[&str]| -> Value {
            paths.iter().map(|path| json!({"key": "k", "path": path})).collect()
        };
        check(
            json!({"name": "v", "configMap": {"name": "c", "items": paths(&["a", "a/b", "ab", "a/"])}}),
            &[
                "volume \"v\" (ConfigMap \"c\"): overlapping paths: \"a/b\" with \"a\"",
                "volume \"v\" (ConfigMap \"c\"): overlapping paths: \"a\" with \"a\"",
                "volume \"v\" (ConfigMap \"c\"): overlapping paths: \"a\" with \"a/b\"",
            ],
        );
        check(
            json!({"name": "v", "projected": {"sources": [
                {"secret": {"name": "s", "items": paths(&["a"])}}, {},
                {"serviceAccountToken": {"path": "a/t"}}]}}),
            &[
                "volume \"v\" (Projected) has no sources provided",
                "volume \"v\" (Projected): overlapping paths: \"a/t\" (ServiceAccountToken) with \"a\" (Secret \"s\")",
            ],
        );
    }
}
