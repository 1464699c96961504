//! What the subject says: standard output and standard error, copied to its log file and into the history.
//!
//! What a subject says comes before what happens next. Its output is a pipe; bytes in it that nobody has read keep a
//! moment from being quiet. Otherwise its lines would be stamped with the time after the next jump, and one that
//! stands still in a write to a full pipe would pass for asleep.
//!
//! However much it says, what is kept is bounded: of the log file its beginning and end (`output/log.rs`), of the history
//! the lines of the beginning, of a line its beginning. What was left out is said there. Lines come into the history
//! without what steers a terminal; the file has each byte as it came.

mod followed;
mod log;

use std::{
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{net::unix::pipe::Receiver, sync::oneshot};

use crate::report::plain;
use followed::Followed;
use log::Log;
pub(crate) use log::excerpt;

/// Bytes of a line that are told.
const LINE: usize = 64 * 1024;

/// Bytes of lines that are told of one process.
const TOLD: usize = 4 * 1024 * 1024;

/// Bytes that a line takes besides its text, more or less.
const RECORD: usize = 100;

/// How often a container's log is looked at.
const PACE: Duration = Duration::from_millis(10);

/// The output of one incarnation.
pub(crate) struct Output {
    /// The pipe that it is read from, if it is one.
    pipe: Option<OwnedFd>,
    reading: tokio::task::JoinHandle<()>,
    /// Tells that no more will be written.
    over: Option<oneshot::Sender<()>>,
}

impl Output {
    /// Reads it from now on: into the file, and each line to `tell`, as far as both are bounded. No byte is on its way
    /// between the two: what is no longer [`Output::unread`] has been told, but for the beginning of a line.
    pub fn read(
        pipe: OwnedFd,
        log: &Path,
        tell: impl Fn(String) + Send + 'static,
    ) -> io::Result<Output> {
        let receiver = Receiver::from_owned_fd(pipe.try_clone()?)?;
        let mut lines = Lines::new(Log::create(log)?, tell);
        let reading = tokio::spawn(async move {
            while receiver.readable().await.is_ok() && lines.take(&receiver) {}
            lines.end();
        });
        Ok(Output { pipe: Some(pipe), reading, over: None })
    }

    /// Follows a container's log as the kubelet keeps it. How much of its output is not in there yet can't be known.
    pub fn follow(
        container: PathBuf,
        log: &Path,
        tell: impl Fn(String) + Send + 'static,
    ) -> io::Result<Output> {
        let mut lines = Lines::new(Log::create(log)?, tell);
        let mut followed = Followed::open(&container)?;
        let (over, mut ended) = oneshot::channel();
        let reading = tokio::spawn(async move {
            let mut pace = tokio::time::interval(PACE);
            loop {
                let last = ended.try_recv() != Err(oneshot::error::TryRecvError::Empty);
                let more = followed.read(&mut lines);
                if last && !more {
                    break;
                }
                pace.tick().await;
            }
            lines.end();
        });
        Ok(Output { pipe: None, reading, over: Some(over) })
    }

    /// Bytes that have not been read.
    pub fn unread(&self) -> u64 {
        self.pipe.as_ref().and_then(|pipe| subject::unread(pipe).ok()).unwrap_or(0)
    }

    /// Waits for its end: when all writers are gone.
    pub async fn end(mut self) {
        if let Some(over) = self.over.take() {
            // It fails where the reader has ended already.
            let _ = over.send(());
        }
        drop(self.reading.await);
    }
}

struct Lines<Tell> {
    log: Log,
    /// A line without its end, as far as it will be told.
    begun: Vec<u8>,
    /// Bytes of that line that will not be.
    over: usize,
    /// Bytes of lines that may still be told.
    left: usize,
    tell: Tell,
}

impl<Tell: Fn(String)> Lines<Tell> {
    fn new(log: Log, tell: Tell) -> Lines<Tell> {
        Lines { log, begun: Vec::new(), over: 0, left: TOLD, tell }
    }

    /// Takes a piece of what is there. Whether more may come.
    fn take(&mut self, pipe: &Receiver) -> bool {
        let mut bytes = [0; 8192];
        match pipe.try_read(&mut bytes) {
            Ok(0) => false,
            Ok(count) => {
                self.bytes(&bytes[..count]);
                true
            }
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.log.add(bytes);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, whole) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (piece, false),
            };
            let room = (LINE - self.begun.len()).min(text.len());
            self.begun.extend_from_slice(&text[..room]);
            self.over += text.len() - room;
            if whole {
                self.line();
            }
        }
    }

    /// Tells the line that has come to its end.
    fn line(&mut self) {
        let (line, over) = (std::mem::take(&mut self.begun), std::mem::take(&mut self.over));
        if self.left == 0 {
            return;
        }
        let size = line.len() + RECORD;
        if size > self.left {
            self.left = 0;
            let text = format!(
                "[trommel: it says more than {} MiB; the rest stands in its log file, as far as that was kept]",
                TOLD >> 20
            );
            return (self.tell)(text);
        }
        self.left -= size;
        let text = String::from_utf8_lossy(&line);
        let text = plain::text(text.trim_end());
        (self.tell)(match over {
            0 => text.into_owned(),
            over => format!("{text} [trommel: {over} more bytes]"),
        });
    }

    fn end(&mut self) {
        if !self.begun.is_empty() {
            self.line();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        sync::{Arc, Mutex},
    };

    use super::*;

    /// Writes these pieces, each after the one before was read; what was told after each, and at the end.
    async fn told(pieces: &[&str]) -> Vec<Vec<String>> {
        let (read, write) = io::pipe().unwrap();
        let log = tempfile::NamedTempFile::new().unwrap();
        let all = Arc::new(Mutex::new(Vec::new()));
        let tell = {
            let all = Arc::clone(&all);
            move |line| all.lock().unwrap().push(line)
        };
        let output = Output::read(read.into(), log.path(), tell).unwrap();
        let mut after = Vec::new();
        let mut write = write;
        for piece in pieces {
            write.write_all(piece.as_bytes()).unwrap();
            while output.unread() > 0 {
                tokio::task::yield_now().await;
            }
            after.push(std::mem::take(&mut *all.lock().unwrap()));
        }
        drop(write);
        output.end().await;
        after.push(std::mem::take(&mut *all.lock().unwrap()));
        assert_eq!(std::fs::read_to_string(log.path()).unwrap(), pieces.concat());
        after
    }

    #[tokio::test]
    async fn what_is_read_has_been_told() {
        assert_eq!(told(&["a\nb\n"]).await, [vec!["a", "b"], vec![]]);
        assert_eq!(told(&["a", "b\nc"]).await, [vec![], vec!["ab"], vec!["c"]]);
        assert_eq!(told(&["\n\r\n"]).await, [vec!["", ""], vec![]]);
        let long = "0123456789".repeat(6000) + "\nx\n";
        assert_eq!(told(&[&long]).await, [vec![&long[..60_000], "x"], vec![]]);
        assert_eq!(told(&["\u{1b}[31mred\n"]).await, [vec!["␛[31mred"], vec![]]);
    }

    /// A line of 100 MB and a million lines: what is told of them, and how much of it.
    #[test]
    fn what_is_told_is_bounded() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let all = Mutex::new(Vec::new());
        let tell = |line: String| all.lock().unwrap().push(line);
        let mut lines = Lines::new(Log::create(log.path()).unwrap(), tell);
        let piece = [b'x'; 8192];
        (0..12_800).for_each(|_| lines.bytes(&piece));
        lines.bytes(b"\n");
        (0..1_000_000).for_each(|_| lines.bytes(b"again\n"));
        lines.end();
        drop(lines);
        let all = all.into_inner().unwrap();
        let over = 12_800 * 8192 - LINE;
        assert!(all[0].ends_with(&format!("x [trommel: {over} more bytes]")), "{}", all[0].len());
        assert!(all.iter().map(String::len).sum::<usize>() <= TOLD);
        assert!(all.last().is_some_and(|last| last.contains("more than 4 MiB")));
    }
}
