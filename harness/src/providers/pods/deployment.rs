//! The subject's Deployment: which it is, how many of its pods there are, and what becomes of them.

use std::fmt;

use serde_json::{Value, json};

use crate::{
    config::{Campaign, DeploymentSpec, REPLICAS_AT_MOST},
    exit::{Exit, Expected},
    providers::{kind::failed, remote::access},
};

/// A Deployment of the campaign's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployment {
    pub namespace: String,
    pub name: String,
    /// The container that is the subject.
    pub container: String,
    /// How many pods it has.
    pub replicas: u32,
}

/// A pod of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    pub name: String,
    pub uid: String,
    pub node: String,
}

/// Usual names of the container with the controller beside sidecars.
const USUAL: [&str; 2] = ["manager", "controller"];

impl Deployment {
    /// The one that the campaign means, among these manifests; there it loses its pods: trials make them.
    ///
    /// # Errors
    /// There is none or more than one, or it can't be the subject: exit 64.
    pub fn find(
        campaign: &Campaign,
        spec: &DeploymentSpec,
        manifests: &mut [Value],
    ) -> anyhow::Result<Deployment> {
        let found = Deployment::named(campaign, spec, manifests)?;
        let mut all = manifests.iter_mut();
        if let Some(object) = all.find(|object| found.is(object)) {
            object["spec"]["replicas"] = 0.into();
        }
        Ok(found)
    }

    fn named(
        campaign: &Campaign,
        spec: &DeploymentSpec,
        manifests: &[Value],
    ) -> anyhow::Result<Deployment> {
        let wrong = |what: &str| {
            let message = format!("{}: spec.subject.deployment: {what}", campaign.path.display());
            Expected::error(Exit::Usage, message)
        };
        let named = |object: &&Value| {
            let name = &object["metadata"]["name"];
            object["kind"] == "Deployment"
                && spec.name.as_ref().is_none_or(|wanted| name == wanted.as_str())
        };
        let found: Vec<&Value> = manifests.iter().filter(named).collect();
        let names = || {
            let all = manifests.iter().filter(|object| object["kind"] == "Deployment");
            let names = all.filter_map(|object| object["metadata"]["name"].as_str());
            names.collect::<Vec<_>>().join(", ")
        };
        let object = match found[..] {
            [one] => one,
            [] => {
                return Err(wrong(&format!(
                    "its manifests hold no such Deployment (there are: {})",
                    if names().is_empty() { "none".to_owned() } else { names() }
                )));
            }
            _ => {
                return Err(wrong(&format!("give `name`: its manifests hold {}", names())));
            }
        };
        let template = &object["spec"]["template"]["spec"];
        if template["hostNetwork"] == true {
            return Err(wrong(
                "its pods use the node's network (hostNetwork), where their connections can't be told from others'",
            ));
        }
        let containers: Vec<&str> = template["containers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|container| container["name"].as_str())
            .collect();
        let container = match &spec.container {
            Some(wanted) => containers.iter().find(|name| *name == wanted),
            None => USUAL
                .iter()
                .find_map(|usual| containers.iter().find(|name| *name == usual))
                .or(containers.first()),
        };
        let container = container.ok_or_else(|| {
            wrong(&format!("it has no such container (there are: {})", containers.join(", ")))
        })?;
        let replicas = object["spec"]["replicas"].as_u64().unwrap_or(1);
        let replicas = u32::try_from(replicas).unwrap_or(u32::MAX);
        if !(1..=REPLICAS_AT_MOST).contains(&replicas) {
            return Err(wrong(&format!(
                "it has {replicas} replicas: from 1 to {REPLICAS_AT_MOST} can be run"
            )));
        }
        Ok(Deployment {
            namespace: object["metadata"]["namespace"].as_str().unwrap_or("default").to_owned(),
            name: object["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
            container: (*container).to_owned(),
            replicas,
        })
    }

    /// Whether an object is this Deployment.
    pub fn is(&self, object: &Value) -> bool {
        object["kind"] == "Deployment"
            && object["metadata"]["name"] == *self.name
            && object["metadata"]["namespace"].as_str().unwrap_or("default") == self.namespace
    }

    /// It does not run in time.
    pub fn late(&self, what: &str) -> anyhow::Error {
        failed(&format!("the Deployment {}/{}: {}", self.namespace, self.name, what.trim_end()))
    }

    /// Whether the cluster has none of that name.
    ///
    /// # Errors
    /// It has: exit 64.
    pub async fn is_new(&self, upstream: &proxy::Upstream) -> anyhow::Result<()> {
        let (status, _) = access::request(upstream, "GET", &self.path()).await?;
        if status == http::StatusCode::NOT_FOUND {
            return Ok(());
        }
        let message = format!(
            "the cluster already has the Deployment {}/{}; a campaign installs its own: delete that one, or use another cluster",
            self.namespace, self.name
        );
        Err(Expected::error(Exit::Usage, message))
    }

    fn path(&self) -> String {
        format!("/apis/apps/v1/namespaces/{}/deployments/{}", self.namespace, self.name)
    }

    /// Sets how many pods it is to have.
    ///
    /// # Errors
    /// The cluster refuses.
    pub async fn scale(&self, upstream: &proxy::Upstream, replicas: u32) -> anyhow::Result<()> {
        let patch = json!({"spec": {"replicas": replicas}});
        let (status, answer) = access::merge(upstream, &self.path(), &patch).await?;
        match status.is_success() {
            true => Ok(()),
            false => Err(failed(&format!(
                "the Deployment {}/{} can't be scaled: {}",
                self.namespace, self.name, answer["message"]
            ))),
        }
    }

    /// Its pods that are not being deleted, the oldest first. Their ReplicaSets tell them from others with such labels.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub async fn pods(&self, upstream: &proxy::Upstream) -> anyhow::Result<Vec<Value>> {
        let sets = format!("/apis/apps/v1/namespaces/{}/replicasets", self.namespace);
        let own: Vec<Value> = items(upstream, &sets)
            .await?
            .into_iter()
            .filter(|set| owner(set)["kind"] == "Deployment" && owner(set)["name"] == *self.name)
            .map(|set| set["metadata"]["uid"].clone())
            .collect();
        let mut pods =
            items(upstream, &format!("/api/v1/namespaces/{}/pods", self.namespace)).await?;
        pods.retain(|pod| {
            own.contains(&owner(pod)["uid"]) && pod["metadata"]["deletionTimestamp"].is_null()
        });
        pods.sort_by_key(|pod| pod["metadata"]["creationTimestamp"].to_string());
        Ok(pods)
    }

    /// Deletes one of its pods at once.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub async fn delete_pod(&self, upstream: &proxy::Upstream, pod: &Pod) -> anyhow::Result<()> {
        let path =
            format!("/api/v1/namespaces/{}/pods/{}?gracePeriodSeconds=0", self.namespace, pod.name);
        access::request(upstream, "DELETE", &path).await?;
        Ok(())
    }

