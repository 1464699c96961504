//! The shape of files: what they begin with, how they are laid out, how long they are.
//!
//! Length only warns. A file that is too long by ten lines is no reason to hold up a change, and one that is cut in two
//! to please a number is no better.

use std::io::Write;

use crate::{
    Problem, assert_none,
    source::{File, files},
};

/// Longer than this asks: are there two nouns in here?
const LINES_MAX: usize = 600;

fn check(file: &File) -> Vec<Problem> {
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
    problems
}

/// What is said of a file that is too long.
fn warning(file: &File) -> Option<String> {
    let lines = file.text.lines().count();
    (file.is_rust() && lines > LINES_MAX).then(|| {
        format!("warning: {}: {lines} lines, more than {LINES_MAX}: split it by noun", file.path)
    })
}

#[test]
fn files_have_the_shape_of_the_house() {
    assert_none(files().iter().flat_map(check).collect());
}

#[test]
fn long_files_are_named() {
    for warning in files().iter().filter_map(warning) {
        // Not `println!`: of a test that passes, its text would not be seen.
        writeln!(std::io::stderr(), "{warning}").expect("standard error can be written to");
    }
}

#[test]
fn other_shapes_are_seen() {
    let long = format!("//! A.\n{}", "\n".repeat(LINES_MAX));
    let check = |path: &str, text: &str, problems: usize, warned: bool| {
        let file = File::sample(path, text);
        assert_eq!((check(&file).len(), warning(&file).is_some()), (problems, warned), "{path}");
    };
    check("a/src/b.rs", "//! A.\n", 0, false);
    check("a/src/b.rs", "fn a() {}\n", 1, false);
    check("a/src/b/mod.rs", "//! A.\n", 1, false);
    check("a/src/b.rs", &long, 0, true);
    check("a/b.py", &"\n".repeat(LINES_MAX + 1), 0, false);
}
