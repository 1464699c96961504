//! What each stage runs.

use std::time::Instant;

use crate::{
    campaigns, crds,
    jobs::{self, Job},
    published, repeat,
    report::CountedAs,
    run::{Output, Runner, works},
    scaffold,
    suites::{self, Suite},
};

type Command = (&'static str, &'static [&'static str], CountedAs);

const FORMAT: Command = ("format", &["cargo", "fmt", "--all", "--check"], CountedAs::OneCheck);

/// Lints are part of it: see ci/profile.toml.
const BUILD: Command = (
    "lints and build",
    &["cargo", "build", "--workspace", "--all-targets", "--config", suites::PROFILE],
    CountedAs::OneCheck,
);

/// For figures: as it is installed.
const BUILD_RELEASE: Command =
    ("build", &["cargo", "build", "--release", "--workspace"], CountedAs::Preparation);

const TIDY: Command = (
    "tidy",
    &["cargo", "test", "--workspace", "--config", suites::PROFILE, "--test", "tidy"],
    CountedAs::Tests,
);

const DENY: Command = (
    "deny",
    &["cargo", "deny", "--all-features", "check", "bans", "licenses", "sources"],
    CountedAs::OneCheck,
);

/// Builds the judge.
const GO: &[&str] = &["go", "version"];

/// The real API server and controllers that tests compare with.
const JUDGE: &[&str] = &["tests/reference/build.sh"];

/// As a user installs it.
const INSTALL: Command = (
    "install",
    &["cargo", "install", "--locked", "--path", "harness", "--root", "target/installed"],
    CountedAs::OneCheck,
);

/// The standard library for [`STATIC`].
const STATIC_TARGET: Command =
    ("target", &["rustup", "target", "add", "x86_64-unknown-linux-musl"], CountedAs::Preparation);

/// One binary that needs nothing of the machine it runs on.
const STATIC: Command = (
    "static binary",
    &[
        "cargo",
        "build",
        "--release",
        "--package",
        "trommel-harness",
        "--target",
        "x86_64-unknown-linux-musl",
    ],
    CountedAs::OneCheck,
);

/// Where both ways put their binary: campaigns are run with each.
const INSTALLED: &[&str] = &["target/installed/bin", "target/x86_64-unknown-linux-musl/release"];

/// Settings of the suites that draw: more of each, from other seeds, and more moments to be killed at.
const DRAWN_AT_NIGHT: &[(&str, &str)] = &[
    ("TROMMEL_DIFFERENTIAL_CASES", "20"),
    ("TROMMEL_DIFFERENTIAL_SEED", "2"),
    ("TROMMEL_GENERATED", "200"),
    ("TROMMEL_EVERY", "1"),
    ("TROMMEL_FIRST", "1000"),
    ("TROMMEL_KILLS", "20"),
];

/// Suites that draw what they do.
const DRAWING: &[&str] = &["descheduler", "differential", "environment", "kill", "scheduler"];

/// Everything that has to pass. The judge is built beside the rest, and what needs it waits for it.
///
/// # Errors
/// An `expect.yaml` that can't be read.
pub fn all(runner: &mut Runner) -> anyhow::Result<()> {
    each(runner, &[FORMAT]);
    let Some(suites) = programs(runner) else { return Ok(()) };
    // Repaired twins are run at night: those of `closure` and `forks` are among the suites.
    let mut campaigns = campaigns::chosen(runner, "")?;
    campaigns.retain(|campaign| !campaign.is_twin());
    if !works(GO) {
        runner.skip("judge", "go is not on this machine");
    }
    let here: &Runner = runner;
    let mut jobs: Vec<Job<'_>> = judge(here).into_iter().collect();
    jobs.extend(suites::jobs(here, &suites, &[]));
    jobs.extend(campaigns::jobs(here, &campaigns, 1));
    let reports = jobs::side_by_side(jobs);
    runner.take_all(reports);
    Ok(())
}

/// What one run can't show: tests beside busy threads, campaigns again, repaired twins, more of what is drawn, installation, and
/// operators, suites and custom types that others published.
///
/// # Errors
/// As [`all`].
pub fn nightly(runner: &mut Runner) -> anyhow::Result<()> {
    all(runner)?;
    let Some(suites) = programs(runner) else { return Ok(()) };
    // With the one before: three times.
    repeat::rounds(runner, &suites::named(&suites, repeat::TESTS)?, 2, 1);
    let campaigns = campaigns::chosen(runner, "")?;
    campaigns::all(runner, &campaigns, 2);
    let drawing = suites::named(&suites, DRAWING)?;
    let reports = jobs::side_by_side(suites::jobs(runner, &drawing, DRAWN_AT_NIGHT));
    runner.take_all(reports);
    installed(runner)?;
    if build_release(runner) {
        campaigns::corpus(runner, "")?;
        campaigns::foreign(runner, "")?;
        scaffold::judged(runner, "");
        published::all(runner, "", published::Arm::Trommel)?;
    }
    crds::compare(runner, vec![])?;
    Ok(())
}

/// What tells soon that something is wrong.
pub fn smoke(runner: &mut Runner) -> bool {
    each(runner, &[FORMAT, BUILD, TIDY])
}

/// House rules.
pub fn tidy(runner: &mut Runner) {
    each(runner, &[TIDY]);
}

/// The binaries that campaigns need. Whether they are there.
pub fn build(runner: &mut Runner) -> bool {
    each(runner, &[BUILD])
}

/// The same as they are installed, for figures. Whether they are there.
pub fn build_release(runner: &mut Runner) -> bool {
    runner.binaries = runner.root.join("target/release");
    each(runner, &[BUILD_RELEASE])
}

/// `kill -9` of Trommel at more moments of a campaign than `cargo ci test` takes.
///
/// # Errors
/// There is no such suite.
pub fn kills(runner: &mut Runner) -> anyhow::Result<()> {
    let Some(suites) = programs(runner) else { return Ok(()) };
    let kill = suites::named(&suites, &["kill"])?;
    let reports = jobs::side_by_side(suites::jobs(runner, &kill, DRAWN_AT_NIGHT));
    runner.take_all(reports);
    Ok(())
}

/// A suite that needs a kind cluster, on the one that this setting names.
///
/// # Errors
/// There is no such suite.
pub fn on_cluster(runner: &mut Runner, suite: &str, named: (&str, &str)) -> anyhow::Result<()> {
    let Some(suites) = programs(runner) else { return Ok(()) };
    let suite = suites::named(&suites, &[suite])?;
    let reports = jobs::side_by_side(suites::jobs(runner, &suite, &[named]));
    runner.take_all(reports);
    Ok(())
}

/// Dependencies, by deny.toml.
pub fn deny(runner: &mut Runner) {
    if works(&["cargo", "deny", "--version"]) {
        each(runner, &[DENY]);
    } else {
        runner.skip("deny", "cargo-deny is not installed: cargo install --locked cargo-deny");
    }
}

/// Every test program and binary of the workspace; nothing if they don't build.
pub fn programs(runner: &mut Runner) -> Option<Vec<Suite>> {
    let began = Instant::now();
    runner.begin("lints and build: every test program and binary");
    match suites::build(runner) {
        Ok(suites) => {
            runner.took("lints and build", began);
            runner.pass();
            Some(suites)
        }
        Err(error) => {
            runner.fail("lints and build", &format!("{error:#}"));
            None
        }
    }
}

/// The real API server that conformance tests compare with. Without Go they skip, and say so.
fn judge(runner: &Runner) -> Option<Job<'_>> {
    let build = |output: &mut Output| runner.report("judge", JUDGE, CountedAs::Preparation, output);
    works(GO).then(|| Job { judge: true, ..Job::new("judge", build) })
}

/// The two ways to get `trommel`: from a checkout, and as one static binary. Each finds what the first example plants.
///
/// # Errors
/// As [`all`].
fn installed(runner: &mut Runner) -> anyhow::Result<()> {
    if !each(runner, &[INSTALL, STATIC_TARGET, STATIC]) {
        return Ok(());
    }
    let first = campaigns::chosen(runner, "examples/bar-foo/")?;
    let built = runner.binaries.clone();
    for folder in INSTALLED {
        runner.begin(&format!("the first example with {folder}/trommel"));
        runner.binaries = runner.root.join(folder);
        campaigns::all(runner, &first, 1);
    }
    runner.binaries = built;
    Ok(())
}

/// Runs one after the other, up to the first that fails. Whether none did.
fn each(runner: &mut Runner, commands: &[Command]) -> bool {
    commands.iter().all(|(name, command, counted)| runner.run(name, command, *counted))
}
