//! A plan carried out on a fork means the same as one carried out from the beginning.
//!
//! Closure carries every plan out on forks and writes each trial to `plans.jsonl`. Here each of those plans is
//! put into a replay file, which carries it out from the beginning on a running controller, and the verdicts
//! are compared: the same value, and the same fingerprint where something was violated.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trommel_tests::{
    house::House,
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

fn forked(house: &House) -> BTreeMap<String, Forked> {
    let mut plans = BTreeMap::new();
    for trial in json_lines(&house.path("run/plans.jsonl")) {
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
    file["fingerprint"] = json!(forked.shown[0].1);
    file
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
    let finding = std::fs::read_dir(house.path("template/findings")).expect("findings").next();
    let finding = finding.expect("a finding").expect("a folder can be listed");
    let template = yaml(&finding.path().join("replay.yaml"));

    let campaign = format!("{folder}/{campaign}");
    run(&house.root, ["run", &campaign, "--quiet", "--out", "run"]).expect(exit);
    let plans = forked(&house);
    assert!(plans.len() >= 5, "{} plans are too few to show anything", plans.len());
    let violated = plans.values().any(|forked| forked.shown[0].0 == "violated");
    assert_eq!(violated, exit == 100, "both verdicts are compared");
    let mut different = Vec::new();
    for (id, forked) in &plans {
        let file = format!("{id}.yaml");
        house.write(&file, &replay_file(&template, id, forked).to_string());
        let out = format!("replayed/{id}");
        let arguments = ["replay", &file, "--quiet", "-k", REPEATS, "--out", &out];
        let ended = run(&house.root, arguments.into_iter().chain(["--campaign", &campaign]));
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

#[test]
fn bar_foo() {
    check("bar-foo", "examples/bar-foo", "campaign.yaml", 100);
}

#[test]
fn bar_foo_fixed() {
    check("bar-foo-fixed", "examples/bar-foo", "fixed.yaml", 0);
}

trommel_tests::planted_campaigns!(check);
