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
mod patience;
mod rule;
mod running;
mod tap;

use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

use crate::providers::{
    client_files::real_now,
    kind::{HostNode, Kind, failed},
    remote::access::{self, Access},
};
use container::Freezer;
pub use deployment::Deployment;
use deployment::Pod;
pub use running::{Running, Start};
use tap::{Leads, Tap};

/// The subject's pods during a campaign.
pub struct Pods {
    /// Theirs.
    pub deployment: Deployment,
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

/// Why a controller in pods can't be had on this machine, as far as that shows without a cluster.
pub fn unavailable() -> Option<String> {
    match subject::may_enter_networks() {
        true => None,
        false => Some(
            "this user may not enter the network of a node, nor kill what runs in it".to_owned(),
        ),
    }
}

/// Lets pods go on that a campaign froze that died.
///
/// # Errors
/// The kernel refuses.
pub fn thaw(pods: &[Value]) -> std::io::Result<()> {
    let uids = pods.iter().filter_map(|pod| pod["metadata"]["uid"].as_str());
    uids.filter_map(Freezer::of_frozen).try_for_each(|freezer| freezer.thaw())
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
