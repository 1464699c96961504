//! Brings what the tests need onto a bare machine: apt packages that are missing, and Go modules.
//!
//! Only in CI or when asked. Rust itself comes with `rustup` by rust-toolchain.toml.

use crate::{
    report::CountedAs,
    run::{Runner, works},
};

/// What to try, and the Debian package that brings it.
const PACKAGES: &[(&[&str], &str)] = &[
    (&["git", "--version"], "git"),
    (&["cc", "--version"], "build-essential"),
    (&["python3", "-c", "import venv, ensurepip"], "python3-venv"),
    // Any Go since 1.21 fetches the release that go.mod asks for.
    (&["go", "version"], "golang-go"),
    (&["java", "-version"], "default-jdk-headless"),
    (&["mvn", "--version"], "maven"),
    (&["node", "--version"], "nodejs"),
    (&["musl-gcc", "--version"], "musl-tools"),
];

/// Installs what is missing. What can't be installed shows up again as a failed or skipped test.
pub fn missing(runner: &mut Runner) {
    let packages = PACKAGES.iter().filter(|(check, _)| !works(check)).map(|(_, package)| *package);
    let packages: Vec<&str> = packages.collect();
    if !packages.is_empty() {
        apt(runner, &["update"]);
        let mut install = vec!["install", "--yes", "--no-install-recommends"];
        install.extend(packages);
        apt(runner, &install);
    }
    go_modules(runner);
}

fn apt(runner: &mut Runner, arguments: &[&str]) {
    let as_root = works(&["sh", "-c", "test \"$(id -u)\" = 0"]);
    let mut command = if as_root { vec![] } else { vec!["sudo", "--non-interactive"] };
    command.push("apt-get");
    command.extend(arguments);
    runner.run("install", &command, CountedAs::Preparation);
}

/// Fetches the modules of every Go program here, so that a failing network shows as what it is.
fn go_modules(runner: &mut Runner) {
    let listed = std::process::Command::new("git")
        .current_dir(&runner.root)
        .args(["ls-files", "go.mod", "*/go.mod"])
        .output();
    let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    // Operators of other people are no part of what has to pass.
    let foreign = |file: &&str| file.starts_with("tests/foreign/");
    for file in listed.unwrap_or_default().lines().filter(|file| !foreign(file)) {
        let folder = file.strip_suffix("/go.mod").unwrap_or(".");
        let command = ["go", "-C", folder, "mod", "download"];
        runner.run("go modules", &command, CountedAs::Preparation);
    }
}
