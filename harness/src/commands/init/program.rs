//! The controller's program: its command line, how it is built, and whether it is there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{relative, text};

/// A command line's words, as a shell without variables splits it: quotes of both kinds, and backslashes.
pub(super) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// What the author has to look after if the program is not there.
pub(super) fn missing(command: &str) -> Option<String> {
    let program = words(command).into_iter().next()?;
    let in_path = |folder: PathBuf| folder.join(&program).is_file();
    if program.contains('/') {
        let missing = !Path::new(&program).is_file();
        return missing
            .then(|| format!("{program}: not there yet; spec.subject.build is to make it"));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let missing = !std::env::split_paths(&path).any(in_path);
    missing
        .then(|| format!("{program}: not in PATH; give a path with a slash, such as ./{program}"))
}

/// How the controller is built, if a Makefile of the campaign's folder or of one above it says so, up to the repository's:
/// its target `build`, where that has commands and names the program. (Others build images, or for another machine.)
pub(super) fn build(dir: &Path, command: &str) -> Option<String> {
    let program = words(command).into_iter().next()?;
    let program = program.rsplit('/').next()?.to_owned();
    for folder in dir.ancestors() {
        let makefile = fs::read_to_string(folder.join("Makefile")).unwrap_or_default();
        if recipe(&makefile, "build").any(|line| line.contains(&program)) {
            let there = relative(dir, folder);
            return Some(match there == Path::new(".") {
                true => "make build".to_owned(),
                false => format!("make -C {} build", text(&there)),
            });
        }
        if folder.join(".git").exists() {
            return None;
        }
    }
    None
}

/// The commands of a target.
fn recipe<'m>(makefile: &'m str, target: &str) -> impl Iterator<Item = &'m str> {
    let head = format!("{target}:");
    let from = makefile.lines().skip_while(move |line| !line.starts_with(&head)).skip(1);
    from.take_while(|line| line.starts_with('\t') || line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_makes_the_program_builds_it() {
        let check = |makefile: &str, expect: Option<&str>| {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("Makefile"), makefile).unwrap();
            assert_eq!(build(dir.path(), "bin/manager --v=2").as_deref(), expect, "{makefile}");
        };
        check("build: fmt\n\tgo build -o bin/manager cmd/main.go\n", Some("make build"));
        check("build: test build-go build-image\n", None);
        check("build:\n\tdocker build .\nrun:\n\tbin/manager\n", None);
    }

    #[test]
    fn a_missing_program_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let there = dir.path().join("manager");
        let command = format!("{} --v=2", there.display());
        let told = missing(&command).unwrap();
        assert!(told.contains("not there yet"), "{told}");
        fs::write(&there, "").unwrap();
        assert_eq!(missing(&command), None);
        assert!(missing("no-such-program-anywhere").unwrap().contains("not in PATH"));
        assert_eq!(missing("sh -c true"), None);
    }

    #[test]
    fn command_lines_fall_into_words() {
        let check = |line: &str, expect: &[&str]| assert_eq!(words(line), expect, "{line}");
        check("  bin/manager  --v=2 ", &["bin/manager", "--v=2"]);
        check(r#"a "b c" 'd "e' f\ g "" h"i"j"#, &["a", "b c", "d \"e", "f g", "", "hij"]);
        check(r#""a\"b""#, &["a\"b"]);
        check("", &[]);
    }
}
