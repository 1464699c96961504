//! ARCHITECTURE.md maps every crate, and every file that it names exists.

use trommel_tests::root;

use crate::{
    Problem, assert_none,
    source::{File, files},
};

const MAP: &str = "ARCHITECTURE.md";

/// Folders of `files` that hold a Cargo.toml at the first level or below `world/`, without a place in the map.
fn unmapped(map: &str, files: &[File]) -> Vec<Problem> {
    let crates = files.iter().filter_map(|file| file.path.strip_suffix("/Cargo.toml"));
    let crates = crates.filter(|dir| !dir.strip_prefix("world/").unwrap_or(dir).contains('/'));
    let missing = crates.filter(|dir| !map.lines().any(|line| names(line, dir)));
    missing.map(|dir| Problem::new(MAP, 0, format!("the crate `{dir}/` has no row"))).collect()
}

/// Whether a line of the map is about this folder: it begins with its name, list and table marks aside.
fn names(line: &str, dir: &str) -> bool {
    let text = line.trim_start_matches(|c: char| c.is_whitespace() || "|-*`[#".contains(c));
    text.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}

/// Paths in backticks that look like files of ours and aren't there.
fn dangling(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for quoted in line.split('`').skip(1).step_by(2).filter(|quoted| is_source(quoted)) {
            if !exists(quoted) {
                problems.push(Problem::new(path, index + 1, format!("there is no {quoted}")));
            }
        }
    }
    problems
}

fn is_source(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    text.contains('/') && text.ends_with(".rs") && text.chars().all(plain)
}

#[test]
fn every_crate_is_on_the_map() {
    let map = std::fs::read_to_string(root().join(MAP)).expect("ARCHITECTURE.md");
    assert_none(unmapped(&map, &files()));
}

#[test]
fn documents_name_files_that_exist() {
    // Relative to the root, or to the document's own folder.
    let documents = files().into_iter().filter(|file| file.path.ends_with(".md"));
    let problems = documents.flat_map(|file| {
        let own = root().join(&file.path).with_file_name("");
        let exists = |path: &str| root().join(path).exists() || own.join(path).exists();
        dangling(&file.path, &file.text, exists)
    });
    assert_none(problems.collect());
}

#[test]
fn gaps_are_seen() {
    let files = [File::sample("trace/Cargo.toml", ""), File::sample("proxy/Cargo.toml", "")];
    let found = |map: &str| unmapped(map, &files).len();
    assert_eq!(found("| `trace/` | what happened |\n- proxy/ stands between"), 0);
    assert_eq!(found("| `trace/` | also used by `proxy/` |"), 1);
    assert_eq!(found(""), 2);
    assert_eq!(dangling("A.md", "see `trace/src/gone.rs`, `x.rs`, `a/*.rs`", |_| false).len(), 1);
    assert_eq!(dangling("A.md", "see `trace/src/gone.rs`", |_| true).len(), 0);
}
