//! Figures of the built-in controllers: what `world/cluster/examples/figures.rs` measures, as tables, beside their targets.

use serde::Deserialize;

use crate::{
    run::Runner,
    table::{self, Spread},
};

/// Pods of the rolling updates that are compared: their time should grow as they do.
const UPDATED: [&str; 3] = ["100", "1000", "10000"];

/// What the example prints.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    replicas: u64,
    deployment_ms: Vec<f64>,
    looks: Vec<Look>,
    clone_us: f64,
    print_us: f64,
    identity_us: f64,
    updates: Vec<Update>,
}

#[derive(Debug, Deserialize)]
struct Look {
    controller: String,
    us: f64,
}

#[derive(Debug, Deserialize)]
struct Update {
    pods: u64,
    seconds: f64,
    revisions: u64,
}

/// Measures and prints all of it.
///
/// # Errors
/// The example can't be built or run, or says something else than figures.
pub fn print(runner: &mut Runner) -> anyhow::Result<()> {
    let figures: Figures = super::example(runner, "figures", &UPDATED)?;
    println!("\n{}\n\n{}", table_of(&figures), updates(&figures.updates));
    runner.pass();
    Ok(())
}

fn table_of(figures: &Figures) -> String {
    let slowest = figures.looks.iter().max_by(|a, b| a.us.total_cmp(&b.us));
    let (slowest, slowest_us) =
        slowest.map_or(("none", f64::NAN), |look| (look.controller.as_str(), look.us));
    let spread = |of: &[f64]| Spread::of(of.iter().copied()).shown(1);
    let deployment = format!("a Deployment of {}, created to all Ready, ms", figures.replicas);
    let looks: Vec<f64> = figures.looks.iter().map(|look| look.us).collect();
    let rows = [
        (deployment, &*figures.deployment_ms, "20"),
        (
            "a look at a key with nothing to do, 1,000 objects, µs (by controller)".to_owned(),
            &looks[..],
            "20",
        ),
        (format!("that of the slowest, {slowest}, µs"), &[slowest_us][..], "20"),
        ("clone of a world of 50 objects, µs".to_owned(), &[figures.clone_us][..], ""),
        (
            "its print, where one object is new, µs".to_owned(),
            &[figures.print_us][..],
            "5 with the clone",
        ),
        ("its identity, µs".to_owned(), &[figures.identity_us][..], ""),
    ];
    let rows = rows.map(|(name, values, target)| {
        [name].into_iter().chain(spread(values)).chain([target.to_owned()]).collect()
    });
    table::markdown(&["built-in controllers", "minimum", "median", "maximum", "target"], &rows)
}

fn updates(updates: &[Update]) -> String {
    let rows: Vec<Vec<String>> = updates
        .iter()
        .map(|update| {
            let each = update.seconds * 1e6 / update.pods as f64;
            vec![
                update.pods.to_string(),
                format!("{:.2}", update.seconds),
                format!("{each:.0}"),
                format!("{:.1}", update.revisions as f64 / update.pods as f64),
            ]
        })
        .collect();
    table::markdown(&["rolling update of so many pods", "s", "µs a pod", "commits a pod"], &rows)
}
