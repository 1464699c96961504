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
mod live;
mod lock;
mod made;
mod observer;
mod reset;
mod writer;

use std::{collections::BTreeSet, path::Path, sync::Arc};

use futures::future::LocalBoxFuture;
use serde_json::Value;
use trace::{History, ObjectKey, Time};

use crate::{
    campaign::{interrupt, setup::Setup},
    exit::{Exit, Expected},
    providers::{
        Keyed, Opened, Provider,
        pods::{Deployment, Pods},
    },
    trial::TrialSpec,
};
use access::Access;
use live::Live;
use lock::Lock;
use made::Made;
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
    version: String,
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
        interrupt::leaves(
            "what this campaign made stays in the cluster until the next campaign there removes it"
                .to_owned(),
        );
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
}

impl Provider for Remote {
    fn open<'a>(
        &'a self,
        setup: &'a Setup,
        _: &'a TrialSpec,
        folder: &'a Path,
    ) -> LocalBoxFuture<'a, anyhow::Result<Opened>> {
        Box::pin(Live::open(self, setup, folder))
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    /// A real cluster draws names by itself.
    fn deployment(&self) -> Option<&Deployment> {
        self.pods.as_ref().map(|pods| &pods.deployment)
    }

    fn draws_by_repeat(&self) -> bool {
        false
    }

    /// Trials share the cluster.
    fn runs_side_by_side(&self) -> bool {
        false
    }

    /// It is taken for a recent one.
    fn streams_lists(&self) -> bool {
        true
    }

    /// Its watches don't say who wrote.
    fn attribute(&self, history: &mut History) {
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
