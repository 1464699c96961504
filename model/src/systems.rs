//! Systems that are measured against other checkers.

pub mod two_phase_commit;
