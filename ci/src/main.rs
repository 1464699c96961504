//! The automation behind `cargo ci …`: one command a stage, the same on a laptop and in CI.
//!
//! Workflow files only call it. Commands are data ([`stages`]), their output is streamed, and each run ends
//! with the names of what failed and one line of counts.
//!
//! Reading order: [`stages`] says what is run, [`run`] and [`watched`] run it, [`count`] reads what tests say, [`campaigns`]
//! holds campaigns to their `expect.yaml`, [`repeat`] runs tests again, [`fuzz`] runs fuzz targets, [`bench`] measures.
#![allow(clippy::print_stdout, clippy::print_stderr)] // the rim: this crate talks to people

mod bench;
mod campaigns;
mod count;
mod fuzz;
mod install;
mod repeat;
mod run;
mod stages;
mod table;
mod watched;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::run::Runner;

/// Builds, checks, tests and measures Trommel.
#[derive(Debug, Parser)]
#[command(name = "cargo ci", bin_name = "cargo ci", version)]
struct Arguments {
    #[command(subcommand)]
    command: Stage,
}

#[derive(Debug, Subcommand)]
enum Stage {
    /// Everything that has to pass: format, lints, all tests, all campaigns.
    Test {
        /// Install what is missing (apt packages, Go modules), as CI=true does.
        #[arg(long)]
        install: bool,
    },
    /// The first few minutes of `test`: format, lints, house rules, and the first example.
    Smoke,
    /// House rules only.
    Tidy,
    /// Licences, duplicate versions and sources of all dependencies (needs cargo-deny).
    Deny,
    /// Each campaign again and again: the same findings every time, no false alarm. And Trommel killed at 20
    /// moments.
    Sweep {
        /// How often.
        #[arg(long, default_value_t = 20)]
        repeats: u32,
        /// Only campaigns whose path contains this.
        #[arg(long, default_value = "")]
        only: String,
        /// Instead: each once in virtual and once in real time, which must find the same. Takes an hour.
        #[arg(long, conflicts_with = "repeats")]
        real_time: bool,
    },
    /// Integration tests again and again, while threads of this command keep processors busy.
    Repeat {
        /// How often.
        #[arg(long, default_value_t = 50)]
        times: u32,
        /// Threads that spin meanwhile.
        #[arg(long, default_value_t = 1)]
        load: usize,
        /// Test programs, by name.
        #[arg(default_values = repeat::TESTS)]
        tests: Vec<String>,
    },
    /// The fuzz targets of the API server, one after the other (needs cargo-fuzz and a nightly compiler).
    Fuzz {
        /// How long each runs.
        #[arg(long, default_value_t = 600)]
        seconds: u32,
    },
    /// Time and CPU per crash plan, side by side. Prints figures, judges nothing.
    Bench,
}

fn main() -> ExitCode {
    match carry_out(Arguments::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo ci: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all of it passed.
fn carry_out(stage: Stage) -> anyhow::Result<bool> {
    let mut runner = Runner::new()?;
    match stage {
        Stage::Test { install } => {
            if install || runner.in_ci {
                install::missing(&mut runner);
            }
            stages::all(&mut runner);
            // With the one before: three times.
            repeat::rounds(&mut runner, repeat::TESTS, 2, 1);
            let selection = campaigns::Selection::for_tests(runner.in_ci);
            campaigns::all(&mut runner, &selection)?;
        }
        Stage::Smoke => {
            stages::smoke(&mut runner);
            let selection =
                campaigns::Selection { only: "examples/bar-foo/".to_owned(), repeats: 1 };
            campaigns::all(&mut runner, &selection)?;
        }
        Stage::Tidy => stages::tidy(&mut runner),
        Stage::Deny => stages::deny(&mut runner),
        Stage::Sweep { only, real_time: true, .. } => {
            stages::build(&mut runner);
            campaigns::in_real_time(&mut runner, &only)?;
        }
        Stage::Sweep { repeats, only, .. } => {
            stages::build(&mut runner);
            if only.is_empty() {
                stages::kills(&mut runner);
            }
            campaigns::all(&mut runner, &campaigns::Selection { only, repeats })?;
        }
        Stage::Repeat { times, load, tests } => {
            stages::build(&mut runner);
            repeat::rounds(&mut runner, &tests, times, load);
        }
        Stage::Fuzz { seconds } => fuzz::all(&mut runner, seconds)?,
        Stage::Bench => {
            stages::build(&mut runner);
            bench::print(&mut runner)?;
        }
    }
    Ok(runner.close())
}
