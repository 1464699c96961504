//! The same campaign in front of the real API server: the same bug, known by the same fingerprint.
//!
//! On a real cluster nothing is forked and time is real: each plan runs from the beginning. What differs there
//! (uids, times, defaults that the embedded server does not set, objects that the cluster brings along) must not
//! show in the fingerprint.

mod shared;

use trommel_tests::{
    Need,
    house::House,
    needs,
    processes::{naming, outlived},
    product::{json, run},
    real::Cluster,
};

const FOLDER: &str = "examples/bar-foo";

#[test]
fn the_real_api_server_shows_the_same_finding() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let house = House::new("judge", &[FOLDER]);
    let campaign = format!("{FOLDER}/campaign.yaml");
    run(&house.root, ["run", &campaign, "--quiet", "--out", "embedded"]).expect(100);

    let cluster = Cluster::start(&house.path("cluster"), &[]);
    let remote = shared::campaign(&house, &cluster);
    run(&house.root, ["run", &remote, "--quiet", "--out", "real"]).expect(100);

    let summary = |out: &str| json(&house.path(out).join("summary.json"));
    let (embedded, real) = (summary("embedded"), summary("real"));
    assert_eq!(real["plans"]["unknown"], 0, "{real}");
    let [finding] = &real["findings"].as_array().expect("findings")[..] else {
        panic!("one finding: {real}")
    };
    assert_eq!(finding["id"], embedded["findings"][0]["id"], "{finding}");
    assert_eq!(finding["confirmed"], serde_json::json!({"k": 5, "n": 5}), "{finding}");
    let lines = trommel_tests::product::json_lines(&house.path("real/plans.jsonl"));
    assert!(lines.iter().all(|line| line["forked"] == false), "nothing can be forked there");

    // Nothing of the subject, of Trommel, or of the cluster is left.
    let name = house.root.display().to_string();
    assert_eq!(naming(&format!("KUBECONFIG={name}")), [], "subjects end with Trommel");
    let servers = naming(&name);
    assert!(servers.len() >= 2, "etcd and the API server run: {servers:?}");
    drop(cluster);
    assert_eq!(outlived(servers), []);
}

/// The cluster of a campaign, as its file says it.
fn elsewhere(cluster: &Cluster) -> String {
    format!("cluster: {{kubeconfig: {{path: {}}}}}", cluster.kubeconfig.display())
}

/// Writes a campaign of the corpus anew, for another cluster and with more settings. Its path.
fn on(house: &House, name: &str, cluster: &str, more: &str) -> String {
    let folder = format!("tests/corpus/{name}");
    let text = std::fs::read_to_string(house.path(&format!("{folder}/campaign.yaml")));
    let text = text.expect("the campaign is there");
    let embedded = "cluster: {embedded: {environment: none}}";
    // Waiting takes its time there, and nobody but the subject works in that cluster.
    let settle = "  settle: {horizon: 10s}\n";
    let soon = "  settle: {horizon: 500ms}\n";
    assert!(text.contains(embedded) && text.contains(settle), "{text}");
    let campaign = format!("{folder}/remote.yaml");
    let text = text.replace(embedded, cluster).replace(settle, soon);
    house.write(&campaign, &format!("{text}{more}"));
    campaign
}

/// Findings of each family, as replay files: two of intermediate, stale and unobserved states each.
const REPLAYS: [&str; 6] =
    ["keystores", "half-status", "tls-toggle", "scale-down", "drain", "snapshot-at-pause"];

#[test]
fn the_real_api_server_shows_findings_of_each_family() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let folders: Vec<String> = ["operators", "regressions"]
        .iter()
        .chain(&REPLAYS)
        .map(|name| format!("tests/corpus/{name}"))
        .collect();
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    let house = House::new("families-on-the-judge", &folders);
    let cluster = Cluster::start(&house.path("cluster"), &[]);
    let remote = elsewhere(&cluster);
    for name in REPLAYS {
        let campaign = on(&house, name, &remote, "");
        let file = format!("tests/corpus/regressions/{name}.yaml");
        let out = format!("out-{name}");
        let flags = ["--campaign", &campaign, "--quiet", "-k", "1", "--out", &out];
        let ended = run(&house.root, ["replay", &file].into_iter().chain(flags));
        assert!(ended.expect(100).stdout.contains("reproduced 1 of 1"), "{ended}");
    }
    // Older states are thought of there, too. The first that shows the bug is the fifth.
    let campaign =
        on(&house, "tls-toggle", &remote, "  families: [stale-state]\n  budget: {trials: 6}\n");
    run(&house.root, ["run", &campaign, "--quiet", "--out", "stale"]).expect(100);
    let found = json(&house.path("stale/summary.json"));
    assert_eq!(found["findings"][0]["id"], "a5fa73aedd28", "{found}");
    assert!(found["families"]["stale-state"]["left"].as_u64() > Some(0), "{found}");
}

/// Nothing can be forked there, so that such a restart is tried after each plan, from the beginning.
#[test]
fn restarts_when_all_has_settled_show_the_same_finding() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let folders = ["tests/corpus/operators", "tests/corpus/checksum"];
    let house = House::new("settled-on-the-judge", &folders);
    let cluster = Cluster::start(&house.path("cluster"), &[]);
    let remote = elsewhere(&cluster);
    let campaign = on(&house, "checksum", &remote, "  families: [intermediate-state]\n");
    run(&house.root, ["run", &campaign, "--quiet", "--out", "found"]).expect(100);
    let found = json(&house.path("found/summary.json"));
    assert_eq!(found["findings"][0]["id"], "c01e0bdfb0d3", "{found}");
    let lines = trommel_tests::product::json_lines(&house.path("found/plans.jsonl"));
    let mut plans: Vec<&str> = lines.iter().filter_map(|line| line["id"].as_str()).collect();
    plans.sort_unstable();
    let all = plans.len();
    plans.dedup();
    assert_eq!(plans.len(), all, "each plan is carried out once: {lines:?}");
}

/// client-go 0.36 streams its first lists, which kube-apiserver 1.36 serves by default.
#[test]
fn a_client_that_streams_its_lists_is_behind_on_the_real_api_server() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let folders = ["tests/corpus/operators", "tests/corpus/ui-toggle"];
    let house = House::new("streams-on-the-judge", &folders);
    let cluster = Cluster::start(&house.path("cluster"), &[]);
    let remote = elsewhere(&cluster);
    let more = "  families: [stale-state]\n  budget: {trials: 6}\n";
    let campaign = on(&house, "ui-toggle", &remote, more);
    run(&house.root, ["run", &campaign, "--quiet", "--out", "found"]).expect(100);
    let found = json(&house.path("found/summary.json"));
    let id = found["findings"][0]["id"].as_str().expect("a finding");
    let explained = format!("found/findings/{id}/explain.md");
    let explained = std::fs::read_to_string(house.path(&explained)).expect("text");
    for part in ["*Legal on:* Kubernetes 1.32, 1.34 and later", "503 without Retry-After"] {
        assert!(explained.contains(part), "no {part:?} in {explained}");
    }
    let file = format!("found/findings/{id}/replay.yaml");
    let flags = ["--campaign", &campaign, "--quiet", "-k", "1", "--out", "replayed"];
    let ended = run(&house.root, ["replay", &file].into_iter().chain(flags));
    assert!(ended.expect(100).stdout.contains("reproduced 1 of 1"), "{ended}");
}
