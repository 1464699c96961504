//! What serves the API: forks of the embedded world, or a cluster behind a kubeconfig.
//!
//! Whoever needs to know what a cluster can do asks [`Provider`] and [`LiveCluster`] for that ability; which of the two it
//! is shows only here and where a campaign is set up.
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

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use cluster::{Server, World};
use futures::future::{LocalBoxFuture, ready};
use trace::{Answer, Call, Flight, History, ObjectKey, Recorder, Revision, Time};

use crate::{campaign::setup::Setup, trial::TrialSpec};

/// What a campaign's trials run on.
pub trait Provider: Send + Sync {
    /// Puts a cluster to work at the start that the trial asks for. `folder` is the trial's.
    fn open<'a>(
        &'a self,
        setup: &'a Setup,
        spec: &'a TrialSpec,
        folder: &'a Path,
    ) -> LocalBoxFuture<'a, anyhow::Result<Opened>>;

    /// Which release of Kubernetes it is: `v1.36.3`.
    fn version(&self) -> String;

    /// Forks: the world that trials are forks of, manifests applied, nothing else.
    ///
    /// Without it each trial begins at the beginning: explorations are one perturbation deep unless the campaign says
    /// otherwise, stale starts are enumerated from an undisturbed run, and legality is not looked at.
    fn world(&self) -> Option<&World> {
        None
    }

    /// Whether trials can be forks.
    fn forks(&self) -> bool {
        self.world().is_some()
    }

    /// The Deployment whose pods are the subject, if it runs in pods.
    fn deployment(&self) -> Option<&pods::Deployment> {
        None
    }

    /// Whether the trial's repeat chooses the name suffixes that the cluster draws. Without it a second repeat of a plan
    /// shows nothing new, so there is one.
    fn draws_by_repeat(&self) -> bool;

    /// Whether several trials can run at once. Without it they run one after the other.
    fn runs_side_by_side(&self) -> bool;

    /// Whether the cluster streams lists (WatchList, KEP-3157). Where it does not, caches that are behind refuse them as
    /// that release does.
    fn streams_lists(&self) -> bool;

    /// Says in a finished history who made each commit, where commits did not tell by themselves.
    fn attribute(&self, _: &mut History) {}
}

/// A cluster at the start of a trial, and what records it.
pub type Opened = (Box<dyn LiveCluster>, Recorder);

/// Says of an answered write whether it changed the store.
pub type ChangeDetector = Box<dyn Fn(&Call, &Answer) -> bool + Send>;

/// An object and its key.
pub type Keyed = (ObjectKey, Arc<serde_json::Value>);

/// A cluster while a trial runs on it. It is given back when it is dropped.
pub trait LiveCluster {
    /// What the subject's proxy forwards to.
    fn upstream_for_subject(&self) -> proxy::Upstream;

    /// What the workload talks to.
    fn upstream_for_user(&self) -> workloads::Upstream;

    /// The world's clock.
    fn now(&self) -> Time;

    /// The newest revision known here.
    fn revision(&self) -> Revision;

    /// Every object, in key order.
    fn state(&self) -> Vec<Keyed>;

    /// Every object without bookkeeping, in key order.
    fn settled_state(&self) -> Vec<Arc<serde_json::Value>>;

    /// Tells writes that changed the store from those that did not.
    fn change_detector(&self) -> ChangeDetector;

    /// The kubeconfig of script and command steps.
    fn user_kubeconfig(&mut self, setup: &Setup, folder: &Path) -> anyhow::Result<PathBuf>;

    /// What is under way between programs of the workload and the cluster.
    fn user_flight(&self) -> Flight;

    /// The server in this process: worlds of the trial can be forked from it, its built-in controllers act when they are
    /// told to, and it hands webhooks over to be called. Without it they act and call by themselves, and commits are
    /// known once a watch tells of them.
    fn server(&self) -> Option<Server> {
        None
    }

    /// Moves the world's clock. One that follows real time can't be moved.
    fn advance_to(&self, _: Time) {}

    /// When the next timer of the cluster is due, if one is known: of the built-in controllers, or the end of a watch.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// Watch events that are decided but not yet on their way to the proxy; none where they can't be counted.
    fn undelivered(&self) -> usize {
        0
    }

    /// Waits until everything committed has been seen here. At once where commits are seen as they are made.
    fn caught_up(&self) -> LocalBoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    /// Whether controllers that nobody here can look at work in it, so that it may go on when all else is quiet.
    fn acts_by_itself(&self) -> bool {
        false
    }

    /// The subject's pods, if it runs in pods. Otherwise it is a process that Trommel starts.
    fn pods(&mut self) -> Option<&mut pods::Running> {
        None
    }

    /// Where Trommel itself releases the Leases of a leader that it killed; none where they run out by the clock.
    fn upstream_for_leases(&self) -> Option<&proxy::Upstream> {
        None
    }
}

/// Opens the cluster that the campaign asks for, at the start that the trial asks for.
///
/// # Errors
/// A history file that can't be written; a cluster elsewhere that does not answer.
pub async fn open(setup: &Setup, spec: &TrialSpec, folder: &Path) -> anyhow::Result<Opened> {
    let (cluster, recorder) = setup.ground.open(setup, spec, folder).await?;
    let state = cluster.state();
    let objects = state.iter().map(|(key, object)| (key, object));
    recorder.expect_heartbeats(setup.heartbeats.clone(), objects);
    Ok((cluster, recorder))
}
