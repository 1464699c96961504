//! Campaigns against operators that nobody here wrote (tests/foreign): what they give, and what they cost.

use std::{fs, path::Path};

use serde_json::Value;

use super::{FOREIGN, chosen_in, folder_of, one, repeat_of};
use crate::{run::Runner, table};

const HEAD: [&str; 11] = [
    "operator",
    "shape",
    "scale",
    "age",
    "exact",
    "audited",
    "trials",
    "s",
    "ms a trial",
    "CPU ratio",
    "MB",
];

/// Runs each whose path contains this once, holds it to its `expect.yaml`, and prints a table.
///
/// # Errors
/// An `expect.yaml` that can't be read.
pub fn all(runner: &mut Runner, only: &str) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for campaign in chosen_in(runner, FOREIGN, only)? {
        let mut output = runner.stream();
        let (_, report) = one(runner, &campaign, 1, &mut output);
        runner.take(report);
        let folder = folder_of(runner, &repeat_of(&campaign.name, 1));
        let read = |file: &str| read(&folder.join(file));
        if let (Some(summary), Some(figures)) = (read("summary.json"), read("figures.json")) {
            let name = campaign.name.trim_start_matches("tests/foreign/");
            rows.push(row(name.trim_end_matches("/campaign.yaml"), &summary, &figures));
        }
    }
    println!("\n{}", table::markdown(&HEAD, &rows));
    Ok(())
}

fn read(file: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(file).ok()?).ok()
}

/// Levels as explored of met, audits as disagreed of audited; CPU of Trommel for each second of the operator's.
fn row(name: &str, summary: &Value, figures: &Value) -> Vec<String> {
    let levels = summary["coverage"]["levels"].as_array().map_or(&[][..], Vec::as_slice);
    let of = |level: &str| levels.iter().find(|known| known["level"] == level);
    let explored = |level: &str| {
        of(level).map_or_else(String::new, |at| format!("{} of {}", at["explored"], at["classes"]))
    };
    let audited = of("scale")
        .map_or_else(String::new, |at| format!("{} of {}", at["disagreed"], at["audited"]));
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let trials = figures["trials"].as_array().map_or(&[][..], Vec::as_slice);
    let spread = table::Spread::of(trials.iter().map(|trial| number(&trial["seconds"]) * 1e3));
    let ratio = number(&figures["ownCpuSeconds"]) / number(&figures["subjectsCpuSeconds"]);
    vec![
        name.to_owned(),
        explored("shape"),
        explored("scale"),
        explored("age"),
        explored("exact"),
        audited,
        summary["plans"]["run"].to_string(),
        format!("{:.0}", number(&summary["seconds"])),
        format!("{:.0}", spread.median()),
        format!("{ratio:.1}"),
        format!("{:.0}", number(&figures["peakMemoryBytes"]) / 1e6),
    ]
}
