//! The fuzz targets of `world/fuzz/`, one after the other: what no input may bring about in the API server.

use std::fs;

use anyhow::Context;

use crate::{
    campaigns::out_folder,
    report::CountedAs,
    run::{Runner, works},
};

/// Each is a file of `world/fuzz/targets`.
const TARGETS: [&str; 5] = ["patch", "apply", "selector", "protobuf", "route"];

/// An input that takes longer than so many seconds is a finding.
const SECONDS_OF_AN_INPUT: u32 = 20;

/// Runs every target for so many seconds, from one good input for each type on; what is found stays in `world/fuzz/artifacts`.
///
/// # Errors
/// The folder of the inputs can't be written.
pub fn all(runner: &mut Runner, seconds: u32) -> anyhow::Result<()> {
    if !works(&["cargo", "+nightly", "fuzz", "--version"]) {
        runner.skip("fuzz", "cargo-fuzz or a nightly compiler is not on this machine");
        return Ok(());
    }
    let folder = out_folder(runner, "fuzz")?;
    let inputs = folder.to_str().context("a path in UTF-8")?.to_owned();
    let seeds =
        ["cargo", "run", "--release", "--manifest-path", "world/fuzz/Cargo.toml", "--bin", "seeds"];
    let seeds = [&seeds[..], &["--", &inputs]].concat();
    if !runner.run("inputs to begin with", &seeds, CountedAs::Preparation) {
        return Ok(());
    }
    for target in TARGETS {
        let corpus = format!("{inputs}/{target}");
        fs::create_dir_all(&corpus)?;
        let command = [
            "cargo",
            "+nightly",
            "fuzz",
            "run",
            "--fuzz-dir",
            "world/fuzz",
            target,
            &corpus,
            "--",
            &format!("-max_total_time={seconds}"),
            &format!("-timeout={SECONDS_OF_AN_INPUT}"),
            "-dict=world/fuzz/words.dict",
            "-max_len=4096",
            "-print_final_stats=1",
        ];
        runner.run(&format!("fuzz {target}"), &command, CountedAs::OneCheck);
    }
    Ok(())
}
