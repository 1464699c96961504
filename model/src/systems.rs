//! Systems: models of controllers, and one that is measured against other checkers.

pub mod bar_foo;
pub mod two_phase_commit;