    /// Deletes all its pods at once.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub async fn delete_pods(&self, upstream: &proxy::Upstream) -> anyhow::Result<()> {
        for pod in self.pods(upstream).await?.iter().filter_map(Pod::of) {
            self.delete_pod(upstream, &pod).await?;
        }
        Ok(())
    }
}

/// The objects of a collection.
async fn items(upstream: &proxy::Upstream, path: &str) -> anyhow::Result<Vec<Value>> {
    let (_, mut list) = access::request(upstream, "GET", path).await?;
    Ok(list["items"].as_array_mut().map(std::mem::take).unwrap_or_default())
}

/// Those of ReplicaSets and their pods have one owner.
fn owner(object: &Value) -> &Value {
    &object["metadata"]["ownerReferences"][0]
}

impl Pod {
    /// One that was bound to a node.
    pub fn of(object: &Value) -> Option<Pod> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Some(Pod {
            name: text(&object["metadata"]["name"])?,
            uid: text(&object["metadata"]["uid"])?,
            node: text(&object["spec"]["nodeName"])?,
        })
    }
}

/// How the container of a pod ended before, as the kubelet tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// How often.
    pub times: u64,
    /// With what, the last time.
    pub code: Option<i32>,
}

impl Ended {
    /// What a pod's status says of this container.
    pub fn of(pod: &Value, container: &str) -> Ended {
        let mut listed = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
        let Some(status) = listed.find(|status| status["name"] == container) else {
            return Ended { times: 0, code: None };
        };
        let [now, last] = ["state", "lastState"].map(|state| &status[state]["terminated"]);
        let ended = if now.is_object() { now } else { last };
        let code = ended["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok());
        let restarts = status["restartCount"].as_u64().unwrap_or_default();
        Ended { times: restarts + u64::from(now.is_object()), code }
    }
}

/// Why the container of a pod does not run, as the kubelet or scheduler tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pod: String,
    /// Of a container, or of a condition of the pod; may be empty.
    reason: String,
    message: String,
}

