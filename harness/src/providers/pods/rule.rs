//! A rule in a node's network namespace that leads its pods' connections to the API server somewhere else.
//!
//! Nothing of a pod changes: it goes on calling the address of the Service `default/kubernetes`. The rule comes before
//! those of kube-proxy. It lasts as long as the shell that made it, which waits for the end of its input: whatever becomes
//! of this process, the kernel ends that, and the rule goes.

use std::{net::SocketAddr, pin::Pin};

use futures::StreamExt;
use tokio::io::AsyncWrite;

use crate::providers::kind::{Begun, Docker, failed};

/// A rule while it lasts: until this is dropped.
pub struct Rule {
    _input: Pin<Box<dyn AsyncWrite + Send>>,
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
        let Begun { mut output, input, .. } =
            docker.begin(node, &["sh", "-c", &script], true).await?;
        let mut said = String::new();
        while let Some(part) = output.next().await {
            said.push_str(&String::from_utf8_lossy(&part?.into_bytes()));
            if said.contains(SET) {
                return Ok(Rule { _input: input });
            }
        }
        let message = format!("{node}: its pods can't be led to Trommel: {}", said.trim());
        Err(failed(&message))
    }
}
