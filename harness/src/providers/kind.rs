//! kind clusters: their nodes are containers of this machine's Docker, found by kind's labels.
//!
//! A cluster that runs already is attached to; nothing of it changes but the images that the campaign names. One that is
//! [created] goes with the campaign. Meanwhile its nodes are [watched](watch).

mod created;
mod docker;
pub mod images;
mod logs;
mod nodes;
mod watch;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use bollard::query_parameters::{InspectContainerOptions, ListContainersOptionsBuilder};

use created::{Created, Note};
pub use docker::{Begun, Docker, failed};
pub use nodes::HostNode;
use watch::Watch;

use super::{
    pods::{Deployment, Pods},
    remote::access::Access,
};
use crate::{
    campaign::fault,
    config::{Campaign, KindSpec},
    exit::{Exit, exit_of},
};

/// Labels of node containers (kind, `pkg/cluster/internal/providers/docker/constants.go` and `constants/constants.go`).
const CLUSTER: &str = "io.x-k8s.kind.cluster";
const ROLE: &str = "io.x-k8s.kind.role";
/// Where kubeadm leaves the administrator's kubeconfig in a node of the control plane.
const ADMIN: &str = "/etc/kubernetes/admin.conf";
/// The API server's port in its node; with several control planes, the load balancer's.
const API_PORT: &str = "6443/tcp";

/// The campaign's cluster, as long as the campaign runs. One that was created is deleted when this is dropped.
pub struct Held {
    name: String,
    // Nobody watches any more when the cluster is deleted.
    _watch: Watch,
    created: Option<Created>,
    logs_folder: PathBuf,
}

