//! Models of controllers, written as systems.

pub mod bar_foo;
