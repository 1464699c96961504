//! The log file of a process: its beginning and its end, however much it says.

use std::{
    collections::VecDeque,
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

/// Bytes at the end of a log in which its last lines are looked for.
const LOOKED_AT: u64 = 16 * 1024;

/// The last lines of a log, as the end of a sentence.
pub(in crate::trial) fn tail(log: &Path) -> String {
    let bytes = last_bytes(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().rev().take(5).collect();
    if lines.is_empty() {
        return ", without a word".to_owned();
    }
    let tail: Vec<&str> = lines.into_iter().rev().collect();
    format!("; it last said:\n  {}", plain::text(&tail.join("\n  ")))
}

fn last_bytes(log: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(log)?;
    let from = file.metadata()?.len().saturating_sub(LOOKED_AT);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(LOOKED_AT).read_to_end(&mut bytes)?;
    Ok(bytes)
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
        assert!(tail(file.path()).ends_with("the ␛[2Jlast"));
    }
}
