//! All checks, in upstream's order, by level and by the release from which they count (`policy/registry.go`).

use super::{
    containers::{
        allow_privilege_escalation, capabilities, host_ports, host_probes, privileged, proc_mount,
        restricted_capabilities,
    },
    labels::{Bar, Level},
    pod::Pod,
    settings::{
        app_armor, host_namespaces, host_path_volumes, restricted_seccomp, restricted_volumes,
        run_as_non_root, run_as_user, se_linux, seccomp, sysctls, windows_host_process,
    },
};

/// What a check has against a pod.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Objection {
    pub(super) reason: String,
    pub(super) detail: String,
}

impl Objection {
    pub(super) fn new(reason: &str, detail: String) -> Option<Objection> {
        Some(Objection { reason: reason.to_owned(), detail })
    }
}

/// Looks at a pod as the release `1.n` does.
type Look = fn(&Pod<'_>, u32) -> Option<Objection>;

/// One check of the lower level.
struct Baseline {
    since: u32,
    /// From here on a check of the higher level stands for it there (`OverrideCheckIDs`).
    replaced: u32,
    look: Look,
}

const NEVER: u32 = u32::MAX;

const fn baseline(since: u32, replaced: u32, look: Look) -> Baseline {
    Baseline { since, replaced, look }
}

const BASELINE: [Baseline; 12] = [
    baseline(0, NEVER, app_armor),
    baseline(0, 22, capabilities),
    baseline(0, NEVER, host_namespaces),
    baseline(0, 0, host_path_volumes),
    baseline(0, NEVER, host_ports),
    baseline(34, NEVER, host_probes),
    baseline(0, NEVER, privileged),
    baseline(0, 35, own_users_or_proc_mount),
    baseline(0, NEVER, se_linux),
    baseline(0, 19, seccomp),
    baseline(0, NEVER, sysctls),
    baseline(0, NEVER, windows_host_process),
];

/// Checks of the higher level, with the release from which they count.
const RESTRICTED: [(u32, Look); 7] = [
    (8, allow_privilege_escalation),
    (22, restricted_capabilities),
    (35, proc_mount),
    (0, restricted_volumes),
    (0, run_as_non_root),
    (23, run_as_user),
    (19, restricted_seccomp),
];

/// From 1.35 on a pod with users of its own may see all of `/proc`, at the lower level.
fn own_users_or_proc_mount(pod: &Pod<'_>, minor: u32) -> Option<Objection> {
    if minor >= 35 && pod.has_own_users() { None } else { proc_mount(pod, minor) }
}

/// All that a bar has against a pod.
pub(super) fn objections(bar: Bar, pod: &Pod<'_>) -> Vec<Objection> {
    // Nothing has changed after the last change of a check.
    let minor = bar.minor.unwrap_or(NEVER - 1);
    let strict = bar.level == Level::Restricted;
    let low = BASELINE.iter().filter(|check| minor >= check.since);
    let low = low.filter(|check| !strict || minor < check.replaced).map(|check| check.look);
    let high = RESTRICTED.iter().filter(|(since, _)| strict && minor >= *since);
    let looks = low.chain(high.map(|(_, look)| *look));
    match bar.level {
        Level::Privileged => Vec::new(),
        _ => looks.filter_map(|look| look(pod, minor)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn reasons(level: Level, minor: Option<u32>, spec: &Value) -> String {
        let pod = json!({"metadata": {}, "spec": spec});
        let found = objections(Bar { level, minor }, &Pod::of(&pod));
        found.into_iter().map(|one| one.reason).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn a_plain_pod_is_not_restricted() {
        let plain = json!({"containers": [{"name": "c"}]});
        let check = |level, minor, expect: &str| assert_eq!(reasons(level, minor, &plain), expect);
        check(Level::Baseline, None, "");
        check(
            Level::Restricted,
            None,
            "allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile",
        );
        check(
            Level::Restricted,
            Some(8),
            "allowPrivilegeEscalation != false, runAsNonRoot != true",
        );
        check(Level::Restricted, Some(0), "runAsNonRoot != true");
    }

    #[test]
    fn own_users_relax_what_root_may_do() {
        let spec = json!({"hostUsers": false, "securityContext": {"runAsUser": 0}, "containers": [{"name": "c",
            "securityContext": {"procMount": "Unmasked"}}]});
        assert_eq!(reasons(Level::Baseline, None, &spec), "");
        assert_eq!(reasons(Level::Baseline, Some(34), &spec), "procMount");
        let found = reasons(Level::Restricted, None, &spec);
        assert!(found.contains("procMount") && !found.contains("runAs"), "{found}");
        assert!(reasons(Level::Restricted, Some(34), &spec).contains("runAsUser=0"));
    }

    #[test]
    fn a_restricted_check_stands_for_its_baseline() {
        let spec = json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}], "containers": []});
        assert_eq!(reasons(Level::Baseline, None, &spec), "hostPath volumes");
        assert_eq!(reasons(Level::Restricted, None, &spec), "restricted volume types");
    }
}
