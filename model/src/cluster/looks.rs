//! What controllers would do on a store: for each of their keys, the request that comes next.
//!
//! Controllers are asked about each object that they care for, whatever happened before: a controller may be asked about
//! a key at any time (resyncs, restarts), and all of them decide by what is stored. So a state needs no queues. Keys of
//! which nothing follows are no steps.
//!
//! A controller reads objects of some types only ([`reads`]), and of these not everything ([`digest`]); as long as that is
//! the same, so is what it does. `looks/tests.rs` holds it against all that is stored.

use std::{sync::Arc, time::Duration};

use controllers::{
    Body, Controller, Next, Request, Response, View,
    deployment::Strategy,
    scheduler::{self, Decision},
};
use trace::{GroupResource, ObjectKey, Time};
use xxhash_rust::xxh3::xxh3_128;

use super::{
    api::{Answer, Known},
    kinds::{KindId, KindSet},
    objects::{Objects, Stored},
    store::Store,
    words,
};

/// What a controller would do with one key.
#[derive(Debug)]
pub struct Candidate {
    /// Which.
    pub key: Arc<ObjectKey>,
    /// Its first request.
    pub first: Arc<Asked>,
}

/// A request that comes next.
#[derive(Debug)]
pub struct Asked {
    /// The request.
    pub request: Request,
    /// In words.
    pub told: Arc<str>,
    /// Tells it from others.
    pub(super) hash: u128,
}

impl Asked {
    /// A request, with what is kept of it.
    pub fn of(request: Request) -> Arc<Asked> {
        let (told, hash) =
            (words::of(&request).into(), xxh3_128(format!("{request:?}").as_bytes()));
        Arc::new(Asked { request, told, hash })
    }
}

/// What a controller would do on a store.
#[derive(Debug, Default)]
pub struct Look {
    /// With which keys something, in their order. A key comes several times where chance decides.
    pub candidates: Vec<Arc<Candidate>>,
    /// When it would do something with one of the others, if nothing else happens.
    pub due: Option<Duration>,
}

/// Which keys a controller is asked about.
pub(super) fn keys_of(controller: Controller) -> KindSet {
    match controller {
        Controller::GarbageCollector => KindSet::ALL,
        Controller::Deployment => KindSet::of(&["Deployment"]),
        Controller::ReplicaSet => KindSet::of(&["ReplicaSet", "Pod"]),
        Controller::ReplicationController => KindSet::of(&["ReplicationController"]),
        Controller::StatefulSet => KindSet::of(&["StatefulSet"]),
        Controller::DaemonSet => KindSet::of(&["DaemonSet"]),
        Controller::Job | Controller::TtlAfterFinished => KindSet::of(&["Job"]),
        Controller::CronJob => KindSet::of(&["CronJob"]),
        Controller::EndpointSlice | Controller::Endpoints => KindSet::of(&["Service"]),
        Controller::EndpointSliceMirroring => KindSet::of(&["Endpoints"]),
        Controller::Disruption => KindSet::of(&["PodDisruptionBudget"]),
        Controller::Autoscaler => KindSet::of(&["HorizontalPodAutoscaler"]),
        Controller::Quota => KindSet::of(&["ResourceQuota"]),
        Controller::Descheduler => KindSet::of(&["ConfigMap"]),
        Controller::Scheduler | Controller::TaintEviction => KindSet::of(&["Pod"]),
        Controller::NodeLifecycle => KindSet::of(&["Node"]),
        Controller::Kubelet => KindSet::of(&["Pod", "Node"]),
        Controller::Namespace => KindSet::of(&["Namespace"]),
        Controller::VolumeBinder | Controller::Provisioner => {
            KindSet::of(&["PersistentVolumeClaim", "PersistentVolume"])
        }
        Controller::EphemeralVolume => KindSet::of(&["Pod"]),
        Controller::ClaimProtection => KindSet::of(&["PersistentVolumeClaim"]),
        Controller::VolumeProtection => KindSet::of(&["PersistentVolume"]),
        // One key stands for all; others have no part in models.
        _ => KindSet::of(&[]),
    }
}

