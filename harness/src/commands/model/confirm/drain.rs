//! `kubectl drain --ignore-daemonsets`: a node is cordoned, and its pods are evicted. What a PodDisruptionBudget refuses is
//! asked for again every five seconds, until no pod is left (`pkg/drain/drain.go` of kubectl).

use std::time::Duration;

use serde_json::{Value, json};
use trace::Time;
use workloads::{Client, ClientError};

/// Between two attempts.
const AGAIN: Duration = Duration::from_secs(5);

/// The drain of a node, one at a time.
pub struct Drain {
    client: Client,
    /// The node, and when its pods are evicted again.
    node: Option<(String, Time)>,
}

impl Drain {
    /// None so far.
    pub fn new(client: Client) -> Drain {
        Drain { client, node: None }
    }

    /// Whether a node still has pods.
    pub fn is_going(&self) -> bool {
        self.node.is_some()
    }

    /// When pods are evicted next.
    pub fn due(&self, now: Time) -> Option<Duration> {
        self.node.as_ref().map(|(_, due)| due.since(now))
    }

    /// Cordons a node.
    ///
    /// # Errors
    /// The API refuses.
    pub async fn begin(&mut self, node: &str, now: Time) -> Result<(), ClientError> {
        let nodes = self.client.resource("v1", "Node").await?;
        let patch = json!({"spec": {"unschedulable": true}});
        self.client.merge_patch(&nodes, "", (node, ""), &patch, "").await?;
        self.node = Some((node.to_owned(), now));
        Ok(())
    }

    /// Evicts what is left, if it is time to. It is over when nothing is.
    ///
    /// # Errors
    /// The API refuses for another reason than a budget.
    pub async fn go_on(&mut self, now: Time) -> Result<(), ClientError> {
        let Some((node, due)) = &self.node else { return Ok(()) };
        if due.since(now) > Duration::ZERO {
            return Ok(());
        }
        let pods = self.client.resource("v1", "Pod").await?;
        let all = self.client.list(&pods, "", "").await?;
        let left: Vec<&Value> = all.iter().filter(|pod| is_waited_for(pod, node)).collect();
        for pod in &left {
            let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
            match self.client.evict(text("namespace"), text("name")).await {
                // 500: several budgets cover it.
                Err(error) if ![429, 500, 404].contains(&error.code()) => return Err(error),
                _ => {}
            }
        }
        self.node = (!left.is_empty()).then(|| (node.clone(), now.plus(AGAIN)));
        Ok(())
    }
}

fn is_waited_for(pod: &Value, node: &str) -> bool {
    let owners = pod["metadata"]["ownerReferences"].as_array();
    let of_daemon_set = owners.into_iter().flatten().any(|owner| owner["kind"] == "DaemonSet");
    pod["spec"]["nodeName"] == *node && !of_daemon_set
}
