//! SPDY/3.1 as a server of Kubernetes' streams needs it (`moby/spdystream`): clients open streams and ping; we accept
//! or refuse, and write. What clients write on their streams is nobody's here.
//!
//! There is no flow control: Kubernetes' clients and servers have none, and ignore windows and settings.
//!
//! SPDY is ours because no crate speaks SPDY/3.1 any more, and Kubernetes needs little of it. WebSockets' frames are
//! tungstenite's.

use bytes::{Buf, BytesMut};

mod headers;

pub(super) use headers::Headers;

/// Longest control frame; those of clients have some 80 bytes.
const CONTROL_BYTES_MAX: usize = 64 << 10;
/// Longest piece of data that is written in one frame.
const DATA_BYTES_MAX: usize = 32 << 10;
const FRAME_HEADER_BYTES: usize = 8;

const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const SETTINGS: u16 = 4;
const PING: u16 = 6;
const GO_AWAY: u16 = 7;
const HEADERS: u16 = 8;
const WINDOW_UPDATE: u16 = 9;

/// What a stream that is refused is told.
const CANCEL: u32 = 5;
/// Of a stream whose number is wrong.
const PROTOCOL_ERROR: u32 = 1;

/// A client that does not speak SPDY/3.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not SPDY/3.1: {0}")]
pub(super) struct Broken(pub(super) &'static str);

/// A stream that a client has opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) stream: u32,
    pub(super) headers: Headers,
}

/// One connection: bytes in, streams out; and what is to be sent.
pub(super) struct Session {
    input: BytesMut,
    /// So much of a data frame is still to come.
    skip: usize,
    headers: headers::Reader,
    last: u32,
    replied: bool,
    output: Vec<u8>,
}

impl Session {
    pub(super) fn new() -> Result<Session, Broken> {
        Ok(Session {
            input: BytesMut::new(),
            skip: 0,
            headers: headers::Reader::new()?,
            last: 0,
            replied: false,
            output: Vec::new(),
        })
    }

    /// Takes what came. Streams that it opens wait for [`Session::accept`] or [`Session::refuse`].
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Vec<Opened>, Broken> {
        self.input.extend_from_slice(bytes);
        let mut opened = Vec::new();
        loop {
            let skipped = self.skip.min(self.input.len());
            self.input.advance(skipped);
            self.skip -= skipped;
            let Some(head) = self.input.first_chunk::<FRAME_HEADER_BYTES>().copied() else {
                return Ok(opened);
            };
            let length = u32::from_be_bytes([0, head[5], head[6], head[7]]) as usize;
            if head[0] & 0x80 == 0 {
                self.input.advance(FRAME_HEADER_BYTES);
                self.skip = length;
                continue;
            }
            if length > CONTROL_BYTES_MAX {
                return Err(Broken("a control frame is too long"));
            }
            if self.input.len() < FRAME_HEADER_BYTES + length {
                return Ok(opened);
            }
            let frame = self.input.split_to(FRAME_HEADER_BYTES + length);
            let kind = u16::from_be_bytes([head[2], head[3]]);
            opened.extend(self.control(kind, &frame)?);
        }
    }

    fn control(&mut self, kind: u16, frame: &[u8]) -> Result<Option<Opened>, Broken> {
        let body = &frame[FRAME_HEADER_BYTES..];
        match kind {
            SYN_STREAM => self.syn(body),
            // A client's pings have odd numbers; others answer ours, of which there are none.
            PING if body.last().is_some_and(|byte| byte & 1 == 1) => {
                self.output.extend_from_slice(frame);
                Ok(None)
            }
            // The blocks of all frames are one stream of compression.
            HEADERS | SYN_REPLY => {
                let block = body.get(4..).ok_or(Broken("a frame of headers is too short"))?;
                self.headers.read(block).map(|_| None)
            }
            PING | RST_STREAM | SETTINGS | GO_AWAY | WINDOW_UPDATE => Ok(None),
            _ => Err(Broken("an unknown control frame")),
        }
    }

    fn syn(&mut self, body: &[u8]) -> Result<Option<Opened>, Broken> {
        // Number, the stream that it belongs to, priority, slot.
        let head = body.split_first_chunk::<10>();
        let (head, block) = head.ok_or(Broken("a frame that opens a stream is too short"))?;
        let stream = u32::from_be_bytes([head[0] & 0x7f, head[1], head[2], head[3]]);
        let headers = self.headers.read(block)?;
        if stream.is_multiple_of(2) || stream <= self.last {
            self.reset(stream, PROTOCOL_ERROR);
            return Ok(None);
        }
        self.last = stream;
        Ok(Some(Opened { stream, headers }))
    }

    /// Accepts a stream.
    pub(super) fn accept(&mut self, stream: u32) {
        let block = headers::nothing(!self.replied);
        self.replied = true;
        self.write_control(SYN_REPLY, &[&stream.to_be_bytes()[..], &block].concat());
    }

    /// Refuses a stream.
    pub(super) fn refuse(&mut self, stream: u32) {
        self.reset(stream, CANCEL);
    }

    /// Writes all that there will be on a stream.
    pub(super) fn write_all(&mut self, stream: u32, bytes: &[u8]) {
        for piece in bytes.chunks(DATA_BYTES_MAX) {
            self.write_data(stream, piece, false);
        }
        self.write_data(stream, &[], true);
    }

    /// What is to be sent now.
    pub(super) fn output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    fn reset(&mut self, stream: u32, why: u32) {
        self.write_control(RST_STREAM, &[stream.to_be_bytes(), why.to_be_bytes()].concat());
    }

    fn write_data(&mut self, stream: u32, bytes: &[u8], last: bool) {
        self.output.extend_from_slice(&stream.to_be_bytes());
        self.write_length(bytes.len(), u8::from(last));
        self.output.extend_from_slice(bytes);
    }

    fn write_control(&mut self, kind: u16, body: &[u8]) {
        self.output.extend_from_slice(&[0x80, 3]);
        self.output.extend_from_slice(&kind.to_be_bytes());
        self.write_length(body.len(), 0);
        self.output.extend_from_slice(body);
    }

    /// Flags, and 24 bits of length: nothing that is written comes near them.
    fn write_length(&mut self, length: usize, flags: u8) {
        let length = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
        self.output.extend_from_slice(&[flags, length[1], length[2], length[3]]);
    }
}

#[cfg(test)]
pub(super) mod tests;
