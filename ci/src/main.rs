//! The automation behind `cargo ci …`: one command a stage, the same on a laptop and in CI.
//!
//! Workflow files only call it. Commands are data ([`stages`]), their output is streamed, and each run ends
//! with the names of what failed and one line of counts.
//!
//! Reading order: [`stages`] says what is run, [`jobs`] runs it side by side, [`run`] and [`watched`] run one command,
//! [`suites`] knows the test programs, [`count`] reads what tests say and [`report`] holds it, [`campaigns`] holds
//! campaigns to their `expect.yaml`, [`published`] does so with suites of others, [`crds`] takes their custom types, [`scaffold`]
//! begins as their authors do, [`repeat`] runs tests again, [`fuzz`] runs fuzz targets, [`bench`] measures.
#![allow(clippy::print_stdout, clippy::print_stderr)] // the rim: this crate talks to people

mod bench;
mod campaigns;
mod count;
mod crds;
mod fuzz;
mod install;
mod jobs;
mod published;
mod repeat;
mod report;
mod run;
mod scaffold;
mod stages;
mod suites;
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
    /// `test`, and what one run can't show: tests beside busy threads, campaigns again, more of what is drawn,
    /// both ways to install, and published operators. Takes hours.
    Nightly,
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
    /// Campaigns against operators with the bugs that real ones had (tests/corpus), each once, held to its expect.yaml.
    Corpus {
        /// Only campaigns whose path contains this.
        #[arg(long, default_value = "")]
        only: String,
    },
    /// Campaigns against published operators (tests/foreign), each once, held to its expect.yaml; a table of their cost.
    /// And a fresh kubebuilder project, from `trommel init` to its campaign.
    Foreign {
        /// Only campaigns whose path contains this.
        #[arg(long, default_value = "")]
        only: String,
    },
    /// Test suites that others published (tests/foreign/suites), unmodified, on the embedded API server: what fails must be
    /// in the suite's known.yaml, and fail.
    Suites {
        /// Only suites whose name contains this.
        #[arg(long, default_value = "")]
        only: String,
        /// On the real kube-apiserver instead.
        #[arg(long)]
        real: bool,
    },
    /// CRDs, and objects made from their schemas, on the embedded and on the real API server, which must answer the same.
    Crds {
        /// Folders with CRDs; without any, those of published projects (tests/foreign/definitions).
        folders: Vec<std::path::PathBuf>,
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
    /// The suite for a kind cluster, which must run (needs Docker and kubectl).
    Kind {
        /// Its name.
        #[arg(default_value = "kind")]
        name: String,
    },
    /// What a real API server shows whose etcd is behind, and a controller in front of it, which must run (needs Docker,
    /// kubectl, curl and Go).
    Reality {
        /// A kind cluster with three control planes. Its second etcd is stopped for some seconds, and cut off for a minute
        /// or two.
        name: String,
    },
    /// The fuzz targets of the API server, one after the other (needs cargo-fuzz and a nightly compiler).
    Fuzz {
        /// How long each runs.
        #[arg(long, default_value_t = 600)]
        seconds: u32,
    },
    /// Time and CPU per crash plan, side by side. Prints figures, judges nothing.
    Bench {
        /// Only parts whose name contains this: subjects, foreign, families, proxy, server, environment, time.
        #[arg(long, default_value = "")]
        only: String,
    },
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
            stages::all(&mut runner)?;
        }
        Stage::Nightly => {
            runner.all_night();
            if runner.in_ci {
                install::missing(&mut runner);
            }
            stages::nightly(&mut runner)?;
        }
        Stage::Kind { name } => stages::on_cluster(&mut runner, "kind", ("TROMMEL_KIND", &name))?,
        Stage::Reality { name } => {
            stages::on_cluster(&mut runner, "reality", ("TROMMEL_REALITY", &name))?;
        }
        Stage::Smoke => {
            if stages::smoke(&mut runner) {
                let first = campaigns::chosen(&mut runner, "examples/bar-foo/")?;
                campaigns::all(&mut runner, &first, 1);
            }
        }
        Stage::Tidy => stages::tidy(&mut runner),
        Stage::Deny => stages::deny(&mut runner),
        Stage::Sweep { only, real_time, repeats } => {
            if stages::build(&mut runner) {
                sweep(&mut runner, &only, real_time, repeats)?;
            }
        }
        Stage::Corpus { only } => {
            if stages::build_release(&mut runner) {
                campaigns::corpus(&mut runner, &only)?;
            }
        }
        Stage::Foreign { only } => {
            if stages::build_release(&mut runner) {
                campaigns::foreign(&mut runner, &only)?;
                scaffold::judged(&mut runner, &only);
            }
        }
        Stage::Suites { only, real } => {
            if stages::build_release(&mut runner) {
                let arm = if real { published::Arm::Real } else { published::Arm::Trommel };
                published::all(&mut runner, &only, arm)?;
            }
        }
        Stage::Crds { folders } => crds::compare(&mut runner, folders)?,
        Stage::Repeat { times, load, tests } => {
            if let Some(suites) = stages::programs(&mut runner) {
                let named: Vec<&str> = tests.iter().map(String::as_str).collect();
                repeat::rounds(&mut runner, &suites::named(&suites, &named)?, times, load);
            }
        }
        Stage::Fuzz { seconds } => fuzz::all(&mut runner, seconds)?,
        Stage::Bench { only } => {
            if stages::build_release(&mut runner) {
                bench::print(&mut runner, &only)?;
            }
        }
    }
    Ok(runner.close())
}

fn sweep(runner: &mut Runner, only: &str, real_time: bool, repeats: u32) -> anyhow::Result<()> {
    if real_time {
        return campaigns::in_real_time(runner, only);
    }
    if only.is_empty() {
        stages::kills(runner)?;
    }
    let chosen = campaigns::chosen(runner, only)?;
    campaigns::all(runner, &chosen, repeats);
    Ok(())
}
