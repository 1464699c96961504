//! The shape of files: what they begin with, how they are laid out, how long they are.

use crate::{
    Problem, assert_none,
    source::{File, files},
};

/// Longer than this asks: are there two nouns in here?
const LINES_MAX: usize = 600;

/// Files that may be longer, and how long they may be. A ratchet: numbers go down, rows go away.
const LONGER: &[(&str, usize)] = &[];

fn check(file: &File, longer: &[(&str, usize)]) -> Vec<Problem> {
    if !file.is_rust() {
        return Vec::new();
    }
    let mut problems = Vec::new();
    if !file.text.starts_with("//!") {
        let message = "begin with `//!`: what this file is for, what was decided, what it costs";
        problems.push(Problem::new(&file.path, 1, message));
    }
    if file.path.ends_with("/mod.rs") {
        problems.push(Problem::new(&file.path, 0, "lay modules out as foo.rs beside foo/"));
    }
    let lines = file.text.lines().count();
    let row = longer.iter().find(|(path, _)| *path == file.path);
    let most = row.map_or(LINES_MAX, |(_, most)| *most);
    if lines > most {
        let message = format!("{lines} lines, at most {most}: split it by noun");
        problems.push(Problem::new(&file.path, 0, message));
    }
    if row.is_some() && lines <= LINES_MAX {
        problems.push(Problem::new(&file.path, 0, "short enough now: delete its row in LONGER"));
    }
    problems
}

#[test]
fn files_have_the_shape_of_the_house() {
    assert_none(files().iter().flat_map(|file| check(file, LONGER)).collect());
}

#[test]
fn rows_of_the_ratchet_still_exist() {
    let files = files();
    for (path, _) in LONGER {
        assert!(files.iter().any(|file| file.path == *path), "{path} is gone: delete its row");
    }
}

#[test]
fn other_shapes_are_seen() {
    let long = format!("//! A.\n{}", "\n".repeat(LINES_MAX));
    let ratchet: &[(&str, usize)] = &[("a/src/long.rs", LINES_MAX + 1), ("a/src/short.rs", 700)];
    let check = |path: &str, text: &str, expect: usize| {
        assert_eq!(check(&File::sample(path, text), ratchet).len(), expect, "{path}");
    };
    check("a/src/b.rs", "//! A.\n", 0);
    check("a/src/b.rs", "fn a() {}\n", 1);
    check("a/src/b/mod.rs", "//! A.\n", 1);
    check("a/src/b.rs", &long, 1);
    check("a/src/long.rs", &long, 0);
    check("a/src/long.rs", &format!("{long}\n"), 1);
    check("a/src/short.rs", "//! A.\n", 1);
    check("a/b.py", "x", 0);
}
