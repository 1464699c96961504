//! Who may use whom: the rows of ARCHITECTURE.md as data, held against what cargo says.

use std::process::Command;

use serde_json::Value;
use trommel_tests::{cargo, root};

use crate::{Problem, assert_none};

/// Rows from the bottom up. A crate may use crates of rows below its own, never its own row or one above.
const ROWS: &[&[&str]] = &[
    &["trace"],
    &["plans", "world/controllers", "world/stages"],
    &["world/cluster", "proxy", "subject", "workloads", "oracles", "model"],
    &["harness", "ci", "tests"],
];

/// The edges that exist, with those that a row would allow but nobody needs left out. A new edge is a
/// decision: add it here with the change that needs it.
const EDGES: &[(&str, &[&str])] = &[
    ("trace", &[]),
    ("plans", &["trace"]),
    ("world/controllers", &["trace"]),
    ("world/stages", &["trace"]),
    ("world/cluster", &["trace", "world/controllers", "world/stages"]),
    ("proxy", &["trace"]),
    ("subject", &["trace"]),
    ("workloads", &["trace"]),
    ("oracles", &["trace", "plans"]),
    ("model", &["trace", "plans", "world/controllers"]),
    (
        "harness",
        &[
            "trace",
            "plans",
            "world/controllers",
            "world/stages",
            "world/cluster",
            "proxy",
            "subject",
            "workloads",
            "oracles",
            "model",
        ],
    ),
    ("ci", &[]),
    ("tests", &["trace", "plans", "world/cluster", "proxy", "subject", "workloads", "oracles"]),
];

/// Pure crates: what they may not have among their dependencies, because it does IO, waits, or rolls dice.
const PURE: &[&str] = &["trace", "plans", "world/controllers", "world/stages", "oracles"];
const IMPURE: &[&str] =
    &["tokio", "hyper", "reqwest", "rand", "getrandom", "uuid", "kube", "libc", "mio"];

/// Folders with programs that Trommel tests. They must not know it.
const SUBJECTS: &[&str] = &["examples/", "tests/subjects/"];

/// A crate of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    /// Relative to the root.
    dir: String,
    /// Folders of ours that it depends on, then names of others.
    ours: Vec<String>,
    others: Vec<String>,
}

/// Members from `cargo metadata --no-deps`.
fn members(metadata: &Value) -> Vec<Member> {
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let relative =
        |path: &str| path.strip_prefix(root).unwrap_or(path).trim_matches('/').to_owned();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .map(|package| {
            let manifest = package["manifest_path"].as_str().unwrap_or_default();
            let mut member = Member {
                dir: relative(manifest.trim_end_matches("Cargo.toml")),
                ours: Vec::new(),
                others: Vec::new(),
            };
            for dependency in package["dependencies"].as_array().into_iter().flatten() {
                // `kind` is null for ordinary dependencies; what only tests or build scripts use is free.
                if dependency["kind"].is_null() {
                    match dependency["path"].as_str() {
                        Some(path) => member.ours.push(relative(path)),
                        None => member
                            .others
                            .push(dependency["name"].as_str().unwrap_or_default().to_owned()),
                    }
                }
            }
            member
        })
        .collect()
}

fn check(members: &[Member]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for member in members {
        let manifest = format!("{}/Cargo.toml", member.dir);
        let mut say = |message: String| problems.push(Problem::new(&manifest, 0, message));
        if SUBJECTS.iter().any(|folder| member.dir.starts_with(folder)) {
            if let Some(ours) = member.ours.iter().find(|dir| row(dir).is_some()) {
                say(format!("a subject must not know Trommel, but this one uses {ours}"));
            }
            continue;
        }
        let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == member.dir) else {
            say("this crate has no row in tests/tidy/edges.rs".to_owned());
            continue;
        };
        for ours in member.ours.iter().filter(|ours| !allowed.contains(&ours.as_str())) {
            say(format!("{} must not use {ours} (tests/tidy/edges.rs)", member.dir));
        }
        for other in member.others.iter().filter(|_| PURE.contains(&&*member.dir)) {
            if IMPURE.contains(&other.as_str()) {
                say(format!("{} is pure and must not use {other}", member.dir));
            }
        }
    }
    problems
}

fn row(dir: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&dir))
}

#[test]
fn crates_use_only_what_their_row_allows() {
    let mut metadata = Command::new(cargo());
    metadata.current_dir(root()).args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = metadata.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let members = members(&serde_json::from_slice(&output.stdout).expect("cargo writes JSON"));
    assert!(members.iter().any(|member| member.dir == "harness" && !member.ours.is_empty()));
    assert_none(check(&members));
}

#[test]
fn the_edges_obey_the_rows() {
    for (name, used) in EDGES {
        for used in *used {
            assert!(row(used) < row(name), "{name} and {used}");
        }
    }
}

#[test]
fn wrong_edges_are_seen() {
    let member = |dir: &str, ours: &[&str], others: &[&str]| Member {
        dir: dir.to_owned(),
        ours: ours.iter().map(|s| (*s).to_owned()).collect(),
        others: others.iter().map(|s| (*s).to_owned()).collect(),
    };
    let wrong = [
        member("proxy", &["world/cluster"], &[]),
        member("trace", &["plans"], &[]),
        member("plans", &["trace"], &["tokio"]),
        member("examples/bar-foo", &["trace"], &[]),
        member("novel", &[], &[]),
    ];
    for member in wrong {
        assert_eq!(check(std::slice::from_ref(&member)).len(), 1, "{member:?}");
    }
    let right =
        [member("proxy", &["trace"], &["tokio"]), member("examples/bar-foo", &[], &["kube"])];
    assert_eq!(check(&right), []);
}

#[test]
fn metadata_is_read() {
    let metadata = serde_json::json!({
        "workspace_root": "/r",
        "packages": [{"manifest_path": "/r/plans/Cargo.toml", "dependencies": [
            {"name": "trommel-trace", "kind": null, "path": "/r/trace"},
            {"name": "serde", "kind": null},
            {"name": "proptest", "kind": "dev"},
        ]}],
    });
    let expect = Member {
        dir: "plans".to_owned(),
        ours: vec!["trace".to_owned()],
        others: vec!["serde".to_owned()],
    };
    assert_eq!(members(&metadata), [expect]);
}
