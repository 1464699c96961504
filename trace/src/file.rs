//! Histories on disk: zstd-compressed JSON lines, readable up to the last record that was handed over.
//!
//! The first line is a [`Header`], every other line a [`Record`]. A file ends with a [`Footer`] line when its
//! writer finished it; one without is [`Truncated`], which is how a reader knows that the tool or the machine
//! died. After each batch of records (see [`Writer::new`]) the compressor's block is closed and its bytes are
//! given to the operating system: a `kill -9` of the writer loses at most the batch under way.
//!
//! **Cost.** Closing a block costs three bytes of block header, a flush of the entropy coder and one `write`;
//! with a batch of one record, files of short records are some 30 % larger than when closed at the end. Matches
//! still reach across blocks: it is one frame.
//!
//! **Versions.** A reader knows versions up to [`VERSION`]; a higher one is an error that names it. New optional
//! fields and new kinds of events need a new version only if an old reader would misread what it knows.

use std::io::{self, BufRead, BufReader, Read, Write};

use serde::{Deserialize, Serialize};

use crate::history::{History, Record};

/// The version that this code writes, and the highest that it reads.
pub const VERSION: u32 = 1;

/// What the first line says it is.
const FORMAT: &str = "trommel.dev/history";

/// Bytes in one line, its end included; a longer one is damage, not data (the API server takes 3 MiB a body).
const LINE_BYTES_MAX: u64 = 256 << 20;

/// The first line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Always `trommel.dev/history`.
    pub format: String,
    /// Of the format.
    pub version: u32,
    /// Which program wrote it, with its version.
    pub made_by: String,
    /// Anything that says what the history is of: campaign, plan, trial.
    #[serde(default)]
    pub about: serde_json::Value,
}

impl Header {
    /// A header of the version that this code writes.
    pub fn new(made_by: &str, about: serde_json::Value) -> Header {
        Header { format: FORMAT.to_owned(), version: VERSION, made_by: made_by.to_owned(), about }
    }
}

/// The last line of a finished file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Footer {
    /// How many records there are.
    finished: u64,
}

/// Why a file can't be read at all.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The first line is missing, cut or something else.
    #[error("not a history file: {0}")]
    NotHistory(String),
    /// Written by a later version of the format.
    #[error(
        "history of format version {found}, but this program reads versions up to {VERSION}: made by {made_by}"
    )]
    Version {
        /// The file's version.
        found: u32,
        /// Who wrote it.
        made_by: String,
    },
    /// The file could not be read.
    #[error("reading a history")]
    Io(#[from] io::Error),
}

/// The file ends before its writer finished it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Truncated {
    /// Complete records before the end.
    pub records: u64,
    /// What was found instead of the next one.
    pub reason: String,
}

/// Writes one history.
pub struct Writer<W: Write> {
    encoder: zstd::stream::write::Encoder<'static, W>,
    line: Vec<u8>,
    batch: usize,
    pending: usize,
    records: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the header and hands it over. `batch` is how many records at most are lost at a crash: 1 hands
    /// over each record as it comes.
    pub fn new(out: W, header: &Header, batch: usize) -> io::Result<Writer<W>> {
        let encoder = zstd::stream::write::Encoder::new(out, 3)?;
        let mut writer =
            Writer { encoder, line: Vec::new(), batch: batch.max(1), pending: 0, records: 0 };
        writer.put(header)?;
        writer.flush()?;
        Ok(writer)
    }

    /// Appends a record.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        self.put(record)?;
        self.records += 1;
        self.pending += 1;
        if self.pending >= self.batch { self.flush() } else { Ok(()) }
    }

    /// Hands everything so far to the operating system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.pending = 0;
        self.encoder.flush()
    }

    /// Ends the file. A writer that is dropped instead leaves a truncated one, readable as far as flushed.
    pub fn finish(mut self) -> io::Result<W> {
        let footer = Footer { finished: self.records };
        self.put(&footer)?;
        let mut out = self.encoder.finish()?;
        out.flush()?;
        Ok(out)
    }

    fn put<T: Serialize>(&mut self, value: &T) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value)?;
        self.line.push(b'\n');
        self.encoder.write_all(&self.line)
    }
}

/// Reads one history, record by record.
pub struct Reader<R: Read> {
    lines: BufReader<zstd::stream::read::Decoder<'static, BufReader<R>>>,
    header: Header,
    records: u64,
    end: Option<End>,
}

