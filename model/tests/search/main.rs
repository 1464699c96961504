//! Does the checker see what there is, and judge it right? Counts against other checkers, verdicts against brute force.

mod against;
mod budgets;
mod counts;
mod liveness;
mod programs;
mod reductions;
mod runs;
mod systems;
mod traps;
