//! What the integration tests share: where things are, what this machine has, how a test skips.
//!
//! A test that needs something which not every machine has (Go, Python, the judge, Docker) begins with
//! `if !needs(&[Need::Go]) { return }`. Outside CI the test then says why it skipped, in a line that
//! `cargo ci test` counts; with `CI=true` it fails, so that a missing tool can't turn a check off unseen.
//!
//! The targets, one a question: `closure`, `forks`, `replay`, `stale` (restarts in front of old caches), `bad_input`, `kill`, `judge`, `time`, `permissions`,
//! `webhooks`; `streams` (logs, exec and port-forward), `informers` (clients' caches under load), `older` (a client of
//! 2019), `serve`, `envtest` (a Go suite on the stand-ins; certificates here and at the real server), `differential`
//! (the API server beside the real one), `environment` (the built-in controllers beside the real ones), `scheduler`
//! and `descheduler` (those beside the real ones), `kubelet` (stage files here and beside the real cluster), `spawn` (the built-in controllers on the real API server), `kind` and `reality` (real
//! clusters that `cargo ci kind` and `cargo ci reality` name), and `tidy` (house rules). Beside them: subjects, campaigns with their expectations, and `reference`, which builds the judge (the real
//! kube-apiserver).
#![allow(clippy::print_stdout)] // the skip line below is meant for the reader and for `cargo ci test`

pub mod house;
mod planted;
pub mod played;
pub mod processes;
pub mod product;
pub mod real;
pub mod served;
pub mod subjects;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// What a test may need beyond Rust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// `go`.
    Go,
    /// `python3` with the `venv` module.
    Python,
    /// `java` and `mvn`.
    Java,
    /// `kubectl`.
    Kubectl,
    /// The real API server, built by `tests/reference/build.sh`.
    Judge,
    /// A Docker daemon that answers.
    Docker,
    /// Mounting inside a user namespace.
    Mounts,
}

impl Need {
    /// Why it isn't there; `None` if it is.
    pub fn missing(self) -> Option<String> {
        let (name, works) = match self {
            Need::Go => ("go", succeeds("go", &["version"])),
            Need::Python => {
                ("python3 with venv", succeeds("python3", &["-c", "import venv, ensurepip"]))
            }
            Need::Java => {
                ("java with mvn", succeeds("java", &["-version"]) && succeeds("mvn", &["-version"]))
            }
            Need::Kubectl => ("kubectl", succeeds("kubectl", &["version", "--client"])),
            Need::Mounts => {
                let inside = ["--user", "--map-root-user", "--mount", "true"];
                ("mounting in a user namespace", succeeds("unshare", &inside))
            }
            Need::Docker => ("a docker daemon", succeeds("docker", &["info"])),
            Need::Judge => {
                let script = root().join("tests/reference/build.sh");
                ("the judge (tests/reference/build.sh)", succeeds(script, &["--where"]))
            }
        };
        (!works).then(|| format!("{name} is not on this machine"))
    }
}

/// Whether all of it is here. If not, prints the skip line; with `CI=true` it panics instead.
pub fn needs(needs: &[Need]) -> bool {
    let Some(reason) = needs.iter().find_map(|need| need.missing()) else { return true };
    assert!(!in_ci(), "{reason}, and CI=true allows no skipping");
    skip(&reason);
    false
}

/// Says that the calling test skips. `cargo ci test` counts these lines.
pub fn skip(reason: &str) {
    println!("skipped: {reason}");
}

/// How often Trommel is killed: `TROMMEL_KILLS`, or three times.
pub fn kills() -> u64 {
    let number = std::env::var("TROMMEL_KILLS");
    number.map_or(3, |number| number.parse().expect("TROMMEL_KILLS is a number"))
}

/// `CI=true`: what is missing fails.
pub fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

/// A number below `sides` and the next state: SplitMix64, enough to draw from, and the same everywhere.
pub fn drawn(state: &mut u64, sides: u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (word ^ (word >> 31)) % sides
}

/// The repository's root.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("the tests crate is a folder of the repository").to_owned()
}

/// The cargo that runs this test.
pub fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}

fn succeeds(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}
