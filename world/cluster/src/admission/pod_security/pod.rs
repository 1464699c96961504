//! A pod, or the template of one, as the checks see it; and how they name what is wrong.

use std::collections::BTreeSet;

use serde_json::Value;

/// What is looked at.
pub(super) struct Pod<'a> {
    pub(super) metadata: &'a Value,
    pub(super) spec: &'a Value,
}

impl<'a> Pod<'a> {
    /// Of an object, or of a template.
    pub(super) fn of(object: &'a Value) -> Pod<'a> {
        Pod { metadata: &object["metadata"], spec: &object["spec"] }
    }

    /// All containers: those of the start, the pod's own, those for debugging (`visitContainers`).
    pub(super) fn containers(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        let spec = self.spec;
        let fields = ["initContainers", "containers", "ephemeralContainers"].into_iter();
        fields.flat_map(move |field| spec[field].as_array().into_iter().flatten())
    }

    /// The names of the containers that are bad.
    pub(super) fn bad(&self, mut is_bad: impl FnMut(&Value) -> bool) -> Vec<&'a str> {
        let bad = self.containers().filter(|container| is_bad(container));
        bad.map(|container| container["name"].as_str().unwrap_or("")).collect()
    }

    pub(super) fn security_context(&self) -> &'a Value {
        &self.spec["securityContext"]
    }

    pub(super) fn is_windows(&self) -> bool {
        self.spec["os"]["name"] == "windows"
    }

    /// `hostUsers: false`: root in it is nobody on the node (KEP-127).
    pub(super) fn has_own_users(&self) -> bool {
        self.spec["hostUsers"] == false
    }
}

/// `"a", "b"`, without escapes.
pub(super) fn quoted<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> String {
    let items: Vec<String> =
        items.into_iter().map(|item| format!("\"{}\"", item.as_ref())).collect();
    items.join(", ")
}

/// The word for one or more.
pub(super) fn plural<'a>(one: &'a str, many: &'a str, count: usize) -> &'a str {
    if count == 1 { one } else { many }
}

/// `container "a"`, `containers "a", "b"`.
pub(super) fn named(containers: &[&str]) -> String {
    let word = plural("container", "containers", containers.len());
    format!("{word} {}", quoted(containers))
}

/// Who sets something: the pod, containers, or both; none if nobody does.
pub(super) fn setters(pod: bool, containers: &[&str]) -> Vec<String> {
    let pod = pod.then(|| "pod".to_owned());
    let containers = (!containers.is_empty()).then(|| named(containers));
    pod.into_iter().chain(containers).collect()
}

/// Values that were met, each once, in order.
pub(super) type Values = BTreeSet<String>;
