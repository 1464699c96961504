//! Checks of what containers say (`pod-security-admission/policy/check_*.go`).

use serde_json::Value;

use super::{
    checks::Objection,
    pod::{Pod, Values, named, plural, quoted},
};

/// What a container may add where nobody has to drop anything.
const DEFAULT_CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

fn context<'a>(container: &'a Value, field: &str) -> &'a Value {
    &container["securityContext"][field]
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

pub(super) fn allow_privilege_escalation(pod: &Pod<'_>, minor: u32) -> Option<Objection> {
    // Pods of Windows can't say it.
    if minor >= 25 && pod.is_windows() {
        return None;
    }
    let bad = pod.bad(|container| context(container, "allowPrivilegeEscalation") != false);
    if bad.is_empty() {
        return None;
    }
    let detail = format!("{} must set securityContext.allowPrivilegeEscalation=false", named(&bad));
    Objection::new("allowPrivilegeEscalation != false", detail)
}

pub(super) fn capabilities(pod: &Pod<'_>, _: u32) -> Option<Objection> {
    let mut values = Values::new();
    let bad = pod.bad(|container| add_others(container, &DEFAULT_CAPABILITIES, &mut values));
    if bad.is_empty() {
        return None;
    }
    Objection::new("non-default capabilities", added(&bad, &values))
}

/// Whether a container adds others than these, which are noted.
fn add_others(container: &Value, allowed: &[&str], noted: &mut Values) -> bool {
    let all = texts(&context(container, "capabilities")["add"]);
    let others: Vec<&str> = all.filter(|one| !allowed.contains(one)).collect();
    noted.extend(others.iter().map(|one| (*one).to_owned()));
    !others.is_empty()
}

fn added(bad: &[&str], values: &Values) -> String {
    let (bad, values) = (named(bad), quoted(values));
    format!("{bad} must not include {values} in securityContext.capabilities.add")
}

pub(super) fn restricted_capabilities(pod: &Pod<'_>, minor: u32) -> Option<Objection> {
    if minor >= 25 && pod.is_windows() {
        return None;
    }
    let mut values = Values::new();
    let keeping = pod.bad(|container| {
        !texts(&context(container, "capabilities")["drop"]).any(|one| one == "ALL")
    });
    let adding = pod.bad(|container| add_others(container, &["NET_BIND_SERVICE"], &mut values));
    let keeping = (!keeping.is_empty()).then(|| {
        format!("{} must set securityContext.capabilities.drop=[\"ALL\"]", named(&keeping))
    });
    let adding = (!adding.is_empty()).then(|| added(&adding, &values));
    let details: Vec<String> = keeping.into_iter().chain(adding).collect();
    if details.is_empty() {
        return None;
    }
    Objection::new("unrestricted capabilities", details.join("; "))
}

pub(super) fn host_ports(pod: &Pod<'_>, _: u32) -> Option<Objection> {
    let mut values = Values::new();
    let bad = pod.bad(|container| {
        let ports = container["ports"].as_array().into_iter().flatten();
        let ports = ports.filter_map(|port| port["hostPort"].as_i64()).filter(|port| *port != 0);
        let ports: Vec<String> = ports.map(|port| port.to_string()).collect();
        values.extend(ports.iter().cloned());
        !ports.is_empty()
    });
    if bad.is_empty() {
        return None;
    }
    let uses = plural("uses", "use", bad.len());
    let what = plural("hostPort", "hostPorts", values.len());
    let values: Vec<String> = values.into_iter().collect();
    Objection::new("hostPort", format!("{} {uses} {what} {}", named(&bad), values.join(", ")))
}

/// Probes and hooks that go to another host than the pod.
pub(super) fn host_probes(pod: &Pod<'_>, _: u32) -> Option<Objection> {
    let mut values = Values::new();
    let bad = pod.bad(|container| {
        let hook = |name: &str| &container["lifecycle"][name];
        let asked =
            ["livenessProbe", "readinessProbe", "startupProbe"].map(|name| &container[name]);
        let asked = asked.into_iter().chain(["postStart", "preStop"].map(hook));
        let hosts = asked.flat_map(|asked| ["httpGet", "tcpSocket"].map(|how| &asked[how]["host"]));
        let hosts = hosts.filter_map(Value::as_str).filter(|host| !host.is_empty());
        let hosts: Vec<String> = hosts.map(str::to_owned).collect();
        values.extend(hosts.iter().cloned());
        !hosts.is_empty()
    });
    if bad.is_empty() {
        return None;
    }
    let bad: std::collections::BTreeSet<&str> = bad.into_iter().collect();
    let bad: Vec<&str> = bad.into_iter().collect();
    let uses = plural("uses", "use", bad.len());
    let what = plural("probe or lifecycle host", "probe or lifecycle hosts", values.len());
    let detail = format!("{} {uses} {what} {}", named(&bad), quoted(&values));
    Objection::new("probe or lifecycle host", detail)
}

pub(super) fn privileged(pod: &Pod<'_>, _: u32) -> Option<Objection> {
    let bad = pod.bad(|container| context(container, "privileged") == true);
    if bad.is_empty() {
        return None;
    }
    let detail = format!("{} must not set securityContext.privileged=true", named(&bad));
    Objection::new("privileged", detail)
}

pub(super) fn proc_mount(pod: &Pod<'_>, _: u32) -> Option<Objection> {
    let mut values = Values::new();
    let bad = pod.bad(|container| {
        let given = context(container, "procMount").as_str().filter(|given| *given != "Default");
        values.extend(given.map(str::to_owned));
        given.is_some()
    });
    if bad.is_empty() {
        return None;
    }
    let (bad, values) = (named(&bad), quoted(&values));
    Objection::new("procMount", format!("{bad} must not set securityContext.procMount to {values}"))
}
