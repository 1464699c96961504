//! What is wrong with an object of a built-in type: the rules of upstream's Go code
//! (`pkg/apis/*/validation`) that controllers and their users run into, with upstream's sentences.
//!
//! The shape (types, enumerations, missing lists, repeated keys) is judged by the schema; here stands what
//! no schema says. Rules that are missing let through what a real server refuses: who writes such an object
//! against this server notices only on a real one. Which are missing is counted by the differential tests.

mod access;
mod autoscaler;
mod batch;
mod check;
mod core;
mod csi;
mod event;
mod hooks;
mod job;
mod limits;
mod network;
mod pod;
mod policies;
mod selector;
mod service;
mod volume;
mod workloads;

use serde_json::Value;

use crate::{facts::Resource, schema::FieldError};
use check::Check;

/// By which rules an object is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Those of the stable version.
    Now,
    /// Those of an old version, which asked for less.
    Then,
}

/// Adds the errors of an object that is about to be stored; `old` is what it replaces.
pub(crate) fn object(
    row: &Resource,
    old: Option<&Value>,
    new: &Value,
    asked: Asked,
    errors: &mut Vec<FieldError>,
) {
    let check = &mut Check::new(errors);
    pod::deletion_cost(check, row, old, new);
    match (row.group.as_str(), row.resource.as_str()) {
        ("", "configmaps") => core::config_map(check, new),
        ("", "secrets") => core::secret(check, new),
        ("", "services") => service::service(check, new),
        ("", "pods") => pod::spec(check, &new["spec"], "spec"),
        ("", "podtemplates") => pod::spec(check, &new["template"]["spec"], "template.spec"),
        ("", "persistentvolumeclaims") => core::claim(check, &new["spec"], "spec"),
        (_, "events") => event::event(check, row, old, new, asked),
        ("", "persistentvolumes") => volume::volume(check, new),
        ("", "endpoints") => network::endpoints(check, old, new),
        ("discovery.k8s.io", "endpointslices") => network::slice(check, old, new),
        ("", "limitranges") => limits::range(check, new),
        ("", "replicationcontrollers") | ("apps", _) => workloads::workload(check, row, new),
        ("batch", _) => batch::batch(check, row, old, new),
        ("policy", "poddisruptionbudgets") => workloads::budget(check, new),
        ("autoscaling", _) => autoscaler::autoscaler(check, old, new),
        ("rbac.authorization.k8s.io", _) => access::rbac(check, row, new),
        ("scheduling.k8s.io", "priorityclasses") => access::priority_class(check, new),
        ("networking.k8s.io", "ingresses") => network::ingress(check, new),
        (
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations" | "validatingwebhookconfigurations",
        ) => hooks::configuration(check, old, new, asked),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => {
            policies::policy(check, &new["spec"]);
        }
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings") => {
            policies::binding(check, &new["spec"]);
        }
        ("storage.k8s.io", "storageclasses") if check::text(new, "provisioner").is_empty() => {
            check.required("provisioner", "");
        }
        ("networking.k8s.io", "ingressclasses")
            if check::text(&new["spec"], "controller").is_empty() =>
        {
            check.required("spec.controller", "");
        }
        ("storage.k8s.io", "csidrivers") => csi::driver(check, &new["spec"]),
        ("node.k8s.io", "runtimeclasses") if check::text(new, "handler").is_empty() => {
            check.required("handler", "");
        }
        _ => {}
    }
}

/// Adds the errors of a change: what may not change, or not so.
pub(crate) fn update(
    row: &Resource,
    subresource: &str,
    old: &Value,
    new: &Value,
    errors: &mut Vec<FieldError>,
) {
    let check = &mut Check::new(errors);
    match (row.group.as_str(), row.resource.as_str(), subresource) {
        ("", "configmaps", _) => core::immutable_contents(check, old, new, &["data", "binaryData"]),
        ("", "secrets", _) => {
            check.unchanged("type", &old["type"], &new["type"]);
            core::immutable_contents(check, old, new, &["data"]);
        }
        ("", "services", "") => service::update(check, old, new),
        ("", "nodes", _) => core::node_update(check, old, new),
        ("", "persistentvolumes", "") => volume::update(check, old, new),
        ("", "pods", "resize") => pod::resize(check, old, new),
        ("", "pods", "") => pod::update(check, &old["spec"], &new["spec"]),
        ("", "persistentvolumeclaims", "") => core::claim_update(check, old, new),
        ("apps", _, "") => workloads::update(check, row, old, new),
        ("batch", "jobs", "") => job::update(check, old, new),
        ("batch", "jobs", "status") => job::status_update(check, old, new),
        ("discovery.k8s.io", "endpointslices", _) => {
            check.unchanged("addressType", &old["addressType"], &new["addressType"]);
        }
        ("networking.k8s.io", "ingressclasses", _) => {
            let controller = |class: &Value| class["spec"]["controller"].clone();
            check.unchanged("spec.controller", &controller(old), &controller(new));
        }
        ("node.k8s.io", "runtimeclasses", _) => {
            check.unchanged("handler", &old["handler"], &new["handler"]);
        }
        ("rbac.authorization.k8s.io", _, _) => access::role_ref_update(check, old, new),
        ("scheduling.k8s.io", "priorityclasses", _) if old["value"] != new["value"] => {
            check.forbidden("value", "may not be changed in an update.");
        }
        ("storage.k8s.io", "csidrivers", _) => csi::update(check, &old["spec"], &new["spec"]),
        ("storage.k8s.io", "storageclasses", _) => {
            for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
                // Without a provisioner it is an empty text.
                let of = |class: &Value| match field {
                    "provisioner" => Value::from(check::text(class, field)),
                    _ => class[field].clone(),
                };
                check.unchanged(field, &of(old), &of(new));
            }
        }
        _ => {}
    }
}
