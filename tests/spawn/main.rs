//! `trommel model spawn`: the controllers of the models, as the controller manager of a real API server that has none, and
//! of the embedded one with its own controllers off.

#[path = "../kubelet/arm.rs"]
mod arm;
mod relay;

use std::path::Path;

use arm::Arm;
use jiff::Timestamp;
use relay::Relay;
use rustix::process::Signal;
use serde_json::{Value, json};
use trommel_tests::{
    Need,
    house::House,
    needs,
    product::run,
    real::{Access, Cluster},
    served::Served,
};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const REPLICA_SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const STATEFUL_SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
const REVISIONS: &str = "/apis/apps/v1/namespaces/default/controllerrevisions";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// Controllers, a scheduler, and two nodes with kubelets.
const ALL: [&str; 4] = ["--controllers", "*,scheduler", "--nodes", "2"];

fn spawn(folder: &Path, kubeconfig: &Path) -> Served {
    let kubeconfig = kubeconfig.display().to_string();
    Served::start_words(
        folder,
        &[&["model", "spawn", "--kubeconfig", &kubeconfig], &ALL[..]].concat(),
    )
}

/// A workload of this name with pods of an image.
fn workload(name: &str, mut spec: Value, image: &str) -> Value {
    let labels = json!({"app": name});
    spec["template"] = json!({
        "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]},
    });
    spec["selector"] = json!({"matchLabels": labels});
    json!({"metadata": {"name": name}, "spec": spec})
}

/// A cluster, as its user sees it.
struct User {
    arm: Arm,
    access: Access,
}

impl User {
    fn new(kubeconfig: &Path) -> User {
        User { arm: Arm::new(kubeconfig), access: Access::by(kubeconfig) }
    }

    fn patch(&self, path: &str, patch: Value) {
        let (code, answer) = self.access.send("PATCH", path, Some(&patch));
        assert_eq!(code, 200, "{path}: {answer}");
    }

    fn pods(&self, of: &str) -> Vec<Value> {
        self.arm.items(&format!("{PODS}?labelSelector=app%3D{of}"))
    }

    /// Names of the pods that run, in order.
    fn running(&self, of: &str) -> Vec<String> {
        let all = self.pods(of).into_iter();
        let running = all.filter(|pod| pod["status"]["phase"] == "Running");
        let name = |pod: Value| pod["metadata"]["name"].as_str().expect("a name").to_owned();
        running.map(name).collect()
    }

    fn wait_for_replicas(&self, path: &str, count: u64) {
        self.arm.wait_for(&format!("{count} replicas of {path}"), || {
            let (_, found) = self.access.send("GET", path, None);
            let (meta, status) = (&found["metadata"], &found["status"]);
            status["observedGeneration"] == meta["generation"]
                && ["replicas", "readyReplicas", "updatedReplicas"]
                    .iter()
                    .all(|field| status[field].as_u64().unwrap_or(0) == count)
        });
    }

    fn wait_for_none(&self, paths: &[&str]) {
        let left = || paths.iter().map(|path| self.arm.items(path).len()).sum::<usize>();
        self.arm.wait_for(&format!("nothing at {paths:?}"), || left() == 0);
    }

    fn revision(&self) -> String {
        let (_, list) = self.access.send("GET", PODS, None);
        list["metadata"]["resourceVersion"].as_str().expect("a revision").to_owned()
    }

    /// How many pods of a workload were made since then.
    fn made_since(&self, of: &str, revision: &str) -> usize {
        let path = format!("{PODS}?watch=true&timeoutSeconds=1&resourceVersion={revision}");
        self.access
            .watch(&path)
            .iter()
            .filter(|event| {
                event["type"] == "ADDED" && event["object"]["metadata"]["labels"]["app"] == *of
            })
            .count()
    }
}

