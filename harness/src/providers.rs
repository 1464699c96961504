//! What serves the API during one trial: a fork of the embedded world, or a cluster behind a kubeconfig.
//!
//! A [kind cluster](kind) is such a cluster, once its kubeconfig is known. Not here yet: a kube-apiserver that is started
//! for the campaign. It would stand beside `providers/remote.rs`.

pub mod client_files;
pub mod codec;
pub mod embedded;
pub mod guard;
pub mod holder;
pub mod kind;
pub mod listener;
pub mod pods;
pub mod remote;
pub mod secret;
pub mod user_listener;
pub mod webhooks;

use std::{path::Path, sync::Arc};

use trace::{Answer, Call, Flight, ObjectKey, Recorder, Revision, Time};

use crate::{
    campaign::setup::{Ground, Setup},
    trial::TrialSpec,
};

/// A cluster while a trial runs on it.
pub enum LiveCluster {
    /// A fork of the embedded world, in this process.
    Embedded(embedded::Live),
    /// A cluster elsewhere, observed.
    Remote(Box<remote::Live>),
}

/// Says of an answered write whether it changed the store.
pub type ChangeDetector = Box<dyn Fn(&Call, &Answer) -> bool + Send>;

impl LiveCluster {
    /// Opens the cluster that the campaign asks for, at the start that the trial asks for.
    pub async fn open(
        setup: &Setup,
        spec: &TrialSpec,
        folder: &Path,
    ) -> anyhow::Result<(LiveCluster, Recorder)> {
        let (cluster, recorder) = match &setup.ground {
            Ground::Embedded(world) => {
                let (live, recorder) = embedded::Live::open(setup, world, spec, folder)?;
                (LiveCluster::Embedded(live), recorder)
            }
            Ground::Remote(remote) => {
                let (live, recorder) = remote::Live::open(remote, setup, folder).await?;
                (LiveCluster::Remote(Box::new(live)), recorder)
            }
        };
        let state = cluster.state();
        let objects = state.iter().map(|(key, object)| (key, object));
        recorder.expect_heartbeats(setup.heartbeats.clone(), objects);
        Ok((cluster, recorder))
    }

    /// What the subject's proxy forwards to.
    pub fn upstream_for_subject(&self) -> proxy::Upstream {
        match self {
            LiveCluster::Embedded(live) => live.server.service(),
            LiveCluster::Remote(live) => live.upstream_for_subject(),
        }
    }

    /// What the workload talks to.
    pub fn upstream_for_user(&self) -> workloads::Upstream {
        match self {
            LiveCluster::Embedded(live) => live.server.service(),
            LiveCluster::Remote(live) => live.upstream(),
        }
    }

    /// Whether controllers that nobody here can look at work in it, so that it may go on when all else is quiet.
    pub fn acts_by_itself(&self) -> bool {
        match self {
            LiveCluster::Embedded(_) => false,
            LiveCluster::Remote(live) => live.acts,
        }
    }

    /// The subject's pods, if it runs in pods.
    pub fn pods(&mut self) -> Option<&mut pods::Running> {
        match self {
            LiveCluster::Embedded(_) => None,
            LiveCluster::Remote(live) => live.pods.as_mut(),
        }
    }

    /// The world's clock.
    pub fn now(&self) -> Time {
        match self {
            LiveCluster::Embedded(live) => live.server.now(),
            LiveCluster::Remote(live) => live.now(),
        }
    }

    /// Moves the world's clock; a remote cluster's follows real time and can't be moved.
    pub fn advance_to(&self, time: Time) {
        if let LiveCluster::Embedded(live) = self {
            live.server.advance_to(time);
        }
    }

    /// When the next timer of the cluster is due, if one is known: of the built-in controllers, or the end of a watch.
    pub fn next_timer(&self) -> Option<Time> {
        match self {
            LiveCluster::Embedded(live) => {
                let ends = live.server.next_watch_end();
                live.server.next_timer().into_iter().chain(ends).min()
            }
            LiveCluster::Remote(_) => None,
        }
    }

    /// The newest revision known here.
    pub fn revision(&self) -> Revision {
        match self {
            LiveCluster::Embedded(live) => live.server.revision(),
            LiveCluster::Remote(live) => live.revision(),
        }
    }

    /// Every object, in key order.
    pub fn state(&self) -> Vec<(ObjectKey, Arc<serde_json::Value>)> {
        match self {
            LiveCluster::Embedded(live) => {
                let world = live.server.world();
                world.objects().map(|(key, object)| (key.clone(), object.clone())).collect()
            }
            LiveCluster::Remote(live) => live.objects(),
        }
    }

    /// Every object without bookkeeping, in key order.
    pub fn settled_state(&self) -> Vec<Arc<serde_json::Value>> {
        match self {
            LiveCluster::Embedded(live) => embedded::without_bookkeeping(&live.server.world()),
            LiveCluster::Remote(live) => {
                live.objects().into_iter().map(|(_, object)| object).collect()
            }
        }
    }

    /// Watch events that are decided but not yet on their way to the proxy.
    pub fn undelivered(&self) -> usize {
        match self {
            LiveCluster::Embedded(live) => live.server.undelivered(),
            LiveCluster::Remote(live) => live.undelivered(),
        }
    }

    /// Waits until everything committed has been seen here. At once in the embedded world.
    pub async fn caught_up(&self) {
        if let LiveCluster::Remote(live) = self {
            live.caught_up().await;
        }
    }

    /// Tells writes that changed the store from those that did not.
    pub fn change_detector(&self) -> ChangeDetector {
        match self {
            LiveCluster::Embedded(live) => live.change_detector(),
            LiveCluster::Remote(live) => live.change_detector(),
        }
    }

    /// The kubeconfig of script and command steps.
    pub fn user_kubeconfig(
        &mut self,
        setup: &Setup,
        folder: &Path,
    ) -> anyhow::Result<std::path::PathBuf> {
        match self {
            LiveCluster::Embedded(live) => live.user_kubeconfig(setup, folder),
            LiveCluster::Remote(live) => live.user_kubeconfig(setup, folder),
        }
    }

    /// What is under way between programs of the workload and the cluster.
    pub fn user_flight(&self) -> Flight {
        match self {
            LiveCluster::Embedded(live) => live.user_flight(),
            LiveCluster::Remote(live) => live.user_flight(),
        }
    }

    /// The embedded server, if it is one.
    pub fn server(&self) -> Option<cluster::Server> {
        match self {
            LiveCluster::Embedded(live) => Some(live.server.clone()),
            LiveCluster::Remote(_) => None,
        }
    }

    /// Gives the cluster back.
    pub async fn close(self) {
        if let LiveCluster::Remote(live) = self {
            live.close().await;
        }
    }
}