enum End {
    Finished,
    Truncated(Truncated),
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    pub fn new(input: R) -> Result<Reader<R>, FileError> {
        let mut lines = BufReader::new(zstd::stream::read::Decoder::new(input)?);
        let mut line = Vec::new();
        if let Err(reason) = next_line(&mut lines, &mut line) {
            return Err(FileError::NotHistory(reason));
        }
        // A later version may have another header: look at the two fields that never move first.
        let first: serde_json::Value = serde_json::from_slice(&line)
            .map_err(|_| FileError::NotHistory("its first line is no JSON".to_owned()))?;
        if first.get("format").and_then(serde_json::Value::as_str) != Some(FORMAT) {
            return Err(FileError::NotHistory(format!("its first line does not name {FORMAT}")));
        }
        let version = first.get("version").and_then(serde_json::Value::as_u64).unwrap_or(0);
        if version == 0 || version > u64::from(VERSION) {
            let made_by = first.get("madeBy").and_then(serde_json::Value::as_str);
            return Err(FileError::Version {
                found: u32::try_from(version).unwrap_or(u32::MAX),
                made_by: made_by.unwrap_or("unknown").to_owned(),
            });
        }
        let header = serde_json::from_value(first)
            .map_err(|error| FileError::NotHistory(format!("its header is damaged: {error}")))?;
        Ok(Reader { lines, header, records: 0, end: None })
    }

    /// The file's first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Why the file ended early; `None` if it was finished or has not been read to its end.
    pub fn truncated(&self) -> Option<&Truncated> {
        match &self.end {
            Some(End::Truncated(truncated)) => Some(truncated),
            _ => None,
        }
    }

    fn read(&mut self) -> Result<Record, End> {
        let cut = |reason: String| End::Truncated(Truncated { records: self.records, reason });
        let mut line = Vec::new();
        next_line(&mut self.lines, &mut line).map_err(cut)?;
        match serde_json::from_slice::<Record>(&line) {
            Ok(record) if record.sequence == self.records => Ok(record),
            Ok(record) => Err(cut(format!(
                "record {} where record {} should be",
                record.sequence, self.records
            ))),
            Err(error) => match serde_json::from_slice::<Footer>(&line) {
                Ok(footer) if footer.finished == self.records => Err(End::Finished),
                Ok(footer) => Err(cut(format!("its end says {} records", footer.finished))),
                Err(_) => Err(cut(format!("damaged record: {error}"))),
            },
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Record;

    /// The next complete record. After the last, [`Reader::truncated`] says whether there should be more.
    fn next(&mut self) -> Option<Record> {
        if self.end.is_some() {
            return None;
        }
        match self.read() {
            Ok(record) => {
                self.records += 1;
                Some(record)
            }
            Err(end) => {
                self.end = Some(end);
                None
            }
        }
    }
}

/// A complete line into `line`, without its end; otherwise what was found instead.
fn next_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> Result<(), String> {
    match lines.take(LINE_BYTES_MAX).read_until(b'\n', line) {
        Ok(_) if line.last() == Some(&b'\n') => {
            line.pop();
            Ok(())
        }
        Ok(0) => Err("the end of the file".to_owned()),
        Ok(length) if length as u64 == LINE_BYTES_MAX => Err("a line without end".to_owned()),
        Ok(_) => Err("half a line".to_owned()),
        // zstd's word for a frame that was not ended, which is all that a killed writer leaves.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err("the end of the file, inside a frame".to_owned())
        }
        Err(error) => Err(format!("undecodable bytes: {error}")),
    }
}

/// A file, read as far as it goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// Its first line.
    pub header: Header,
    /// All complete records.
    pub history: History,
    /// Set if the writer did not finish it.
    pub truncated: Option<Truncated>,
}

/// Reads all complete records.
pub fn read(input: impl Read) -> Result<Stored, FileError> {
    let mut reader = Reader::new(input)?;
    let records = reader.by_ref().collect();
    let truncated = reader.truncated().cloned();
    Ok(Stored { header: reader.header, history: History { records }, truncated })
}

/// Writes and finishes a whole history, closing no block before its end: the smallest file.
pub fn write(out: impl Write, header: &Header, history: &History) -> io::Result<()> {
    let mut writer = Writer::new(out, header, usize::MAX)?;
    history.records.iter().try_for_each(|record| writer.write(record))?;
    writer.finish().map(drop)
}

#[cfg(test)]
mod tests;
