//! Says what a campaign found: for programs (`summary.json`), in a browser (`report/index.html`), as text
//! (`findings/<id>/explain.md`) and on the terminal.
//!
//! All of them render one plain value, [`model::Report`], so they can't disagree.

pub mod model;

pub use model::Report;
