//! SPDY's header blocks: zlib streams that begin with a dictionary (SPDY/3 draft, 2.6.10), one in each direction for
//! the whole connection.
//!
//! What comes is inflated by any inflater: the dictionary is put before it as a block of its own, whose output is
//! dropped. What goes is empty each time and needs no compressor: it is stored.

use std::collections::BTreeMap;

use flate2::{Decompress, FlushDecompress};

use super::Broken;

/// The words that both sides know from the beginning.
const DICTIONARY: &[u8] = include_bytes!("../../../data/spdy-dictionary.bin");
/// zlib's header: 2 bytes, and the dictionary's checksum.
const ZLIB_HEADER_BYTES: usize = 6;
/// In the second byte: a dictionary is named.
const HAS_DICTIONARY: u8 = 0x20;
/// Longest block of headers; client-go's have some 60 bytes.
const BLOCK_BYTES_MAX: usize = 64 << 10;

/// Headers that a client sent, names in lower case.
pub(in super::super) type Headers = BTreeMap<String, String>;

/// What comes.
pub(super) struct Reader {
    inflate: Decompress,
    begun: bool,
}

impl Reader {
    pub(super) fn new() -> Result<Reader, Broken> {
        let mut reader = Reader { inflate: Decompress::new(false), begun: false };
        let known = reader.read_raw(&stored(DICTIONARY))?;
        match known == DICTIONARY {
            true => Ok(reader),
            false => Err(Broken("the dictionary can't be read")),
        }
    }

    /// Reads the next block.
    pub(super) fn read(&mut self, block: &[u8]) -> Result<Headers, Broken> {
        let mut block = block;
        if !self.begun {
            let header = block.split_at_checked(ZLIB_HEADER_BYTES);
            let (header, rest) = header.ok_or(Broken("a block of headers is too short"))?;
            let named = header[1] & HAS_DICTIONARY != 0;
            if !named || header[2..] != checksum(DICTIONARY).to_be_bytes() {
                return Err(Broken("headers are compressed without SPDY's dictionary"));
            }
            (self.begun, block) = (true, rest);
        }
        parse(&self.read_raw(block)?).ok_or(Broken("a block of headers has the wrong form"))
    }

    fn read_raw(&mut self, block: &[u8]) -> Result<Vec<u8>, Broken> {
        let (mut at, mut all, mut some) = (0, Vec::new(), [0; 4096]);
        loop {
            let before = (self.inflate.total_in(), self.inflate.total_out());
            self.inflate
                .decompress(&block[at..], &mut some, FlushDecompress::Sync)
                .map_err(|_| Broken("headers can't be decompressed"))?;
            at += (self.inflate.total_in() - before.0) as usize;
            let new = (self.inflate.total_out() - before.1) as usize;
            all.extend_from_slice(&some[..new]);
            if all.len() > BLOCK_BYTES_MAX {
                return Err(Broken("a block of headers is too long"));
            }
            // A full buffer may hide that there is more.
            if new < some.len() && (at == block.len() || new == 0) {
                return Ok(all);
            }
        }
    }
}

/// A block with no headers, compressed; the first one of a connection begins its zlib stream.
pub(super) fn nothing(first: bool) -> Vec<u8> {
    let mut block = Vec::new();
    if first {
        block.extend_from_slice(&[0x78, HAS_DICTIONARY]);
        block.extend_from_slice(&checksum(DICTIONARY).to_be_bytes());
    }
    block.extend(stored(&0u32.to_be_bytes()));
    // An empty block, after which a reader gives out what it has.
    block.extend(stored(&[]));
    block
}

/// A block of a deflate stream that holds these bytes as they are; not the last one.
fn stored(bytes: &[u8]) -> Vec<u8> {
    // Only the dictionary and numbers come here.
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    [&[0], &length.to_le_bytes()[..], &(!length).to_le_bytes(), bytes].concat()
}

/// Adler-32.
fn checksum(bytes: &[u8]) -> u32 {
    let add = |(a, b): (u32, u32), byte: &u8| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    };
    let (a, b) = bytes.iter().fold((1, 0), add);
    b << 16 | a
}

fn parse(block: &[u8]) -> Option<Headers> {
    let mut rest = block;
    let mut headers = Headers::new();
    for _ in 0..number(&mut rest)? {
        let name = text(&mut rest)?.to_lowercase();
        headers.insert(name, text(&mut rest)?);
    }
    Some(headers)
}

fn number(rest: &mut &[u8]) -> Option<usize> {
    let (bytes, more) = rest.split_first_chunk::<4>()?;
    *rest = more;
    usize::try_from(u32::from_be_bytes(*bytes)).ok()
}

fn text(rest: &mut &[u8]) -> Option<String> {
    let length = number(rest)?;
    let (bytes, more) = rest.split_at_checked(length)?;
    *rest = more;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What Go's `compress/zlib` and zlib itself make of `streamtype: error`, then of `streamtype: stdout`.
    pub(in super::super) const BLOCKS: [&str; 2] = [
        "78f9e3c6a7c202a62346703a2b294a4dcc851625aca9a08006000000ffff",
        "c22a054ccc29f9a52500000000ffff",
    ];

    /// A block with headers, compressed; the first one of a connection begins its zlib stream.
    pub(in super::super) fn block(first: bool, headers: &[(&str, &str)]) -> Vec<u8> {
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("short").to_be_bytes();
        let mut plain = u32::try_from(headers.len()).expect("few").to_be_bytes().to_vec();
        for text in headers.iter().flat_map(|(name, value)| [name, value]) {
            plain.extend(length(text.as_bytes()));
            plain.extend(text.as_bytes());
        }
        let begun = nothing(true)[..ZLIB_HEADER_BYTES].to_vec();
        [if first { begun } else { vec![] }, stored(&plain), stored(&[])].concat()
    }

    pub(in super::super) fn bytes(hex: &str) -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
        (0..hex.len()).step_by(2).map(digit).collect()
    }

    #[test]
    fn blocks_follow_each_other() {
        let mut reader = Reader::new().expect("a reader");
        for (block, kind) in BLOCKS.iter().zip(["error", "stdout"]) {
            let headers = reader.read(&bytes(block)).expect("headers");
            assert_eq!(headers.get("streamtype").map(String::as_str), Some(kind));
        }
    }

    #[test]
    fn a_reader_understands_what_is_written() {
        assert_eq!(checksum(DICTIONARY), 0xe3c6_a7c2);
        let mut reader = Reader::new().expect("a reader");
        for first in [true, false, false] {
            assert_eq!(reader.read(&nothing(first)), Ok(Headers::new()));
        }
        // A zlib header must be a multiple of 31.
        let header = nothing(true);
        assert_eq!(u16::from_be_bytes([header[0], header[1]]) % 31, 0);
    }

    #[test]
    fn other_streams_are_refused() {
        let check = |hex: &str, expect: &str| {
            let why = Reader::new().expect("a reader").read(&bytes(hex)).expect_err("no headers");
            assert!(why.0.contains(expect), "{hex}: {why:?}");
        };
        check("789c", "too short");
        check("789c00000000", "without SPDY's dictionary");
        check("78f9e3c6a7c2ffffffff", "can't be decompressed");
        check("78f9e3c6a7c2000000ffff", "wrong form");
    }
}