/// A Deployment is rolled out twice, a StatefulSet grows and shrinks, a Job runs to its end; each makes the pods that it
/// needs and no other. Then all of it is taken away.
fn live(user: &User) {
    let begin = user.revision();
    let web = format!("{DEPLOYMENTS}/web");
    user.arm.create(DEPLOYMENTS, workload("web", json!({"replicas": 4}), "one"));
    user.wait_for_replicas(&web, 4);
    assert_eq!(user.made_since("web", &begin), 4, "no pod was made twice");
    let image = json!([{"name": "c", "image": "two"}]);
    user.patch(&web, json!({"spec": {"template": {"spec": {"containers": image}}}}));
    user.wait_for_replicas(&web, 4);
    assert_eq!(user.made_since("web", &begin), 8, "no pod was made twice");
    assert!(user.pods("web").iter().all(|pod| pod["spec"]["containers"][0]["image"] == "two"));
    assert_eq!(user.arm.items(REPLICA_SETS).len(), 2, "one to go back to");
    let nodes: std::collections::BTreeSet<String> =
        user.pods("web").iter().map(|pod| pod["spec"]["nodeName"].to_string()).collect();
    assert_eq!(nodes.len(), 2, "the scheduler uses both nodes");

    let db = format!("{STATEFUL_SETS}/db");
    let spec = json!({"replicas": 3, "serviceName": "db"});
    user.arm.create(STATEFUL_SETS, workload("db", spec, "one"));
    user.wait_for_replicas(&db, 3);
    assert_eq!(user.running("db"), ["db-0", "db-1", "db-2"]);
    user.patch(&db, json!({"spec": {"replicas": 1}}));
    user.wait_for_replicas(&db, 1);
    user.arm.wait_for("the last pods to go", || user.pods("db").len() == 1);
    assert_eq!(user.running("db"), ["db-0"]);
    assert_eq!(user.made_since("db", &begin), 3);

    let mut work = workload("work", json!({"completions": 4, "parallelism": 2}), "one");
    work["spec"].as_object_mut().expect("a map").remove("selector");
    work["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
    user.arm.create(JOBS, work);
    user.arm.wait_for("the Job's end", || {
        let (_, job) = user.access.send("GET", &format!("{JOBS}/work"), None);
        let conditions = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|of| of["type"] == "Complete" && of["status"] == "True")
    });
    assert_eq!(user.made_since("work", &begin), 4);
    assert!(user.pods("work").iter().all(|pod| pod["metadata"]["finalizers"].is_null()));

    for path in [web, db, format!("{JOBS}/work?propagationPolicy=Background")] {
        user.arm.delete(&path);
    }
    user.wait_for_none(&[DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, REVISIONS, JOBS, PODS]);
}

#[test]
fn a_real_api_server_without_controllers_comes_to_life() {
    if !needs(&[Need::Judge]) {
        return;
    }
    let house = House::new("spawn/judge", &[]);
    let judge = Cluster::start(&house.path("judge"), &[]);
    let spawned = spawn(&house.root, &judge.kubeconfig);
    let user = User::new(&judge.kubeconfig);
    live(&user);
    // What it remembers is in the cluster: another one goes on.
    let (code, said) = spawned.end(Signal::INT);
    assert_eq!(code, Some(0), "{said}");
    user.arm.create(DEPLOYMENTS, workload("web", json!({"replicas": 2}), "one"));
    let again = spawn(&house.root, &judge.kubeconfig);
    user.wait_for_replicas(&format!("{DEPLOYMENTS}/web"), 2);
    assert_eq!(again.end(Signal::TERM).0, Some(0));
}

