//! Pods and nodes that live by stage files: what becomes of them, and that a fork anywhere comes to the same end.

use std::sync::Arc;

use controllers::Controller;
use serde_json::{Value, json};
use stages::Stages;
use trace::Revision;

use super::{Api, START};
use crate::{EnvironmentOptions, Server, SuffixOrder, World, WorldOptions};

const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// Pods that are created, ready, and may fail one time in three; nodes that are ready after a second.
const STAGES: &str = r#"
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: create}
spec:
  resourceRef: {kind: Pod}
  selector:
    matchExpressions: [{key: .status.podIP, operator: DoesNotExist}]
  delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 5000}
  next:
    event: {type: Normal, reason: Created, message: so}
    statusTemplate: |
      phase: Pending
      podIP: {{ PodIPWith .spec.nodeName false "" "" "" }}
      hostIP: {{ NodeIPWith .spec.nodeName }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: ready}
spec:
  resourceRef: {kind: Pod}
  selector:
    matchExpressions:
      - {key: .status.podIP, operator: Exists}
      - {key: .status.phase, operator: In, values: [Pending]}
  weight: 2
  delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 5000}
  next:
    statusTemplate: '{phase: Running, conditions: [{type: Ready, status: "True", lastTransitionTime: {{ Now | Quote }}}]}'
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: fail}
spec:
  resourceRef: {kind: Pod}
  selector:
    matchExpressions:
      - {key: .status.podIP, operator: Exists}
      - {key: .status.phase, operator: In, values: [Pending]}
  weight: 1
  steps:
    - event: {type: Warning, reason: Failed, message: so}
    - patch: {root: status, subresource: status, template: 'phase: Failed'}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: gone}
spec:
  resourceRef: {kind: Pod}
  selector:
    matchExpressions: [{key: .metadata.deletionTimestamp, operator: Exists}]
  weight: 1000000
  next: {delete: true}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: node}
spec:
  resourceRef: {kind: Node}
  selector:
    matchExpressions:
      - {key: '.status.conditions.[].type', operator: NotIn, values: [Ready]}
  delay: {durationMilliseconds: 1000}
  next:
    statusTemplate: '{conditions: [{type: Ready, status: "True", reason: R, message: m, lastTransitionTime: {{ Now | Quote }}}]}'
"#;

fn staged(files: &str, seed: u64) -> Api {
    let stages = Stages::read([("stages.yaml", files)]).unwrap();
    let mut world =
        World::new(WorldOptions { start: START, seed, suffixes: SuffixOrder::Ascending });
    world.start_environment(&EnvironmentOptions {
        controllers: Controller::FULL.to_vec(),
        nodes: 2,
        stages: Some(Arc::new(stages)),
        ..EnvironmentOptions::default()
    });
    let api = Api { server: Server::new(world, None) };
    api.calm();
    api
}

