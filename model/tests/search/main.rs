//! Does the checker see what there is, and judge it right? Counts against other checkers, verdicts against brute force.
//!
//! What tells that a rule was changed, tried by hand:
//!
//! | change | fails |
//! |---|---|
//! | an unfair component counts as fair; edges that leave it count | `traps`, `liveness` |
//! | strong fairness judged as weak; components thrown away whole | `liveness` |
//! | no run stops; a run stops also where a fair step is possible | `traps`, `liveness` |
//! | a cycle leaves out witnesses, or leaves the component | `traps`, `liveness` |
//! | `~>` looks outside of the part without the effect | `traps`, `liveness` |
//! | ample sets without C0, C1 for what comes later, C2 or C3 | `reductions`, a named test or the drawn programs |
//! | a reduction is used where it does not keep verdicts | `reductions` |
//! | the last step of a run is taken by its index under symmetry | `reductions` |
//! | a limit counts as held; a block is not taken back | `budgets` |
//! | the first thread wins, not the least position | `runs`, `budgets` |

mod against;
mod budgets;
mod counts;
mod liveness;
mod programs;
mod reductions;
mod runs;
mod systems;
mod traps;
