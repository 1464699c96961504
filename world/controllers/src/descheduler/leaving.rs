//! What of a pod only the descheduler reads.

use serde_json::Value;

use crate::{object::Text, quota::qos_class, read};

/// What of a pod only the descheduler reads.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Leaving {
    /// Images of its containers, sorted; as they are written.
    pub images: Vec<Text>,
    /// Whether it has a volume of kind `hostPath` or `emptyDir`.
    pub has_local_storage: bool,
    /// The claims that its volumes name; not those that are made for it.
    pub claims: Vec<Text>,
    /// Whether it has `spec.resourceClaims`.
    pub has_resource_claims: bool,
    /// Whether it says anything of nodes that it is to be on: `spec.nodeSelector`, `spec.affinity.nodeAffinity`.
    pub chooses_nodes: bool,
    /// `status.reason`.
    pub reason: Text,
    /// `status.qosClass`.
    pub qos: Qos,
    /// Containers that wait or have ended.
    pub states: Vec<ContainerState>,
}

/// A class of quality of service, the first that goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Qos {
    /// Nothing is requested or limited.
    #[default]
    BestEffort,
    /// Something is.
    Burstable,
    /// All that is requested is limited to as much.
    Guaranteed,
}

/// A list of containers of a pod's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerKind {
    /// `containerStatuses`.
    Usual,
    /// `initContainerStatuses`.
    Init,
    /// `ephemeralContainerStatuses`.
    Ephemeral,
}

/// The state of a container that waits or has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerState {
    /// Among which it is.
    pub kind: ContainerKind,
    /// Why.
    pub reason: Text,
    /// With which code it has ended; none where it waits.
    pub exit_code: Option<i64>,
}

impl Leaving {
    pub(crate) fn read(object: &Value) -> Leaving {
        let (spec, status) = (&object["spec"], &object["status"]);
        let images = read::list(spec, "containers").map(|container| read::text(container, "image"));
        let mut images: Vec<Text> = images.collect();
        images.sort();
        let volumes = || read::list(spec, "volumes");
        let is_set = |of: &Value, field: &str| of.get(field).is_some_and(|value| !value.is_null());
        let claims = volumes().filter_map(|one| one["persistentVolumeClaim"]["claimName"].as_str());
        Leaving {
            images,
            has_local_storage: volumes()
                .any(|volume| is_set(volume, "hostPath") || is_set(volume, "emptyDir")),
            claims: claims.map(Text::from).collect(),
            has_resource_claims: read::list(spec, "resourceClaims").next().is_some(),
            chooses_nodes: !read::labels(spec, "nodeSelector").is_empty()
                || is_set(&spec["affinity"], "nodeAffinity"),
            reason: read::text(status, "reason"),
            qos: match status["qosClass"].as_str().unwrap_or_else(|| qos_class(object)) {
                "Guaranteed" => Qos::Guaranteed,
                "Burstable" => Qos::Burstable,
                _ => Qos::BestEffort,
            },
            states: [ContainerKind::Usual, ContainerKind::Init, ContainerKind::Ephemeral]
                .into_iter()
                .flat_map(|kind| states(status, kind))
                .collect(),
        }
    }
}

fn states(status: &Value, kind: ContainerKind) -> impl Iterator<Item = ContainerState> {
    let list = match kind {
        ContainerKind::Usual => "containerStatuses",
        ContainerKind::Init => "initContainerStatuses",
        ContainerKind::Ephemeral => "ephemeralContainerStatuses",
    };
    read::list(status, list).filter_map(move |container| {
        let state = &container["state"];
        let ended = state.get("terminated").filter(|ended| ended.is_object());
        let found = ended.or_else(|| state.get("waiting").filter(|wait| wait.is_object()))?;
        let exit_code = ended.map(|ended| read::number(ended, "exitCode"));
        Some(ContainerState { kind, reason: read::text(found, "reason"), exit_code })
    })
}
