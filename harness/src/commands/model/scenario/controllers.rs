//! Which controllers run.

use std::collections::BTreeSet;

use cluster::Controller;
use model::cluster::{ClientSetup, setup::is_descheduler_policy};
use serde_json::Value;

use super::file::{ControllerSpec, EventSpec, ModelSpec};

/// All that run, in the order in which they are named.
///
/// # Errors
/// A name that no controller has.
pub(super) fn all(spec: &ModelSpec, objects: &[Value]) -> Result<Vec<ClientSetup>, String> {
    let Some(named) = &spec.controllers else {
        let client = |controller| ClientSetup {
            at_once: spec.coarse && controller == Controller::Kubelet,
            in_order: spec.coarse && controller == Controller::Scheduler,
            ..ClientSetup::of(controller)
        };
        return Ok(needed(objects, &spec.events).into_iter().map(client).collect());
    };
    let mut all = Vec::new();
    for (at, one) in named.iter().enumerate() {
        let (name, instances, at_once) = match one {
            ControllerSpec::Name(name) => (name, 1, false),
            ControllerSpec::Full { name, instances, at_once } => (name, *instances, *at_once),
        };
        let controller = Controller::named(name).ok_or_else(|| {
            let known = Controller::FULL.iter().map(|one| one.short_name());
            let known: Vec<&str> = known.collect();
            format!("spec.controllers[{at}]: {}", workloads::unknown("controller", name, &known))
        })?;
        for instance in 1..=instances {
            let of = ClientSetup::of(controller);
            let name = match instances {
                1 => of.name.clone(),
                _ => format!("{}/{instance}", of.name).into(),
            };
            all.push(ClientSetup { name, at_once, ..of });
        }
    }
    Ok(all)
}

/// Whether volumes are claimed for what an object is, or makes.
fn has_claims(object: &Value) -> bool {
    let pod = object.pointer("/spec/template/spec/volumes").or(object.pointer("/spec/volumes"));
    let volumes = pod.and_then(Value::as_array).into_iter().flatten();
    let mut claimed = volumes
        .filter(|one| one["persistentVolumeClaim"].is_object() || one["ephemeral"].is_object());
    object["kind"] == "PersistentVolumeClaim"
        || object["spec"]["volumeClaimTemplates"].as_array().is_some_and(|all| !all.is_empty())
        || claimed.next().is_some()
}

/// The controllers that have something to do with these objects and events.
fn needed(objects: &[Value], events: &[EventSpec]) -> Vec<Controller> {
    let kinds: BTreeSet<&str> = objects.iter().filter_map(|one| one["kind"].as_str()).collect();
    let has = |kind: &str| kinds.contains(kind);
    let tainted = |one: &Value| {
        let taints = one["spec"]["taints"].as_array();
        taints.into_iter().flatten().any(|taint| taint["effect"] == "NoExecute")
    };
    let fails = events.iter().any(|event| event.node_fails.is_some());
    let deletes = events.iter().any(|event| event.delete.is_some());
    let claims = objects.iter().any(has_claims);
    let rows = [
        (Controller::Deployment, has("Deployment")),
        (Controller::ReplicaSet, has("Deployment") || has("ReplicaSet")),
        (Controller::ReplicationController, has("ReplicationController")),
        (Controller::StatefulSet, has("StatefulSet")),
        (Controller::DaemonSet, has("DaemonSet")),
        (Controller::CronJob, has("CronJob")),
        (Controller::Job, has("Job") || has("CronJob")),
        (Controller::Autoscaler, has("HorizontalPodAutoscaler")),
        (Controller::Disruption, has("PodDisruptionBudget")),
        (Controller::Quota, has("ResourceQuota")),
        (Controller::VolumeBinder, claims),
        (Controller::Provisioner, claims),
        (Controller::EphemeralVolume, claims),
        (Controller::Scheduler, true),
        (Controller::Kubelet, true),
        (Controller::NodeLifecycle, fails),
        (Controller::TaintEviction, fails || objects.iter().any(tainted)),
        (Controller::PodGc, fails),
        (Controller::GarbageCollector, deletes),
        (Controller::Descheduler, objects.iter().any(is_descheduler_policy)),
    ];
    rows.into_iter().filter(|(_, needed)| *needed).map(|(controller, _)| controller).collect()
}
