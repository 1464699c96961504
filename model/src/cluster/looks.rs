//! What controllers would do on a store: for each of their keys, the request that comes next.
//!
//! Controllers are asked about each object that they care for, whatever happened before: a controller may be asked about
//! a key at any time (resyncs, restarts), and all of them decide by what is stored. So a state needs no queues. Keys of
//! which nothing follows are no steps.
//!
//! A controller reads objects of some types only, and a kubelet only its pod and node; as long as these are the same, so
//! is what it does. Which they are stands in [`reads`], and tests hold it against all that is stored.

use std::{sync::Arc, time::Duration};

use controllers::{
    Body, Controller, Next, Request, Response, View,
    scheduler::{self, Decision},
};
use trace::{ObjectKey, Time};
use xxhash_rust::xxh3::xxh3_128;

use super::{
    api::{Answer, Known},
    kinds::{KindId, KindSet},
    objects::{Content, Objects},
    store::Store,
    words,
};

/// What a controller would do with one key.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Which.
    pub key: Arc<ObjectKey>,
    /// Its first request.
    pub first: Arc<Request>,
    /// That request, in words.
    pub told: Arc<str>,
}

/// What a controller would do on a store.
#[derive(Debug, Default)]
pub struct Look {
    /// With which keys something, in their order. A key comes several times where chance decides.
    pub candidates: Vec<Candidate>,
    /// When it would do something with one of the others, if nothing else happens.
    pub due: Option<Duration>,
}

/// Which keys a controller is asked about.
pub(super) fn keys_of(controller: Controller) -> KindSet {
    match controller {
        Controller::GarbageCollector => KindSet::ALL,
        Controller::Deployment => KindSet::of(&["Deployment"]),
        Controller::ReplicaSet => KindSet::of(&["ReplicaSet"]),
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

/// The key of a controller that looks at everything at once.
fn whole(controller: Controller) -> Option<ObjectKey> {
    let everything = ObjectKey::new(KindId::POD.resource(), "", "");
    (controller == Controller::PodGc).then_some(everything)
}

/// What a controller looks at.
pub(super) struct Looking<'a> {
    pub objects: &'a Objects,
    pub controller: Controller,
    pub now: Time,
    /// Whether each way in which chance may decide is a candidate.
    pub all_ties: bool,
}

impl Looking<'_> {
    /// What stands for all that decides about a key, given what stands for all that the controller reads.
    fn deciding(&self, store: &Store, key: &ObjectKey, all: u128) -> u128 {
        let seed = match self.controller {
            Controller::Kubelet => self.of_kubelet(store, key),
            _ => all,
        };
        let mut bytes = [0_u8; 33];
        bytes[..16].copy_from_slice(&seed.to_le_bytes());
        bytes[16..32].copy_from_slice(&xxh3_128(key.to_string().as_bytes()).to_le_bytes());
        bytes[32] = self.controller as u8;
        xxh3_128(&bytes)
    }

    /// What stands for all that decides what the controller does on a store.
    pub(super) fn all(&self, store: &Store) -> u128 {
        let sum = store.sum_of(reads(self.controller));
        sum.wrapping_add(xxh3_128(&[self.controller as u8]))
    }

    /// A kubelet reads the pod, its node, and what pods name.
    fn of_kubelet(&self, store: &Store, key: &ObjectKey) -> u128 {
        let named = KindSet::of(&[
            "ConfigMap",
            "Secret",
            "PersistentVolumeClaim",
            "PersistentVolume",
            "ServiceAccount",
        ]);
        let own = store.get(self.objects, key);
        let node = own.and_then(|own| match &own.content {
            Content::Object { seen, .. } => match &seen.body {
                Body::Pod(pod) => {
                    store.get(self.objects, &ObjectKey::new(KindId::NODE.resource(), "", &pod.node))
                }
                _ => None,
            },
            Content::Memory(_) => None,
        });
        [own, node]
            .into_iter()
            .flatten()
            .fold(store.sum_of(named), |all, one| all.rotate_left(1).wrapping_add(one.hash))
    }

    /// What it would do, by results for single keys that are known already. `view` is asked for at most once.
    pub(super) fn look(
        &self,
        store: &Store,
        view: impl Fn() -> View,
        first: impl Fn(u128, &dyn Fn() -> Arc<First>) -> Arc<First>,
    ) -> Look {
        let all = store.sum_of(reads(self.controller));
        let kinds = keys_of(self.controller);
        let ids = store.ids().iter().map(|id| self.objects.get(*id));
        let keys = ids.filter(|one| kinds.has(one.kind) && one.kind != KindId::MEMORY);
        let keys = keys.map(|one| one.key.clone()).chain(whole(self.controller));
        let seen = std::cell::OnceCell::new();
        let mut look = Look::default();
        for key in keys {
            let known = first(self.deciding(store, &key, all), &|| {
                Arc::new(self.first(seen.get_or_init(&view), &key))
            });
            match &*known {
                First::Nothing => {}
                First::Later(after) => {
                    look.due = Some(look.due.map_or(*after, |due| due.min(*after)));
                }
                First::Requests(requests) => {
                    let key = Arc::new(key);
                    let candidate = |(first, told): &(Arc<Request>, Arc<str>)| Candidate {
                        key: key.clone(),
                        first: first.clone(),
                        told: told.clone(),
                    };
                    look.candidates.extend(requests.iter().map(candidate));
                }
            }
        }
        look
    }

    fn first(&self, view: &View, key: &ObjectKey) -> First {
        match self.controller.next(view, key, self.now, &[]) {
            Next::Request(request) => told(self.ties(view, key, *request)),
            Next::Requests(mut requests) => match requests.is_empty() {
                true => First::Nothing,
                false => told(vec![requests.swap_remove(0)]),
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

fn told(requests: Vec<Request>) -> First {
    let told = |request: Request| {
        let told = words::of(&request).into();
        (Arc::new(request), told)
    };
    First::Requests(requests.into_iter().map(told).collect())
}

/// What a controller would do first with a key.
#[derive(Debug)]
pub(super) enum First {
    /// Nothing before something happens.
    Nothing,
    /// Nothing before so much time has passed.
    Later(Duration),
    /// One of these.
    Requests(Vec<(Arc<Request>, Arc<str>)>),
}

/// What a controller does after some answers; none if it is done with the key.
pub(super) fn after(
    controller: Controller,
    objects: &Objects,
    view: &View,
    (key, now): (&ObjectKey, Time),
    answers: &[Answer],
) -> Option<Request> {
    let responses: Vec<Response> = answers.iter().map(|answer| response(objects, answer)).collect();
    match controller.next(view, key, now, &responses) {
        Next::Request(request) => Some(*request),
        Next::Requests(requests) => requests.into_iter().next(),
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
