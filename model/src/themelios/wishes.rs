//! What Themelios' README wishes to check, as formulas.
//!
//! Liveness is judged with each controller weakly fair ([`fairness`]), once the budgets of the environment are spent or
//! stay unspent for ever: nothing makes a user or a crash come. What concerns the order of a StatefulSet's pods is about
//! its controller's steps that scale: a rolling update deletes lower ordinals while higher ones run.

use controllers::{Controller, Request};
use serde_json::Value;

use super::properties::{self, Facts};
use crate::{
    Fairness, Property,
    cluster::{Action, Cluster, State},
};

/// Each controller and kubelet goes on if it can; instances of one controller are one class.
pub fn fairness(cluster: &Cluster) -> Vec<Fairness<'_, Cluster>> {
    let clients = &cluster.setup.clients;
    let of = |at: usize| (clients[at].controller, clients[at].node.clone());
    let first = |at: &usize| (0..*at).all(|other| of(other) != of(*at));
    let classes = (0..clients.len()).filter(first);
    let class = |at: usize| {
        let is = move |action: &Action| action.client().is_some_and(|client| of(client) == of(at));
        Fairness::weak(clients[at].name.to_string(), is)
    };
    let time = Fairness::weak("time", |action: &Action| matches!(action, Action::Tick { .. }));
    classes.map(class).chain([time]).collect()
}

/// What holds of every fair run in the end.
pub fn liveness(cluster: &Cluster) -> Vec<Property<'_, Cluster>> {
    vec![
        Property::eventually_always(
            "perturbation over: steady state, no fighting controllers",
            |state| cluster.is_stable(state),
        ),
        scheduled(cluster, "created pod is eventually scheduled"),
        of_pods(cluster, "scheduled pod eventually runs", |pod| {
            let is_bound = !pod["spec"]["nodeName"].is_null();
            !is_bound || !properties::is_active(pod) || pod["status"]["phase"] == "Running"
        }),
        Property::eventually_always("ReplicaSets converge", |state: &State| {
            let facts = Facts { cluster, store: state.store() };
            let wanted = |set: &Value| set["spec"]["replicas"].as_u64().unwrap_or(1) as usize;
            facts.of_kind("ReplicaSet").all(|set| facts.active(set) == wanted(set))
        }),
    ]
}

/// Again and again every pod is bound that is not being deleted.
pub(super) fn scheduled<'c>(cluster: &'c Cluster, name: &str) -> Property<'c, Cluster> {
    of_pods(cluster, name, |pod| !pod["spec"]["nodeName"].is_null() || !properties::is_active(pod))
}

fn of_pods<'c>(
    cluster: &'c Cluster,
    name: &str,
    holds: fn(&Value) -> bool,
) -> Property<'c, Cluster> {
    Property::always_eventually(name, move |state: &State| {
        Facts { cluster, store: state.store() }.of_kind("Pod").all(holds)
    })
}

/// In which order a StatefulSet's pods come and go when it is scaled.
pub fn order(cluster: &Cluster) -> Vec<Property<'_, Cluster>> {
    vec![
        scaling(cluster, "StatefulSet pods created in order 0..N-1", |step| {
            step.is_deletion || (step.first..step.ordinal).all(|lower| step.has(lower, |_| true))
        }),
        scaling(cluster, "terminated in order N-1..0", |step| {
            let is_left = |pod: &Value| pod["metadata"]["deletionTimestamp"].is_null();
            !step.is_deletion || !step.above(is_left)
        }),
        scaling(cluster, "before scaling pod i all predecessors Running and Ready", |step| {
            (step.first..step.ordinal).all(|lower| step.has(lower, properties::is_ready))
        }),
        scaling(cluster, "before pod i terminates, successors fully shut down", |step| {
            !step.is_deletion || !step.above(|_| true)
        }),
    ]
}

/// A step of a StatefulSet's controller that makes or deletes a pod.
struct Scaling<'s> {
    pods: Vec<&'s Value>,
    first: i64,
    ordinal: i64,
    is_deletion: bool,
}

impl Scaling<'_> {
    fn has(&self, ordinal: i64, is: impl Fn(&Value) -> bool) -> bool {
        self.pods.iter().any(|pod| properties::ordinal(pod) == Some(ordinal) && is(pod))
    }

    fn above(&self, is: impl Fn(&Value) -> bool) -> bool {
        let above =
            |pod: &&&Value| properties::ordinal(pod).is_some_and(|other| other > self.ordinal);
        self.pods.iter().filter(above).any(|pod| is(pod))
    }
}

fn scaling<'c>(
    cluster: &'c Cluster,
    name: &str,
    holds: impl Fn(&Scaling<'_>) -> bool + Send + Sync + 'c,
) -> Property<'c, Cluster> {
    Property::steps(name, move |state: &State, action: &Action, next: &State| {
        let Action::Acts(act) = action else { return true };
        let of = &cluster.setup.clients[usize::from(act.client)];
        // Whatever was refused changed nothing.
        if of.controller != Controller::StatefulSet || state.store() == next.store() {
            return true;
        }
        let facts = Facts { cluster, store: state.store() };
        let Some(set) = facts
            .of_kind("StatefulSet")
            .find(|set| set["metadata"]["name"] == *act.candidate.key.name)
        else {
            return true;
        };
        let (name, is_deletion) = match &act.candidate.first.request {
            Request::Create { object, .. } if object["kind"] == "Pod" => {
                (object["metadata"]["name"].as_str().unwrap_or(""), false)
            }
            Request::Delete { key, .. } => (&*key.name, true),
            _ => return true,
        };
        let ordinal = name.rsplit_once('-').and_then(|(_, ordinal)| ordinal.parse().ok());
        let Some(ordinal) = ordinal else { return true };
        let first = set["spec"]["ordinals"]["start"].as_i64().unwrap_or(0);
        let last = first + set["spec"]["replicas"].as_i64().unwrap_or(1);
        // A pod of the set that is deleted comes again: that scales nothing.
        if is_deletion && ordinal < last {
            return true;
        }
        holds(&Scaling { pods: facts.owned("Pod", set).collect(), first, ordinal, is_deletion })
    })
}
