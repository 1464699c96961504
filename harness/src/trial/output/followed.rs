//! A container's log as the kubelet keeps it, followed while it grows.
//!
//! Each line has a time, a stream, whether it is whole (`F`) or goes on in the next one (`P`), and its text (CRI logging
//! format, `kubernetes/design-proposals-archive/node/kubelet-cri-logging.md`).

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use super::Lines;

/// A log, and how far it was read.
pub(super) struct Followed {
    file: File,
    /// A line without its end.
    begun: Vec<u8>,
}

impl Followed {
    pub fn open(path: &Path) -> io::Result<Followed> {
        Ok(Followed { file: File::open(path)?, begun: Vec::new() })
    }

    /// Reads what has come since; whether anything had.
    pub fn read(&mut self, lines: &mut Lines<impl Fn(String)>) -> bool {
        let mut new = Vec::new();
        if self.file.read_to_end(&mut new).is_err() || new.is_empty() {
            return false;
        }
        self.begun.extend_from_slice(&new);
        let Some(end) = self.begun.iter().rposition(|byte| *byte == b'\n') else { return true };
        let rest = self.begun.split_off(end + 1);
        for line in std::mem::replace(&mut self.begun, rest).split_inclusive(|byte| *byte == b'\n')
        {
            lines.bytes(&said(line));
        }
        true
    }
}

/// What the container wrote of a line: with its end, if it is whole.
fn said(line: &[u8]) -> Vec<u8> {
    let mut parts = line.splitn(4, |byte| *byte == b' ').skip(2);
    let (tag, text) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    match tag {
        b"P" => text.strip_suffix(b"\n").unwrap_or(text).to_vec(),
        _ => text.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_container_wrote_is_left() {
        let check = |line: &str, expect: &str| {
            assert_eq!(String::from_utf8(said(line.as_bytes())).unwrap(), expect);
        };
        check("2026-01-01T00:00:00.1Z stdout F a b  c\n", "a b  c\n");
        check("2026-01-01T00:00:00.1Z stderr P half\n", "half");
        check("2026-01-01T00:00:00.1Z stdout F \n", "\n");
    }
}
