//! Real processes on this machine. Nothing here sleeps or measures time: every wait is for a thing
//! that must happen.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout)] // a test that can't run on this machine says so, in a line that `cargo ci test` counts

#[path = "machine/escapes.rs"]
mod escapes;
#[path = "machine/hard.rs"]
mod hard;
#[path = "machine/life.rs"]
mod life;
#[path = "machine/programs.rs"]
mod programs;
#[path = "machine/server.rs"]
mod server;
#[path = "machine/still.rs"]
mod still;
#[path = "machine/time.rs"]
mod time;
#[path = "machine/unseen.rs"]
mod unseen;
#[path = "machine/waits.rs"]
mod waits;
#[path = "machine/whose.rs"]
mod whose;
