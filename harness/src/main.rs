//! `trommel`: tests Kubernetes controllers by showing them every awkward moment that a cluster could.
//!
//! Reading order: [`campaign`] is the whole flow on one screen, its stages are the files below it; [`trial`] carries out
//! one plan; [`providers`] serve the API meanwhile; [`report`] says what came of it; [`commands`] are the other words of
//! the command line, [`config`] is the campaign file.
#![allow(clippy::print_stdout, clippy::print_stderr)] // the rim: this crate talks to people

mod cli;
mod config;
mod exit;

mod campaign;
mod trial;

mod commands;
mod providers;
mod report;
mod stdout;

use std::process::ExitCode;

/// Requests make and drop thousands of small values each.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Each connection of a controller needs descriptors here, and many systems begin with 1,024. What can't be raised is
/// told where a descriptor is missing.
fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

fn main() -> ExitCode {
    raise_descriptors();
    let exit = match commands::envtest::stand_in().unwrap_or_else(cli::main) {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("trommel: {}", report::plain::text(&format!("{error:#}")));
            exit::exit_of(&error)
        }
    };
    ExitCode::from(stdout::exit(exit).code())
}
