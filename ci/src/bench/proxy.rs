//! What the proxy costs by itself: what `proxy/examples/cost.rs` measures, as a table.

use serde::Deserialize;

use crate::{run::Runner, table};

/// What the example prints: processor time in microseconds.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    request: f64,
    plain_request: f64,
    event: f64,
    plain_event: f64,
    /// Of the object in each of them.
    bytes: u64,
}

/// Measures and prints it.
///
/// # Errors
/// The example can't be built or run, or says something else than figures.
pub fn print(runner: &mut Runner) -> anyhow::Result<()> {
    let figures: Figures = super::example(runner, "cost", &[])?;
    let Figures { request, plain_request, event, plain_event, bytes } = figures;
    let row = |name: &str, proxy: f64, plain: f64| {
        let figures = [proxy, plain, proxy - plain].map(|value| format!("{value:.1}"));
        [name.to_owned()].into_iter().chain(figures).collect::<Vec<_>>()
    };
    let rows = [row("a request", request, plain_request), row("a watch event", event, plain_event)];
    let title = format!("CPU, µs; objects of {bytes} bytes");
    let head = [&title, "through the proxy, recorded", "hyper alone", "the proxy's"];
    println!("\n{}", table::markdown(&head, &rows));
    runner.pass();
    Ok(())
}
