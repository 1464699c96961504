//! A cluster behind a kubeconfig: trials run on it one after the other, each from the beginning.
//!
//! The embedded world knows by itself what is observed here: one watch per resource type tells of commits,
//! and lists give the states. Between trials all is deleted that the campaign made, and at its end its manifests, too
//! ([`made`]). Nothing else is touched or judged. One campaign at a time holds the cluster; the next one cleans up after
//! one that died ([`lock`]). Time is real: the cluster's own components can't be moved, so nobody is.
//!
//! A server that is not on this machine is accepted only if the user allowed its context. Worlds can't be forked; they are rebuilt from observed commits. Because
//! time never repeats they hardly merge, so the depth is 1 unless the campaign says otherwise, and the report does not
//! call that closed.

pub mod access;
mod attribution;
mod kubeconfig;
mod left;
mod lock;
mod made;
mod observer;
mod reset;
mod writer;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Instant,
};

use serde_json::Value;
use trace::{Answer, Call, Flight, History, ObjectKey, Recorder, Revision, Time};

use crate::{
    campaign::setup::Setup,
    exit::{Exit, Expected},
    providers::{
        client_files::real_now,
        pods::{self, Pods},
        user_listener::UserListener,
    },
    trial::history_file,
};
use access::Access;
use lock::Lock;
use made::Made;
use observer::{About, Observer};
use reset::Reset;

/// A cluster that was there before us.
pub struct Remote {
    access: Access,
    lock: Lock,
    made: Made,
    /// Listable and watchable types, without bookkeeping.
    types: Vec<access::Type>,
    /// Uids of all objects that were there before the first trial, manifests included.
    before: Arc<BTreeSet<String>>,
    /// The subject's, if it runs in pods.
    pods: Option<Arc<Pods>>,
    /// Whether the cluster's own controllers run.
    acts: bool,
    /// Which release it is: `v1.36.3`.
    pub version: String,
    /// Whether all is left as it is at the end.
    leaves_all: bool,
}

impl Remote {
    /// Connects, takes the lock, cleans up after a campaign that died, applies the manifests, and notes what is there. What
    /// comes with `pods` are the manifests of the subject itself.
    ///
    /// # Errors
    /// A cluster that does not answer or on which another campaign runs (exit 75), a refused manifest.
    pub fn connect(
        access: Access,
        manifests: &[Value],
        pods: Option<(Pods, Vec<Value>)>,
    ) -> anyhow::Result<Remote> {
        let runtime = runtime()?;
        let lock = runtime.block_on(async {
            let (lock, left) = lock::take(&access).await?;
            if let Some(left) = left {
                left::clean_up(&access.upstream()?, &left).await?;
            }
            anyhow::Ok(lock)
        })?;
        let made = Made::default();
        // From here on all that was made goes with it.
        let (pods, of_pods) = pods.map(|(pods, of_pods)| (Arc::new(pods), of_pods)).unzip();
        let mut remote = Remote {
            access,
            lock,
            made,
            types: vec![],
            before: Arc::default(),
            pods,
            acts: false,
            version: String::new(),
            leaves_all: false,
        };
        runtime.block_on(remote.prepare(manifests, &of_pods.unwrap_or_default()))?;
        Ok(remote)
    }

    /// Nothing is removed at the end: the cluster goes as a whole.
    pub fn leave_all(&mut self) {
        self.leaves_all = true;
    }

    async fn prepare(&mut self, manifests: &[Value], of_pods: &[Value]) -> anyhow::Result<()> {
        let upstream = self.upstream()?;
        let client = workloads::Client::as_actor(upstream.clone(), trace::Actor::Trommel);
        self.types = access::types(&upstream).await?;
        let refused = |error| access::unavailable(&format!("a manifest was refused: {error}"));
        workloads::apply_manifests(&client, manifests).await.map_err(refused)?;
        let of_user = self.made.created();
        if let Some(pods) = &self.pods {
            pods.is_new(&upstream).await?;
        }
        workloads::apply_manifests(&client, of_pods).await.map_err(refused)?;
        self.made.set_apart(&of_user);
        self.acts = access::has_controllers(&upstream).await?;
        let (_, version) = access::request(&upstream, "GET", "/version").await?;
        self.version = version["gitVersion"].as_str().unwrap_or_default().to_owned();
        let (types, objects) = access::ready(&upstream, manifests).await?;
        self.types = types;
        refuse_strangers(&objects, manifests)?;
        objects.iter().for_each(|(key, object)| self.made.saw(key, object));
        self.before = Arc::new(objects.iter().filter_map(|(_, object)| uid(object)).collect());
        Ok(())
    }

    /// The cluster's API, with note taken of what is made through it.
    fn upstream(&self) -> anyhow::Result<proxy::Upstream> {
        Ok(self.made.noting(self.access.upstream()?, Some(self.lock.clone())))
    }

    /// Removes all that the campaign made, and gives the lock back.
    async fn give_back(&self) -> anyhow::Result<()> {
        // Objects first, and then the definitions of their types.
        self.reset(Some(&self.before)).await?;
        self.reset(None).await?;
        self.lock.release().await
    }

