//! What a pod had better not ask for, itself or by its template (`pkg/api/pod/warnings.go`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::{containers, items, scheduling, text, volumes};
use crate::validation::address_warning;

/// Annotations that nobody reads any more.
const OLD_ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        r#"non-functional in v1.16+; use the "priorityClassName" field instead"#,
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        r#"non-functional in v1.11+; use the "sysctls" field instead"#,
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        r#"non-functional in v1.11+; use the "sysctls" field instead"#,
    ),
];

/// A pod or what makes pods.
pub(super) struct Pod<'a> {
    pub(super) annotations: &'a Value,
    pub(super) spec: &'a Value,
    /// What stands before its fields: nothing for a pod, `spec.template.` for most of what makes pods.
    pub(super) at: &'a str,
}

impl Pod<'_> {
    /// Where an annotation of this name stands, and what it says.
    pub(super) fn annotated(&self, key: &str) -> Option<(String, &str)> {
        let value = self.annotations.get(key)?.as_str()?;
        Some((format!("{}metadata.annotations[{key}]", self.at), value))
    }
}

/// Of a pod (where nothing stands before its fields) or of a template (`warningsForPodSpecAndMeta`).
pub(super) fn of_pod(object: &Value, at: &str) -> Vec<String> {
    let (annotations, spec) = (&object["metadata"]["annotations"], &object["spec"]);
    let pod = Pod { annotations, spec, at };
    let at = format!("{at}spec");
    let mut warnings = scheduling::of_nodes(spec, &at);
    for (key, why) in OLD_ANNOTATIONS {
        warnings.extend(pod.annotated(key).map(|(field, _)| format!("{field}: {why}")));
    }
    warnings.extend(volumes::of_volumes(spec, &at));
    warnings.extend(repeated(&spec["hostAliases"], "ip", &format!("{at}.hostAliases")));
    warnings.extend(of_pull_secrets(&spec["imagePullSecrets"], &format!("{at}.imagePullSecrets")));
    for name in ["memory", "ephemeral-storage"] {
        let field = format!("{at}.overhead");
        warnings.extend(volumes::of_amount(&spec["overhead"], name, &field));
    }
    if spec["securityContext"]["seccompProfile"].is_null() {
        let given = pod.annotated("seccomp.security.alpha.kubernetes.io/pod");
        warnings.extend(given.map(|(field, _)| {
            format!("{field}: non-functional in v1.27+; use the \"seccompProfile\" field instead")
        }));
    }
    warnings.extend(containers::of_containers(&pod));
    if spec["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0) {
        warnings.push(format!(
            "{at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    warnings.extend(scheduling::of_neighbours(spec, &at));
    warnings.extend(of_addresses(spec, &at));
    warnings
}

/// Items of which an earlier one has the key too.
fn repeated(list: &Value, key: &str, at: &str) -> Vec<String> {
    let mut known = BTreeSet::new();
    let mut warnings = Vec::new();
    for (index, item) in items(list).iter().enumerate() {
        let value = text(item, key);
        if !known.insert(value) {
            warnings.push(format!("{at}[{index}].{key}: duplicate {key} {value:?}"));
        }
    }
    warnings
}

fn of_pull_secrets(secrets: &Value, at: &str) -> Vec<String> {
    let mut warnings = repeated(secrets, "name", at);
    for (index, secret) in items(secrets).iter().enumerate() {
        if text(secret, "name").is_empty() {
            warnings.push(format!("{at}[{index}].name: invalid empty name \"\""));
        }
    }
    warnings
}

/// Addresses that are written in another way than usual.
fn of_addresses(spec: &Value, at: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    for (index, server) in items(&spec["dnsConfig"]["nameservers"]).iter().enumerate() {
        let field = format!("{at}.dnsConfig.nameservers[{index}]");
        warnings.extend(address_warning(&field, server.as_str().unwrap_or("")));
    }
    for (index, alias) in items(&spec["hostAliases"]).iter().enumerate() {
        let field = format!("{at}.hostAliases[{index}].ip");
        warnings.extend(address_warning(&field, text(alias, "ip")));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_said_twice_or_in_an_old_way_is_told_in_upstreams_order() {
        let pod = json!({
            "metadata": {"annotations": {
                "security.alpha.kubernetes.io/sysctls": "", "seccomp.security.alpha.kubernetes.io/pod": "x"}},
            "spec": {
                "hostAliases": [{"ip": "::1"}, {"ip": "0:0::1"}, {"ip": "::1"}],
                "imagePullSecrets": [{"name": "s"}, {}, {"name": "s"}, {}],
                "overhead": {"memory": "1m", "cpu": "1m"},
                "volumes": [{"name": "v", "gitRepo": {"repository": "r"}}],
                "containers": [{"name": "c", "resources": {"limits": {"memory": "100m"}},
                    "env": [{"name": "A"}, {"name": "A"}]}],
                "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}},
                "dnsConfig": {"nameservers": ["1.2.3.4", "FE80::1"]},
                "topologySpreadConstraints": [{"topologyKey": "k"}],
                "terminationGracePeriodSeconds": -1}});
        let expect = |at: &str| {
            let affinity = "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]";
            let nothing = "a null labelSelector results in matching no pod";
            [
                format!("{at}spec.topologySpreadConstraints[0].labelSelector: {nothing}"),
                format!(
                    "{at}metadata.annotations[security.alpha.kubernetes.io/sysctls]: non-functional in v1.11+; use the \
                     \"sysctls\" field instead"
                ),
                format!(
                    "{at}spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"
                ),
                format!("{at}spec.hostAliases[2].ip: duplicate ip \"::1\""),
                format!("{at}spec.imagePullSecrets[2].name: duplicate name \"s\""),
                format!("{at}spec.imagePullSecrets[3].name: duplicate name \"\""),
                format!("{at}spec.imagePullSecrets[1].name: invalid empty name \"\""),
                format!("{at}spec.imagePullSecrets[3].name: invalid empty name \"\""),
                format!(
                    "{at}spec.overhead[memory]: fractional byte value \"1m\" is invalid, must be an integer"
                ),
                format!(
                    "{at}metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use \
                     the \"seccompProfile\" field instead"
                ),
                format!(
                    "{at}spec.containers[0].resources.limits[memory]: fractional byte value \"100m\" is invalid, must \
                     be an integer"
                ),
                format!(
                    "{at}spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when \
                     using apply"
                ),
                format!(
                    "{at}spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be \
                     treated as 1"
                ),
                format!("{at}spec.{affinity}.labelSelector: {nothing}"),
                format!(
                    "{at}spec.dnsConfig.nameservers[1]: IPv6 address \"FE80::1\" should be in RFC 5952 canonical \
                     format (\"fe80::1\")"
                ),
                format!(
                    "{at}spec.hostAliases[1].ip: IPv6 address \"0:0::1\" should be in RFC 5952 canonical format \
                     (\"::1\")"
                ),
            ]
        };
        for at in ["", "spec.template."] {
            assert_eq!(of_pod(&pod, at), expect(at));
        }
        assert_eq!(of_pod(&json!({}), ""), Vec::<String>::new());
    }
}
