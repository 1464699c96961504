//! A new cluster without the program `kind`: the steps of kind v0.33 (`pkg/cluster/internal/create`) by Docker's API, for
//! one node of the control plane and any number of workers. More of the control plane need a load balancer, and a
//! configuration file may ask for anything: both are left to kind.
//!
//! Three things differ. The nodes are in a network of their own, `trommel-NAME`, which goes with the cluster. They are
//! told of no HTTP proxy. Docker without root is left to kind as well.

use std::collections::HashMap;

use bollard::{
    errors::Error,
    models::{
        ContainerCreateBody, EndpointSettings, HostConfig, HostConfigCgroupnsModeEnum,
        NetworkCreateRequest, NetworkingConfig, PortBinding, RestartPolicy, RestartPolicyNameEnum,
    },
    query_parameters::{
        CreateContainerOptionsBuilder, InspectContainerOptions, LogsOptionsBuilder,
        StartContainerOptions,
    },
};
use futures::StreamExt;

use super::{Order, kubeadm};
use crate::{
    config::CreateSpec,
    exit::{Exit, Expected},
    providers::kind::{ADMIN, API_PORT, CLUSTER, Docker, ROLE, docker::failed},
};

/// How long the first process of a node may take until programs can be run beside it (kind, `createContainerWith…`).
const BOOT: std::time::Duration = std::time::Duration::from_secs(30);
/// Where kind keeps kubeadm's configuration in a node.
const KUBEADM: &str = "/kind/kubeadm.conf";
/// Where node images have what is installed in every cluster.
const NETWORK_MANIFEST: &str = "/kind/manifests/default-cni.yaml";
const STORAGE_MANIFEST: &str = "/kind/manifests/default-storage.yaml";
const LIBRARIES: &str = "/lib/modules:/lib/modules:ro";

/// The network of a cluster that was made here.
pub fn network(cluster: &str) -> String {
    format!("trommel-{cluster}")
}

/// Removes the network of a cluster whose nodes are gone, if there is one.
///
/// # Errors
/// It can't be removed.
pub async fn remove_network(docker: &Docker, cluster: &str) -> anyhow::Result<()> {
    match docker.api().remove_network(&network(cluster)).await {
        Ok(()) | Err(Error::DockerResponseServerError { status_code: 404, .. }) => Ok(()),
        Err(error) => Err(failed(&format!("the network {}: {error}", network(cluster)))),
    }
}

/// # Errors
/// What only kind can create: exit 64.
pub fn check(create: &CreateSpec) -> anyhow::Result<()> {
    let why = match (&create.config, create.counts(), &create.node_image) {
        (Some(_), ..) => "create.config is a file for kind",
        (_, (2.., _), _) => {
            "create.controlPlanes is more than 1, for which kind sets up a load balancer"
        }
        (.., None) => "create.nodeImage is not named, so kind has to choose it",
        _ => return Ok(()),
    };
    let message = format!(
        "spec.cluster.kind.{why}, but kind and docker are not both in PATH. Install them: https://kind.sigs.k8s.io"
    );
    Err(Expected::error(Exit::Usage, message))
}

/// A node that is to be.
struct NewNode {
    name: String,
    plane: bool,
}

/// The nodes by the names that kind gives them (`common.MakeNodeNamer`); the one of the control plane comes first.
fn nodes(cluster: &str, workers: usize) -> Vec<NewNode> {
    let plane = NewNode { name: format!("{cluster}-control-plane"), plane: true };
    let worker = |number| {
        let number = if number == 1 { String::new() } else { format!("{number}") };
        NewNode { name: format!("{cluster}-worker{number}"), plane: false }
    };
    std::iter::once(plane).chain((1..=workers).map(worker)).collect()
}

