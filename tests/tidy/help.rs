//! README's lists of commands and flags are what the binary says.
//!
//! Each stands between two marks as a code block. `TROMMEL_UPDATE=1` writes it anew; without that the
//! test compares.

use std::process::Command;

use trommel_tests::{product::binary, root};

/// What the blocks show, by the arguments after `trommel`.
const SHOWN: [&str; 2] = ["-h", "run -h"];
const END: &str = "```\n<!-- end -->\n";

/// What begins the block of these arguments.
fn mark(arguments: &str) -> String {
    format!("<!-- trommel {arguments} -->\n```text\n")
}

/// The document with the block between the marks replaced; `None` if the marks aren't there.
fn with_block(document: &str, arguments: &str, block: &str) -> Option<String> {
    let mark = mark(arguments);
    let begin = document.find(&mark)? + mark.len();
    let end = begin + document[begin..].find(END)?;
    Some(format!("{}{}\n{}", &document[..begin], block.trim_end(), &document[end..]))
}

fn help(arguments: &str) -> String {
    let mut help = Command::new(binary());
    // Defaults that come from the environment would show in the text.
    help.args(arguments.split(' ')).env_clear();
    let output = help.output().expect("trommel runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let help = String::from_utf8(output.stdout).expect("help is UTF-8");
    help.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn readme_shows_commands_and_flags() {
    let path = root().join("README.md");
    let readme = std::fs::read_to_string(&path).expect("README.md");
    let mut expect = readme.clone();
    for arguments in SHOWN {
        expect = with_block(&expect, arguments, &help(arguments))
            .unwrap_or_else(|| panic!("README.md lacks the marks of `trommel {arguments}`"));
    }
    if std::env::var_os("TROMMEL_UPDATE").is_some() {
        std::fs::write(&path, &expect).expect("README.md can be written");
    } else {
        assert!(readme == expect, "README.md is behind: TROMMEL_UPDATE=1 cargo ci tidy");
    }
}

#[test]
fn a_stale_block_is_seen() {
    let document = |block: &str| format!("a\n{}{block}{END}b\n", mark("run -h"));
    let with = |document: &str, block: &str| with_block(document, "run -h", block);
    assert_eq!(with(&document("old\n"), "new\n\n"), Some(document("new\n")));
    assert_eq!(with(&document("new\n"), "new"), Some(document("new\n")));
    assert_eq!(with("no marks", "new"), None);
    assert_eq!(with_block(&document("old\n"), "-h", "new"), None);
}
