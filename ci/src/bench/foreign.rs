//! What a trial of a published operator costs (tests/foreign), beside the operator alone: campaigns of as many trials as their
//! profile `bench` allows, on all cores.

use super::{Exploration, Found, Subject, Trial, bare, explore_with};
use crate::{
    run::{Runner, works},
    table::{self, Spread},
};

struct Operator {
    subject: Subject,
    /// Why it can't be started without Trommel, if so.
    not_bare: Option<&'static str>,
}

const fn operator(
    name: &'static str,
    campaign: &'static str,
    not_bare: Option<&'static str>,
) -> Operator {
    Operator { subject: Subject { name, campaign, go: true, plans: 0 }, not_bare }
}

/// With large custom types and many steps; with webhooks, which judge the user's first write, so that nothing can be
/// written before it runs; with an old client-go, and with files that only a pod has.
const OPERATORS: [Operator; 3] = [
    operator("kuberay", "tests/foreign/kuberay/campaign.yaml", None),
    operator("jobset", "tests/foreign/jobset/campaign.yaml", Some("webhook")),
    operator("rabbitmq-1.6", "tests/foreign/rabbitmq-1.6/campaign.yaml", Some("in-cluster")),
];

/// CPU and real time in milliseconds. Without *mean* they are medians.
const HEAD: [&str; 12] = [
    "operator",
    "trials",
    "CPU of Trommel, mean",
    "of a trial's thread",
    "CPU of the operator",
    "ratio of the two",
    "real time",
    "trials/s",
    "MB at most",
    "bare: CPU to its first write",
    "first violated trial",
    "trials to a finding",
];

/// Prints a row each.
///
/// # Errors
/// A campaign that can't be run.
pub fn print(runner: &mut Runner) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for Operator { subject, not_bare } in &OPERATORS {
        if !works(&["go", "version"]) {
            runner.skip(subject.name, "go is not on this machine");
            continue;
        }
        let run = explore_with(runner, subject, None, &["--profile", "bench"])?;
        let bare_cpu = match not_bare {
            Some(why) => format!("none: {why}"),
            None => {
                let starts = bare(runner, subject)?;
                format!("{:.1}", median(&starts, |start| start.cpu))
            }
        };
        rows.push(row(subject.name, &run, bare_cpu));
        runner.pass();
    }
    println!("\n{}", table::markdown(&HEAD, &rows));
    Ok(())
}

/// In milliseconds.
fn median(trials: &[Trial], value: fn(&Trial) -> f64) -> f64 {
    Spread::of(trials.iter().map(value)).median() * 1e3
}

fn row(name: &str, run: &Exploration, bare_cpu: String) -> Vec<String> {
    let (own, operator) =
        (median(&run.trials, |trial| trial.own_cpu), median(&run.trials, |trial| trial.cpu));
    let figures = [
        run.own_cpu_seconds * 1e3 / run.runs as f64,
        own,
        operator,
        own / operator,
        median(&run.trials, |trial| trial.seconds),
        run.plans_per_second(),
        run.peak_memory_bytes as f64 / 1e6,
    ];
    let found = |found: &Option<Found>| {
        found.as_ref().map_or_else(|| "none".to_owned(), |found| found.trials.to_string())
    };
    [name.to_owned(), run.trials.len().to_string()]
        .into_iter()
        .chain(figures.map(|figure| format!("{figure:.1}")))
        .chain([bare_cpu])
        .chain([found(&run.first.first_violated), found(&run.first.first_finding)])
        .collect()
}
