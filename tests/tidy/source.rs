//! The repository's own files, and Rust source with its comments and strings blanked.

use std::process::Command;

use trommel_tests::root;

/// A text file of the repository.
#[derive(Debug, Clone)]
pub struct File {
    /// Relative to the root, with `/`.
    pub path: String,
    /// All of it.
    pub text: String,
}

impl File {
    /// A made-up file for the checkers' own tests.
    pub fn sample(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    /// Whether it is Rust.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether it is there for tests or measurements only: no part of what a user runs.
    pub fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.contains("/tests/")
            || self.path.contains("/examples/")
            || self.path.ends_with("/tests.rs")
    }

    /// Its lines from 1, with strings and comments blanked, up to the unit tests at its end.
    pub fn code_lines(&self) -> Vec<(usize, String)> {
        let blank = blanked(&self.text);
        let lines = blank.lines().enumerate().map(|(index, line)| (index + 1, line.to_owned()));
        lines.take_while(|(_, line)| line.trim() != "#[cfg(test)]").collect()
    }
}

/// Every text file that git tracks or would track, by path.
pub fn files() -> Vec<File> {
    let output = Command::new("git")
        .current_dir(root())
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .output()
        .expect("git lists the files");
    assert!(output.status.success(), "git: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("paths are UTF-8");
    let mut names: Vec<&str> = names.split('\0').filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    // Deleted but not yet committed, binary, or not UTF-8: nothing to check.
    let read = |name: &&str| std::fs::read_to_string(root().join(name)).ok();
    let files: Vec<File> =
        names.iter().filter_map(|name| read(name).map(|text| File::sample(name, &text))).collect();
    assert!(
        files.iter().any(|file| file.path == "trace/src/lib.rs"),
        "no files of ours in the list"
    );
    files
}

/// Rust source of the same length, in which comments, strings and character literals are spaces.
pub fn blanked(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = at + span(&chars[at..], at.checked_sub(1).map(|before| chars[before]));
        if end == at {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
        at = end;
    }
    out
}

/// How many characters the comment or literal has that begins here; 0 if none does.
fn span(rest: &[char], before: Option<char>) -> usize {
    match rest {
        ['/', '/', ..] => rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => block_comment(rest),
        ['"', ..] => quoted(rest, 1),
        ['r', '"' | '#', ..] if !before.is_some_and(is_word) => raw_string(rest),
        ['\'', '\\', ..] => quoted_by(rest, 1, '\''),
        ['\'', _, '\'', ..] => 3,
        _ => 0,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() && c != 'b' || c == '_'
}

fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn quoted(rest: &[char], from: usize) -> usize {
    quoted_by(rest, from, '"')
}

fn quoted_by(rest: &[char], from: usize, quote: char) -> usize {
    let mut at = from;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

fn raw_string(rest: &[char]) -> usize {
    let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
    if rest.get(1 + hashes) != Some(&'"') {
        return 0; // a raw identifier
    }
    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let body = 2 + hashes;
    let found = rest[body..].windows(end.len()).position(|window| window == end);
    found.map_or(rest.len(), |at| body + at + end.len())
}

#[test]
fn comments_and_literals_are_blanked() {
    let check = |text: &str, expect: &str| assert_eq!(blanked(text).trim_end(), expect, "{text}");
    check("a // sleep(", "a");
    check("a /* x /* y */ z */ b", "a                   b");
    check(r#"f("sleep(", x)"#, "f(        , x)");
    check(r#"f("a\"b", x)"#, "f(      , x)");
    check(r##"f(r#"a"b"#, x)"##, "f(        , x)");
    check("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
    check(r"['\'', '/', '\u{1}'] x", "[    ,    ,        ] x");
    check("r#type x", "r#type x");
    check("\"a\nb\" x", "  \n   x");
}

#[test]
fn unit_tests_are_no_code() {
    let file = File::sample("a.rs", "fn a() {}\n#[cfg(test)]\nmod tests {}\n");
    assert_eq!(file.code_lines(), [(1, "fn a() {}".to_owned())]);
}
