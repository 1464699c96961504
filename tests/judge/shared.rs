//! A cluster that others use, too: what is theirs is neither judged nor touched, and one campaign at a time runs there.

use std::{
    collections::BTreeMap,
    process::Child,
    sync::atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};
use trommel_tests::{
    Need,
    house::House,
    needs,
    product::{command, json, run},
    real::{Access, Cluster},
};

use crate::{FOLDER, elsewhere};

const CONFIGS: &str = "/api/v1/namespaces/default/configmaps";
const NODE: &str = "/api/v1/nodes/stranger";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/trommel-campaign";
const FOOS: &str = "/apis/example.trommel.dev/v1/foos";

/// The objects of somebody else: a Node, a ConfigMap, and a Deployment with what its controller makes of it.
fn strangers(access: &Access) {
    let created = |path: &str, object: &Value| {
        let (status, answer) = access.send("POST", path, Some(object));
        assert_eq!(status, 201, "{answer}");
    };
    created("/api/v1/nodes", &json!({"metadata": {"name": "stranger"}}));
    created(CONFIGS, &json!({"metadata": {"name": "stranger"}, "data": {"a": "0"}}));
    let labels = json!({"app": "stranger"});
    let containers = json!([{"name": "c", "image": "i"}]);
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": containers}});
    let spec = json!({"replicas": 1, "selector": {"matchLabels": labels}, "template": template});
    let deployment = json!({"metadata": {"name": "stranger"}, "spec": spec});
    created("/apis/apps/v1/namespaces/default/deployments", &deployment);
}

/// Uids of all that strangers have, by kind and name.
fn theirs(access: &Access) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for path in [
        CONFIGS,
        "/api/v1/nodes",
        "/apis/apps/v1/deployments",
        "/apis/apps/v1/replicasets",
        "/api/v1/pods",
    ] {
        let (_, list) = access.send("GET", path, None);
        for item in list["items"].as_array().expect("a list") {
            let name = item["metadata"]["name"].as_str().expect("a name");
            if name.starts_with("stranger") {
                let uid = item["metadata"]["uid"].as_str().expect("a uid");
                found.insert(format!("{path}/{name}"), uid.to_owned());
            }
        }
    }
    found
}

/// Goes on writing: into an object and a status that were there before, and ever new objects.
fn busy(access: &Access, ends: &AtomicBool) -> usize {
    let mut written = 0;
    while !ends.load(Ordering::Relaxed) {
        written += 1;
        let number = written.to_string();
        let data = json!({"data": {"a": number}});
        access.send("PATCH", &format!("{CONFIGS}/stranger"), Some(&data));
        let images = json!({"status": {"images": [{"names": [format!("image:{number}")]}]}});
        access.send("PATCH", &format!("{NODE}/status"), Some(&images));
        if written <= 20 {
            let name = format!("stranger-{number}");
            access.send("POST", CONFIGS, Some(&json!({"metadata": {"name": name}})));
        }
    }
    written
}

/// The first example on this cluster.
pub fn campaign(house: &House, cluster: &Cluster) -> String {
    let text = std::fs::read_to_string(house.path(&format!("{FOLDER}/campaign.yaml")));
    let text = text.expect("the campaign is there");
    let embedded = "cluster: {embedded: {environment: none}}";
    assert!(text.contains(embedded), "the campaign names its cluster");
    let file = format!("{FOLDER}/remote.yaml");
    house.write(&file, &text.replace(embedded, &elsewhere(cluster)));
    file
}

/// Nothing of a campaign is left: no lock, and no type of it.
fn nothing_is_left(access: &Access) {
    assert_eq!(access.send("GET", LEASE, None).0, 404, "the lock");
    assert_eq!(access.send("GET", FOOS, None).0, 404, "the manifests");
}

#[test]
fn strangers_are_neither_judged_nor_touched() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let house = House::new("strangers-on-the-judge", &[FOLDER]);
    let cluster = Cluster::start(&house.path("cluster"), &["--controllers"]);
    let (access, campaign) = (cluster.access(), campaign(&house, &cluster));
    strangers(&access);
    let ends = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        let stranger = scope.spawn(|| busy(&access, &ends));
        let ended = run(&house.root, ["run", &campaign, "--quiet", "--out", "busy"]);
        ends.store(true, Ordering::Relaxed);
        let written = stranger.join().expect("it writes");
        ended.expect(100);
        written
    });
    assert!(written > 20, "the stranger wrote {written} times only");
    let summary = json(&house.path("busy/summary.json"));
    let findings = summary["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 1, "{summary}");
    assert_eq!(findings[0]["confirmed"], json!({"k": 5, "n": 5}), "{summary}");
    assert_eq!(summary["plans"]["unknown"], 0, "{summary}");
    nothing_is_left(&access);
    let left = theirs(&access);
    // 20 and the first; what the Deployment's controller made is among them.
    let configs = left.keys().filter(|name| name.contains("/configmaps/")).count();
    assert_eq!(configs, 21, "{left:?}");
    for part in ["/nodes/", "/deployments/", "/replicasets/", "/pods/"] {
        assert!(left.keys().any(|name| name.contains(part)), "no {part} in {left:?}");
    }
}

/// Starts a campaign, and waits until it has made a Foo.
fn under_way(house: &House, campaign: &str, out: &str, access: &Access) -> Child {
    let mut trommel = command(&house.root, ["run", campaign, "--quiet", "--out", out]);
    let mut trommel = trommel.spawn().expect("it starts");
    while access.send("GET", FOOS, None).1["items"].as_array().is_none_or(Vec::is_empty) {
        assert_eq!(trommel.try_wait().expect("a child can be asked"), None, "it ended");
        std::thread::yield_now();
    }
    trommel
}

#[test]
fn one_campaign_at_a_time_and_the_next_cleans_up() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let house = House::new("killed-on-the-judge", &[FOLDER]);
    let cluster = Cluster::start(&house.path("cluster"), &["--controllers"]);
    let (access, campaign) = (cluster.access(), campaign(&house, &cluster));
    strangers(&access);
    let mut first = under_way(&house, &campaign, "killed", &access);
    let refused = run(&house.root, ["run", &campaign, "--quiet", "--out", "refused"]);
    assert!(refused.expect(75).stderr.contains("another campaign runs on it"), "{refused}");
    first.kill().expect("a child can be killed");
    first.wait().expect("a child can be waited for");
    assert_eq!(access.send("GET", LEASE, None).0, 200, "it had no time to clean up");
    let before = theirs(&access);

    let next = run(&house.root, ["run", &campaign, "--quiet", "--out", "next"]);
    assert!(next.expect(100).stderr.contains("ended without cleaning up"), "{next}");
    nothing_is_left(&access);
    assert_eq!(theirs(&access), before);

    // Nor by one that comes to nothing.
    let text = std::fs::read_to_string(house.path(&campaign)).expect("it is there");
    let broken = format!("{FOLDER}/broken.yaml");
    house.write(
        &broken,
        &text.replace("command: [../../target/debug/bar-foo]", "command: [/bin/false]"),
    );
    run(&house.root, ["run", &broken, "--quiet", "--out", "broken"]).expect(105);
    nothing_is_left(&access);
}
