//! The models of Themelios (thesis UCAM-CL-TR-998), on the built-in controllers.
//!
//! Ten models, named after the Kubernetes integration tests whose first state they take over, each under five consistency
//! models and with one and two instances of each controller: a hundred [`Case`]s, which are clusters like any other.
//! Facts, expected verdicts and measured ones: `docs/models.md`. Themelios' own controllers are not here: where a verdict
//! differs, the reason is what the real controllers, or the API server, do otherwise.

mod cases;
pub mod client;
mod manifests;
pub mod properties;
#[cfg(test)]
mod tests;
pub mod wishes;

pub use cases::{Case, Model};
