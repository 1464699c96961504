//! The subject as pods of a kind cluster, from its author's image and manifests.
//!
//! Nothing of the pods changes. A rule in each node leads their connections to the API server here ([`tap`]), where a TLS
//! end shows a certificate that the cluster's own authority signed; each request goes on with the pod's own token. The
//! pods' processes are processes of this machine ([`container`]), so they are looked at, killed and frozen like those
//! that Trommel starts itself. The kubelet starts a killed container again; while the subject is to be down, the pod is
//! frozen, and the kubelet can't.
//!
//! The Deployment is applied without replicas. Each trial scales it up and deletes the pods at its end, so that the
//! kubelet's back-off begins anew.

mod container;
mod deployment;
mod rule;
mod tap;

use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::sync::mpsc::UnboundedReceiver;

use crate::providers::{
    client_files::real_now,
    kind::{HostNode, Kind, failed},
    remote::access::{self, Access},
};
use container::Freezer;
pub use deployment::Deployment;
use deployment::Pod;
use tap::{Leads, Tap};

/// How long a pod may take until its container runs, and at which pace it is looked whether it does.
const PATIENCE: Duration = Duration::from_secs(90);
const PACE: Duration = Duration::from_millis(10);

/// The subject's pods during a campaign.
pub struct Pods {
    deployment: Deployment,
    nodes: Vec<HostNode>,
    /// Where pods believe the API server to be.
    pub service: SocketAddr,
    /// Shown to them there.
    pub tls: Arc<rustls::ServerConfig>,
    /// The API, for callers with credentials of their own.
    callers: Access,
    leads: Leads,
    _tap: Tap,
}

impl Pods {
    /// Leads the cluster's pods here.
    ///
    /// # Errors
    /// The authority's key can't be had, or a node can't be entered: exit 75.
    pub async fn open(
        kind: &Kind,
        access: &Access,
        deployment: Deployment,
    ) -> anyhow::Result<Pods> {
        let upstream = access.upstream()?;
        let (_, found) =
            access::request(&upstream, "GET", "/api/v1/namespaces/default/services/kubernetes")
                .await?;
        let address = found["spec"]["clusterIP"].as_str().unwrap_or_default();
        let address: IpAddr = address.parse().map_err(|_| {
            failed(&format!("the Service default/kubernetes has no address: {}", found["message"]))
        })?;
        if address.is_ipv6() {
            return Err(failed(
                "a controller in pods needs a cluster whose Services have IPv4 addresses",
            ));
        }
        let port =
            found["spec"]["ports"][0]["port"].as_u64().and_then(|port| u16::try_from(port).ok());
        let service = SocketAddr::new(address, port.unwrap_or(443));
        let (certificate, key) = kind.authority().await?;
        let tls = certified(&certificate, &key, address).map_err(|error| {
            failed(&format!("the cluster's authority can't sign a certificate: {error}"))
        })?;
        let nodes = kind.on_this_host().await?;
        let leads = Leads::default();
        let tap = Tap::open(nodes.clone(), service, access.address()?, leads.clone())?;
        let callers = access.for_callers(&certificate)?;
        Ok(Pods { deployment, nodes, service, tls, callers, leads, _tap: tap })
    }

    /// The API, each request with the credentials that it came with.
    ///
    /// # Errors
    /// See [`Access::upstream`].
    pub fn upstream(&self) -> anyhow::Result<proxy::Upstream> {
        self.callers.upstream()
    }

    /// Whether there is no such Deployment yet: one of somebody else's is not touched.
    ///
    /// # Errors
    /// There is: exit 64.
    pub async fn is_new(&self, upstream: &proxy::Upstream) -> anyhow::Result<()> {
        self.deployment.is_new(upstream).await
    }
}

/// Why a controller in pods can't be had on this machine, as far as that shows without a cluster.
pub fn unavailable() -> Option<String> {
    match subject::may_enter_networks() {
        true => None,
        false => Some(
            "this user may not enter the network of a node, nor kill what runs in it".to_owned(),
        ),
    }
}

/// Lets all pods of this machine go on that a campaign froze that died.
///
/// # Errors
/// The kernel refuses.
pub fn thaw_all() -> std::io::Result<()> {
    Freezer::all_frozen().iter().try_for_each(Freezer::thaw)
}

/// What a TLS end shows that stands for the API server.
fn certified(
    certificate: &str,
    key: &str,
    address: IpAddr,
) -> Result<Arc<rustls::ServerConfig>, proxy::tls::TlsError> {
    let authority = proxy::tls::Authority::of_others(certificate, key)?;
    let pair = authority.server(real_now(), &[&address.to_string()])?;
    proxy::tls::server_config(&pair)
}

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
        let began = tokio::time::Instant::now();
        let mut pace = tokio::time::interval(PACE);
        loop {
            pace.tick().await;
            let pods = deployment.pods(&self.upstream).await?;
            if let Some(pod) = pods.iter().filter_map(Pod::of).find(|pod| !known(pod)) {
                return Ok(pod);
            }
            if began.elapsed() > PATIENCE {
                let why = pods.iter().map(|pod| deployment::why_not(pod, &deployment.container));
                let why = why.collect::<Vec<_>>().join("; ");
                return Err(deployment.late(&format!("no pod of it was given a node. {why}")));
            }
        }
    }

    /// The first process of the subject's container in a pod, other than the one before.
    async fn running(&self, pod: &Pod, before: Option<i32>) -> anyhow::Result<i32> {
        let deployment = &self.pods.deployment;
        let began = tokio::time::Instant::now();
        let mut pace = tokio::time::interval(PACE);
        loop {
            pace.tick().await;
            let process = container::process(&pod.uid, &deployment.container);
            if let Some(process) = process.filter(|process| Some(*process) != before) {
                return Ok(process);
            }
            if began.elapsed() > PATIENCE {
                let pods = deployment.pods(&self.upstream).await?;
                let told = pods.iter().find(|object| object["metadata"]["uid"] == *pod.uid);
                let why = told.map_or_else(
                    || "the pod is gone".to_owned(),
                    |object| deployment::why_not(object, &deployment.container),
                );
                return Err(deployment.late(&format!(
                    "the container {} of its pod {} does not run. {why}",
                    deployment.container, pod.name
                )));
            }
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

impl Pods {
    /// The newest log of the subject's container (kubelet, `BuildContainerLogsDirectory`), through the node's own root.
    fn log(&self, pod: &Pod) -> anyhow::Result<PathBuf> {
        let Deployment { namespace, container, .. } = &self.deployment;
        let node = self.nodes.iter().find(|node| node.name == pod.node);
        let node =
            node.ok_or_else(|| failed(&format!("the node {} is no container here", pod.node)))?;
        let folder = Path::new("/proc").join(node.process.to_string()).join("root/var/log/pods");
        let folder = folder.join(format!("{namespace}_{}_{}", pod.name, pod.uid)).join(container);
        let logs = std::fs::read_dir(&folder)?.flatten().map(|entry| entry.path());
        let number = |path: &PathBuf| path.file_stem()?.to_str()?.parse::<u32>().ok();
        let newest = logs.filter_map(|path| Some((number(&path)?, path))).max();
        newest.map(|(_, path)| path).ok_or_else(|| {
            failed(&format!("the pod {} has no log in {}", pod.name, folder.display()))
        })
    }
}
