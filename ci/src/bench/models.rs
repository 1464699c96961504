//! How many runs of a model the real controller is led along in a second: all of Bar/Foo's with at most two deaths.

use super::{Subject, explore_with};
use crate::{run::Runner, table};

const SUBJECT: Subject =
    Subject { name: "bar-foo", campaign: "examples/bar-foo/fixed.yaml", go: false, plans: 0 };

const MODEL: [&str; 4] = [
    "--schedule",
    "examples/bar-foo/model/fixed.tla",
    "--binding",
    "examples/bar-foo/model/binding.yaml",
];

/// Prints the table: one run at a time, and as many side by side as there are processors. The time is that of the
/// exploration, without undisturbed runs.
///
/// # Errors
/// A campaign that can't be run.
pub fn print(runner: &mut Runner) -> anyhow::Result<()> {
    let mut rows = vec![];
    for (how, workers) in [("one at a time", Some(1)), ("side by side", None)] {
        let run = explore_with(runner, &SUBJECT, workers, &MODEL)?;
        let runs = run.trials.len();
        let rate = format!("{:.1}", runs as f64 / run.seconds);
        rows.push(vec![how.to_owned(), runs.to_string(), rate]);
    }
    println!("\n{}", table::markdown(&["runs of a model", "runs", "runs/s"], &rows));
    runner.pass();
    Ok(())
}
