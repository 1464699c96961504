//! `trommel`: tests Kubernetes controllers by showing them every awkward moment that a cluster could.
//!
//! Reading order: [`campaign`] is the whole flow on one screen; its stages are [`lab`] (prepare),
//! [`reference`], [`explore`] (with [`frontier`] and [`trial`]), [`judge`], [`confirm`], [`publish`].
#![allow(clippy::print_stdout, clippy::print_stderr)] // the rim: this crate talks to people

mod cli;
mod config;
mod exit;

mod campaign;
mod lab;
mod reference;
mod rehearsal;

mod explore;
mod frontier;
mod trial;

mod confirm;
mod judge;
mod publish;
mod replay;

mod bare;
mod codec;
mod cpu;
mod doctor;
mod down;
mod envtest;
mod history_file;
mod init;
mod interrupt;
mod kubeconfig;
mod kubelet_only;
mod listener;
mod permissions;
mod play;
mod pool;
mod progress;
mod providers;
mod report;
mod run_folder;
mod serve;
mod show;
mod stdout;
mod webhooks;

use std::process::ExitCode;

/// Requests make and drop thousands of small values each.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let exit = match envtest::stand_in().unwrap_or_else(cli::main) {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("trommel: {error:#}");
            exit::exit_of(&error)
        }
    };
    ExitCode::from(exit.code())
}
