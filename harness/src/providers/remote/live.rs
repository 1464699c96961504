//! A cluster elsewhere during one trial, observed.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use futures::future::LocalBoxFuture;
use serde_json::Value;
use trace::{Answer, Call, Flight, Recorder, Revision, Time};

use super::{
    Remote, access,
    made::Made,
    observer::{About, Observer},
};
use crate::{
    campaign::setup::Setup,
    providers::{
        ChangeDetector, Keyed, LiveCluster, Opened, client_files::real_now, pods,
        user_listener::UserListener,
    },
    trial::history_file,
};

/// The cluster during one trial.
pub(super) struct Live {
    upstream: proxy::Upstream,
    upstream_for_subject: proxy::Upstream,
    /// For what Trommel itself does in a trial, and is no part of it.
    aside: proxy::Upstream,
    /// The subject's, if it runs in pods.
    pods: Option<pods::Running>,
    /// Whether the cluster's own controllers run.
    acts: bool,
    types: Vec<access::Type>,
    made: Made,
    observer: Observer,
    user_listener: Option<UserListener>,
    /// Refreshed whenever all is quiet; in key order.
    objects: Mutex<Vec<Keyed>>,
    recorder: Recorder,
}

impl Live {
    /// Brings the cluster back to how it was, and starts to observe it.
    pub async fn open(remote: &Remote, setup: &Setup, folder: &Path) -> anyhow::Result<Opened> {
        remote.reset(Some(&remote.before)).await?;
        remote.made.forget(&remote.before);
        let upstream = remote.upstream()?;
        let began = Instant::now();
        let clocks = move || (real_now(), began.elapsed().as_micros() as u64);
        let about = serde_json::json!({ "campaign": setup.campaign.name() });
        let sink = history_file::sink(&folder.join(history_file::NAME), about)?;
        let recorder = Recorder::new(Arc::new(clocks), Some(sink));
        let about = About::new(remote.made.clone(), remote.before.clone(), recorder.clone());
        let observer = Observer::start(&upstream, &remote.types, &about).await?;
        let upstream_for_subject = remote.upstream_for_subject()?;
        let aside = remote.access.upstream()?;
        let pods = remote.pods.clone().map(|pods| pods::Running::new(pods, aside.clone()));
        let live = Live {
            upstream,
            upstream_for_subject,
            aside,
            pods,
            acts: remote.acts,
            types: remote.types.clone(),
            made: remote.made.clone(),
            observer,
            user_listener: None,
            objects: Mutex::default(),
            recorder: recorder.clone(),
        };
        live.refresh().await?;
        Ok((Box::new(live), recorder))
    }

    /// Lists everything afresh. A consistent list is answered from the watch cache only after the cache holds
    /// every revision that was committed before the request (KEP-2340): after it, each watch of the same type
    /// has its events on the way.
    async fn refresh(&self) -> anyhow::Result<()> {
        let all = access::list_all(&self.upstream, &self.types).await?;
        let mut objects = self.made.concerned(all);
        self.observer.look_again();
        objects.sort_by(|(left, _), (right, _)| left.cmp(right));
        *self.objects.lock().unwrap_or_else(PoisonError::into_inner) = objects;
        Ok(())
    }
}

impl LiveCluster for Live {
    /// Pods come with their own credentials.
    fn upstream_for_subject(&self) -> proxy::Upstream {
        self.upstream_for_subject.clone()
    }

    fn upstream_for_user(&self) -> workloads::Upstream {
        self.upstream.clone()
    }

    /// Real time.
    fn now(&self) -> Time {
        real_now()
    }

    /// The newest revision observed.
    fn revision(&self) -> Revision {
        self.observer.revision()
    }

    /// Every object that the campaign is about as of the last quiet moment. Bookkeeping types are not among them.
    fn state(&self) -> Vec<Keyed> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn settled_state(&self) -> Vec<Arc<Value>> {
        self.state().into_iter().map(|(_, object)| object).collect()
    }

    /// A write changed the store if its answer carries a revision that was not seen before it.
    fn change_detector(&self) -> ChangeDetector {
        let recorder = self.recorder.clone();
        Box::new(move |call: &Call, answer: &Answer| {
            let Some(revision) = answer.revision else {
                return answer.succeeded() && call.is_write();
            };
            recorder.with(|history| {
                // Only what was seen before the call: the watch may tell of its effect before its answer comes.
                let before = history.records.iter().take_while(
                    |record| !matches!(&record.event, trace::Event::Call(other) if other.id == call.id),
                );
                let mut earlier = before.into_iter().filter_map(|record| match &record.event {
                    trace::Event::Answer(other) if other.call != call.id => other.revision,
                    trace::Event::Delivery(delivery) => delivery.revision,
                    _ => None,
                });
                !earlier.any(|seen| seen == revision)
            })
        })
    }

    /// Opens a listener for script and command steps, once: what they make is the campaign's.
    fn user_kubeconfig(&mut self, setup: &Setup, folder: &Path) -> anyhow::Result<PathBuf> {
        UserListener::once(&mut self.user_listener, &self.upstream, setup, folder)
    }

    fn user_flight(&self) -> Flight {
        UserListener::flight(self.user_listener.as_ref())
    }

    /// Waits until the observer has seen what is committed.
    fn caught_up(&self) -> LocalBoxFuture<'_, ()> {
        Box::pin(async {
            if let Err(error) = self.refresh().await {
                tracing::warn!("listing the cluster failed: {error:#}");
            }
        })
    }

    fn acts_by_itself(&self) -> bool {
        self.acts
    }

    fn pods(&mut self) -> Option<&mut pods::Running> {
        self.pods.as_mut()
    }

    fn upstream_for_leases(&self) -> Option<&proxy::Upstream> {
        Some(&self.aside)
    }
}
