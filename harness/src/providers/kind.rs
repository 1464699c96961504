//! kind clusters: their nodes are containers of this machine's Docker, found by kind's labels.
//!
//! A cluster that runs already is attached to; nothing of it changes but the images that the campaign names.

mod docker;
pub mod images;
mod nodes;

use std::{collections::HashMap, path::Path};

use bollard::query_parameters::{InspectContainerOptions, ListContainersOptionsBuilder};

pub use docker::{Docker, failed};
pub use nodes::HostNode;

use super::{
    pods::{Deployment, Pods},
    remote::access::Access,
};
use crate::config::{Campaign, KindSpec};

/// Labels of node containers (kind, `pkg/cluster/internal/providers/docker/constants.go` and `constants/constants.go`).
const CLUSTER: &str = "io.x-k8s.kind.cluster";
const ROLE: &str = "io.x-k8s.kind.role";
/// Where kubeadm leaves the administrator's kubeconfig in a node of the control plane.
const ADMIN: &str = "/etc/kubernetes/admin.conf";
/// The API server's port in its node; with several control planes, the load balancer's.
const API_PORT: &str = "6443/tcp";

/// Attaches to the campaign's cluster, and loads its images. With a Deployment, pods lead here.
///
/// # Errors
/// See [`Kind::attach`], [`Kind::load`] and [`Pods::open`].
pub fn open(
    spec: &KindSpec,
    campaign: &Campaign,
    deployment: Option<Deployment>,
) -> anyhow::Result<(Access, Option<Pods>)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let kind = Kind::attach(&spec.name).await?;
        let of_pods = campaign.file.spec.subject.deployment.iter().flat_map(|spec| &spec.images);
        for image in spec.images.iter().chain(of_pods) {
            kind.load(image, &campaign.resolve(Path::new("."))).await?;
        }
        let kubeconfig = kind.kubeconfig().await?;
        let access = Access::of_text(&kubeconfig).map_err(|why| {
            failed(&format!("the kubeconfig of the kind cluster {}: {why}", spec.name))
        })?;
        let pods = match deployment {
            Some(deployment) => Some(Pods::open(&kind, &access, deployment).await?),
            None => None,
        };
        Ok((access, pods))
    })
}

/// A running kind cluster.
pub struct Kind {
    docker: Docker,
    name: String,
    nodes: Vec<Node>,
}

/// A container of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    /// The container's name.
    name: String,
    role: String,
    runs: bool,
}

impl Node {
    fn is_node(&self) -> bool {
        self.role != "external-load-balancer"
    }
}

impl Kind {
    /// The cluster of this name.
    ///
    /// # Errors
    /// No Docker, no rights, no such cluster, or a node that does not run: exit 75.
    pub async fn attach(name: &str) -> anyhow::Result<Kind> {
        let docker = Docker::connect().await?;
        let mut clusters = clusters(&docker).await?;
        let Some(nodes) = clusters.remove(name) else {
            let mut others: Vec<String> = clusters.into_keys().collect();
            others.sort();
            let known = match others.is_empty() {
                true => "Docker here has no kind cluster".to_owned(),
                false => format!("Docker here has the kind clusters {}", others.join(", ")),
            };
            let message = format!(
                "there is no kind cluster {name}: {known}. kind create cluster --name {name}"
            );
            return Err(failed(&message));
        };
        if let Some(node) = nodes.iter().find(|node| !node.runs) {
            let message = format!(
                "the node {} of the kind cluster {name} does not run. docker start {}",
                node.name, node.name
            );
            return Err(failed(&message));
        }
        Ok(Kind { docker, name: name.to_owned(), nodes })
    }

    /// The administrator's kubeconfig, leading to the port of this machine on which the API server is published.
    ///
    /// # Errors
    /// Docker fails, or the cluster is not set up: exit 75.
    pub async fn kubeconfig(&self) -> anyhow::Result<String> {
        let first = self.first_control_plane()?;
        let front = self.nodes.iter().find(|node| !node.is_node()).unwrap_or(first);
        let text = self.docker.read(&first.name, ADMIN).await?;
        let port = self.api_port(&front.name).await?;
        led_to(&text, &port)
            .ok_or_else(|| failed(&format!("{ADMIN} of the node {} names no server", first.name)))
    }

    fn first_control_plane(&self) -> anyhow::Result<&Node> {
        let planes = self.nodes.iter().filter(|node| node.role == "control-plane");
        let first = planes.min_by_key(|node| &node.name);
        first.ok_or_else(|| failed(&format!("the kind cluster {} has no control plane", self.name)))
    }

    /// Address and port of this machine that lead to the API server.
    async fn api_port(&self, container: &str) -> anyhow::Result<String> {
        let found = self.docker.api().inspect_container(container, None::<InspectContainerOptions>);
        let found = found.await.map_err(|error| failed(&error.to_string()))?;
        let ports = found.network_settings.and_then(|settings| settings.ports);
        let binding = ports.and_then(|mut ports| ports.remove(API_PORT)??.into_iter().next());
        let address = binding.and_then(|binding| {
            let host = binding.host_ip.filter(|host| !host.is_empty() && host != "0.0.0.0");
            Some(format!(
                "{}:{}",
                host.unwrap_or_else(|| "127.0.0.1".to_owned()),
                binding.host_port?
            ))
        });
        address.ok_or_else(|| {
            failed(&format!("the API server's port {API_PORT} of {container} is not published"))
        })
    }
}

/// Containers of all kind clusters by cluster.
async fn clusters(docker: &Docker) -> anyhow::Result<HashMap<String, Vec<Node>>> {
    let filters = HashMap::from([("label".to_owned(), vec![CLUSTER.to_owned()])]);
    let options = ListContainersOptionsBuilder::new().all(true).filters(&filters).build();
    let found = docker.api().list_containers(Some(options)).await;
    let mut clusters: HashMap<String, Vec<Node>> = HashMap::new();
    for container in found.map_err(|error| failed(&error.to_string()))? {
        let labels = container.labels.unwrap_or_default();
        let name = container.names.and_then(|names| names.into_iter().next()).unwrap_or_default();
        let node = Node {
            name: name.trim_start_matches('/').to_owned(),
            role: labels.get(ROLE).cloned().unwrap_or_default(),
            runs: container.state.is_some_and(|state| state.to_string() == "running"),
        };
        clusters.entry(labels.get(CLUSTER).cloned().unwrap_or_default()).or_default().push(node);
    }
    Ok(clusters)
}

/// The kubeconfig with another server in it.
fn led_to(kubeconfig: &str, address: &str) -> Option<String> {
    let mut led = false;
    let lines = kubeconfig.lines().map(|line| match line.split_once("server:") {
        Some((before, _)) if before.trim().is_empty() => {
            led = true;
            format!("{before}server: https://{address}\n")
        }
        _ => format!("{line}\n"),
    });
    let text = lines.collect();
    led.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_leads_to_the_published_port() {
        let text =
            "clusters:\n- cluster:\n    server: https://one-control-plane:6443\n  name: one\n";
        let expect = "clusters:\n- cluster:\n    server: https://127.0.0.1:40001\n  name: one\n";
        assert_eq!(led_to(text, "127.0.0.1:40001").as_deref(), Some(expect));
        assert_eq!(led_to("clusters: []\n", "127.0.0.1:40001"), None);
    }
}
