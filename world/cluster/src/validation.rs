//! What is wrong with an object of a built-in type: the rules of upstream's Go code
//! (`pkg/apis/*/validation`) that controllers and their users run into, with upstream's sentences.
//!
//! The shape (types, enumerations, missing lists, repeated keys) is judged by the schema; here stands what
//! no schema says. Rules that are missing let through what a real server refuses: who writes such an object
//! against this server notices only on a real one. Which are missing is counted by the differential tests.

mod access;
mod address;
mod autoscaler;
mod batch;
mod check;
mod claim;
mod classes;
mod core;
mod cron;
mod csi;
mod daemon_set;
mod event;
mod hooks;
mod job;
mod lease;
mod limits;
mod mutating_policies;
mod network;
mod network_policy;
mod node;
mod pod;
mod policies;
mod probe;
mod quota;
mod resources;
mod runtime_class;
mod selector;
mod service;
mod stateful_set;
mod tolerations;
mod volume;
mod workloads;

use serde_json::Value;

use crate::{facts::Resource, schema::FieldError};
pub(crate) use address::warning as address_warning;
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
        ("", "services") => service::service(check, old, new),
        ("", "namespaces") if old.is_none() => core::namespace(check, new),
        ("", "nodes") => node::node(check, old, new),
        ("", "pods") => pod::pod(check, new),
        ("", "podtemplates") => pod::template(check, &new["template"], "template"),
        ("", "resourcequotas") => quota::quota(check, new),
        ("", "persistentvolumeclaims") => claim::spec(check, &new["spec"], "spec"),
        (_, "events") => event::event(check, row, old, new, asked),
        ("", "persistentvolumes") => volume::volume(check, old, new),
        ("", "endpoints") => network::endpoints(check, old, new),
        ("discovery.k8s.io", "endpointslices") => network::slice(check, old, new),
        ("", "limitranges") => limits::range(check, new),
        ("apps", "statefulsets") => stateful_set::stateful_set(check, old, new),
        ("apps", "controllerrevisions") => workloads::revision(check, old, new),
        ("", "replicationcontrollers") | ("apps", _) => workloads::workload(check, row, new),
        ("batch", _) => batch::batch(check, row, old, new),
        ("policy", "poddisruptionbudgets") => workloads::budget(check, new),
        ("autoscaling", _) => autoscaler::autoscaler(check, old, new),
        ("rbac.authorization.k8s.io", _) => access::rbac(check, row, new),
        ("scheduling.k8s.io", "priorityclasses") => access::priority_class(check, new),
        ("networking.k8s.io", "ingresses") => network::ingress(check, new),
        ("networking.k8s.io", "networkpolicies") => network_policy::policy(check, old, new),
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
        ("admissionregistration.k8s.io", "mutatingadmissionpolicies") => {
            mutating_policies::policy(check, &new["spec"]);
        }
        ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings") => {
            mutating_policies::binding(check, &new["spec"]);
        }
        ("storage.k8s.io", "storageclasses") => classes::storage_class(check, new),
        ("networking.k8s.io", "ingressclasses") => classes::ingress_class(check, &new["spec"]),
        ("coordination.k8s.io", "leases") => lease::spec(check, &new["spec"]),
        ("storage.k8s.io", "csidrivers") => csi::driver(check, &new["spec"]),
        ("node.k8s.io", "runtimeclasses") => runtime_class::runtime_class(check, new),
        _ => {}
    }
}

/// Adds what is wrong with where a webhook is (`clientConfig`), which stands at a path.
pub(crate) fn client_config(config: &Value, at: &str, errors: &mut Vec<FieldError>) {
    hooks::client(&mut Check::new(errors), config, at);
}

/// What the addresses of a Service have against each other, before it gets those that it has not.
pub(crate) fn service_addresses(old: Option<&Value>, new: &Value) -> Vec<FieldError> {
    service::address_errors(old, &new["spec"])
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
        ("", "services", "status") => service::status(check, old, new),
        ("", "namespaces", "status") => core::namespace_status(check, new),
        ("", "nodes", _) => node::update(check, old, new),
        ("", "resourcequotas", "") => quota::update(check, old, new),
        ("", "persistentvolumes", "") => volume::update(check, old, new),
        ("", "pods", "resize") => pod::resize(check, old, new),
        ("", "pods", "") => pod::update(check, &old["spec"], &new["spec"]),
        ("", "persistentvolumeclaims", "") => claim::update(check, old, new),
        ("apps", "statefulsets", "") => stateful_set::update(check, old, new),
        ("apps", _, "") => workloads::update(check, row, old, new),
        ("batch", "jobs", "") => job::update(check, old, new),
        ("batch", "jobs", "status") => job::status_update(check, old, new),
        ("discovery.k8s.io", "endpointslices", _) => {
            check.unchanged("addressType", &old["addressType"], &new["addressType"]);
        }
        ("networking.k8s.io", "ingressclasses", _) => {
            classes::ingress_class_update(check, old, new);
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
            classes::storage_class_update(check, old, new);
        }
        _ => {}
    }
}