/// What a controller reads.
pub(super) fn reads(controller: Controller) -> KindSet {
    match controller {
        Controller::Deployment => KindSet::of(&["Deployment", "ReplicaSet", "Pod"]),
        Controller::ReplicaSet => KindSet::of(&["ReplicaSet", "Pod"]),
        Controller::StatefulSet => {
            KindSet::of(&["StatefulSet", "Pod", "ControllerRevision", "PersistentVolumeClaim"])
        }
        Controller::DaemonSet => KindSet::of(&["DaemonSet", "Pod", "Node", "ControllerRevision"]),
        Controller::Job => KindSet::of(&["Job", "Pod"]),
        Controller::TtlAfterFinished => KindSet::of(&["Job"]),
        Controller::CronJob => KindSet::of(&["CronJob", "Job"]),
        Controller::Autoscaler => KindSet::of(&[
            "HorizontalPodAutoscaler",
            "Deployment",
            "ReplicaSet",
            "StatefulSet",
            "Pod",
            "PodMetrics",
            "memory",
        ]),
        Controller::Scheduler => KindSet::of(&[
            "Pod",
            "Node",
            "PersistentVolumeClaim",
            "PersistentVolume",
            "StorageClass",
            "PodDisruptionBudget",
            "Service",
            "ReplicaSet",
            "StatefulSet",
            "ReplicationController",
            "Namespace",
        ]),
        Controller::Kubelet => KindSet::of(&[
            "Pod",
            "Node",
            "ConfigMap",
            "Secret",
            "PersistentVolumeClaim",
            "PersistentVolume",
            "ServiceAccount",
        ]),
        Controller::Descheduler => KindSet::of(&[
            "ConfigMap",
            "Pod",
            "Node",
            "Namespace",
            "PersistentVolumeClaim",
            "PodDisruptionBudget",
            "PriorityClass",
        ]),
        Controller::PodGc | Controller::NodeLifecycle | Controller::TaintEviction => {
            KindSet::of(&["Pod", "Node", "memory"])
        }
        _ => KindSet::ALL,
    }
}

/// What stands for all that a controller reads of a store.
pub(super) fn digest(objects: &Objects, controller: Controller, store: &Store) -> u128 {
    let kinds = match controller {
        Controller::Scheduler => return of_scheduler(objects, store),
        Controller::Deployment if !recreates(objects, store) => WITHOUT_PODS,
        _ => reads(controller),
    };
    store.sum_of(kinds).wrapping_add(u128::from(controller as u8))
}

/// What a Deployment reads that rolls out.
const WITHOUT_PODS: KindSet = KindSet::of(&["Deployment", "ReplicaSet"]);

/// Whether a Deployment waits for its old pods to be gone (`rolloutRecreate`).
fn recreates(objects: &Objects, store: &Store) -> bool {
    let all = store.of_kind(objects, KindId::DEPLOYMENT);
    let mut bodies = all.filter_map(|(_, one)| one.seen().map(|seen| &seen.body));
    bodies.any(|body| matches!(body, Body::Deployment(of) if of.strategy == Strategy::Recreate))
}

/// A scheduler reads little of pods that are bound, unless some matter more than others.
fn of_scheduler(objects: &Objects, store: &Store) -> u128 {
    let kinds = reads(Controller::Scheduler);
    let (mut sum, mut least, mut most) = (0_u128, i64::MAX, i64::MIN);
    for (_, one) in store.of_kind(objects, KindId::POD) {
        sum = sum.wrapping_add(one.placed_hash);
        if let Some(Body::Pod(pod)) = one.seen().map(|seen| &seen.body) {
            least = least.min(pod.placing.priority);
            most = most.max(pod.placing.priority);
        }
    }
    match least < most {
        true => store.sum_of(kinds),
        false => store.sum_of(kinds.without(KindId::POD)).wrapping_add(sum).rotate_left(1),
    }
}

/// What pods name besides their nodes.
const NAMED_BY_PODS: KindSet = KindSet::of(&[
    "ConfigMap",
    "Secret",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "ServiceAccount",
]);

/// The key of a controller that looks at everything at once.
fn whole(controller: Controller) -> Option<ObjectKey> {
    let everything = ObjectKey::new(KindId::POD.resource(), "", "");
    (controller == Controller::PodGc).then_some(everything)
}

/// What a controller looks at.
pub(super) struct Looking<'a> {
    pub objects: &'a Objects,
    /// The type of nodes.
    pub nodes: GroupResource,
    pub controller: Controller,
    pub now: Time,
    /// Whether each way in which chance may decide is a candidate.
    pub all_ties: bool,
}

