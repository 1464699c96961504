//! How long a pod's container is waited for: as long as its kubelet may still start it.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, Interval};

use super::deployment::{Deployment, Ended, Waiting};
use crate::campaign::interrupt;

/// How long a pod may take until its container runs.
const LONGEST: Duration = Duration::from_secs(90);
/// How long a container may wait for a reason that goes away by itself as a rule never: the registry may answer the next
/// time, and the Secret may come a moment later.
const HOPELESS: Duration = Duration::from_secs(5);
/// At which pace it is looked whether it runs, and its pod is asked for.
const PACE: Duration = Duration::from_millis(10);
const ASKED: Duration = Duration::from_millis(500);

/// One wait.
pub struct Patience<'a> {
    deployment: &'a Deployment,
    upstream: &'a proxy::Upstream,
    /// The only pod that is looked at; none: all of the Deployment.
    uid: Option<&'a str>,
    pace: Interval,
    began: Instant,
    asked: Instant,
    /// Since when no start is to be hoped for.
    hopeless: Option<Instant>,
}

impl<'a> Patience<'a> {
    /// A wait that begins now.
    pub fn new(
        deployment: &'a Deployment,
        upstream: &'a proxy::Upstream,
        uid: Option<&'a str>,
    ) -> Patience<'a> {
        let now = Instant::now();
        let pace = tokio::time::interval(PACE);
        Patience { deployment, upstream, uid, pace, began: now, asked: now, hopeless: None }
    }

    /// Waits until it is worth looking again. The container may have ended by itself meanwhile, more often than known.
    ///
    /// # Errors
    /// There is nothing to wait for any more, with what the kubelet or the scheduler says: exit 75. The user asked to
    /// finish, and the wait is a long one: exit 5.
    pub async fn wait(&mut self, ends_known: u64) -> anyhow::Result<Option<Ended>> {
        self.pace.tick().await;
        if self.asked.elapsed() < ASKED {
            return Ok(None);
        }
        let pods = self.deployment.pods(self.upstream).await?;
        self.asked = Instant::now();
        let pod = pods.iter().find(|pod| self.is_of(pod));
        let ended = pod.map(|pod| Ended::of(pod, &self.deployment.container));
        if let Some(ended) = ended.filter(|ended| ended.times > ends_known) {
            return Ok(Some(ended));
        }
        let told = pod.map(|pod| Waiting::of(pod, &self.deployment.container));
        let hopeless = told.as_ref().is_some_and(Waiting::is_hopeless);
        self.hopeless = hopeless.then(|| self.hopeless.unwrap_or(self.asked));
        let waited = self.began.elapsed();
        if waited > HOPELESS {
            interrupt::check("the start of the controller's pod")?;
        }
        if waited > LONGEST || self.hopeless.is_some_and(|since| since.elapsed() > HOPELESS) {
            let why = told.map_or_else(|| "it has no pod".to_owned(), |told| told.to_string());
            return Err(self.deployment.late(&why));
        }
        Ok(None)
    }

    /// Whether it has lasted for so long only as what goes away by itself.
    pub fn is_short(&self) -> bool {
        self.began.elapsed() < HOPELESS
    }

    fn is_of(&self, pod: &Value) -> bool {
        self.uid.is_none_or(|uid| pod["metadata"]["uid"] == uid)
    }
}