impl Order<'_> {
    /// Creates the cluster.
    ///
    /// # Errors
    /// Docker or a program in a node fails: exit 75.
    pub(super) async fn carry_out_by_steps(&self, image: &str) -> anyhow::Result<()> {
        let nodes = nodes(self.name, self.create.counts().1);
        // A campaign may have died before it had a node.
        remove_network(self.docker, self.name).await?;
        let network = NetworkCreateRequest {
            name: network(self.name),
            driver: Some("bridge".to_owned()),
            labels: Some(HashMap::from([(CLUSTER.to_owned(), self.name.to_owned())])),
            ..NetworkCreateRequest::default()
        };
        let made = self.docker.api().create_network(network).await;
        made.map_err(|error| {
            failed(&format!("the network {}: {error}", self::network(self.name)))
        })?;
        futures::future::try_join_all(nodes.iter().map(|node| self.boot(node, image))).await?;
        futures::future::try_join_all(nodes.iter().map(|node| self.configure(node, image))).await?;
        let Some((plane, workers)) = nodes.split_first() else { return Ok(()) };
        let config = format!("--config={KUBEADM}");
        self.run(&plane.name, &["kubeadm", "init", &config, "--skip-token-print", "--v=6"], "")
            .await?;
        if workers.is_empty() {
            self.allow_pods_on(plane).await?;
        }
        self.install(plane).await?;
        let join = ["kubeadm", "join", &config, "--v=6"];
        futures::future::try_join_all(workers.iter().map(|node| self.run(&node.name, &join, "")))
            .await?;
        Ok(())
    }

    /// Starts the container of a node, and waits until programs can be run in it.
    async fn boot(&self, node: &NewNode, image: &str) -> anyhow::Result<()> {
        let broken = |error: Error| failed(&format!("{}: {error}", node.name));
        let options = CreateContainerOptionsBuilder::new().name(&node.name).build();
        let body = container(self.name, node, image, &self.note.path());
        self.docker.api().create_container(Some(options), body).await.map_err(broken)?;
        let start = self.docker.api().start_container(&node.name, None::<StartContainerOptions>);
        start.await.map_err(broken)?;
        let logs = LogsOptionsBuilder::new().follow(true).stdout(true).stderr(true).build();
        let mut parts = self.docker.api().logs(&node.name, Some(logs));
        let booted = async {
            let mut log = String::new();
            while let Some(Ok(part)) = parts.next().await {
                log.push_str(&String::from_utf8_lossy(&part.into_bytes()));
                if has_booted(&log) {
                    return Ok(());
                }
            }
            Err(failed(&format!("the node {} ended while it started: {}", node.name, last(&log))))
        };
        let slow = || failed(&format!("the node {} does not start: see its log", node.name));
        tokio::time::timeout(BOOT, booted).await.map_err(|_| slow())?
    }

    async fn configure(&self, node: &NewNode, image: &str) -> anyhow::Result<()> {
        let found =
            self.docker.api().inspect_container(&node.name, None::<InspectContainerOptions>).await;
        let found = found.map_err(|error| failed(&error.to_string()))?;
        let networks = found.network_settings.and_then(|settings| settings.networks);
        let own = networks.and_then(|mut networks| networks.remove(&network(self.name)));
        let Some(address) = own.and_then(|own| own.ip_address).filter(|it| !it.is_empty()) else {
            return Err(failed(&format!("the node {} has no address", node.name)));
        };
        let version = self.docker.read(&node.name, "/kind/version").await;
        let version =
            version.map_err(|error| failed(&format!("{image} is no node image: {error}")))?;
        let config = kubeadm::Config {
            cluster: self.name,
            version: version.trim(),
            endpoint: &format!("{}-control-plane:6443", self.name),
            node: &node.name,
            address: &address,
            plane: node.plane,
        };
        let config = config.text().map_err(|why| failed(&why))?;
        self.run(&node.name, &["cp", "/dev/stdin", KUBEADM], &config).await?;
        Ok(())
    }

    /// Lets pods run on the only node (`kubeadminit`).
    async fn allow_pods_on(&self, plane: &NewNode) -> anyhow::Result<()> {
        let taint = ["taint", "nodes", "--all", "node-role.kubernetes.io/control-plane-"];
        self.kubectl(plane, &taint, "").await?;
        let label = "node.kubernetes.io/exclude-from-external-load-balancers-";
        self.kubectl(plane, &["label", "nodes", "--all", label], "").await
    }

    /// The pods' network and the storage that the node image has (`installcni`, `installstorage`).
    async fn install(&self, plane: &NewNode) -> anyhow::Result<()> {
        let network = self.docker.read(&plane.name, NETWORK_MANIFEST).await;
        let network = network.map_err(|error| failed(&error.to_string()))?;
        let endpoint = format!("{}:6443", plane.name);
        let network = kubeadm::network(&network, &endpoint).map_err(|why| failed(&why))?;
        self.kubectl(plane, &["create", "-f", "-"], &network).await?;
        match self.docker.read(&plane.name, STORAGE_MANIFEST).await {
            Ok(storage) => self.kubectl(plane, &["apply", "-f", "-"], &storage).await,
            // An image without it is one without storage.
            Err(_) => Ok(()),
        }
    }

    async fn kubectl(
        &self,
        plane: &NewNode,
        arguments: &[&str],
        input: &str,
    ) -> anyhow::Result<()> {
        let kubeconfig = format!("--kubeconfig={ADMIN}");
        let command = [&["kubectl", &*kubeconfig], arguments].concat();
        self.run(&plane.name, &command, input).await
    }

    /// Runs a program in a node. Errors: it fails.
    async fn run(&self, node: &str, command: &[&str], input: &str) -> anyhow::Result<()> {
        let said = self.docker.exec(node, command, Some(input.as_bytes())).await?;
        match said.code {
            0 => Ok(()),
            code => {
                let output = format!("{}\n{}", String::from_utf8_lossy(&said.stdout), said.stderr);
                let command = command.join(" ");
                Err(failed(&format!("{node}: {command} (exit {code}): {}", last(&output))))
            }
        }
    }
}

