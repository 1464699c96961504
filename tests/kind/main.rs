//! A real kind cluster, which `TROMMEL_KIND` names: `cargo ci kind NAME`. No part of the default tests.
//!
//! The controller is a process of this machine. One test creates another cluster of the same node image. Somebody else uses the cluster meanwhile: a Deployment, a ConfigMap, and a
//! node that gets another image.

mod pods;

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::json;
use trommel_tests::{
    Need,
    house::House,
    kills, needs,
    product::{Ended, command, json, run},
    skip,
};

const FOLDER: &str = "examples/bar-foo";

/// A kind cluster, and a kubeconfig for it.
struct Kind {
    node: String,
    kubeconfig: String,
}

impl Kind {
    /// That of `TROMMEL_KIND`; none if it names none.
    fn named(house: &House) -> Option<(String, Kind)> {
        let Ok(name) = std::env::var("TROMMEL_KIND") else {
            skip("TROMMEL_KIND names no kind cluster");
            return None;
        };
        if !needs(&[Need::Docker, Need::Kubectl]) {
            return None;
        }
        let node = format!("{name}-control-plane");
        let config = said("docker", &["exec", &node, "cat", "/etc/kubernetes/admin.conf"]);
        let address = said("docker", &["port", &node, "6443"]);
        let server = |line: &str| match line.trim().starts_with("server:") {
            true => format!("    server: https://{}\n", address.trim()),
            false => format!("{line}\n"),
        };
        house.write("kubeconfig", &config.lines().map(server).collect::<String>());
        let kubeconfig = house.path("kubeconfig").display().to_string();
        Some((name, Kind { node, kubeconfig }))
    }

    fn kubectl(&self, arguments: &[&str]) -> String {
        said("kubectl", &[&["--kubeconfig", &self.kubeconfig], arguments].concat())
    }

    /// Names and uids of what somebody else has.
    fn theirs(&self) -> BTreeSet<String> {
        let uids = "-o=custom-columns=:kind,:metadata.name,:metadata.uid";
        let of = ["get", "configmaps,deployments,replicasets,pods", "-n", "stranger", uids];
        self.kubectl(&of).lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
    }

    /// What a campaign must not leave behind.
    fn nothing_is_left(&self) {
        let leases = self.kubectl(&["get", "leases", "-n", "default", "-o=name"]);
        assert!(!leases.contains("trommel-campaign"), "{leases}");
        let types = self.kubectl(&["get", "crds", "-o=name"]);
        assert!(!types.contains("trommel.dev"), "{types}");
    }
}

/// What a program prints; it must succeed.
fn said(program: &str, arguments: &[&str]) -> String {
    let ended = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let ended = ended.expect("it starts");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{program} {arguments:?}: {stderr}");
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

/// Somebody else, who uses the cluster too; gone with the test.
struct Stranger<'k>(&'k Kind);

impl Stranger<'_> {
    fn moves_in(kind: &Kind) -> Stranger<'_> {
        let left = ["delete", "namespace", "stranger", "--ignore-not-found", "--wait"];
        kind.kubectl(&left);
        kind.kubectl(&["create", "namespace", "stranger"]);
        kind.kubectl(&["create", "configmap", "stranger", "-n", "stranger", "--from-literal=a=0"]);
        let image = "--image=nobody.example/has-this:1";
        kind.kubectl(&["create", "deployment", "stranger", "-n", "stranger", image]);
        Stranger(kind)
    }

    /// Another image in the node, and another value in the ConfigMap.
    fn is_busy(&self, round: usize) {
        let Kind { node, .. } = self.0;
        let images = said("docker", &["exec", node, "ctr", "-n", "k8s.io", "images", "ls", "-q"]);
        let first = images.lines().find(|name| !name.starts_with("sha256")).expect("an image");
        let copy = format!("docker.io/library/stranger:{round}");
        let tag = ["exec", node, "ctr", "-n", "k8s.io", "images", "tag", "--force", first, &copy];
        said("docker", &tag);
        let data = json!({"data": {"a": round.to_string()}}).to_string();
        self.0.kubectl(&["patch", "configmap", "stranger", "-n", "stranger", "-p", &data]);
    }
}

impl Drop for Stranger<'_> {
    fn drop(&mut self) {
        let gone =
            ["--kubeconfig", &self.0.kubeconfig, "delete", "namespace", "stranger", "--wait=false"];
        drop(Command::new("kubectl").args(gone).output());
    }
}

/// The first example on this cluster.
fn campaign(house: &House, name: &str, twin: &str) -> String {
    let text = fs::read_to_string(house.path(&format!("{FOLDER}/{twin}.yaml")));
    let text = text.expect("the campaign is there");
    let embedded = "cluster: {embedded: {environment: none}}";
    assert!(text.contains(embedded), "{text}");
    let file = format!("{FOLDER}/{twin}-on-kind.yaml");
    house.write(&file, &text.replace(embedded, &format!("cluster: {{kind: {{name: {name}}}}}")));
    file
}

