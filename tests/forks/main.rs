//! A plan carried out on a fork means the same as one carried out from the beginning.
//!
//! Closure carries every plan out on forks and writes each trial to `plans.jsonl`. Here each of those plans is
//! put into a replay file, which carries it out from the beginning on a running controller, and the verdicts
//! are compared: the same value, and the same fingerprint where something was violated.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trommel_tests::{
    Need,
    house::House,
    needs,
    product::{Ended, json_lines, run, yaml},
};

const REPEATS: &str = "2";

/// What the trials of one plan on forks showed.
struct Forked {
    plan: Value,
    text: String,
    /// Verdict, and the fingerprint of what was violated; repeats that differ are seen as such.
    shown: Vec<(String, String)>,
}

fn forked(trials: impl IntoIterator<Item = Value>) -> BTreeMap<String, Forked> {
    let mut plans = BTreeMap::new();
    // What can't be carried out proves nothing, here or there.
    let tried = |trial: &Value| trial["notPossible"] != true;
    for trial in trials.into_iter().filter(tried) {
        assert_eq!(trial["forked"], true, "the embedded cluster forks: {trial}");
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let forked = plans.entry(word(&trial["id"])).or_insert_with(|| Forked {
            plan: trial["plan"].clone(),
            text: word(&trial["text"]),
            shown: Vec::new(),
        });
        let shown = (word(&trial["verdict"]), word(&trial["fingerprints"][0]));
        if !forked.shown.contains(&shown) {
            forked.shown.push(shown);
        }
    }
    plans
}

/// A replay file of the plan, made from that of a finding.
fn replay_file(template: &Value, id: &str, forked: &Forked) -> Value {
    let mut file = template.clone();
    file["plan"] = forked.plan.clone();
    file["finding"] = json!(id);
    file["title"] = json!("the planned end");
    // A plan that held has no fingerprint; the file must have one, and this is nobody's.
    let (_, fingerprint) = &forked.shown[0];
    file["fingerprint"] = json!(if fingerprint.is_empty() { "000000000000" } else { fingerprint });
    file
}

/// The replay file of a finding of this run.
fn template_of(house: &House, out: &str) -> Value {
    let findings = std::fs::read_dir(house.path(&format!("{out}/findings"))).expect("findings");
    let finding = findings.last().expect("a finding").expect("a folder can be listed");
    yaml(&finding.path().join("replay.yaml"))
}

/// Verdict and whether the fingerprint is the file's.
fn replayed(ended: &Ended) -> &'static str {
    let all = format!("reproduced {REPEATS} of {REPEATS}:");
    match ended.code {
        Some(100) if ended.stdout.starts_with(&all) => "violated",
        Some(0) if ended.stdout.starts_with("gone:") => "held",
        Some(2) => "unknown",
        _ => "something else",
    }
}

/// Compares every plan of the campaign; `template` has the finding from which replay files are made.
fn check(test: &str, folder: &str, campaign: &str, exit: i32) {
    let house = House::new(&format!("forks/{test}"), &[folder]);
    let template = format!("{folder}/campaign.yaml");
    run(&house.root, ["run", &template, "--quiet", "--out", "template"]).expect(100);
    let template = template_of(&house, "template");

    let campaign = format!("{folder}/{campaign}");
    run(&house.root, ["run", &campaign, "--quiet", "--out", "run"]).expect(exit);
    let plans = forked(json_lines(&house.path("run/plans.jsonl")));
    assert!(plans.len() >= 5, "{} plans are too few to show anything", plans.len());
    let violated = plans.values().any(|forked| forked.shown[0].0 == "violated");
    assert_eq!(violated, exit == 100, "both verdicts are compared");
    compare(&house, &campaign, &template, &plans);
}

/// Carries each plan out from the beginning: the verdict must be that of the forks.
fn compare(house: &House, campaign: &str, template: &Value, plans: &BTreeMap<String, Forked>) {
    let mut different = Vec::new();
    for (id, forked) in plans {
        let file = format!("{id}.yaml");
        house.write(&file, &replay_file(template, id, forked).to_string());
        let out = format!("replayed/{}/{id}", campaign.replace('/', "-"));
        let arguments = ["replay", &file, "--quiet", "-k", REPEATS, "--out", &out];
        let ended = run(&house.root, arguments.into_iter().chain(["--campaign", campaign]));
        let shown: Vec<&str> = forked.shown.iter().map(|(verdict, _)| &**verdict).collect();
        if shown != [replayed(&ended)] {
            different.push(format!("{id} {}\non forks {:?}\n{ended}", forked.text, forked.shown));
        }
    }
    assert!(
        different.is_empty(),
        "{} of {}:\n{}",
        different.len(),
        plans.len(),
        different.join("\n")
    );
}

/// Compares those plans that `chosen` takes from the trials of an operator of the corpus, and of its twin; it is told the
/// verdict that they show.
fn check_twins(
    test: &str,
    operator: &str,
    chosen: impl Fn(Vec<Value>, &str) -> BTreeMap<String, Forked>,
) {
    let folder = format!("tests/corpus/{operator}");
    let house = House::new(&format!("forks/{test}"), &[&folder, "tests/corpus/operators"]);
    let mut template = Value::Null;
    for (name, exit, verdict) in [("campaign", 100, "violated"), ("fixed", 0, "held")] {
        let campaign = format!("{folder}/{name}.yaml");
        run(&house.root, ["run", &campaign, "--quiet", "--out", name]).expect(exit);
        if exit == 100 {
            template = template_of(&house, name);
        }
        let plans = chosen(json_lines(&house.path(&format!("{name}/plans.jsonl"))), verdict);
        compare(&house, &campaign, &template, &plans);
    }
}

/// Plans of each campaign of which nothing is seen after a restart.
const NEVER_SEEN: usize = 6;

/// What an operator and its twin never see after a restart.
#[test]
fn never_seen_after_a_restart() {
    if !needs(&[Need::Go]) {
        return;
    }
    check_twins("never-seen", "drain", |mut trials, verdict| {
        trials.retain(|trial| !trial["plan"][1]["unobservedState"].is_null());
        let plans: BTreeMap<_, _> = forked(trials).into_iter().take(NEVER_SEEN).collect();
        assert_eq!(plans.len(), NEVER_SEEN);
        assert!(plans.values().all(|forked| forked.shown[0].0 == verdict));
        plans
    });
}

/// Plans of each campaign that end with a restart when all had settled.
const WHEN_SETTLED: usize = 8;

/// An operator that writes again when it is restarted when all had settled, and its twin, which never does.
#[test]
fn when_all_had_settled() {
    if !needs(&[Need::Go]) {
        return;
    }
    check_twins("when-settled", "checksum", |mut trials, verdict| {
        let last = |trial: &Value| Some(trial["plan"].as_array()?.last()?["crash"]["at"].clone());
        trials.retain(|trial| last(trial) == Some(json!("settled")));
        // Violated ones first.
        trials.sort_by_key(|trial| trial["verdict"] != verdict);
        let first: Vec<Value> = trials.into_iter().take(WHEN_SETTLED).collect();
        let plans = forked(first);
        assert!(plans.len() >= 2, "{} plans are too few to show anything", plans.len());
        assert!(plans.values().any(|forked| forked.shown[0].0 == verdict));
        plans
    });
}

#[test]
fn bar_foo() {
    check("bar-foo", "examples/bar-foo", "campaign.yaml", 100);
}

#[test]
fn bar_foo_fixed() {
    check("bar-foo-fixed", "examples/bar-foo", "fixed.yaml", 0);
}

trommel_tests::planted_campaigns!(check);
