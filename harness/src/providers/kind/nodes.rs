//! Nodes as this machine sees them: containers with a first process and an address.

use std::net::IpAddr;

use bollard::query_parameters::InspectContainerOptions;

use super::{Kind, Node, docker::failed};

/// Where kubeadm leaves the cluster's authority in a node of the control plane (kubeadm, certificates).
const AUTHORITY: [&str; 2] = ["/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/pki/ca.key"];

/// A node that runs.
#[derive(Debug, Clone)]
pub struct HostNode {
    /// Its name, and its container's.
    pub name: String,
    /// The first process of the container, by this machine's number.
    pub process: i32,
    /// Its address in Docker's network.
    pub address: IpAddr,
}

impl Kind {
    /// All nodes. Their processes must be visible here: Docker on another machine, or in a virtual one, shows none.
    ///
    /// # Errors
    /// Docker fails, or a node is no container of this machine: exit 75.
    pub async fn on_this_host(&self) -> anyhow::Result<Vec<HostNode>> {
        let mut nodes = Vec::new();
        for node in self.nodes.iter().filter(|node| node.is_node()) {
            nodes.push(self.on_host(node).await?);
        }
        Ok(nodes)
    }

    async fn on_host(&self, node: &Node) -> anyhow::Result<HostNode> {
        let name = node.name.clone();
        let found = self.docker.api().inspect_container(&name, None::<InspectContainerOptions>);
        let found = found.await.map_err(|error| failed(&error.to_string()))?;
        let process =
            found.state.and_then(|state| state.pid).and_then(|pid| i32::try_from(pid).ok());
        let networks = found.network_settings.and_then(|settings| settings.networks);
        let mut addresses =
            networks.into_iter().flatten().filter_map(|(_, network)| network.ip_address);
        let address = addresses.find_map(|address| address.parse().ok());
        let (Some(process), Some(address)) = (process.filter(|process| *process > 0), address)
        else {
            return Err(failed(&format!("the node {name} has no process or no address")));
        };
        let id = found.id.unwrap_or_default();
        let groups = std::fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
        if id.is_empty() || !groups.contains(&id) {
            return Err(failed(&format!(
                "the node {name} is not a container of this machine (Docker Desktop, or Docker elsewhere?): its pods' \
                 processes can't be seen. Give spec.subject.command: the controller as a process of this machine"
            )));
        }
        Ok(HostNode { name, process, address })
    }

    /// The cluster's authority: certificate and key.
    ///
    /// # Errors
    /// The node has none, as where it is kept elsewhere: exit 75.
    pub async fn authority(&self) -> anyhow::Result<(String, String)> {
        let first = self.first_control_plane()?;
        let [certificate, key] = AUTHORITY;
        Ok((
            self.docker.read(&first.name, certificate).await?,
            self.docker.read(&first.name, key).await?,
        ))
    }
}
