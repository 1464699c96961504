//! The subject's pods during one trial: started one after another, killed, held, deleted.

use std::{path::PathBuf, sync::Arc};

use tokio::sync::mpsc::UnboundedReceiver;

use super::{
    Pods,
    container::{self, Freezer},
    deployment::Pod,
    patience::Patience,
};

/// The subject's pods during a trial.
pub struct Running {
    pods: Arc<Pods>,
    /// Trommel's own way to the API.
    upstream: proxy::Upstream,
    by_replica: Vec<Replica>,
}

/// A pod that was started, by its number.
struct Replica {
    pod: Pod,
    /// The first process of its container, now or before its death.
    process: i32,
    /// None of one that ended at once.
    freezer: Option<Freezer>,
    /// Whether the kubelet has started the container again.
    restarted: bool,
}

/// What became of a start.
pub enum Start {
    /// The container runs.
    Runs(Started),
    /// It ended by itself before anybody could look at it.
    Ended {
        /// The pod's name.
        pod: String,
        /// With what it ended, as the kubelet says.
        code: Option<i32>,
    },
}

/// A container that runs.
pub struct Started {
    /// Its first process.
    pub process: i32,
    /// The pod's name.
    pub pod: String,
    /// Connections of the pod.
    pub connections: UnboundedReceiver<std::net::TcpStream>,
    /// Its log, as the kubelet keeps it, a file of this machine.
    pub log: PathBuf,
    /// Whether the pod is another one because the kubelet would have waited.
    pub replaces: bool,
}

/// What of a container is to be seen.
enum Found {
    Runs(i32, Freezer),
    /// With what it ended by itself, as far as the kubelet says so.
    Ended(Option<i32>),
}

impl Running {
    /// None runs yet.
    pub fn new(pods: Arc<Pods>, upstream: proxy::Upstream) -> Running {
        Running { pods, upstream, by_replica: vec![] }
    }

    /// What all trials share.
    pub fn pods(&self) -> &Arc<Pods> {
        &self.pods
    }

    /// Starts a replica: another pod of the Deployment's, or, where the replica's container was killed, lets the kubelet
    /// start that again. It does so once without delay, and after ten seconds the next time (`CrashLoopBackOff`): then
    /// the pod is deleted, and the Deployment makes another one.
    ///
    /// # Errors
    /// The container does not run in time, with the kubelet's reason.
    pub async fn start(&mut self, replica: usize) -> anyhow::Result<Start> {
        let known = self.by_replica.get(replica);
        if let Some(freezer) = known.and_then(|known| known.freezer.as_ref()) {
            freezer.thaw()?;
        }
        let again = known.filter(|known| !known.restarted);
        let again = again.map(|known| (known.pod.clone(), known.process));
        let replaced = known.filter(|known| known.restarted).map(|known| known.pod.clone());
        if let Some(pod) = &replaced {
            self.pods.deployment.delete_pod(&self.upstream, pod).await?;
        }
        let (pod, before) = match again {
            Some((pod, process)) => (pod, Some(process)),
            None => (self.another_pod(replica).await?, None),
        };
        let connections = self.pods.leads.lead(&pod.uid);
        let restarted = before.is_some();
        let found = self.running(&pod, before).await?;
        let (process, freezer) = match &found {
            Found::Runs(process, freezer) => (*process, Some(freezer.clone())),
            Found::Ended(_) => (0, None),
        };
        let (name, uid) = (pod.name.clone(), pod.uid.clone());
        let log = freezer.is_some().then(|| self.pods.log(&pod)).transpose()?;
        let known = Replica { pod, process, freezer, restarted };
        match self.by_replica.get_mut(replica) {
            Some(place) => *place = known,
            None => self.by_replica.push(known),
        }
        Ok(match (found, log) {
            (Found::Runs(process, _), Some(log)) => Start::Runs(Started {
                process,
                pod: name,
                connections,
                log,
                replaces: replaced.is_some(),
            }),
            (Found::Ended(code), _) => {
                tracing::debug!("the container of the pod {name} ({uid}) ended at once: {code:?}");
                Start::Ended { pod: name, code }
            }
            (Found::Runs(..), None) => unreachable!("what runs has a freezer, and so a log"),
        })
    }

    /// A pod that is no replica yet.
    async fn another_pod(&self, replica: usize) -> anyhow::Result<Pod> {
        let deployment = &self.pods.deployment;
        deployment.scale(&self.upstream, replica as u32 + 1).await?;
        let known = |pod: &Pod| self.by_replica.iter().any(|replica| replica.pod.uid == pod.uid);
        let mut patience = Patience::new(deployment, &self.upstream, None);
        loop {
            let pods = deployment.pods(&self.upstream).await?;
            if let Some(pod) = pods.iter().filter_map(Pod::of).find(|pod| !known(pod)) {
                return Ok(pod);
            }
            patience.wait(u64::MAX).await?;
        }
    }

    /// The first process of the subject's container in a pod, other than the one before.
    async fn running(&self, pod: &Pod, before: Option<i32>) -> anyhow::Result<Found> {
        let deployment = &self.pods.deployment;
        let mut patience = Patience::new(deployment, &self.upstream, Some(&pod.uid));
        let ends_known = u64::from(before.is_some());
        loop {
            let process = container::process(&pod.uid, &deployment.container);
            if let Some(process) = process.filter(|process| Some(*process) != before)
                && let Ok(freezer) = Freezer::of_pod(process)
            {
                return Ok(Found::Runs(process, freezer));
            }
            if let Some(ended) = patience.wait(ends_known).await? {
                return Ok(Found::Ended(ended.code));
            }
        }
    }

    /// With what the container of a replica ended by itself; none if the kubelet does not say so soon.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub async fn code(&self, replica: usize) -> anyhow::Result<Option<i32>> {
        let Some(known) = self.by_replica.get(replica) else { return Ok(None) };
        let deployment = &self.pods.deployment;
        let mut patience = Patience::new(deployment, &self.upstream, Some(&known.pod.uid));
        while patience.is_short() {
            if let Some(ended) = patience.wait(u64::from(known.restarted)).await? {
                return Ok(ended.code);
            }
        }
        Ok(None)
    }

    /// Keeps a replica whose container was killed from being started again.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn hold(&self, replica: usize) -> std::io::Result<()> {
        match self.by_replica.get(replica) {
            Some(Replica { freezer: Some(freezer), .. }) => freezer.freeze(),
            _ => Ok(()),
        }
    }

    /// Deletes the pods: no container of theirs is started again.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub async fn stop(&mut self) -> anyhow::Result<()> {
        self.pods.leads.clear();
        let stopped = async {
            self.pods.deployment.scale(&self.upstream, 0).await?;
            self.pods.deployment.delete_pods(&self.upstream).await
        };
        let stopped = stopped.await;
        for freezer in self.by_replica.drain(..).filter_map(|replica| replica.freezer) {
            freezer.thaw()?;
        }
        stopped
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.pods.leads.clear();
        for replica in &self.by_replica {
            // One that stays frozen could not even be deleted.
            let thawed = replica.freezer.as_ref().map_or(Ok(()), Freezer::thaw);
            if let Err(error) = thawed {
                eprintln!("trommel: the pod {} stays frozen: {error}", replica.pod.name);
            }
        }
    }
}
