//! Properties of the user: what end states don't show is found, with the run that shows it, and what is wrong with property
//! files is told.

use std::path::PathBuf;

use trommel_tests::{
    Need,
    house::House,
    needs,
    product::{json, run},
};

/// A house with an operator of the corpus.
fn house(test: &str, operator: &str) -> House {
    let folder = format!("tests/corpus/{operator}");
    House::new(&format!("properties/{test}"), &[&folder, "tests/corpus/operators"])
}

/// The folder of the only finding of a run that is one of a property; `others` are of these oracles.
fn finding(house: &House, others: &[&str]) -> PathBuf {
    let summary = json(&house.path("out/summary.json"));
    let findings = summary["findings"].as_array().expect("findings").iter();
    let (of_property, rest): (Vec<_>, Vec<_>) =
        findings.partition(|finding| finding["oracle"] == "property");
    let oracles: Vec<_> = rest.iter().map(|finding| finding["oracle"].as_str()).collect();
    let expected: Vec<_> = others.iter().copied().map(Some).collect();
    assert_eq!(oracles, expected, "{summary}");
    let [finding] = &of_property[..] else { panic!("one finding of a property: {summary}") };
    house.path("out/findings").join(finding["id"].as_str().expect("an id"))
}

/// Runs an operator's campaign and that of its twin; replays the finding of a property against both. What `explain.md`
/// says of it. `others`: the oracles of further findings.
fn found(house: &House, operator: &str, written: &str, fixed: &str, others: &[&str]) -> String {
    let campaign = |name: &str| format!("tests/corpus/{operator}/{name}.yaml");
    let graph = ["--graph", "graph.dot"];
    let run_of = |name: &str, out: &str| {
        let campaign = campaign(name);
        run(&house.root, ["run", &campaign, "--quiet", "--out", out].into_iter().chain(graph))
    };
    run_of(fixed, "out-fixed").expect(0);
    run_of(written, "out").expect(100);

    let folder = finding(house, others);
    let file = folder.join("replay.yaml").display().to_string();
    let replay = |more: &[&str]| {
        let always = ["replay", &file, "--quiet", "--yes", "--out", "replayed"];
        let ended = run(&house.root, always.into_iter().chain(more.iter().copied()));
        std::fs::remove_dir_all(house.path("replayed")).expect("the run folder can be removed");
        ended
    };
    let ended = replay(&[]);
    assert!(ended.expect(100).stdout.contains("reproduced 5 of 5"), "{ended}");
    let ended = replay(&["--campaign", &campaign(fixed)]);
    assert!(ended.expect(0).stdout.contains("gone"), "{ended}");
    std::fs::read_to_string(folder.join("explain.md")).expect("an explanation")
}

#[test]
fn what_is_wrong_on_the_way_is_found() {
    if !needs(&[Need::Go]) {
        return;
    }
    let house = house("on-the-way", "half-marked");
    let explained = found(&house, "half-marked", "campaign", "fixed", &[]);
    let last = "controller: update configmaps/default/db-a (always is false now)";
    assert!(explained.contains(last), "{explained}");

    let graph = std::fs::read_to_string(house.path("graph.dot")).expect("a graph");
    for part in ["crash(", "start(", "settle(", "shards_are_alike_or_marked = FALSE"] {
        assert!(graph.contains(part), "{part} in {graph}");
    }
    // Without the property nothing is found.
    let campaign = house.path("tests/corpus/half-marked/campaign.yaml");
    let text = std::fs::read_to_string(&campaign).expect("the campaign is there");
    let without = text.replace("  properties: [properties.yaml]\n", "");
    house.write("tests/corpus/half-marked/without.yaml", &without);
    let without = ["run", "tests/corpus/half-marked/without.yaml", "--quiet", "--out", "without"];
    run(&house.root, without).expect(0);
}

/// The version that is gone before the kill and comes back behind the stale restart: each alone is right.
#[test]
fn what_has_passed_before_a_fork_counts() {
    if !needs(&[Need::Go]) {
        return;
    }
    let house = house("passed", "rolls-back");
    let explained = found(&house, "rolls-back", "asked", "asked-fixed", &[]);
    assert!(explained.contains("neverAfter.never is true now"), "{explained}");
}

/// After a crash the operator asks for its own claim, and asks it not to hurry, for ever: a lasso.
#[test]
fn a_round_that_never_ends_is_found_and_replays() {
    if !needs(&[Need::Go]) {
        return;
    }
    let house = house("round", "own-claim");
    let explained = found(&house, "own-claim", "campaign", "fixed", &["livelock"]);
    assert!(explained.contains("2 steps come again and again"), "{explained}");
    assert!(explained.contains('↻'), "{explained}");
}

/// What is wrong with a property file is told with its place.
fn check_wrong(house: &House, property: &str, says: &str) {
    let head = "apiVersion: trommel.dev/v1alpha1\nkind: Property\nspec:\n  properties:\n";
    house.write("tests/corpus/half-marked/properties.yaml", &format!("{head}    - {property}\n"));
    let campaign = "tests/corpus/half-marked/campaign.yaml";
    let ended = run(&house.root, ["run", campaign, "--quiet", "--out", "wrong"]);
    assert!(ended.expect(64).stderr.contains(says), "{ended}");
    std::fs::remove_dir_all(house.path("wrong")).expect("the run folder can be removed");
}

#[test]
fn wrong_files_are_told_with_their_place() {
    if !needs(&[Need::Go]) {
        return;
    }
    let house = house("wrong", "half-marked");
    check_wrong(
        &house,
        "{name: a, always: 'foos.size() == 0'}",
        "properties.yaml: spec.properties[0] (a): always: \"foos\" is not known here",
    );
    check_wrong(&house, "{name: a}", "it has one of always, eventually, leadsTo, neverAfter");
    // It knows all that it names, and has no value where there are objects.
    check_wrong(
        &house,
        "{name: a, always: 'objects.all(o, o.kind != \"Database\" || o.status.phase == \"Ready\")'}",
        "property a: always: an object has no \"status\"",
    );
}

/// What undisturbed runs violate needs no campaign.
#[test]
fn what_undisturbed_runs_violate_is_told_of_them() {
    if !needs(&[Need::Go]) {
        return;
    }
    let house = house("undisturbed", "half-marked");
    let text = "apiVersion: trommel.dev/v1alpha1\nkind: Property\nspec:\n  properties:\n    \
                - {name: none, always: \"!objects.exists(o, o.kind == 'Database')\"}\n";
    house.write("tests/corpus/half-marked/properties.yaml", text);
    let campaign = "tests/corpus/half-marked/campaign.yaml";
    let ended = run(&house.root, ["run", campaign, "--quiet", "--out", "out"]);
    assert!(ended.expect(105).stderr.contains("undisturbed run 0: property none"), "{ended}");
}
