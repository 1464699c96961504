//! Deployments, ReplicaSets, scheduler and kubelet at work: what `kubectl get` would show at each stage, and that
//! a fork anywhere in a rollout comes to the same end.

use std::time::Duration;

use controllers::Controller;
use serde_json::{Value, json};
use trace::Revision;

use super::{Api, START};
use crate::{EnvironmentOptions, Server, SuffixOrder, World, WorldOptions};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// A server on which everything that exists runs, with so many nodes.
pub(super) fn full(nodes: u32) -> Api {
    let mut world =
        World::new(WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending });
    let controllers = Controller::FULL.to_vec();
    world.start_environment(&EnvironmentOptions {
        controllers,
        nodes,
        ..EnvironmentOptions::default()
    });
    let api = Api { server: Server::new(world, None) };
    api.server.run_environment().unwrap();
    api
}

fn template(image: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": image}]},
    })
}

/// A Deployment `web`; `more` is merged into its spec.
fn deployment(replicas: u32, more: Value) -> Value {
    let mut spec = json!({
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": template("v1"),
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    json!({"metadata": {"name": "web"}, "spec": spec})
}

impl Api {
    pub(super) fn calm(&self) {
        self.server.run_environment().unwrap();
    }

    pub(super) fn later(&self, seconds: u64) {
        let until = self.server.now().plus(Duration::from_secs(seconds));
        self.server.live_until(until).unwrap();
        self.calm();
    }

    pub(super) fn patch(&self, path: &str, patch: Value) {
        let got = self.call("PATCH", path, Some(patch));
        assert_eq!(got.code, 200, "{path}: {}", got.message());
    }

    pub(super) fn items(&self, path: &str) -> Vec<Value> {
        self.get(path).body["items"].as_array().expect("items").clone()
    }

    /// `phase node` of each pod, and whether it is ready.
    fn pods(&self) -> Vec<String> {
        let told = |pod: &Value| {
            let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
            let ready =
                conditions.into_iter().any(|c| c["type"] == "Ready" && c["status"] == "True");
            let node = pod["spec"]["nodeName"].as_str().unwrap_or("-");
            let phase = pod["status"]["phase"].as_str().unwrap_or("");
            format!("{phase} {node}{}", if ready { " ready" } else { "" })
        };
        self.items(PODS).iter().map(told).collect()
    }

    /// `image replicas/ready revision` of each ReplicaSet, oldest revision first.
    fn sets(&self) -> Vec<String> {
        let told = |set: &Value| {
            let image = &set["spec"]["template"]["spec"]["containers"][0]["image"];
            let count = |value: &Value| value.as_i64().unwrap_or(0);
            let revision = &set["metadata"]["annotations"]["deployment.kubernetes.io/revision"];
            format!(
                "r{} {} {}/{}",
                revision.as_str().unwrap_or("-"),
                image.as_str().unwrap_or(""),
                count(&set["spec"]["replicas"]),
                count(&set["status"]["readyReplicas"]),
            )
        };
        let mut sets: Vec<String> = self.items(SETS).iter().map(told).collect();
        sets.sort();
        sets
    }

    /// `type=status reason` of the Deployment's conditions, by type.
    fn conditions(&self) -> Vec<String> {
        let status = self.get(&format!("{DEPLOYMENTS}/web")).body["status"].clone();
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let mut told: Vec<String> = conditions
            .map(|c| format!("{}={} {}", text(&c["type"]), text(&c["status"]), text(&c["reason"])))
            .collect();
        told.sort();
        told
    }

    fn status(&self, fields: &[&str]) -> Vec<i64> {
        let status = self.get(&format!("{DEPLOYMENTS}/web")).body["status"].clone();
        fields.iter().map(|field| status[*field].as_i64().unwrap_or(0)).collect()
    }
}

#[test]
fn a_deployment_becomes_ready_pods_spread_over_the_nodes() {
    let api = full(3);
    api.create(DEPLOYMENTS, deployment(3, json!({})));
    api.calm();
    let mut pods = api.pods();
    pods.sort();
    assert_eq!(pods, ["Running node-0 ready", "Running node-1 ready", "Running node-2 ready"]);
    assert_eq!(api.sets(), ["r1 v1 3/3"]);
    let counts = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"];
    assert_eq!(api.status(&counts), [3, 3, 3, 3]);
    let well =
        ["Available=True MinimumReplicasAvailable", "Progressing=True NewReplicaSetAvailable"];
    assert_eq!(api.conditions(), well);
    assert_eq!(api.server.next_timer(), None, "nothing is waited for");
    let ips: Vec<Value> =
        api.items(PODS).iter().map(|pod| pod["status"]["podIP"].clone()).collect();
    assert!(ips[0] != ips[1] && ips[1] != ips[2], "{ips:?}");
}

#[test]
fn without_nodes_pods_wait_and_the_deadline_passes() {
    let api = full(0);
    api.create(DEPLOYMENTS, deployment(1, json!({"progressDeadlineSeconds": 60})));
    api.calm();
    assert_eq!(api.pods(), ["Pending -"]);
    let pod = api.items(PODS).remove(0);
    assert_eq!(pod["status"]["conditions"][0]["message"], "no nodes available to schedule pods");
    let before =
        ["Available=False MinimumReplicasUnavailable", "Progressing=True ReplicaSetUpdated"];
    assert_eq!(api.conditions(), before);
    api.later(120);
    let after = [
        "Available=False MinimumReplicasUnavailable",
        "Progressing=False ProgressDeadlineExceeded",
    ];
    assert_eq!(api.conditions(), after);
}

#[test]
fn a_new_template_rolls_out_and_back() {
    let api = full(2);
    api.create(DEPLOYMENTS, deployment(4, json!({})));
    api.calm();
    api.patch(&format!("{DEPLOYMENTS}/web"), json!({"spec": {"template": template("v2")}}));
    // Merge patches replace lists, so the container list is v2's alone.
    api.calm();
    assert_eq!(api.sets(), ["r1 v1 0/0", "r2 v2 4/4"]);
    assert_eq!(api.pods().len(), 4);
    api.patch(&format!("{DEPLOYMENTS}/web"), json!({"spec": {"template": template("v1")}}));
    api.calm();
    assert_eq!(api.sets(), ["r2 v2 0/0", "r3 v1 4/4"]);
    let back = api.items(SETS).into_iter().find(|set| set["spec"]["replicas"] == 4).expect("a set");
    let history = &back["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"];
    assert_eq!(history, "1");
}

#[test]
fn a_rollout_never_leaves_its_bounds() {
    let api = full(2);
    let strategy = json!({"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}});
    api.create(DEPLOYMENTS, deployment(5, strategy));
    api.calm();
    let before = api.server.revision();
    api.patch(&format!("{DEPLOYMENTS}/web"), json!({"spec": {"template": template("v2")}}));
    api.calm();
    let after = api.server.revision();
    for revision in before.0..=after.0 {
        let world = api.server.world_at(Revision(revision)).expect("a world");
        let at = Api { server: Server::new(world, None) };
        let pods = at.pods();
        let ready = pods.iter().filter(|pod| pod.ends_with("ready")).count();
        // One set's new pods may come before another's old ones are gone: what is bounded is what is asked for.
        let asked = |set: &Value| set["spec"]["replicas"].as_i64().unwrap_or(0);
        let asked: i64 = at.items(SETS).iter().map(asked).sum();
        assert!(asked <= 6 && ready >= 4, "revision {revision}: {asked} {pods:?}");
    }
    assert_eq!(api.sets(), ["r1 v1 0/0", "r2 v2 5/5"]);
}

#[test]
fn recreate_stops_all_before_it_starts_any() {
    let api = full(1);
    api.create(DEPLOYMENTS, deployment(3, json!({"strategy": {"type": "Recreate"}})));
    api.calm();
    let before = api.server.revision();
    api.patch(&format!("{DEPLOYMENTS}/web"), json!({"spec": {"template": template("v2")}}));
    api.calm();
    for revision in before.0..=api.server.revision().0 {
        let world = api.server.world_at(Revision(revision)).expect("a world");
        let at = Api { server: Server::new(world, None) };
        let image = |pod: &Value| pod["spec"]["containers"][0]["image"].clone();
        let images: Vec<Value> = at.items(PODS).iter().map(image).collect();
        assert!(images.iter().all(|image| *image == images[0]), "revision {revision}: {images:?}");
    }
    assert_eq!(api.sets(), ["r1 v1 0/0", "r2 v2 3/3"]);
}

#[test]
fn a_paused_deployment_scales_but_does_not_roll_out() {
    let api = full(1);
    api.create(DEPLOYMENTS, deployment(2, json!({"paused": true})));
    api.calm();
    assert_eq!(api.sets(), [] as [&str; 0]);
    api.patch(&format!("{DEPLOYMENTS}/web"), json!({"spec": {"paused": false}}));
    api.calm();
    assert_eq!(api.sets(), ["r1 v1 2/2"]);
    let paused = json!({"spec": {"paused": true, "replicas": 3, "template": template("v2")}});
    api.patch(&format!("{DEPLOYMENTS}/web"), paused);
    api.calm();
    assert_eq!(api.sets(), ["r1 v1 3/3"]);
    assert!(api.conditions().contains(&"Progressing=Unknown DeploymentPaused".to_owned()));
}

#[test]
fn old_replica_sets_are_kept_up_to_the_limit() {
    let api = full(1);
    api.create(DEPLOYMENTS, deployment(1, json!({"revisionHistoryLimit": 1})));
    api.calm();
    for image in ["v2", "v3", "v4"] {
        api.patch(&format!("{DEPLOYMENTS}/web"), json!({"spec": {"template": template(image)}}));
        api.calm();
    }
    assert_eq!(api.sets(), ["r3 v3 0/0", "r4 v4 1/1"]);
}

#[test]
fn a_pod_that_goes_is_replaced_and_one_that_loses_its_label_is_released() {
    let api = full(1);
    api.create(DEPLOYMENTS, deployment(2, json!({})));
    api.calm();
    let names = || -> Vec<String> {
        let name = |pod: &Value| pod["metadata"]["name"].as_str().unwrap_or("").to_owned();
        api.items(PODS).iter().map(name).collect()
    };
    let first = names();
    assert_eq!(api.call("DELETE", &format!("{PODS}/{}", first[0]), None).code, 200);
    api.calm();
    let second = names();
    assert_eq!(second.len(), 2);
    assert!(!second.contains(&first[0]), "{second:?}");
    api.patch(&format!("{PODS}/{}", second[0]), json!({"metadata": {"labels": {"app": "mine"}}}));
    api.calm();
    assert_eq!(names().len(), 3);
    let released = api.get(&format!("{PODS}/{}", second[0])).body;
    assert_eq!(released["metadata"]["ownerReferences"], Value::Null);
    // And adopted again when the label is back: one too many then goes.
    api.patch(&format!("{PODS}/{}", second[0]), json!({"metadata": {"labels": {"app": "web"}}}));
    api.calm();
    assert_eq!(names().len(), 2);
}

#[test]
fn deleting_a_deployment_takes_everything_along() {
    let api = full(1);
    api.create(DEPLOYMENTS, deployment(2, json!({})));
    api.calm();
    for policy in ["Background", "Foreground"] {
        let options = json!({"propagationPolicy": policy});
        assert_eq!(api.call("DELETE", &format!("{DEPLOYMENTS}/web"), Some(options)).code, 200);
        api.calm();
        assert_eq!((api.pods().len(), api.sets().len()), (0, 0), "{policy}");
        assert_eq!(api.get(&format!("{DEPLOYMENTS}/web")).code, 404);
        api.create(DEPLOYMENTS, deployment(2, json!({})));
        api.calm();
    }
}

#[test]
fn a_name_that_is_taken_is_a_collision() {
    let api = full(1);
    api.create(DEPLOYMENTS, deployment(1, json!({})));
    api.calm();
    let mut set = api.items(SETS).remove(0);
    assert_eq!(api.call("DELETE", &format!("{DEPLOYMENTS}/web"), None).code, 200);
    api.calm();
    // The same name, but somebody else's template.
    for field in ["uid", "resourceVersion", "creationTimestamp", "ownerReferences", "managedFields"]
    {
        set["metadata"].as_object_mut().expect("metadata").remove(field);
    }
    set["spec"]["template"]["spec"]["containers"][0]["image"] = json!("another");
    set["metadata"]["labels"] = json!({"not": "web"});
    set["spec"]["replicas"] = json!(0);
    api.create(SETS, set);
    api.create(DEPLOYMENTS, deployment(1, json!({})));
    api.calm();
    api.later(1);
    assert_eq!(api.status(&["collisionCount", "readyReplicas"]), [1, 1]);
}

#[test]
fn a_fork_anywhere_in_a_rollout_comes_to_the_same_end() {
    let api = full(2);
    api.create(DEPLOYMENTS, deployment(3, json!({})));
    api.calm();
    let from = api.server.revision();
    api.patch(
        &format!("{DEPLOYMENTS}/web"),
        json!({"spec": {"replicas": 4, "template": template("v2")}}),
    );
    api.calm();
    let everything = |server: &Server| -> Vec<String> {
        let world = server.world();
        world.objects().map(|(key, object)| format!("{key} {object}")).collect()
    };
    let (to, whole) = (api.server.revision(), everything(&api.server));
    assert!(to.0 - from.0 > 20, "{from:?} {to:?}");
    for revision in from.0 + 1..=to.0 {
        let world = api.server.world_at(Revision(revision)).expect("a world");
        let fork = Server::new(world, None);
        fork.run_environment().unwrap();
        assert_eq!(everything(&fork), whole, "from revision {revision}");
    }
}

#[test]
fn a_node_that_is_full_or_tainted_gets_no_pod() {
    let api = full(2);
    let taint = json!({"spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}});
    api.patch("/api/v1/nodes/node-0", taint);
    let mut big = deployment(2, json!({}));
    big["spec"]["template"]["spec"]["containers"][0]["resources"] =
        json!({"requests": {"cpu": "20", "memory": "1Gi"}});
    api.create(DEPLOYMENTS, big);
    api.calm();
    let mut pods = api.pods();
    pods.sort();
    assert_eq!(pods, ["Pending -", "Running node-1 ready"]);
    let waiting = api.items(PODS).into_iter().find(|pod| pod["spec"]["nodeName"].is_null());
    let message = waiting.expect("one waits")["status"]["conditions"][0]["message"].clone();
    let expect = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). \
                  no new claims to deallocate, preemption: 0/2 nodes are available: \
                  1 No preemption victims found for incoming pod, \
                  1 Preemption is not helpful for scheduling.";
    assert_eq!(message, expect);
    // The taint goes, and the pod runs.
    api.patch("/api/v1/nodes/node-0", json!({"spec": {"taints": null}}));
    api.calm();
    assert_eq!(api.pods().iter().filter(|pod| pod.ends_with("ready")).count(), 2);
}
