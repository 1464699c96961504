//! Which types each controller reads: what is listed and watched for it, and what it must be allowed to list.

use std::collections::BTreeSet;

use controllers::Controller;
use trace::GroupResource;

/// What a controller reads.
#[derive(Debug, PartialEq, Eq)]
pub enum Reads {
    /// Every type that can be watched: it looks at objects by their metadata, or counts them.
    All,
    /// These.
    These(&'static [&'static str]),
}

use Reads::{All, These};

/// What `controller` reads.
pub fn reads(controller: Controller) -> Reads {
    match controller {
        Controller::GarbageCollector | Controller::Namespace | Controller::Quota => All,
        Controller::Deployment => These(&["deployments.apps", "replicasets.apps", "pods"]),
        Controller::ReplicaSet => These(&["replicasets.apps", "pods"]),
        Controller::ReplicationController => These(&["replicationcontrollers", "pods"]),
        Controller::StatefulSet => These(&[
            "statefulsets.apps",
            "pods",
            "controllerrevisions.apps",
            "persistentvolumeclaims",
        ]),
        Controller::DaemonSet => {
            These(&["daemonsets.apps", "pods", "nodes", "controllerrevisions.apps"])
        }
        Controller::Job => These(&["jobs.batch", "pods"]),
        Controller::CronJob => These(&["cronjobs.batch", "jobs.batch"]),
        Controller::TtlAfterFinished => These(&["jobs.batch"]),
        Controller::EndpointSlice => {
            These(&["services", "pods", "nodes", "endpointslices.discovery.k8s.io"])
        }
        Controller::Endpoints => These(&["services", "pods", "nodes", "endpoints"]),
        Controller::EndpointSliceMirroring => {
            These(&["endpoints", "services", "endpointslices.discovery.k8s.io"])
        }
        Controller::Disruption => These(&[
            "poddisruptionbudgets.policy",
            "pods",
            "deployments.apps",
            "replicasets.apps",
            "statefulsets.apps",
            "replicationcontrollers",
            "customresourcedefinitions.apiextensions.k8s.io",
        ]),
        Controller::ServiceAccount => These(&["namespaces", "serviceaccounts"]),
        Controller::AccountToken => These(&["serviceaccounts", "secrets"]),
        Controller::TokenCleaner => These(&["secrets", "serviceaccounts", "pods", "configmaps"]),
        Controller::RootCa => These(&["namespaces", "configmaps"]),
        Controller::ClusterRoleAggregation => These(&["clusterroles.rbac.authorization.k8s.io"]),
        Controller::RequestApprover | Controller::RequestSigner | Controller::RequestCleaner => {
            These(&["certificatesigningrequests.certificates.k8s.io"])
        }
        Controller::PodGc | Controller::TaintEviction => These(&["pods", "nodes"]),
        Controller::NodeLifecycle => These(&["pods", "nodes", "leases.coordination.k8s.io"]),
        Controller::VolumeBinder | Controller::Provisioner | Controller::Expand => These(&[
            "persistentvolumeclaims",
            "persistentvolumes",
            "storageclasses.storage.k8s.io",
            "pods",
            "nodes",
        ]),
        Controller::EphemeralVolume | Controller::ClaimProtection => {
            These(&["pods", "persistentvolumeclaims"])
        }
        Controller::VolumeProtection => These(&["persistentvolumes", "persistentvolumeclaims"]),
        Controller::Autoscaler => These(&[
            "horizontalpodautoscalers.autoscaling",
            "pods",
            "deployments.apps",
            "replicasets.apps",
            "statefulsets.apps",
            "replicationcontrollers",
            "pods.metrics.k8s.io",
            "customresourcedefinitions.apiextensions.k8s.io",
        ]),
        Controller::Scheduler => These(&[
            "pods",
            "nodes",
            "namespaces",
            "services",
            "replicasets.apps",
            "statefulsets.apps",
            "replicationcontrollers",
            "persistentvolumeclaims",
            "persistentvolumes",
            "storageclasses.storage.k8s.io",
            "poddisruptionbudgets.policy",
        ]),
        Controller::Kubelet => These(&[
            "pods",
            "nodes",
            "configmaps",
            "secrets",
            "serviceaccounts",
            "persistentvolumeclaims",
            "persistentvolumes",
        ]),
        Controller::NodeLease => These(&["nodes", "leases.coordination.k8s.io"]),
        Controller::Descheduler => These(&[
            "pods",
            "nodes",
            "namespaces",
            "configmaps",
            "persistentvolumeclaims",
            "poddisruptionbudgets.policy",
            "priorityclasses.scheduling.k8s.io",
        ]),
    }
}

impl Reads {
    /// Whether objects of a type are read.
    pub fn has(&self, resource: &GroupResource) -> bool {
        match self {
            // The API has Events twice.
            All => *resource.group != *"events.k8s.io",
            These(names) => names.iter().any(|name| resource.to_string() == **name),
        }
    }
}

/// Those of `controllers` that read a type, for messages.
pub fn readers(controllers: &BTreeSet<Controller>, resource: &GroupResource) -> String {
    let of = controllers.iter().filter(|of| reads(**of).has(resource));
    of.map(|of| of.short_name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_by_name_and_group() {
        let check = |controller, resource: &str, expect| {
            let resource = resource.parse().expect("a type");
            assert_eq!(reads(controller).has(&resource), expect, "{controller:?} {resource}");
        };
        check(Controller::Job, "pods", true);
        check(Controller::Job, "pods.metrics.k8s.io", false);
        check(Controller::GarbageCollector, "bars.example.com", true);
        check(Controller::Namespace, "events", true);
        check(Controller::Namespace, "events.events.k8s.io", false);
    }

    #[test]
    fn names_are_types() {
        for controller in Controller::FULL.iter().copied().chain(Controller::BY_NAME) {
            if let These(names) = reads(controller) {
                for name in names {
                    let parsed: GroupResource = name.parse().expect("a type");
                    assert_eq!(parsed.to_string(), *name);
                }
            }
        }
    }
}
