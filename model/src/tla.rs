//! Checks TLA+ modules: what is in a `.tla` and its `.cfg` is explored, and the result is in our own values.
//!
//! Parsing, evaluating and the temporal part are the crate `tla-checker`'s (MIT or Apache-2.0). The search is ours
//! ([`Specification::explore`]): the crate checks a state's invariants when it leaves the queue, TLC when it is found,
//! so only so are counts and traces those of TLC.
//!
//! What of TLA+ and TLC was tried, each by a specification in `tla/specs` whose verdict, counts and trace are those of
//! TLC (version of April 2026, one worker):
//!
//! | tried | by |
//! |---|---|
//! | PlusCal's translation, also of processes, procedures, macros, `await`, `with`, `goto` | `specs/ns*.tla`, `Workers` |
//! | `EXTENDS` Naturals, Integers, Sequences, FiniteSets, TLC; records, functions, `EXCEPT`, `CHOOSE`, `RECURSIVE`, `LAMBDA`, `CASE`, strings with `\o` | `Values` |
//! | constants in the `.cfg`: model values, sets, numbers, `<-` | `Values` |
//! | `INSTANCE`, with and without parameters | `Outer`, `Channel` |
//! | `CONSTRAINT`, `CHECK_DEADLOCK`, `INIT` and `NEXT` | `Bounded`, `Stuck` |
//! | `WF`, `SF`, `<>`, `[]<>`, `<>[]`, `~>`, `[][A]_v` | `Fair`, `Workers` |
//! | a failed `Assert` | `ns`, without its invariant |
//!
//! What is otherwise than in TLC, and who could notice:
//! - Steps have the names of their actions, without parameters, and no name if the action's definition begins with LET.
//! - A successor that an action reaches in two ways is generated once, not twice. So `generated` may be lower.
//! - `\E p \in S : A(p) \/ B(p)` is tried as all `A`, then all `B`; TLC tries `A` and `B` of each `p`. So of several
//!   shortest traces another may be found, and the counts up to a violation differ. All other orders are TLC's.
//! - A lasso may be another than TLC's, and longer.
//! - If a property is violated, which is only found when all states are, the counts are those of all states. TLC stops
//!   earlier where `[][A]_v` is violated.
//! - `SYMMETRY` and `VIEW` are not used: all states are looked at. With them TLC has fewer, of which it can miss a
//!   violation (Specifying Systems, 14.3.4), and its runs may be none of the module.
//! - Of a module only what the configuration leads to must parse, and have only names that are there.
//! - If no infinite run stays inside `CONSTRAINT`, properties that only such runs can break are unknown; TLC says that
//!   they hold.
//! - `ACTION_CONSTRAINT` is refused; other parts of a `.cfg` that are not looked at (`ALIAS`, `POSTCONDITION`) are named
//!   in [`Specification::warnings`].
//! - What evaluates to nothing in some state is [`Verdict::Failed`], as TLC's error is. A failed `Assert` is a violation.
//! - Integers have 64 bits, and an overflow is an error; TLC has 32.
//! - `Print` and `PrintT` write to standard error from inside the crate. Nothing else does; it neither ends the process
//!   nor writes to standard output.
//!
//! IO: modules are found by their paths, also those that a module extends, because the crate reads them itself.

mod actions;
mod configuration;
mod error;
mod explore;
mod layout;
mod names;
mod search;
mod specification;
mod steps;
mod temporal;
mod value;

pub use error::TlaError;
pub use explore::{Asked, Broken, Counts, Explored, Limits, Verdict};
pub use specification::Specification;
pub use steps::Steps;

#[cfg(test)]
mod tests;
