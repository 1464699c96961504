//! What a plan of each family costs: one campaign with all of them, one trial at a time.

use std::collections::BTreeMap;

use super::{Subject, Trial, explore_with};
use crate::{
    run::{Runner, works},
    table::{self, Spread},
};

/// The second has states that are never seen: its user does not wait.
const SUBJECTS: [Subject; 2] = [
    Subject {
        name: "sample-controller",
        campaign: "examples/sample-controller/campaign.yaml",
        go: true,
        plans: 0,
    },
    Subject { name: "drain", campaign: "tests/corpus/drain/campaign.yaml", go: true, plans: 0 },
];

const ALL: &str = "intermediate-state,stale-state,unobserved-state";

/// Prints a table each. Plans/s counts the time of the family's own trials.
///
/// # Errors
/// A campaign that can't be run.
pub fn print(runner: &mut Runner) -> anyhow::Result<()> {
    for subject in &SUBJECTS {
        if !works(&["go", "version"]) {
            runner.skip(subject.name, "go is not on this machine");
            continue;
        }
        let run = explore_with(runner, subject, Some(1), &["--families", ALL])?;
        let mut families: BTreeMap<&str, Vec<&Trial>> = BTreeMap::new();
        for trial in &run.trials {
            families.entry(trial.family.as_deref().unwrap_or("none")).or_default().push(trial);
        }
        let row = |(family, trials): (&&str, &Vec<&Trial>)| {
            let seconds: f64 = trials.iter().map(|trial| trial.seconds).sum();
            let spread = Spread::of(trials.iter().map(|trial| trial.seconds * 1e3)).shown(1);
            let counts =
                [trials.len().to_string(), format!("{:.1}", trials.len() as f64 / seconds)];
            [(*family).to_owned()].into_iter().chain(counts).chain(spread).collect()
        };
        let rows: Vec<Vec<String>> = families.iter().map(row).collect();
        let head = [subject.name, "trials", "plans/s", "ms, least", "median", "most"];
        println!("\n{}", table::markdown(&head, &rows));
        runner.pass();
    }
    Ok(())
}
