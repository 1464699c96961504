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
    freezer: Freezer,
    /// Whether the kubelet has started the container again.
    restarted: bool,
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
    pub async fn start(&mut self, replica: usize) -> anyhow::Result<Started> {
        let known = self.by_replica.get(replica);
        if let Some(known) = known {
            known.freezer.thaw()?;
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
        let process = self.running(&pod, before).await?;
        let freezer = Freezer::of_pod(process)?;
        let log = self.pods.log(&pod)?;
        let replaces = replaced.is_some();
        let started = Started { process, pod: pod.name.clone(), connections, log, replaces };
        let known = Replica { pod, process, freezer, restarted: before.is_some() };
        match self.by_replica.get_mut(replica) {
            Some(place) => *place = known,
            None => self.by_replica.push(known),
        }
        Ok(started)
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
            patience.wait().await?;
        }
    }

    /// The first process of the subject's container in a pod, other than the one before.
    async fn running(&self, pod: &Pod, before: Option<i32>) -> anyhow::Result<i32> {
        let deployment = &self.pods.deployment;
        let mut patience = Patience::new(deployment, &self.upstream, Some(&pod.uid));
        loop {
            let process = container::process(&pod.uid, &deployment.container);
            if let Some(process) = process.filter(|process| Some(*process) != before) {
                return Ok(process);
            }
            patience.wait().await?;
        }
    }

    /// Keeps a replica whose container was killed from being started again.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn hold(&self, replica: usize) -> std::io::Result<()> {
        match self.by_replica.get(replica) {
            Some(known) => known.freezer.freeze(),
            None => Ok(()),
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
        for replica in std::mem::take(&mut self.by_replica) {
            replica.freezer.thaw()?;
        }
        stopped
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.pods.leads.clear();
        for replica in &self.by_replica {
            // One that stays frozen could not even be deleted.
            if let Err(error) = replica.freezer.thaw() {
                eprintln!("trommel: the pod {} stays frozen: {error}", replica.pod.name);
            }
        }
    }
}
