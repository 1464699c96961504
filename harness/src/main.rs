//! The campaign: config, references, plans, trials, findings, report.
mod progress;
mod report;
fn main() {}
