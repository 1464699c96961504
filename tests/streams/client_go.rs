//! client-go's executors and log streams in campaigns: the moments between stay quiet, and crashes anywhere are
//! survived.

use serde_json::json;
use trommel_tests::{
    Need,
    house::House,
    needs,
    product::{self, json as read},
    subjects::built,
};

const CAMPAIGN: &str = "tests/campaigns/go-exec";

/// The campaign as it stands, and its controller.
fn house(test: &str) -> House {
    built("go-exec");
    House::new(&format!("streams/{test}"), &[CAMPAIGN, "tests/subjects/go-exec"])
}

/// The campaign with this flag for its controller, under another name.
fn with_flag(house: &House, flag: &str) {
    let path = house.path(&format!("{CAMPAIGN}/campaign.yaml"));
    let text = std::fs::read_to_string(path).expect("a campaign");
    assert!(text.contains("bin/go-exec]"), "{text}");
    let text = text.replace("bin/go-exec]", &format!("bin/go-exec, {flag}]"));
    house.write(&format!("{CAMPAIGN}/flagged.yaml"), &text);
}

#[test]
fn commands_survive_crashes() {
    if !needs(&[Need::Go]) {
        return;
    }
    let house = house("campaign");
    let campaign = format!("{CAMPAIGN}/campaign.yaml");
    product::run(&house.root, ["run", &campaign, "--quiet", "--out", "out"]).expect(0);
    let summary = read(&house.path("out/summary.json"));
    // It was killed somewhere, and nothing is left to try.
    assert!(summary["plans"]["run"].as_u64() > Some(10), "{summary}");
    assert_eq!(summary["coverage"]["frontier"], 0, "{summary}");
    assert_eq!(summary["plans"]["unknown"], 0, "{summary}");
}

#[test]
fn commands_over_websockets() {
    if !needs(&[Need::Go]) {
        return;
    }
    let house = house("websocket");
    with_flag(&house, "-websocket");
    // What is refused is worded otherwise: the API server says it, not the node.
    let path = format!("{CAMPAIGN}/workload.yaml");
    let workload = std::fs::read_to_string(house.path(&path)).expect("a workload");
    let why = "unable to upgrade connection";
    assert!(workload.contains(why), "{workload}");
    house.write(&path, &workload.replace(why, &format!("Internal error occurred: {why}")));
    let flagged = format!("{CAMPAIGN}/flagged.yaml");
    product::run(&house.root, ["play", &flagged, "--out", "out"]).expect(0);
}

#[test]
fn a_followed_log_keeps_no_moment_from_being_quiet() {
    if !needs(&[Need::Go]) {
        return;
    }
    let house = house("log");
    with_flag(&house, "-log");
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "db-0", "namespace": "default",
            "annotations": {"trommel.dev/runs-for": "1h"},
        },
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
    });
    let kept = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "db-0", "namespace": "default"}, "data": {"log": ""},
    });
    let workload = json!({
        "apiVersion": "trommel.dev/v1alpha1", "kind": "Test", "metadata": {"name": "log"},
        "spec": {"steps": [{"try": [
            {"apply": {"resource": pod}},
            {"settle": {}},
            {"sleep": {"duration": "1h"}},
            {"assert": {"resource": kept}},
        ]}]},
    });
    house.write(&format!("{CAMPAIGN}/workload.yaml"), &workload.to_string());
    let flagged = format!("{CAMPAIGN}/flagged.yaml");
    product::run(&house.root, ["play", &flagged, "--out", "out"]).expect(0);
}
