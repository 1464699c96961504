//! The campaign: config, references, plans, trials, findings, report.
fn main() {}
