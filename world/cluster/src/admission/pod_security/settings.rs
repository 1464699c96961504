//! Checks of what a pod says for all its containers, and they for themselves (`pod-security-admission/policy/check_*.go`).

use serde_json::Value;

use super::{
    checks::Objection,
    pod::{Pod, Values, named, plural, quoted, setters},
};

/// Sysctls that may be set, each with the release from which on.
const SYSCTLS: [(&str, u32); 12] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

/// Kinds of volumes that may be used where pods are restricted.
const VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";
const CONTAINER_SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";

/// The type of a profile that a security context names, if it does.
fn profile<'a>(context: &'a Value, field: &str) -> Option<&'a str> {
    context[field].is_object().then(|| context[field]["type"].as_str().unwrap_or(""))
}

/// Whether a profile is named and is not one that a node brings along.
fn is_open(context: &Value, field: &str, values: &mut Values) -> bool {
    let named = profile(context, field);
    let open = named.filter(|named| !matches!(*named, "RuntimeDefault" | "Localhost"));
    values.extend(open.map(str::to_owned));
    open.is_some()
}

fn annotations<'a>(pod: &Pod<'a>) -> impl Iterator<Item = (&'a String, &'a str)> {
    let all = pod.metadata["annotations"].as_object().into_iter().flatten();
    all.map(|(name, value)| (name, value.as_str().unwrap_or("")))
}

pub(super) fn app_armor(pod: &Pod<'_>, _: u32) -> Option<Objection> {
    const FIELD: &str = "appArmorProfile";
    let mut values = Values::new();
    let own = is_open(pod.security_context(), FIELD, &mut values);
    let bad = pod.bad(|container| is_open(&container["securityContext"], FIELD, &mut values));
    let mut who = setters(own, &bad);
    let allowed = |value: &str| {
        value.is_empty() || value == "runtime/default" || value.starts_with("localhost/")
    };
    let forbidden =
        annotations(pod).filter(|(name, value)| name.starts_with(APP_ARMOR) && !allowed(value));
    let mut forbidden: Vec<String> =
        forbidden.map(|(name, value)| format!("{name}={value:?}")).collect();
    if !forbidden.is_empty() {
        forbidden.sort();
        who.push(plural("annotation", "annotations", forbidden.len()).to_owned());
    }
    if who.is_empty() {
        return None;
    }
    let values: Vec<String> = values.into_iter().chain(forbidden).collect();
    let reason = plural("forbidden AppArmor profile", "forbidden AppArmor profiles", values.len());
    let who = who.join(" and ");
    let detail = format!("{who} must not set AppArmor profile type to {}", quoted(values));
    Objection::new(reason, detail)
}

pub(super) fn host_namespaces(pod: &Pod<'_>, _: u32) -> Option<Objection> {
    let used = ["hostNetwork", "hostPID", "hostIPC"].into_iter();
    let used: Vec<String> =
        used.filter(|field| pod.spec[field] == true).map(|field| format!("{field}=true")).collect();
    if used.is_empty() {
        return None;
    }
    Objection::new("host namespaces", used.join(", "))
}

fn volumes<'a>(pod: &Pod<'a>) -> impl Iterator<Item = &'a Value> {
    pod.spec["volumes"].as_array().into_iter().flatten()
}

fn name(volume: &Value) -> &str {
    volume["name"].as_str().unwrap_or("")
}

pub(super) fn host_path_volumes(pod: &Pod<'_>, _: u32) -> Option<Objection> {
    let bad: Vec<&str> =
        volumes(pod).filter(|volume| volume["hostPath"].is_object()).map(name).collect();
    if bad.is_empty() {
        return None;
    }
    let word = plural("volume", "volumes", bad.len());
    Objection::new("hostPath volumes", format!("{word} {}", quoted(bad)))
}

pub(super) fn restricted_volumes(pod: &Pod<'_>, _: u32) -> Option<Objection> {
    let mut kinds = Values::new();
    let mut bad = Vec::new();
    for volume in volumes(pod) {
        let mut fields = volume.as_object().into_iter().flatten();
        let kind = fields.find(|(field, value)| *field != "name" && value.is_object());
        let kind = kind.map_or("unknown", |(field, _)| field.as_str());
        if !VOLUMES.contains(&kind) {
            bad.push(name(volume));
            kinds.insert(kind.to_owned());
        }
    }
    if bad.is_empty() {
        return None;
    }
    let (word, uses) = (plural("volume", "volumes", bad.len()), plural("uses", "use", bad.len()));
    let what = plural("restricted volume type", "restricted volume types", kinds.len());
    let detail = format!("{word} {} {uses} {what} {}", quoted(bad), quoted(kinds));
    Objection::new("restricted volume types", detail)
}

pub(super) fn run_as_non_root(pod: &Pod<'_>, minor: u32) -> Option<Objection> {
    const REASON: &str = "runAsNonRoot != true";
    if minor >= 35 && pod.has_own_users() {
        return None;
    }
    let own = &pod.security_context()["runAsNonRoot"];
    let of = |container: &Value| container["securityContext"]["runAsNonRoot"].as_bool();
    let who = setters(own == false, &pod.bad(|container| of(container) == Some(false)));
    if !who.is_empty() {
        let detail =
            format!("{} must not set securityContext.runAsNonRoot=false", who.join(" and "));
        return Objection::new(REASON, detail);
    }
    let silent = pod.bad(|container| own != true && of(container).is_none());
    if silent.is_empty() {
        return None;
    }
    let detail = format!("pod or {} must set securityContext.runAsNonRoot=true", named(&silent));
    Objection::new(REASON, detail)
}