/// Whether a program that is run in the node no longer disturbs how it sets its cgroups up
/// (kind, `common.NodeReachedCgroupsReadyRegexp`).
fn has_booted(log: &str) -> bool {
    log.lines().any(|line| {
        let target = line.split_once("Reached target ").map(|(_, target)| target);
        line.contains("detected cgroup v1")
            || target.is_some_and(|it| it.contains("Multi-User System"))
    })
}

/// The last lines of an output: what it ended with.
fn last(output: &str) -> String {
    const LINES: usize = 5;
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n  ")
}

/// The container of a node (kind, `commonArgs` and `runArgsForNode` in `pkg/cluster/internal/providers/docker/provision.go`).
fn container(cluster: &str, node: &NewNode, image: &str, note: &str) -> ContainerCreateBody {
    let role = if node.plane { "control-plane" } else { "worker" };
    let labels = [(CLUSTER, cluster), (ROLE, role)];
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let published = PortBinding { host_ip: Some("127.0.0.1".to_owned()), host_port: None };
    let port_bindings =
        node.plane.then(|| HashMap::from([(API_PORT.to_owned(), Some(vec![published]))]));
    let in_memory = ["/tmp", "/run"].map(|folder| (folder.to_owned(), String::new()));
    let restart = RestartPolicy {
        name: Some(RestartPolicyNameEnum::ON_FAILURE),
        maximum_retry_count: Some(1),
    };
    let host_config = HostConfig {
        privileged: Some(true),
        security_opt: Some(["seccomp=unconfined", "apparmor=unconfined"].map(str::to_owned).into()),
        tmpfs: Some(HashMap::from(in_memory)),
        binds: Some(vec![LIBRARIES.to_owned(), format!("/dev/null:{note}:ro")]),
        restart_policy: Some(restart),
        init: Some(false),
        cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
        network_mode: Some(network(cluster)),
        port_bindings,
        ..HostConfig::default()
    };
    let endpoints = HashMap::from([(network(cluster), EndpointSettings::default())]);
    ContainerCreateBody {
        hostname: Some(node.name.clone()),
        tty: Some(true),
        image: Some(image.to_owned()),
        labels: Some(HashMap::from(labels)),
        env: node.plane.then(|| vec![format!("KUBECONFIG={ADMIN}")]),
        exposed_ports: node.plane.then(|| vec![API_PORT.to_owned()]),
        // Pods and images are not on the container's own file system.
        volumes: Some(vec!["/var".to_owned()]),
        host_config: Some(host_config),
        networking_config: Some(NetworkingConfig { endpoints_config: Some(endpoints) }),
        ..ContainerCreateBody::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_the_names_that_kind_gives() {
        let names: Vec<String> = nodes("life", 3).into_iter().map(|node| node.name).collect();
        assert_eq!(names, ["life-control-plane", "life-worker", "life-worker2", "life-worker3"]);
    }

    #[test]
    fn what_only_kind_can_do_is_named() {
        let check = |text: &str| {
            let create: CreateSpec = serde_saphyr::from_str(text).unwrap();
            check(&create).map_err(|error| error.to_string())
        };
        assert_eq!(check("{nodeImage: a, workers: 2}"), Ok(()));
        for (text, part) in [
            ("{config: kind.yaml}", "create.config is a file for kind"),
            ("{nodeImage: a, controlPlanes: 3}", "create.controlPlanes is more than 1"),
            ("{workers: 1}", "create.nodeImage is not named"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn both_versions_of_cgroups_tell_when_a_node_has_booted() {
        assert!(has_booted("INFO: x\nINFO: detected cgroup v1\n"));
        assert!(has_booted(
            "[  OK  ] Reached target \u{1b}[0;1;39mmulti-user.target - Multi-User System.\n"
        ));
        assert!(!has_booted(
            "[  OK  ] Reached target basic.target - Basic System.\nMulti-User System"
        ));
    }

    #[test]
    fn only_the_control_plane_is_published_on_this_machine_only() {
        let of = |plane| container("life", &NewNode { name: "n".to_owned(), plane }, "image", "/n");
        let binding =
            |body: ContainerCreateBody| body.host_config?.port_bindings?.remove(API_PORT)?;
        let published = binding(of(true)).unwrap();
        assert_eq!(published[0].host_ip.as_deref(), Some("127.0.0.1"));
        assert_eq!(binding(of(false)), None);
        let binds = of(false).host_config.and_then(|config| config.binds).unwrap();
        assert!(binds.contains(&"/dev/null:/n:ro".to_owned()), "{binds:?}");
    }
}