impl Held {
    /// Attaches to the campaign's cluster, or creates it, and loads its images. With a Deployment, pods lead here. `folder`
    /// is that of the run.
    ///
    /// # Errors
    /// See [`Created::unless_there`], [`Kind::attach`], [`Kind::load`] and [`Pods::open`].
    pub fn open(
        spec: &KindSpec,
        campaign: &Campaign,
        deployment: Option<Deployment>,
        folder: &Path,
    ) -> anyhow::Result<(Access, Option<Pods>, Held)> {
        let logs_folder = folder.join(logs::FOLDER);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let docker = Docker::connect().await?;
            let created = match &spec.create {
                Some(create) => {
                    let (clusters, of) = (clusters(&docker).await?, (&*spec.name, create));
                    Created::unless_there(&docker, of, campaign, clusters, &logs_folder).await?
                }
                None => None,
            };
            let watch = Watch::start(&spec.name)?;
            let kind = Kind::attach(docker, &spec.name).await?;
            let deployed =
                campaign.file.spec.subject.deployment.iter().filter(|_| deployment.is_some());
            for image in spec.images.iter().chain(deployed.flat_map(|deployed| &deployed.images)) {
                kind.load(image, &campaign.resolve(Path::new("."))).await?;
            }
            let access = kind.access().await?;
            let name = spec.name.clone();
            let pods = match deployment {
                Some(deployment) => Some(Pods::open(&kind, &access, deployment).await?),
                None => None,
            };
            Ok((access, pods, Held { name, _watch: watch, created, logs_folder }))
        })
    }

    /// Whether the cluster is deleted at the end.
    pub fn goes(&self) -> bool {
        self.created.as_ref().is_some_and(Created::goes)
    }

    /// What a part of the campaign came to. If the cluster or this machine failed, the nodes' logs are in the run folder, and
    /// a node that does not run any more is the reason, whatever broke first because of it.
    ///
    /// # Errors
    /// Those of the part.
    pub fn explain<T>(&self, ended: anyhow::Result<T>) -> anyhow::Result<T> {
        let Err(error) = ended else { return ended };
        if fault::why().is_none() && exit_of(&error) != Exit::Environment {
            return Err(error);
        }
        let looked = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(anyhow::Error::from)
            .and_then(|runtime| runtime.block_on(self.look()));
        match looked {
            Ok(Some(reason)) => Err(failed(&reason)),
            Ok(None) => fault::check().and(Err(error)),
            Err(silent) => Err(failed(&format!("{error:#}; and of the cluster: {silent:#}"))),
        }
    }

    /// Writes the nodes' logs, and says which of them does not run.
    async fn look(&self) -> anyhow::Result<Option<String>> {
        let docker = Docker::connect().await?;
        let nodes = nodes_of(&docker, &self.name).await?;
        logs::export(&docker, &nodes, &self.logs_folder).await;
        if nodes.is_empty() {
            return Ok(Some(format!("the cluster {} is gone", self.name)));
        }
        let stopped = nodes.iter().find(|node| !node.runs);
        Ok(stopped.map(|node| {
            let hint = match self.goes() {
                true => String::new(),
                false => format!(". docker start {}", node.name),
            };
            let (node, name) = (&node.name, &self.name);
            format!("the node {node} of the cluster {name} does not run any more, so nothing that was found counts{hint}")
        }))
    }
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
    /// Which campaign made it, if one did.
    note: Option<Note>,
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
    pub async fn attach(docker: Docker, name: &str) -> anyhow::Result<Kind> {
        let mut clusters = clusters(&docker).await?;
        let Some(nodes) = clusters.remove(name) else {
            let mut others: Vec<String> = clusters.into_keys().collect();
            others.sort();
            let known = match others.is_empty() {
                true => "Docker here has none".to_owned(),
                false => format!("Docker here has {}", others.join(", ")),
            };
            let message = format!(
                "there is no cluster {name}: {known}. kind create cluster --name {name}, or let the campaign do that with \
                 spec.cluster.kind.create"
            );
            return Err(failed(&message));
        };
        if let Some(node) = nodes.iter().find(|node| !node.runs) {
            let message = format!(
                "the node {} of the cluster {name} does not run. docker start {}",
                node.name, node.name
            );
            return Err(failed(&message));
        }
        Ok(Kind { docker, name: name.to_owned(), nodes })
    }

    /// The administrator's access, by the port of this machine on which the API server is published.
    ///
    /// # Errors
    /// Docker fails, or the cluster is not set up: exit 75.
    pub async fn access(&self) -> anyhow::Result<Access> {
        let first = self.first_control_plane()?;
        let front = self.nodes.iter().find(|node| !node.is_node()).unwrap_or(first);
        let text = self.docker.read(&first.name, ADMIN).await.map_err(|error| {
            let by_hand = created::by_hand(&self.nodes);
            failed(&format!(
                "the cluster {} is half made ({error}). To delete it: {by_hand}",
                self.name
            ))
        })?;
        let port = self.api_port(&front.name).await?;
        let access = Access::of_text(&text).and_then(|access| access.led_to(&port));
        access.map_err(|why| failed(&format!("the kubeconfig of the cluster {}: {why}", self.name)))
    }

    fn first_control_plane(&self) -> anyhow::Result<&Node> {
        first_plane(&self.nodes)
            .ok_or_else(|| failed(&format!("the cluster {} has no control plane", self.name)))
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
            note: container
                .mounts
                .iter()
                .flatten()
                .find_map(|at| Note::parse(at.destination.as_ref()?)),
        };
        clusters.entry(labels.get(CLUSTER).cloned().unwrap_or_default()).or_default().push(node);
    }
    Ok(clusters)
}

/// Containers of one kind cluster.
async fn nodes_of(docker: &Docker, name: &str) -> anyhow::Result<Vec<Node>> {
    Ok(clusters(docker).await?.remove(name).unwrap_or_default())
}

/// The node that the cluster began with (kind, `nodeutils.BootstrapControlPlaneNode`).
fn first_plane(nodes: &[Node]) -> Option<&Node> {
    nodes.iter().filter(|node| node.role == "control-plane").min_by_key(|node| &node.name)
}