pub(super) fn run_as_user(pod: &Pod<'_>, minor: u32) -> Option<Objection> {
    if minor >= 35 && pod.has_own_users() {
        return None;
    }
    let is_root = |context: &Value| context["runAsUser"] == 0;
    let bad = pod.bad(|container| is_root(&container["securityContext"]));
    let who = setters(is_root(pod.security_context()), &bad);
    if who.is_empty() {
        return None;
    }
    Objection::new("runAsUser=0", format!("{} must not set runAsUser=0", who.join(" and ")))
}

pub(super) fn se_linux(pod: &Pod<'_>, minor: u32) -> Option<Objection> {
    let (mut types, mut user, mut role) = (Values::new(), false, false);
    let mut is_bad = |context: &Value| {
        let options = &context["seLinuxOptions"];
        let text = |field: &str| options[field].as_str().unwrap_or("");
        let allowed = match text("type") {
            "" | "container_t" | "container_init_t" | "container_kvm_t" => true,
            "container_engine_t" => minor >= 31,
            _ => false,
        };
        let sets = |field: &str| !text(field).is_empty();
        types.extend((!allowed).then(|| text("type").to_owned()));
        user |= sets("user");
        role |= sets("role");
        !allowed || sets("user") || sets("role")
    };
    let own = is_bad(pod.security_context());
    let bad = pod.bad(|container| is_bad(&container["securityContext"]));
    let who = setters(own, &bad);
    if who.is_empty() {
        return None;
    }
    let word = plural("type", "types", types.len());
    let types = (!types.is_empty()).then(|| format!("{word} {}", quoted(&types)));
    let user = user.then(|| "user may not be set".to_owned());
    let role = role.then(|| "role may not be set".to_owned());
    let what: Vec<String> = types.into_iter().chain(user).chain(role).collect();
    let (who, what) = (who.join(" and "), what.join("; "));
    let detail = format!("{who} set forbidden securityContext.seLinuxOptions: {what}");
    Objection::new("seLinuxOptions", detail)
}

/// Until 1.18 profiles were named by annotations.
pub(super) fn seccomp(pod: &Pod<'_>, minor: u32) -> Option<Objection> {
    if minor >= 19 {
        return open_seccomp(pod);
    }
    let allowed = |value: &str| {
        matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/")
    };
    let named = pod.containers().map(|container| format!("{CONTAINER_SECCOMP}{}", name(container)));
    let looked_at: Values = named.chain([SECCOMP.to_owned()]).collect();
    let forbidden =
        annotations(pod).filter(|(name, value)| looked_at.contains(*name) && !allowed(value));
    let forbidden: Values = forbidden.map(|(name, value)| format!("{name}={value:?}")).collect();
    if forbidden.is_empty() {
        return None;
    }
    let word = plural("annotation", "annotations", forbidden.len());
    let forbidden: Vec<String> = forbidden.into_iter().collect();
    Objection::new("seccompProfile", format!("forbidden {word} {}", forbidden.join(", ")))
}

fn open_seccomp(pod: &Pod<'_>) -> Option<Objection> {
    const FIELD: &str = "seccompProfile";
    let mut values = Values::new();
    let own = is_open(pod.security_context(), FIELD, &mut values);
    let bad = pod.bad(|container| is_open(&container["securityContext"], FIELD, &mut values));
    let who = setters(own, &bad);
    if who.is_empty() {
        return None;
    }
    let (who, values) = (who.join(" and "), quoted(&values));
    let detail = format!("{who} must not set securityContext.seccompProfile.type to {values}");
    Objection::new(FIELD, detail)
}

pub(super) fn restricted_seccomp(pod: &Pod<'_>, minor: u32) -> Option<Objection> {
    const FIELD: &str = "seccompProfile";
    if minor >= 25 && pod.is_windows() {
        return None;
    }
    if let Some(open) = open_seccomp(pod) {
        return Some(open);
    }
    let own = profile(pod.security_context(), FIELD).is_some();
    let silent =
        pod.bad(|container| !own && profile(&container["securityContext"], FIELD).is_none());
    if silent.is_empty() {
        return None;
    }
    let silent = named(&silent);
    let detail = format!(
        "pod or {silent} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\""
    );
    Objection::new(FIELD, detail)
}

pub(super) fn sysctls(pod: &Pod<'_>, minor: u32) -> Option<Objection> {
    let set = pod.security_context()["sysctls"].as_array().into_iter().flatten().map(name);
    let allowed =
        |name: &&str| SYSCTLS.iter().any(|(known, since)| known == name && minor >= *since);
    let forbidden: Vec<&str> = set.filter(|name| !allowed(name)).collect();
    if forbidden.is_empty() {
        return None;
    }
    Objection::new("forbidden sysctls", forbidden.join(", "))
}

pub(super) fn windows_host_process(pod: &Pod<'_>, _: u32) -> Option<Objection> {
    let is_bad = |context: &Value| context["windowsOptions"]["hostProcess"] == true;
    let bad = pod.bad(|container| is_bad(&container["securityContext"]));
    let who = setters(is_bad(pod.security_context()), &bad);
    if who.is_empty() {
        return None;
    }
    let detail = format!(
        "{} must not set securityContext.windowsOptions.hostProcess=true",
        who.join(" and ")
    );
    Objection::new("hostProcess", detail)
}
