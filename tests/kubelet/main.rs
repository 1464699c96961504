//! Kubelets by stage files: the same files in the embedded cluster and, as an ordinary client, beside the real
//! kube-apiserver, kube-controller-manager and kube-scheduler. Both end alike.

mod arm;

use arm::Arm;
use rustix::process::Signal;
use serde_json::{Value, json};
use trommel_tests::{Need, house::House, needs, product::run, real::Cluster, root, served::Served};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn template(labels: &Value) -> Value {
    json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

fn deployment() -> Value {
    let labels = json!({"app": "web"});
    let template = template(&labels);
    json!({
        "metadata": {"name": "web"},
        "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": template},
    })
}

fn job() -> Value {
    let mut template = template(&json!({"app": "work"}));
    template["spec"]["restartPolicy"] = json!("Never");
    json!({"metadata": {"name": "work"}, "spec": {"completions": 2, "parallelism": 2, "template": template}})
}

/// A pod as far as its kubelet decides; times, addresses and names are chance.
fn decided(pod: &Value) -> Value {
    let status = &pod["status"];
    let list = |field: &str| status[field].as_array().cloned().unwrap_or_default();
    let mut conditions: Vec<Value> = list("conditions")
        .iter()
        .filter(|condition| condition["type"] != "PodScheduled")
        .map(|condition| json!([condition["type"], condition["status"], condition["reason"]]))
        .collect();
    conditions.sort_by_key(Value::to_string);
    let containers = list("containerStatuses");
    let containers = containers.iter().map(|container| {
        let state = container["state"].as_object().and_then(|state| state.keys().next().cloned());
        json!([
            container["name"],
            container["ready"],
            container["started"],
            container["restartCount"],
            state
        ])
    });
    json!({
        "app": pod["metadata"]["labels"]["app"], "finalizers": pod["metadata"]["finalizers"],
        "deleted": !pod["metadata"]["deletionTimestamp"].is_null(), "phase": status["phase"],
        "conditions": conditions, "containers": containers.collect::<Vec<_>>(),
        "addresses": [status["podIP"].is_string(), status["hostIP"].is_string()],
    })
}

/// What came of it: pods, workloads, what was told of pods, nodes.
fn state(arm: &Arm) -> Value {
    let sorted = |items: Vec<Value>| {
        let mut items = items;
        items.sort_by_key(Value::to_string);
        items
    };
    let pods = sorted(arm.items(PODS).iter().map(decided).collect());
    let events = arm.items("/api/v1/namespaces/default/events");
    let of_pods = events.iter().filter(|event| {
        event["involvedObject"]["kind"] == "Pod" && event["source"]["component"] == "kubelet"
    });
    let events = of_pods.map(|event| json!([event["type"], event["reason"], event["message"]]));
    let nodes = arm.items("/api/v1/nodes");
    let nodes = nodes.iter().map(|node| {
        let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
        let all = conditions.map(|one| json!([one["type"], one["status"], one["reason"]]));
        json!([
            node["status"]["phase"],
            node["status"]["allocatable"]["pods"],
            sorted(all.collect())
        ])
    });
    let replicas = |of: &Value| of["status"]["readyReplicas"].clone();
    json!({
        "pods": pods, "events": sorted(events.collect()), "nodes": sorted(nodes.collect()),
        "web": arm.items(DEPLOYMENTS).iter().map(replicas).collect::<Vec<_>>(),
        "work": arm.items(JOBS).iter().map(|job| job["status"]["succeeded"].clone()).collect::<Vec<_>>(),
    })
}

/// Runs a Deployment and a Job, and takes a pod away; what there is after each.
fn play(arm: &Arm) -> [Value; 2] {
    arm.create(DEPLOYMENTS, deployment());
    arm.create(JOBS, job());
    arm.wait_for("all to be ready, and the Job to be done", || {
        let state = state(arm);
        state["web"] == json!([3]) && state["work"] == json!([2])
    });
    let first = state(arm);
    let web = arm.items(&format!("{PODS}?labelSelector=app%3Dweb"));
    let name = web[0]["metadata"]["name"].as_str().expect("a name").to_owned();
    arm.delete(&format!("{PODS}/{name}?gracePeriodSeconds=1"));
    arm.wait_for("another in its place", || {
        let pods = arm.items(&format!("{PODS}?labelSelector=app%3Dweb"));
        pods.iter().all(|pod| pod["metadata"]["name"] != *name) && state(arm)["web"] == json!([3])
    });
    [first, state(arm)]
}