/// Reasons with which the kubelet gives up until something else changes (kubernetes, `pkg/kubelet/images/types.go` and
/// `pkg/kubelet/container/sync_result.go`).
const HOPELESS: [&str; 9] = [
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImageInspectError",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
];

impl Waiting {
    /// What a pod's status says of this container; else of another container that waits, for which this one waits; else
    /// of a condition that does not hold.
    pub fn of(pod: &Value, container: &str) -> Waiting {
        let status = &pod["status"];
        let listed = |field: &'static str| status[field].as_array().into_iter().flatten();
        let of_containers = listed("containerStatuses").chain(listed("initContainerStatuses"));
        let mut waiting: Vec<(bool, &Value)> = of_containers
            .map(|status| (status["name"] == container, &status["state"]["waiting"]))
            .filter(|(_, waiting)| waiting.is_object() && !is_usual(waiting))
            .collect();
        waiting.sort_by_key(|(is_it, _)| !is_it);
        let condition = || listed("conditions").find(|condition| condition["status"] == "False");
        let told = waiting.first().map(|(_, waiting)| *waiting).or_else(condition);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let word = |field: &str| told.map(|told| text(&told[field])).unwrap_or_default();
        let pod = text(&pod["metadata"]["name"]);
        Waiting { pod, reason: word("reason"), message: word("message") }
    }

    /// Whether the kubelet starts nothing until something else changes.
    pub fn is_hopeless(&self) -> bool {
        HOPELESS.contains(&&*self.reason)
    }
}

/// A container waits so before each start.
fn is_usual(waiting: &Value) -> bool {
    waiting["reason"] == "ContainerCreating" || waiting["reason"] == "PodInitializing"
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Waiting { pod, reason, message } = self;
        write!(f, "its pod {pod} does not run: ")?;
        match (&**reason, &**message) {
            ("", "") => f.write_str("neither the kubelet nor the scheduler says why"),
            (reason, "") => f.write_str(reason),
            (reason, message) => write!(f, "{reason}: {message}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_counted_with_the_last_code() {
        let check = |status: Value, times: u64, code: Option<i32>| {
            let pod = json!({"status": {"containerStatuses": [status]}});
            assert_eq!(Ended::of(&pod, "manager"), Ended { times, code });
        };
        let ended = |code: i32| json!({"terminated": {"exitCode": code}});
        let running = json!({"running": {}});
        check(json!({"name": "manager", "restartCount": 0, "state": running}), 0, None);
        check(json!({"name": "manager", "restartCount": 0, "state": ended(2)}), 1, Some(2));
        let again =
            json!({"name": "manager", "restartCount": 1, "state": running, "lastState": ended(3)});
        check(again, 1, Some(3));
        check(json!({"name": "other", "restartCount": 7, "state": ended(2)}), 0, None);
    }

    #[test]
    fn the_reason_of_the_container_comes_first() {
        let waiting = |name: &str, reason: &str, message: &str| {
            let waiting = json!({"reason": reason, "message": message});
            json!({"name": name, "state": {"waiting": waiting}})
        };
        let pod = |containers: Value, init: Value| {
            let unready =
                json!({"status": "False", "reason": "ContainersNotReady", "message": "x"});
            json!({"metadata": {"name": "shop-1"}, "status": {
                "containerStatuses": containers, "initContainerStatuses": init, "conditions": [unready],
            }})
        };
        let check = |pod: Value, hopeless: bool, expect: &str| {
            let told = Waiting::of(&pod, "manager");
            assert_eq!(told.to_string(), format!("its pod shop-1 does not run: {expect}"));
            assert_eq!(told.is_hopeless(), hopeless, "{told}");
        };
        let missing = waiting("manager", "ErrImageNeverPull", "image shop:1 is not present");
        let sidecar = waiting("proxy", "CrashLoopBackOff", "back-off");
        let own = pod(json!([sidecar, missing]), json!([]));
        check(own, true, "ErrImageNeverPull: image shop:1 is not present");
        let creating = waiting("manager", "PodInitializing", "");
        let first = waiting("setup", "CrashLoopBackOff", "back-off 10s");
        check(pod(json!([creating]), json!([first])), true, "CrashLoopBackOff: back-off 10s");
        let creating = waiting("manager", "ContainerCreating", "");
        check(pod(json!([creating]), json!([])), false, "ContainersNotReady: x");
        let none = json!({"metadata": {"name": "shop-1"}});
        check(none, false, "neither the kubelet nor the scheduler says why");
    }
}