fn replicas(count: u32) -> Value {
    let labels = json!({"app": "web"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    json!({
        "metadata": {"name": "web"},
        "spec": {"replicas": count, "selector": {"matchLabels": labels}, "template": template},
    })
}

impl Api {
    fn lives(&self) -> Vec<String> {
        let phase = |pod: &Value| pod["status"]["phase"].as_str().unwrap_or("").to_owned();
        self.items(PODS).iter().map(phase).collect()
    }

    fn count(&self, phase: &str) -> usize {
        self.lives().iter().filter(|found| *found == phase).count()
    }
}

#[test]
fn pods_live_by_their_stages() {
    let api = staged(STAGES, 1);
    let condition = "/status/conditions/0/type";
    let ready = |api: &Api| api.items("/api/v1/nodes")[0].pointer(condition).cloned();
    assert_eq!(ready(&api), None);
    api.later(1);
    assert_eq!(ready(&api), Some(json!("Ready")));
    api.create(SETS, replicas(24));
    api.calm();
    assert_eq!(api.lives(), ["Pending"; 24]);
    api.later(60);
    assert_eq!(api.count("Running"), 24, "one that fails is made again: {:?}", api.lives());
    let failed = api.count("Failed");
    assert!((1..=24).contains(&failed), "some fail: {failed}");
    let events = api.items("/api/v1/namespaces/default/events");
    let told = |reason: &str| events.iter().filter(|event| event["reason"] == reason).count();
    assert_eq!((told("Created"), told("Failed")), (24 + failed, failed));
    let addresses: std::collections::BTreeSet<String> =
        api.items(PODS).iter().map(|pod| pod["status"]["podIP"].to_string()).collect();
    assert_eq!(addresses.len(), 24 + failed);
    assert!(api.server.world().stage_problems().is_empty());
    let name = api.items(PODS)[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let got = api.call("DELETE", &format!("{PODS}/{name}"), None);
    assert_eq!(got.code, 200);
    api.calm();
    assert_eq!(api.get(&format!("{PODS}/{name}")).code, 404);
}

#[test]
fn chance_does_not_depend_on_the_seed() {
    let runs = |seed: u64| {
        let api = staged(STAGES, seed);
        api.later(1);
        api.create(SETS, replicas(8));
        api.calm();
        api.later(3);
        let early = api.lives();
        api.later(60);
        (early, api.lives())
    };
    assert_eq!(runs(1), runs(2));
}

#[test]
fn forks_come_to_the_same_end() {
    let api = staged(STAGES, 1);
    api.later(1);
    let first = api.server.revision();
    api.create(SETS, replicas(4));
    api.calm();
    api.later(60);
    let (end, now) = (api.server.revision(), api.server.now());
    let objects = |server: &Server| -> Vec<(String, Value)> {
        let world = server.world();
        world.objects().map(|(key, object)| (key.to_string(), (**object).clone())).collect()
    };
    let expect = objects(&api.server);
    for revision in first.0..=end.0 {
        let fork = Server::new(api.server.world_at(Revision(revision)).unwrap(), None);
        fork.run_environment().unwrap();
        // The user's one write comes after the first of these.
        let fork = Api { server: fork };
        if revision == first.0 {
            fork.create(SETS, replicas(4));
        }
        fork.calm();
        fork.server.live_until(now).unwrap();
        fork.calm();
        assert_eq!(objects(&fork.server), expect, "from revision {revision}");
    }
}

#[test]
fn what_fails_is_remembered() {
    let head = "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: s}\nspec:\n  resourceRef: {kind: Pod}\n";
    let check = |rest: &str, expect: &str| {
        let api = staged(&format!("{head}  selector: {{}}\n{rest}"), 1);
        api.create(SETS, replicas(2));
        api.calm();
        let problems = api.server.world().stage_problems().to_vec();
        assert!(problems[0].contains(expect), "{problems:?}");
    };
    check(
        "  next: {statusTemplate: '{{ index .none 0 }}'}\n",
        "stage s: line 1 of its template: index:",
    );
    check(
        "  next: {patches: [{root: spec, template: 'nodeName: other'}]}\n",
        "a stage was refused: 422",
    );
    let api = staged(&format!("{head}  selector: {{}}\n  next: {{delete: true}}\n"), 1);
    let mut pod = replicas(1)["spec"]["template"].clone();
    pod["metadata"]["name"] = json!("p");
    api.create(PODS, pod);
    api.calm();
    assert_eq!(api.lives(), Vec::<String>::new());
}

#[test]
fn leases_are_renewed_where_asked_for() {
    let mut world =
        World::new(WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending });
    world.start_environment(&EnvironmentOptions {
        controllers: [Controller::FULL, &[Controller::NodeLease]].concat(),
        nodes: 2,
        ..EnvironmentOptions::default()
    });
    let api = Api { server: Server::new(world, None) };
    api.calm();
    let renewed = |api: &Api| -> Vec<Value> {
        let leases = api.items("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases");
        leases.iter().map(|lease| lease["spec"]["renewTime"].clone()).collect()
    };
    assert_eq!(renewed(&api), ["2026-01-01T00:00:00.000000Z"; 2]);
    api.later(25);
    assert_eq!(renewed(&api), ["2026-01-01T00:00:20.000000Z"; 2]);
    assert_eq!(api.call("DELETE", "/api/v1/nodes/node-0", None).code, 200);
    api.later(30);
    assert_eq!(renewed(&api), ["2026-01-01T00:00:50.000000Z"], "the other goes with its node");
}
