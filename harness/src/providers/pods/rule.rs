//! A rule in a node's network namespace that leads its pods' connections to the API server somewhere else.
//!
//! Nothing of a pod changes: it goes on calling the address of the Service `default/kubernetes`. The rule comes before
//! those of kube-proxy. It lasts as long as the shell that made it, which waits for the end of its input: whatever becomes
//! of this process, the kernel ends that, and the rule goes.

use std::net::SocketAddr;

use bollard::{
    container::LogOutput,
    exec::{CreateExecOptions, StartExecOptions, StartExecResults},
};
use futures::StreamExt;
use tokio::io::AsyncWrite;

use crate::providers::kind::{Docker, failed};

/// A rule while it lasts: until this is dropped.
pub struct Rule {
    _input: std::pin::Pin<Box<dyn AsyncWrite + Send>>,
}

/// What the shell says once the rule is there.
const SET: &str = "the rule is set";

impl Rule {
    /// Leads what pods of this node send to `service` to `listener`, an address of the node.
    ///
    /// # Errors
    /// Docker fails, or the node has no iptables: exit 75.
    pub async fn set(
        docker: &Docker,
        node: &str,
        service: SocketAddr,
        listener: SocketAddr,
    ) -> anyhow::Result<Rule> {
        let rule = format!(
            "PREROUTING -d {}/32 -p tcp --dport {} -m comment --comment trommel -j DNAT --to-destination {listener}",
            service.ip(),
            service.port()
        );
        let script = format!(
            "iptables -w -t nat -I {} && echo '{SET}' && cat >/dev/null; iptables -w -t nat -D {rule}",
            rule.replacen("PREROUTING", "PREROUTING 1", 1)
        );
        let options = CreateExecOptions {
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(vec!["sh", "-c", &script]),
            ..CreateExecOptions::default()
        };
        let broken = |error: bollard::errors::Error| failed(&format!("{node}: {error}"));
        let id = docker.api().create_exec(node, options).await.map_err(broken)?.id;
        let started = docker.api().start_exec(&id, None::<StartExecOptions>).await;
        let StartExecResults::Attached { mut output, input } = started.map_err(broken)? else {
            return Err(failed(&format!("{node}: a program does not say what it does")));
        };
        let mut said = String::new();
        while let Some(part) = output.next().await {
            let part: LogOutput = part.map_err(broken)?;
            said.push_str(&String::from_utf8_lossy(&part.into_bytes()));
            if said.contains(SET) {
                return Ok(Rule { _input: input });
            }
        }
        let message = format!("{node}: its pods can't be led to Trommel: {}", said.trim());
        Err(failed(&message))
    }
}
