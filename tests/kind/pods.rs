//! The controller in pods: images from scratch, an ordinary Deployment.

use std::{fs, process::Command};

use trommel_tests::{
    Need,
    house::House,
    kills, needs,
    product::{command, json, run},
    root,
};

use super::{Kind, Stranger, arguments, bytes, clean, said};

const CORPUS: &str = "tests/corpus";
const SUBJECTS: &str = "tests/subjects";

/// Builds an image with this program alone.
fn image(house: &House, program: &str, name: &str) {
    let folder = house.path(&format!("images/{name}"));
    fs::create_dir_all(&folder).expect("a folder can be made");
    fs::copy(house.path(program), folder.join("program")).expect("the program was built");
    let file = "FROM scratch\nCOPY program /program\nENTRYPOINT [\"/program\"]\n";
    fs::write(folder.join("Dockerfile"), file).expect("it can be written");
    let tag = format!("{name}:dev");
    said("docker", &["build", "--quiet", "--tag", &tag, &folder.display().to_string()]);
}

/// Writes a campaign beside another one, with a Deployment of this image and these arguments.
fn with_pods(house: &House, file: &str, image: &str, args: &str, more: &[(&str, &str)]) -> String {
    let (folder, name) = file.rsplit_once('/').expect("a folder");
    let text = fs::read_to_string(root().join("tests/kind/operator.yaml"));
    let text = text.expect("the manifest is there");
    let manifest = format!("operator-{name}");
    let image_tag = format!("{image}:dev");
    let deployed = text.replace("IMAGE", &format!("\"{image_tag}\"")).replace("ARGS", args);
    house.write(&format!("{folder}/{manifest}"), &deployed);
    let text = fs::read_to_string(house.path(file)).expect("the campaign is there");
    let subject = format!(
        "  subject:\n    deployment: {{manifests: [{manifest}], images: [\"{image_tag}\"]}}\n"
    );
    let mut text = text.replacen("  subject:\n", &subject, 1);
    for (from, to) in more {
        assert!(text.contains(from), "{text}");
        text = text.replace(from, to);
    }
    let file = format!("{folder}/pods-{name}");
    house.write(&file, &text);
    file
}

impl Kind {
    /// No rule leads pods elsewhere, and no pod of the controller is left.
    fn pods_are_left_alone(&self) {
        let rules =
            said("docker", &["exec", &self.node, "iptables", "-t", "nat", "-S", "PREROUTING"]);
        assert!(!rules.contains("trommel"), "{rules}");
        let namespaces = self.kubectl(&["get", "namespaces", "-o=name"]);
        assert!(!namespaces.contains("operators"), "{namespaces}");
    }
}

/// One bug of each family: found on the embedded cluster, shown in a pod; the repaired twin shows nothing.
#[test]
fn a_bug_of_each_family_shows_in_a_pod() {
    let house = House::new("kind-families", &[CORPUS]);
    let Some((name, kind)) = Kind::named(&house) else { return };
    if !needs(&[Need::Go]) {
        return;
    }
    run_script(&house, &format!("{CORPUS}/operators/build.sh"));
    image(&house, &format!("{CORPUS}/operators/bin/operators"), "trommel-corpus");
    let on = format!("kind={name}");
    // Each corpus campaign waits for ten seconds of virtual time: in real time that is long.
    let horizon = [("horizon: 10s", "horizon: 3s")];
    for bug in ["half-status", "tls-toggle", "one-at-a-time"] {
        let of = |twin: &str, args: &str| {
            with_pods(
                &house,
                &format!("{CORPUS}/{bug}/{twin}.yaml"),
                "trommel-corpus",
                args,
                &horizon,
            )
        };
        let written = of("campaign", &format!("[{bug}]"));
        let fixed = of("fixed", &format!("[-fixed, {bug}]"));
        run(&house.root, ["run", &written, "--quiet", "--out", bug, "--confirm-on", &on])
            .expect(100);
        let summary = json(&house.path(bug).join("summary.json"));
        let found = &summary["findings"][0];
        let there = &found["confirmedOn"][0];
        assert!(there["cluster"].as_str().is_some_and(|text| text.ends_with("(pod)")), "{found}");
        assert_eq!((&there["k"], &there["n"]), (&3.into(), &3.into()), "{found}");
        let replay = format!("{bug}/{}", found["replay"].as_str().expect("a replay file"));
        let text = fs::read_to_string(house.path(&replay)).expect("it was written");
        assert!(text.contains("confirmedOn:") && text.contains("(pod)"), "{text}");
        let twin =
            ["replay", &replay, "--campaign", &fixed, "--cluster", &on, "-k", "2", "--quiet"];
        run(&house.root, twin).expect(0);
        kind.pods_are_left_alone();
    }
}

/// A program of the house, run to its end.
fn run_script(house: &House, script: &str) {
    let ended = Command::new(house.path(script)).status().expect("it starts");
    assert!(ended.success(), "{script}: {ended}");
}

