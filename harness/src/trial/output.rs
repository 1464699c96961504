//! What the subject says: standard output and standard error, copied to its log file and into the history.
//!
//! What a subject says comes before what happens next. Its output is a pipe; bytes in it that nobody has read keep a
//! moment from being quiet. Otherwise its lines would be stamped with the time after the next jump, and one that
//! stands still in a write to a full pipe would pass for asleep.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::OwnedFd,
    path::Path,
};

use tokio::net::unix::pipe::Receiver;

/// The output of one incarnation.
pub(super) struct Output {
    pipe: OwnedFd,
    reading: tokio::task::JoinHandle<()>,
}

impl Output {
    /// Reads it from now on: each byte into the file, each line to `tell`. No byte is on its way between the two: what
    /// is no longer [`Output::unread`] has been told, but for the beginning of a line.
    pub fn read(
        pipe: OwnedFd,
        log: &Path,
        tell: impl Fn(String) + Send + 'static,
    ) -> io::Result<Output> {
        let receiver = Receiver::from_owned_fd(pipe.try_clone()?)?;
        let mut lines = Lines { log: File::create(log)?, begun: Vec::new(), tell };
        let reading = tokio::spawn(async move {
            while receiver.readable().await.is_ok() && lines.take(&receiver) {}
            lines.end();
        });
        Ok(Output { pipe, reading })
    }

    /// Bytes that have not been read.
    pub fn unread(&self) -> u64 {
        subject::unread(&self.pipe).unwrap_or(0)
    }

    /// Waits for its end: when all writers are gone.
    pub async fn end(self) {
        drop(self.reading.await);
    }
}

struct Lines<Tell> {
    log: File,
    /// A line without its end.
    begun: Vec<u8>,
    tell: Tell,
}

impl<Tell: Fn(String)> Lines<Tell> {
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
        // A full disk must not stop the trial: the history keeps the lines as well.
        drop(self.log.write_all(bytes));
        self.begun.extend_from_slice(bytes);
        let Some(last) = self.begun.iter().rposition(|byte| *byte == b'\n') else { return };
        let rest = self.begun.split_off(last + 1);
        let whole = std::mem::replace(&mut self.begun, rest);
        whole[..last].split(|byte| *byte == b'\n').for_each(|line| self.line(line));
    }

    fn line(&self, line: &[u8]) {
        (self.tell)(String::from_utf8_lossy(line).trim_end().to_owned());
    }

    fn end(&self) {
        if !self.begun.is_empty() {
            self.line(&self.begun);
        }
    }
}

/// The last lines of a log, as the end of a sentence.
pub(super) fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(5).collect();
    if lines.is_empty() {
        return ", without a word".to_owned();
    }
    let tail: Vec<&str> = lines.into_iter().rev().collect();
    format!("; it last said:\n  {}", tail.join("\n  "))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

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
    }
}
