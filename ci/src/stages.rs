//! What each stage runs: commands as data.

use crate::run::{CountedAs, Runner, works};

type Command = (&'static str, &'static [&'static str], CountedAs);

const FORMAT: Command = ("format", &["cargo", "fmt", "--all", "--check"], CountedAs::OneCheck);

const LINTS: Command = (
    "lints",
    &["cargo", "clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
    CountedAs::OneCheck,
);

const BUILD: Command = ("build", &["cargo", "build", "--workspace"], CountedAs::Preparation);

/// `--show-output` shows why tests skipped, and `--no-fail-fast` counts all of them.
const TESTS: Command = (
    "tests",
    &["cargo", "test", "--workspace", "--no-fail-fast", "--", "--show-output"],
    CountedAs::Tests,
);

const TIDY: Command =
    ("tidy", &["cargo", "test", "--workspace", "--test", "tidy"], CountedAs::Tests);

/// More moments than `cargo ci test` takes.
const KILLS: Command = (
    "kills",
    &["env", "TROMMEL_KILLS=20", "cargo", "test", "--workspace", "--test", "kill"],
    CountedAs::Tests,
);

const DENY: Command = (
    "deny",
    &["cargo", "deny", "--all-features", "check", "bans", "licenses", "sources"],
    CountedAs::OneCheck,
);

const JUDGE: Command = ("judge", &["tests/reference/build.sh"], CountedAs::Preparation);

/// Everything but the campaigns.
pub fn all(runner: &mut Runner) {
    each(runner, &[FORMAT, LINTS, BUILD]);
    judge(runner);
    each(runner, &[TESTS]);
}

/// What tells soon that something is wrong.
pub fn smoke(runner: &mut Runner) {
    each(runner, &[FORMAT, LINTS, TIDY, BUILD]);
}

/// House rules.
pub fn tidy(runner: &mut Runner) {
    each(runner, &[TIDY]);
}

/// The binaries that campaigns need.
pub fn build(runner: &mut Runner) {
    each(runner, &[BUILD]);
}

/// `kill -9` of Trommel at 20 moments of a campaign.
pub fn kills(runner: &mut Runner) {
    each(runner, &[KILLS]);
}

/// Dependencies, by deny.toml.
pub fn deny(runner: &mut Runner) {
    if works(&["cargo", "deny", "--version"]) {
        each(runner, &[DENY]);
    } else {
        runner.skip("deny", "cargo-deny is not installed: cargo install --locked cargo-deny");
    }
}

/// Builds the real API server that conformance tests compare with. Tests that need it skip without it.
fn judge(runner: &mut Runner) {
    if works(&["go", "version"]) {
        each(runner, &[JUDGE]);
    } else {
        runner.skip("judge", "go is not on this machine");
    }
}

fn each(runner: &mut Runner, commands: &[Command]) {
    for (name, command, counted) in commands {
        runner.run(name, command, *counted);
    }
}