/// A campaign that runs in pods, and its cluster; none if there is no cluster, or no Go.
fn bar_foo(house: &House) -> Option<(String, Kind)> {
    let (name, kind) = Kind::named(house)?;
    if !needs(&[Need::Go]) {
        return None;
    }
    let folder = house.path(&format!("{SUBJECTS}/go-bar-foo"));
    let build = Command::new("go")
        .args(["build", "-o", "bin/go-bar-foo", "."])
        .current_dir(folder)
        .env("CGO_ENABLED", "0")
        .status();
    assert!(build.expect("go starts").success());
    image(house, &format!("{SUBJECTS}/go-bar-foo/bin/go-bar-foo"), "trommel-bar-foo");
    let on = format!("cluster: {{kind: {{name: {name}}}}}");
    let cluster = [("cluster: {embedded: {environment: none}}", &*on)];
    let file = "tests/campaigns/go-bar-foo/campaign.yaml";
    Some((with_pods(house, file, "trommel-bar-foo", "[]", &cluster), kind))
}

const FOLDERS: [&str; 3] =
    ["tests/campaigns/go-bar-foo", "tests/subjects/go-bar-foo", "examples/bar-foo"];

#[test]
fn a_campaign_in_pods_finds_the_bug_by_itself() {
    let house = House::new("kind-pods", &FOLDERS);
    let Some((file, kind)) = bar_foo(&house) else { return };
    let _stranger = Stranger::moves_in(&kind);
    let before = kind.theirs();
    let embedded = "tests/campaigns/go-bar-foo/campaign.yaml";
    run(&house.root, ["run", embedded, "--quiet", "--out", "embedded"]).expect(100);
    let mut trommel = command(&house.root, ["run", &file, "--quiet", "--out", "pods"]);
    let mut trommel = trommel.spawn().expect("it starts");
    // The kubelet dies once, too; systemd starts it again.
    while bytes(&house.path("pods")) == 0 {
        assert_eq!(trommel.try_wait().expect("a child can be asked"), None);
        std::thread::yield_now();
    }
    said("docker", &["exec", &kind.node, "pkill", "-KILL", "-x", "kubelet"]);
    assert_eq!(trommel.wait().expect("it ends").code(), Some(100));
    let findings = |out: &str| json(&house.path(out).join("summary.json"))["findings"].clone();
    let (embedded, found) = (findings("embedded"), findings("pods"));
    assert_eq!(found[0]["id"], embedded[0]["id"], "{found}");
    assert_eq!(found[0]["confirmed"], serde_json::json!({"k": 5, "n": 5}), "{found}");
    kind.nothing_is_left();
    kind.pods_are_left_alone();
    assert_eq!(kind.theirs(), before);
    let replay = format!("pods/{}", found[0]["replay"].as_str().expect("a replay file"));
    // The file says by itself where its controller runs.
    let again = ["replay", &replay, "--quiet", "--yes", "-k", "1", "--out", "again"];
    run(&house.root, again).expect(100);
    let fixed = bar_foo_fixed(&house, &file);
    clean(&run(&house.root, ["run", &fixed, "--quiet", "--out", "fixed"]));
    kind.nothing_is_left();
}

/// The same campaign with the repaired twin.
fn bar_foo_fixed(house: &House, file: &str) -> String {
    let folder = file.rsplit_once('/').expect("a folder").0;
    let manifest = format!("{folder}/operator-campaign.yaml");
    let text = fs::read_to_string(house.path(&manifest)).expect("the manifest was written");
    let fixed = text.replace("args: []", "args: [-fixed]");
    assert_ne!(text, fixed);
    house.write(&format!("{folder}/operator-fixed.yaml"), &fixed);
    let text = fs::read_to_string(house.path(file)).expect("the campaign was written");
    let file = format!("{folder}/pods-fixed.yaml");
    house.write(&file, &text.replace("operator-campaign.yaml", "operator-fixed.yaml"));
    file
}

#[test]
fn after_a_kill_pods_and_nodes_are_as_before() {
    let house = House::new("kind-pods-killed", &FOLDERS);
    let Some((file, kind)) = bar_foo(&house) else { return };
    let _stranger = Stranger::moves_in(&kind);
    let before = kind.theirs();
    run(&house.root, arguments(&file, "whole")).expect(100);
    let whole = bytes(&house.path("whole"));
    let moments = kills();
    for moment in 1..=moments {
        let out = format!("killed-{moment}");
        let share = whole * moment / (moments + 2);
        super::killed_at(&house, &file, &out, share);
        // One that ends soon is enough to clean up.
        let next = format!("after-{moment}");
        let mut next = arguments(&file, &next).to_vec();
        next.push("--families=intermediate-state");
        let ended = run(&house.root, next);
        assert!(ended.expect(100).stderr.contains("ended without cleaning up"), "{ended}");
        kind.nothing_is_left();
        kind.pods_are_left_alone();
        assert_eq!(kind.theirs(), before, "{out}");
    }
}
