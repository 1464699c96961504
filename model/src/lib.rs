//! Explicit-state model checking.
//!
//! A [`System`] says which states there are and which steps lead from one to the next. `search` explores it, `traces`
//! reads and writes runs of models in the formats of other checkers.

pub mod system;
pub mod systems;
pub mod tla;
pub mod traces;

pub use system::System;