    /// Deletes what the campaign made; all but this and what belongs to the subject's pods, if there is this.
    async fn reset(&self, keep: Option<&BTreeSet<String>>) -> anyhow::Result<()> {
        let (types, made, since) = (&self.types, &self.made, Time::default());
        let upstream = &self.access.upstream()?;
        Reset { upstream, types, made, keep, since }.carry_out().await
    }

    /// What the subject's requests go to.
    fn upstream_for_subject(&self) -> anyhow::Result<proxy::Upstream> {
        let Some(pods) = &self.pods else { return self.upstream() };
        Ok(self.made.noting(pods.upstream()?, Some(self.lock.clone())))
    }

    /// Says in a finished history who made each commit.
    pub fn attribute(&self, history: &mut History) {
        attribution::attribute(history, &self.made);
    }
}

/// However the campaign ends, the cluster is as it was.
impl Drop for Remote {
    fn drop(&mut self) {
        if self.leaves_all {
            return;
        }
        let given_back = runtime()
            .map_err(anyhow::Error::from)
            .and_then(|runtime| runtime.block_on(self.give_back()));
        if let Err(error) = given_back {
            eprintln!("trommel: the cluster was not restored: {error:#}");
        }
    }
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Objects of the campaign's own types are what trials make and delete: there must be none at the start.
fn refuse_strangers(objects: &[Keyed], manifests: &[Value]) -> anyhow::Result<()> {
    let of = |key: &ObjectKey, crd: &Value| {
        crd["kind"] == "CustomResourceDefinition"
            && crd["spec"]["group"] == *key.resource.group
            && crd["spec"]["names"]["plural"] == *key.resource.resource
    };
    let stranger =
        objects.iter().find(|(key, _)| manifests.iter().any(|manifest| of(key, manifest)));
    let Some((key, _)) = stranger else { return Ok(()) };
    Err(Expected::error(
        Exit::Usage,
        format!(
            "the cluster already has {key}; a campaign starts without any: delete it, or use another cluster"
        ),
    ))
}

fn uid(object: &Value) -> Option<String> {
    object["metadata"]["uid"].as_str().map(str::to_owned)
}

/// An object and its key.
pub type Keyed = (ObjectKey, Arc<Value>);

/// The cluster during one trial.
pub struct Live {
    upstream: proxy::Upstream,
    upstream_for_subject: proxy::Upstream,
    /// For what Trommel itself does in a trial, and is no part of it.
    pub aside: proxy::Upstream,
    /// The subject's, if it runs in pods.
    pub pods: Option<pods::Running>,
    /// Whether the cluster's own controllers run.
    pub acts: bool,
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
    pub async fn open(
        remote: &Remote,
        setup: &Setup,
        folder: &Path,
    ) -> anyhow::Result<(Live, Recorder)> {
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
        Ok((live, recorder))
    }

    /// The cluster's API.
    pub fn upstream(&self) -> proxy::Upstream {
        self.upstream.clone()
    }

    /// The same for the subject: pods come with their own credentials.
    pub fn upstream_for_subject(&self) -> proxy::Upstream {
        self.upstream_for_subject.clone()
    }

    /// Real time.
    pub fn now(&self) -> Time {
        real_now()
    }

    /// The newest revision observed.
    pub fn revision(&self) -> Revision {
        self.observer.revision()
    }

    /// Every object that the campaign is about as of the last quiet moment, in key order. Bookkeeping types are not among
    /// them.
    pub fn objects(&self) -> Vec<Keyed> {
        self.objects.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// A cause for more to come that only the cluster knows: none that can be counted.
    pub fn undelivered(&self) -> usize {
        0
    }

    /// Lists everything afresh. A consistent list is answered from the watch cache only after the cache holds
    /// every revision that was committed before the request (KEP-2340): after it, each watch of the same type
    /// has its events on the way.
    pub async fn refresh(&self) -> anyhow::Result<()> {
        let all = access::list_all(&self.upstream, &self.types).await?;
        let mut objects = self.made.concerned(all);
        self.observer.look_again();
        objects.sort_by(|(left, _), (right, _)| left.cmp(right));
        *self.objects.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = objects;
        Ok(())
    }

    /// Waits until the observer has seen what is committed.
    pub async fn caught_up(&self) {
        if let Err(error) = self.refresh().await {
            tracing::warn!("listing the cluster failed: {error:#}");
        }
    }

    /// A write changed the store if its answer carries a revision that was not seen before it.
    pub fn change_detector(&self) -> super::ChangeDetector {
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
    pub fn user_kubeconfig(&mut self, setup: &Setup, folder: &Path) -> anyhow::Result<PathBuf> {
        UserListener::once(&mut self.user_listener, &self.upstream, setup, folder)
    }

    /// What is under way between programs of the workload and the cluster.
    pub fn user_flight(&self) -> Flight {
        UserListener::flight(self.user_listener.as_ref())
    }

    /// Ends the observation.
    pub async fn close(self) {
        self.observer.stop();
    }
}