impl Looking<'_> {
    /// What stands for all that decides about a key, given what stands for all that the controller reads.
    fn deciding(&self, store: &Store, own: Option<&Stored>, all: u128) -> u128 {
        let seed = match (self.controller, own) {
            (Controller::Kubelet, Some(own)) => self.of_kubelet(store, own),
            _ => all,
        };
        let mut bytes = [0_u8; 25];
        bytes[..16].copy_from_slice(&seed.to_le_bytes());
        bytes[16..24].copy_from_slice(&own.map_or(0, |own| own.key_hash).to_le_bytes());
        bytes[24] = self.controller as u8;
        xxh3_128(&bytes)
    }

    /// A kubelet reads the pod, its node, and what pods name.
    fn of_kubelet(&self, store: &Store, own: &Stored) -> u128 {
        let node = own.seen().and_then(|seen| match &seen.body {
            Body::Pod(pod) => {
                store.get(self.objects, &ObjectKey::new(self.nodes.clone(), "", &pod.node))
            }
            _ => None,
        });
        let all = store.sum_of(NAMED_BY_PODS).wrapping_add(own.hash).rotate_left(1);
        all.wrapping_add(node.map_or(0, |node| node.hash))
    }

    /// What it would do, by results for single keys that are known already. `view` is asked for at most once.
    pub(super) fn look(
        &self,
        store: &Store,
        view: impl Fn() -> View,
        first: impl Fn(u128, &dyn Fn() -> Arc<First>) -> Arc<First>,
    ) -> Look {
        let all = digest(self.objects, self.controller, store);
        let kinds = keys_of(self.controller);
        let own = store.ids().iter().map(|id| self.objects.get(*id));
        let own = own.filter(|one| kinds.has(one.kind) && one.kind != KindId::MEMORY);
        let whole = whole(self.controller);
        let keys = own.map(|own| (&own.key, Some(own))).chain(whole.iter().map(|key| (key, None)));
        let seen = std::cell::OnceCell::new();
        let mut look = Look::default();
        for (key, own) in keys {
            let known = first(self.deciding(store, own, all), &|| {
                Arc::new(self.first(seen.get_or_init(&view), key))
            });
            match &*known {
                First::Nothing => {}
                First::Later(after) => {
                    look.due = Some(look.due.map_or(*after, |due| due.min(*after)));
                }
                First::Candidates(found) => look.candidates.extend(found.iter().cloned()),
            }
        }
        look
    }

    fn first(&self, view: &View, key: &ObjectKey) -> First {
        match self.controller.next(view, key, self.now, &[]) {
            Next::Request(request) => candidates(key, self.ties(view, key, *request)),
            Next::Requests(mut requests) => match requests.is_empty() {
                true => First::Nothing,
                false => candidates(key, vec![requests.swap_remove(0)]),
            },
            Next::Done { requeue_after: Some(after) } if !after.is_zero() => First::Later(after),
            Next::Done { .. } | Next::Failed(_) => First::Nothing,
        }
    }

    /// All nodes among which upstream's scheduler draws.
    fn ties(&self, view: &View, key: &ObjectKey, request: Request) -> Vec<Request> {
        let Request::Bind { uid, .. } = &request else { return vec![request] };
        let nodes = match scheduler::decide(view, key, self.now) {
            Some(Decision::Bind(nodes)) if self.all_ties => nodes,
            _ => return vec![request],
        };
        let bind = |node| Request::Bind { key: key.clone(), uid: uid.clone(), node };
        nodes.into_iter().map(bind).collect()
    }
}

fn candidates(key: &ObjectKey, requests: Vec<Request>) -> First {
    let key = Arc::new(key.clone());
    let candidate = |request| Arc::new(Candidate { key: key.clone(), first: Asked::of(request) });
    First::Candidates(requests.into_iter().map(candidate).collect())
}

/// What a controller would do first with a key.
#[derive(Debug)]
pub(super) enum First {
    /// Nothing before something happens.
    Nothing,
    /// Nothing before so much time has passed.
    Later(Duration),
    /// One of these.
    Candidates(Vec<Arc<Candidate>>),
}

/// What a controller does after some answers; none if it is done with the key.
pub(super) fn after(
    controller: Controller,
    objects: &Objects,
    view: &View,
    (key, now): (&ObjectKey, Time),
    answers: &[Answer],
) -> Option<Arc<Asked>> {
    let responses: Vec<Response> = answers.iter().map(|answer| response(objects, answer)).collect();
    match controller.next(view, key, now, &responses) {
        Next::Request(request) => Some(Asked::of(*request)),
        Next::Requests(requests) => requests.into_iter().next().map(Asked::of),
        Next::Done { .. } | Next::Failed(_) => None,
    }
}

fn response(objects: &Objects, answer: &Answer) -> Response {
    let seen = |known: &Known| objects.get(known.id).seen();
    match answer {
        Answer::Written(known) => Response::Written(known.as_ref().and_then(seen).cloned()),
        Answer::Listed(all) => {
            let found = all.iter().filter_map(|one| Some(seen(one)?.meta.clone()));
            Response::Listed(found.collect())
        }
        Answer::Scale(known) => Response::Scale(super::api::scale(objects.get(known.id))),
        Answer::Refused(code, reason) => {
            Response::Refused { code: *code, reason: (*reason).into(), message: (*reason).into() }
        }
    }
}

#[cfg(test)]
mod tests;