#[test]
fn the_same_stages_end_alike_here_and_beside_the_real_cluster() {
    if !needs(&[Need::Judge]) {
        return;
    }
    let house = House::new("kubelet/alike", &["tests/kubelet"]);
    let files = ["--stages", "tests/kubelet/pods.yaml", "tests/kubelet/nodes.yaml"];
    let embedded = Served::start(&house.root, &[&files[..], &["--nodes", "2"]].concat());
    let ours = play(&Arm::new(&embedded.kubeconfig));
    assert_eq!(embedded.end(Signal::TERM).0, Some(0));

    let judge = Cluster::start(&house.path("judge"), &["--controllers", "--scheduler"]);
    let kubeconfig = judge.kubeconfig.display().to_string();
    let only = ["--kubelet-only", "--nodes", "2", "--kubeconfig", &kubeconfig];
    let kubelet = Served::start(&house.root, &[&files[..], &only[..]].concat());
    let arm = Arm::new(&judge.kubeconfig);
    let theirs = play(&arm);
    let leases = arm.items("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases");
    assert_eq!(leases.len(), 2, "each node holds its lease");
    let (code, said) = kubelet.end(Signal::INT);
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("refused"), "{said}");
    assert!(judge.kubeconfig.exists(), "a kubeconfig that is not ours stays");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
}

#[test]
fn without_files_pods_run_at_once() {
    if !needs(&[Need::Judge]) {
        return;
    }
    let house = House::new("kubelet/defaults", &[]);
    let judge = Cluster::start(&house.path("judge"), &["--controllers", "--scheduler"]);
    let kubeconfig = judge.kubeconfig.display().to_string();
    let only = ["--kubelet-only", "--kubeconfig", &kubeconfig];
    let kubelet = Served::start(&house.root, &only);
    let arm = Arm::new(&judge.kubeconfig);
    // Somebody else's node, and a pod on it: both stay as they are.
    arm.create("/api/v1/nodes", json!({"metadata": {"name": "other"}}));
    let mut other = template(&json!({"app": "other"}));
    other["metadata"]["name"] = json!("other");
    other["spec"]["nodeName"] = json!("other");
    arm.create(PODS, other);
    let [first, _] = play(&arm);
    let pods = first["pods"].as_array().expect("pods");
    let phases = |app: &str| -> Vec<&Value> {
        pods.iter().filter(|pod| pod["app"] == app).map(|pod| &pod["phase"]).collect()
    };
    assert_eq!(phases("web"), ["Running"; 3]);
    assert_eq!(phases("work"), ["Succeeded"; 2]);
    assert_eq!(phases("other"), ["Pending"]);
    assert_eq!(kubelet.end(Signal::TERM).0, Some(0));
}

#[test]
fn wrong_stage_files_are_told_with_their_place() {
    let house = House::new("kubelet/wrong", &["tests/kubelet"]);
    let good = std::fs::read_to_string(root().join("tests/kubelet/nodes.yaml")).expect("a file");
    let check = |arguments: &[&str], code: i32, says: &str| {
        let ended = run(&house.root, ["serve"].iter().chain(arguments).copied());
        assert_eq!(ended.code, Some(code), "{arguments:?}: {ended}");
        assert!(ended.stderr.contains(says), "{arguments:?}: no {says:?} in {ended}");
    };
    house.write("key.yaml", &good.replacen("durationMilliseconds", "durationSeconds", 1));
    check(&["--stages", "key.yaml"], 64, "key.yaml:55:");
    house.write("jq.yaml", &good.replacen("'.status.phase'", "'.status | nonsense'", 1));
    check(&["--stages", "jq.yaml"], 64, "jq.yaml:50:");
    house.write("template.yaml", &good.replacen("with .status", "width .status", 1));
    check(&["--stages", "template.yaml"], 64, "template.yaml:31:1: template: there is no function");
    check(&["--stages", "none.yaml"], 64, "cannot read the stage file none.yaml");
    let nodes = "tests/kubelet/nodes.yaml";
    check(
        &["--environment", "minimal", "--stages", nodes],
        64,
        "with --environment full or kcm only",
    );
    check(&["--kubelet-only"], 64, "--kubeconfig");
    check(&["--kubelet-only", "--kubeconfig", "none"], 64, "none: ");
}
