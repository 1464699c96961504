//! README's flag table is what the binary says.
//!
//! The table stands between two marks as a code block. `TROMMEL_UPDATE=1` writes it anew; without that the
//! test compares.

use std::process::Command;

use trommel_tests::{product::binary, root};

const BEGIN: &str = "<!-- trommel run -h -->\n```text\n";
const END: &str = "```\n<!-- end -->\n";

/// The document with the block between the marks replaced; `None` if the marks aren't there.
fn with_block(document: &str, block: &str) -> Option<String> {
    let begin = document.find(BEGIN)? + BEGIN.len();
    let end = begin + document[begin..].find(END)?;
    Some(format!("{}{}\n{}", &document[..begin], block.trim_end(), &document[end..]))
}

fn help() -> String {
    let mut help = Command::new(binary());
    // Defaults that come from the environment would show in the text.
    help.args(["run", "-h"]).env_clear();
    let output = help.output().expect("trommel runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let help = String::from_utf8(output.stdout).expect("help is UTF-8");
    help.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn readme_shows_the_flags() {
    let path = root().join("README.md");
    let readme = std::fs::read_to_string(&path).expect("README.md");
    let expect = with_block(&readme, &help()).expect("README.md holds the marks of the flag table");
    if std::env::var_os("TROMMEL_UPDATE").is_some() {
        std::fs::write(&path, &expect).expect("README.md can be written");
    } else {
        assert!(readme == expect, "README.md is behind: TROMMEL_UPDATE=1 cargo ci tidy");
    }
}

#[test]
fn a_stale_table_is_seen() {
    let document = |block: &str| format!("a\n{BEGIN}{block}{END}b\n");
    assert_eq!(with_block(&document("old\n"), "new\n\n"), Some(document("new\n")));
    assert_eq!(with_block(&document("new\n"), "new"), Some(document("new\n")));
    assert_eq!(with_block("no marks", "new"), None);
}