#[test]
fn so_does_the_embedded_one_with_its_controllers_off() {
    let house = House::new("spawn/embedded", &[]);
    let served = Served::start(&house.root, &["--environment", "none"]);
    let spawned = spawn(&house.root, &served.kubeconfig);
    live(&User::new(&served.kubeconfig));
    assert_eq!(spawned.end(Signal::INT).0, Some(0));
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

/// Where the answer to a write is lost, nobody knows whether it was carried out: it is looked up before anything is made
/// again.
#[test]
fn connections_that_are_cut_make_no_pod_twice() {
    if !needs(&[Need::Judge]) {
        return;
    }
    const PODS_WANTED: usize = 40;
    let house = House::new("spawn/cut", &[]);
    let judge = Cluster::start(&house.path("judge"), &[]);
    let user = User::new(&judge.kubeconfig);
    let port: http::Uri = user.access.server.parse().expect("a URL");
    let port = port.port_u16().expect("it names its port");
    let relay = Relay::to(port);
    let config = std::fs::read_to_string(&judge.kubeconfig).expect("a kubeconfig");
    let config = config.replace(&port.to_string(), &relay.port.to_string());
    house.write("relay.kubeconfig", &config);
    let spawned = spawn(&house.root, &house.path("relay.kubeconfig"));
    let begin = user.revision();
    let spec = json!({"replicas": PODS_WANTED});
    user.arm.create(DEPLOYMENTS, workload("web", spec, "one"));
    let (cuts, seen) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    user.arm.wait_for("all pods to run, though connections are cut", || {
        let made = user.pods("web").len();
        if made > seen.get() && made < PODS_WANTED {
            cuts.set(cuts.get() + usize::from(relay.cut() > 0));
        }
        seen.set(made);
        user.running("web").len() == PODS_WANTED
    });
    assert!(cuts.get() > 0, "connections were cut while pods were made");
    assert_eq!(user.made_since("web", &begin), PODS_WANTED);
    assert_eq!(spawned.end(Signal::INT).0, Some(0));
}

#[test]
fn what_cannot_be_done_is_told() {
    let house = House::new("spawn/wrong", &[]);
    let check = |arguments: &[&str], code: i32, says: &str| {
        let ended = run(&house.root, ["model", "spawn"].iter().chain(arguments).copied());
        assert_eq!(ended.code, Some(code), "{arguments:?}: {ended}");
        assert!(ended.stderr.contains(says), "{arguments:?}: no {says:?} in {ended}");
    };
    check(&["--kubeconfig", "none"], 64, "kubeconfig none: ");
    check(&["--controllers", "deploy"], 64, "no controller is called \"deploy\"");
    check(&["--controllers", "serviceaccount-token"], 64, "can't run here: it signs tokens");
    let nowhere = "\
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]
users: [{name: u, user: {}}]
";
    house.write("nowhere", nowhere);
    check(&["--kubeconfig", "nowhere"], 75, "Connection refused");
    check(&["--kubeconfig", "nowhere", "--context", "d"], 64, "it has no context \"d\"");
}

#[test]
fn beside_a_controller_manager_only_chosen_controllers_run() {
    if !needs(&[Need::Judge]) {
        return;
    }
    let house = House::new("spawn/company", &[]);
    let judge = Cluster::start(&house.path("judge"), &[]);
    let user = User::new(&judge.kubeconfig);
    let (name, holder) = ("kube-controller-manager", "somebody");
    let renewed = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    let lease = json!({
        "metadata": {"name": name},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed},
    });
    user.arm.create("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", lease);
    let kubeconfig = judge.kubeconfig.display().to_string();
    let words = ["model", "spawn", "--kubeconfig", &kubeconfig];
    let ended = run(&house.root, words);
    ended.expect(64);
    assert!(ended.stderr.contains("kube-controller-manager runs on https://"), "{ended}");
    let chosen = [&words[..], &["--controllers", "deployment"]].concat();
    assert_eq!(Served::start_words(&house.root, &chosen).end(Signal::INT).0, Some(0));
}

/// An account that may list nothing.
#[test]
fn a_list_that_is_forbidden_is_named_with_who_reads_it() {
    if !needs(&[Need::Judge]) {
        return;
    }
    let house = House::new("spawn/forbidden", &[]);
    let judge = Cluster::start(&house.path("judge"), &[]);
    let user = User::new(&judge.kubeconfig);
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    user.arm.create(accounts, json!({"metadata": {"name": "nobody"}}));
    let request =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let (code, made) =
        user.access.send("POST", &format!("{accounts}/nobody/token"), Some(&request));
    assert_eq!(code, 201, "{made}");
    let config = std::fs::read_to_string(&judge.kubeconfig).expect("a kubeconfig");
    let token = made["status"]["token"].as_str().expect("a token");
    house.write("nobody.kubeconfig", &config.replace("judge-token", token));
    let kubeconfig = house.path("nobody.kubeconfig").display().to_string();
    let words = ["model", "spawn", "--kubeconfig", &kubeconfig, "--controllers", "cronjob"];
    let ended = run(&house.root, words);
    ended.expect(75);
    for part in ["may not list and watch ", "read by cronjob: ", "is forbidden: User"] {
        assert!(ended.stderr.contains(part), "no {part:?} in {ended}");
    }
}
