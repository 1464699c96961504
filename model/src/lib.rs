//! Explicit-state model checking.
//!
//! A [`System`] says which states there are and which steps lead from one to the next. `search` explores it, `traces`
//! reads and writes runs of models in the formats of other checkers. With a [`Binding`], a trace becomes a [`Schedule`]
//! of a real controller.

mod binding;
pub mod schedule;
pub mod system;
pub mod systems;
pub mod tla;
pub mod traces;

pub use binding::{Binding, Bound};
pub use schedule::Schedule;
pub use system::System;
