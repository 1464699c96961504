//! Explicit-state model checking.
//!
//! A [`System`] says which states there are and which steps lead from one to the next. [`Search`] explores it and
//! judges [`Property`]s of it. `traces` reads and writes runs of models in the formats of other checkers. With a
//! [`Binding`], a trace becomes a [`Schedule`] of a real controller.

mod binding;
pub mod cluster;
pub mod footprint;
pub mod kivi;
pub mod properties;
pub mod schedule;
pub mod search;
pub mod system;
pub mod systems;
pub mod themelios;
pub mod tla;
pub mod traces;
pub mod verdict;

pub use binding::{Binding, Bound};
pub use footprint::{Footprint, Places};
pub use properties::{Fairness, Property};
pub use schedule::Schedule;
pub use search::{Budgets, Paused, Search, SearchError};
pub use system::System;
pub use verdict::{Counts, Limit, Reductions, Report, Run, Verdict};