#[test]
fn the_same_finding_and_nothing_else_is_judged_or_touched() {
    let house = House::new("kind", &[FOLDER]);
    let Some((name, kind)) = Kind::named(&house) else { return };
    let stranger = Stranger::moves_in(&kind);
    let before = kind.theirs();
    let embedded = format!("{FOLDER}/campaign.yaml");
    run(&house.root, ["run", &embedded, "--quiet", "--out", "embedded"]).expect(100);

    let file = campaign(&house, &name, "campaign");
    let mut trommel = command(&house.root, ["run", &file, "--quiet", "--out", "kind"]);
    let mut trommel = trommel.spawn().expect("it starts");
    let mut rounds = 0;
    let status = loop {
        if let Some(status) = trommel.try_wait().expect("a child can be asked") {
            break status;
        }
        rounds += 1;
        stranger.is_busy(rounds);
    };
    assert_eq!(status.code(), Some(100));
    assert!(rounds > 5, "the stranger was busy {rounds} times only");
    let summary = |out: &str| json(&house.path(out).join("summary.json"));
    let (embedded, found) = (summary("embedded"), summary("kind"));
    assert_eq!(found["plans"]["unknown"], 0, "{found}");
    let findings = found["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 1, "{found}");
    assert_eq!(findings[0]["id"], embedded["findings"][0]["id"], "{found}");
    assert_eq!(findings[0]["confirmed"], json!({"k": 5, "n": 5}), "{found}");
    kind.nothing_is_left();
    // The Deployment's pod may have been replaced by its own controller: it has not.
    assert_eq!(kind.theirs(), before);

    let id = findings[0]["id"].as_str().expect("an id");
    let replay = format!("kind/findings/{id}/replay.yaml");
    let again = ["replay", &replay, "--campaign", &file, "--quiet", "-k", "1", "--out", "again"];
    let ended = run(&house.root, again);
    assert!(ended.expect(100).stdout.contains("reproduced 1 of 1"), "{ended}");
    let fixed = campaign(&house, &name, "fixed");
    clean(&run(&house.root, ["run", &fixed, "--quiet", "--out", "fixed"]));
    kind.nothing_is_left();
}

/// The first example on a new cluster of this name, whose nodes are as this one.
fn creating(house: &House, name: &str, node: &str) -> String {
    let image = said("docker", &["inspect", "--format={{.Config.Image}}", node]);
    let file = campaign(house, name, "campaign");
    let text = fs::read_to_string(house.path(&file)).expect("it was written");
    let create = format!("name: {name}, create: {{nodeImage: {:?}}}", image.trim());
    house.write(&file, &text.replace(&format!("name: {name}"), &create));
    file
}

/// The nodes of a cluster.
fn nodes(name: &str) -> String {
    let label = format!("--filter=label=io.x-k8s.kind.cluster={name}");
    said("docker", &["ps", "--all", &label, "--format={{.Names}}"])
}

#[test]
fn a_cluster_of_the_campaign_goes_with_it_or_with_the_next_one() {
    let house = House::new("kind-created", &[FOLDER]);
    let Some((name, kind)) = Kind::named(&house) else { return };
    let name = format!("{name}-created");
    let file = creating(&house, &name, &kind.node);
    let mut trommel = command(&house.root, arguments(&file, "killed")).spawn().expect("it starts");
    while !house.path("killed/baseline.json").exists() {
        let ended = trommel.try_wait().expect("a child can be asked");
        assert_eq!(ended, None, "it ended before its undisturbed runs did");
        std::thread::yield_now();
    }
    trommel.kill().expect("a child can be killed");
    trommel.wait().expect("a child can be waited for");
    assert_eq!(nodes(&name), format!("{name}-control-plane\n"));
    let ended = run(&house.root, arguments(&file, "next"));
    let left = format!("a campaign that died left the kind cluster {name}");
    assert!(ended.expect(100).stderr.contains(&left), "{ended}");
    assert_eq!(nodes(&name), "");
}

/// Nothing found; not all is covered where nothing can be forked.
fn clean(ended: &Ended) {
    assert!(matches!(ended.code, Some(0 | 5)), "{ended}");
}

fn arguments<'a>(file: &'a str, out: &'a str) -> [&'a str; 6] {
    ["run", file, "--quiet", "--keep", "--out", out]
}

fn bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(of) if of.is_dir() => bytes(&entry.path()),
        Ok(of) => of.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

/// Runs a campaign, and kills Trommel when its run folder holds so many bytes.
fn killed_at(house: &House, file: &str, out: &str, share: u64) {
    let mut trommel = command(&house.root, arguments(file, out)).spawn().expect("it starts");
    while bytes(&house.path(out)) < share {
        let ended = trommel.try_wait().expect("a child can be asked");
        assert_eq!(ended, None, "{out}: it ended before it held {share} bytes");
        std::thread::yield_now();
    }
    trommel.kill().expect("a child can be killed");
    trommel.wait().expect("a child can be waited for");
}

#[test]
fn after_a_kill_the_next_campaign_cleans_up() {
    let house = House::new("kind-killed", &[FOLDER]);
    let Some((name, kind)) = Kind::named(&house) else { return };
    let _stranger = Stranger::moves_in(&kind);
    let before = kind.theirs();
    let file = campaign(&house, &name, "campaign");
    run(&house.root, arguments(&file, "whole")).expect(100);
    let whole = bytes(&house.path("whole"));
    let moments = kills();
    for moment in 1..=moments {
        let share = whole * moment / (moments + 2);
        let out = format!("killed-{moment}");
        killed_at(&house, &file, &out, share);
        let next = format!("after-{moment}");
        let ended = run(&house.root, arguments(&file, &next));
        assert!(ended.expect(100).stderr.contains("ended without cleaning up"), "{ended}");
        kind.nothing_is_left();
        assert_eq!(kind.theirs(), before, "{out}");
    }
}
