//! Closure against brute force: what de-duplication leaves out must not be missed.
//!
//! A brute-force run carries out every crash schedule of at most two crashes, each place of each trial for
//! itself, without asking whether its world was seen before. Every end state that it reaches must be one that
//! closure reports, and the other way round. In both, nothing is explored behind a violated trial.

use std::collections::BTreeSet;

use serde_json::Value;
use trommel_tests::{
    Need,
    house::House,
    needs,
    product::{json, json_lines, run},
};

const DEPTH: usize = 2;

fn check(test: &str, folder: &str, campaign: &str, exit: i32) {
    let house = House::new(&format!("closure/{test}"), &[folder]);
    let campaign = format!("{folder}/{campaign}");
    run(&house.root, ["run", &campaign, "--quiet", "--out", "closure"]).expect(exit);
    let depth = DEPTH.to_string();
    let brute = ["run", &campaign, "--quiet", "--out", "brute", "--brute-force", &depth];
    run(&house.root, brute).expect(exit);

    let closed = json(&house.path("closure/summary.json"));
    let forced = json(&house.path("brute/summary.json"));
    assert_eq!(closed["coverage"]["closed"], true, "{closed}");
    for summary in [&closed, &forced] {
        assert_eq!(summary["plans"]["unknown"], 0, "{summary}");
    }
    // Without these, the comparison below would show nothing.
    let plans = json_lines(&house.path("brute/plans.jsonl"));
    let deepest = plans.iter().filter_map(|line| line["plan"].as_array()).map(Vec::len).max();
    assert_eq!(deepest, Some(DEPTH), "brute force reaches its depth and not beyond");
    let (few, many) = (different_plans(&house, "closure"), different_plans(&house, "brute"));
    assert!(few.len() < many.len(), "{} plans by closure, {} by force", few.len(), many.len());

    assert_eq!(end_states(&house, "closure"), end_states(&house, "brute"));
}

/// The same at depth 1 for caches that are behind and states that are never seen: with brute force each older state of each
/// type is met at each place, also those that show the controller nothing new.
fn check_views(name: &str) {
    if !needs(&[Need::Go]) {
        return;
    }
    let folder = format!("tests/corpus/{name}");
    let house = House::new(&format!("closure/{name}"), &[&folder, "tests/corpus/operators"]);
    let campaign = format!("{folder}/campaign.yaml");
    let text = std::fs::read_to_string(house.path(&campaign)).expect("the campaign is there");
    house.write(&campaign, &format!("{text}  depth: 1\n"));
    let always = ["run", &campaign, "--quiet", "--families", "stale-state,unobserved-state"];
    run(&house.root, always.into_iter().chain(["--out", "closure"])).expect(100);
    let brute = ["--out", "brute", "--brute-force", "1"];
    run(&house.root, always.into_iter().chain(brute)).expect(100);
    let (few, many) = (different_plans(&house, "closure"), different_plans(&house, "brute"));
    assert!(few.len() < many.len(), "{} plans by closure, {} by force", few.len(), many.len());
    assert_eq!(end_states(&house, "closure"), end_states(&house, "brute"));
}

/// Sieve's heuristics leave out some of what is tried without them, add nothing, and claim nothing. They miss this bug:
/// undisturbed the controller deletes nothing.
#[test]
fn what_sieve_would_leave_out_is_told() {
    if !needs(&[Need::Go]) {
        return;
    }
    let folder = "tests/corpus/scale-down";
    let house = House::new("closure/heuristics", &[folder, "tests/corpus/operators"]);
    let campaign = format!("{folder}/campaign.yaml");
    let text = std::fs::read_to_string(house.path(&campaign)).expect("the campaign is there");
    for (out, heuristics, exit) in [("all", "order", 100), ("few", "sieve", 0)] {
        house.write(&campaign, &format!("{text}  depth: 1\n  heuristics: {heuristics}\n"));
        let ended = run(&house.root, ["run", &campaign, "--quiet", "--out", out]);
        let told =
            ended.expect(exit).stdout.contains("plans that Sieve's heuristics don't suggest");
        assert_eq!(told, heuristics == "sieve", "{ended}");
    }
    let (few, all) = (different_plans(&house, "few"), different_plans(&house, "all"));
    assert!(few.len() < all.len() && few.is_subset(&all), "{few:?}\n{all:?}");
    let (few, all) = (json(&house.path("few/summary.json")), json(&house.path("all/summary.json")));
    let left_out = |summary: &Value| summary["plans"]["pruned"]["not-suggested"].as_u64();
    assert!(left_out(&few) > Some(0), "{few}");
    assert_eq!(left_out(&all), None, "{all}");
    assert_eq!(few["coverage"]["closed"], false, "{few}");
}

#[test]
fn views_of_a_toggle() {
    check_views("tls-toggle");
}

#[test]
fn views_of_ports() {
    check_views("ports");
}

#[test]
fn views_of_members() {
    check_views("scale-down");
}

/// Depth and id of each.
fn different_plans(house: &House, out: &str) -> BTreeSet<(usize, String)> {
    let lines = json_lines(&house.path(&format!("{out}/plans.jsonl")));
    let depth = |line: &Value| line["plan"].as_array().map_or(0, Vec::len);
    lines.iter().map(|line| (depth(line), line["id"].to_string())).collect()
}

fn end_states(house: &House, out: &str) -> BTreeSet<String> {
    let states = json(&house.path(&format!("{out}/end-states.json")));
    let states: BTreeSet<String> =
        states.as_array().into_iter().flatten().map(Value::to_string).collect();
    assert!(!states.is_empty(), "the undisturbed runs have one at least");
    states
}

#[test]
fn bar_foo() {
    check("bar-foo", "examples/bar-foo", "campaign.yaml", 100);
}

#[test]
fn bar_foo_fixed() {
    check("bar-foo-fixed", "examples/bar-foo", "fixed.yaml", 0);
}

#[test]
fn late_sweep() {
    check("late-sweep", "tests/campaigns/late-sweep", "campaign.yaml", 100);
}

#[test]
fn late_sweep_fixed() {
    check("late-sweep-fixed", "tests/campaigns/late-sweep", "fixed.yaml", 0);
}

#[test]
fn sample_controller() {
    if needs(&[Need::Go]) {
        check("sample-controller", "examples/sample-controller", "campaign.yaml", 0);
    }
}

trommel_tests::planted_campaigns!(check);
