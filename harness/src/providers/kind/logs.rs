//! What the nodes of a cluster have to say when something failed there (kind, `pkg/cluster/internal/logs`).

use std::path::Path;

use bollard::query_parameters::LogsOptionsBuilder;
use futures::StreamExt;

use super::{ADMIN, Docker, Node};

/// The folder of a run that they are written to.
pub const FOLDER: &str = "cluster-logs";

/// Bytes of one file at most. The end of a log says more than its beginning.
const FILE_AT_MOST: usize = 8 << 20;

/// Writes to this folder what can be had of each node, and the cluster's events. What can't be had is not: this is called
/// when something failed already.
pub async fn export(docker: &Docker, nodes: &[Node], folder: &Path) {
    if nodes.is_empty() || std::fs::create_dir_all(folder).is_err() {
        return;
    }
    for node in nodes {
        write(folder, &format!("{}.log", node.name), container(docker, node).await);
        if !node.is_node() || !node.runs {
            continue;
        }
        for unit in ["kubelet", "containerd"] {
            let journal = ["journalctl", "--no-pager", "--unit", unit];
            let said = said(docker, node, &journal).await;
            write(folder, &format!("{}-{unit}.log", node.name), said);
        }
    }
    let runs = |node: &&Node| node.runs && node.role == "control-plane";
    if let Some(plane) = nodes.iter().find(runs) {
        let kubeconfig = format!("--kubeconfig={ADMIN}");
        let events =
            ["kubectl", &kubeconfig, "--request-timeout=10s", "get", "events", "--all-namespaces"];
        write(folder, "events.txt", said(docker, plane, &events).await);
    }
    eprintln!("trommel: the cluster's logs are in {}", folder.display());
}

fn write(folder: &Path, name: &str, content: Vec<u8>) {
    let end = &content[content.len().saturating_sub(FILE_AT_MOST)..];
    if !end.is_empty() {
        drop(std::fs::write(folder.join(name), end));
    }
}

/// What the first process of a container wrote.
async fn container(docker: &Docker, node: &Node) -> Vec<u8> {
    let options = LogsOptionsBuilder::new().stdout(true).stderr(true).timestamps(true).build();
    let mut parts = docker.api().logs(&node.name, Some(options));
    let mut log = Vec::new();
    while let Some(Ok(part)) = parts.next().await {
        log.extend_from_slice(&part.into_bytes());
    }
    log
}

async fn said(docker: &Docker, node: &Node, command: &[&str]) -> Vec<u8> {
    match docker.exec(&node.name, command, None::<&[u8]>).await {
        Ok(said) => said.stdout,
        Err(_) => vec![],
    }
}
