//! The automation behind cargo ci.
fn main() {}
