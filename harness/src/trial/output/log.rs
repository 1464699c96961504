//! The log file of a process: its beginning and its end, however much it says.

use std::{
    collections::{BTreeSet, VecDeque},
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use crate::{campaign::disk, report::plain};

/// Bytes of the beginning that are kept.
const HEAD: u64 = 4 * 1024 * 1024;

/// Bytes of the end that are kept besides, in memory until it has come.
const TAIL: usize = 1024 * 1024;

/// Writes a log. What it says is in the file at once, as far as it belongs to the beginning; the end is written when it
/// is dropped, behind a line that says how much is missing.
pub(super) struct Log {
    path: PathBuf,
    /// None after an error, which [`disk`] has noted.
    file: Option<File>,
    /// Bytes that the beginning may still have.
    left: u64,
    end: VecDeque<u8>,
    cut: u64,
}

impl Log {
    pub fn create(path: &Path) -> io::Result<Log> {
        let file = Some(File::create(path)?);
        Ok(Log { path: path.to_owned(), file, left: HEAD, end: VecDeque::new(), cut: 0 })
    }

    pub fn add(&mut self, bytes: &[u8]) {
        let head = self.left.min(bytes.len() as u64) as usize;
        self.left -= head as u64;
        self.write(&bytes[..head]);
        let rest = &bytes[head..];
        self.end.extend(rest);
        let over = self.end.len().saturating_sub(TAIL);
        self.end.drain(..over);
        self.cut += over as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.write_all(bytes) {
            disk::failed(&self.path, &error);
            self.file = None;
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if self.cut > 0 {
            self.write(format!("\n[trommel: {} bytes were cut here]\n", self.cut).as_bytes());
        }
        let end = std::mem::take(&mut self.end);
        let (first, second) = end.as_slices();
        self.write(first);
        self.write(second);
    }
}

/// Bytes at either end of a log in which lines are looked for.
const LOOKED_AT: u64 = 16 * 1024;

/// Lines of its beginning and of its end that are shown. A program that doesn't know a flag says so first, and how it is
/// used at length.
const FIRST: usize = 3;
const LAST: usize = 5;

/// What begins the report of a crash, which is longer than the last lines: of Go, Rust and Python.
const CRASHES: [&str; 4] = ["panic: ", "fatal error: ", "thread '", "Traceback "];

/// The first and the last lines of a log, as the end of a sentence.
pub(crate) fn excerpt(log: &Path) -> String {
    let (bytes, whole) = ends(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return ", without a word".to_owned();
    }
    let mut shown: BTreeSet<usize> = (0..lines.len().min(FIRST)).collect();
    shown.extend(lines.len().saturating_sub(LAST)..lines.len());
    let crashes = |line: &&str| CRASHES.iter().any(|crash| line.starts_with(crash));
    shown.extend(lines.iter().rposition(crashes));
    let mut out = String::from(if shown.len() == lines.len() && whole {
        "; it said:"
    } else {
        "; it said first and last:"
    });
    let mut next = 0;
    for number in shown {
        if number > next {
            out.push_str("\n  …");
        }
        out.push_str("\n  ");
        out.push_str(lines[number]);
        next = number + 1;
    }
    plain::text(&out).into_owned()
}

/// The beginning and the end of a log, and whether that is all of it.
fn ends(log: &Path) -> io::Result<(Vec<u8>, bool)> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(LOOKED_AT).read_to_end(&mut bytes)?;
    let from = length.saturating_sub(LOOKED_AT).max(bytes.len() as u64);
    file.seek(SeekFrom::Start(from))?;
    file.take(LOOKED_AT).read_to_end(&mut bytes)?;
    Ok((bytes, from <= LOOKED_AT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_kept() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut log = Log::create(file.path()).unwrap();
        log.add(b"first\n");
        let middle = vec![b'x'; 1 << 16];
        (0..1000).for_each(|_| log.add(&middle));
        log.add(b"\nthe \x1b[2Jlast\n");
        drop(log);
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(text.starts_with("first\nx") && text.ends_with("x\nthe \u{1b}[2Jlast\n"));
        let all = "first\n".len() + (1000 << 16) + "\nthe \u{1b}[2Jlast\n".len();
        let cut = all as u64 - HEAD - TAIL as u64;
        assert!(text.contains(&format!("\n[trommel: {cut} bytes were cut here]\n")));
        assert!(text.len() as u64 <= HEAD + TAIL as u64 + 100, "{}", text.len());
        let told = excerpt(file.path());
        assert!(told.starts_with("; it said first and last:\n  first\n  xxx"), "{}", &told[..99]);
        assert!(told.ends_with("the ␛[2Jlast"));
    }

    fn excerpt_of(text: &str) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        excerpt(file.path())
    }

    #[test]
    fn first_words_and_crashes_are_shown() {
        assert_eq!(excerpt_of(""), ", without a word");
        assert_eq!(excerpt_of("unknown flag --leader\n"), "; it said:\n  unknown flag --leader");
        let usage = (1..30).map(|n| format!("  -flag{n} string\n")).collect::<String>();
        let told = excerpt_of(&format!("flag provided but not defined: -x\nUsage of m:\n{usage}"));
        assert!(
            told.contains("first and last:\n  flag provided but not defined: -x\n  Usage of m:\n")
        );
        assert!(
            told.ends_with("-flag28 string\n    -flag29 string") && told.contains("\n  …\n"),
            "{told}"
        );
        let frames = (1..30).map(|n| format!("main.f{n}()\n")).collect::<String>();
        let told = excerpt_of(&format!("one\ntwo\nthree\nfour\npanic: no map\n\n{frames}"));
        assert!(told.contains("three\n  …\n  panic: no map\n  …\n  main.f25()"), "{told}");
    }
}
