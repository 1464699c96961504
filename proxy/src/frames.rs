//! Cuts a watch stream into its frames without changing a byte.
//!
//! JSON events end with a line feed (JSON escapes line feeds inside strings). Protobuf events follow
//! their length, four bytes, most significant first (kubernetes-api.md §1.1).

use bytes::{Bytes, BytesMut};

use crate::codec::{is_json, media_type};

/// Longest frame that is cut out: client-go's stream decoders fail above it.
pub(crate) const FRAME_BYTES_MAX: usize = 16 << 20;

/// How the events of a stream are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// One JSON object a line.
    Lines,
    /// A length and that many bytes.
    Lengths,
}

impl Framing {
    /// By the `Content-Type` of the stream; `None` for streams that can't be cut.
    pub(crate) fn of(content_type: &str) -> Option<Framing> {
        match media_type(content_type).as_str() {
            "application/vnd.kubernetes.protobuf" => Some(Framing::Lengths),
            _ if is_json(content_type) => Some(Framing::Lines),
            _ => None,
        }
    }

    /// The frame's content, without its line end or length.
    pub(crate) fn content(self, frame: &[u8]) -> &[u8] {
        match self {
            Framing::Lines => frame.strip_suffix(b"\n").unwrap_or(frame),
            Framing::Lengths => frame.get(4..).unwrap_or_default(),
        }
    }
}

/// A frame is longer than [`FRAME_BYTES_MAX`].
#[derive(Debug, thiserror::Error)]
#[error("a watch event is longer than {FRAME_BYTES_MAX} bytes")]
pub(crate) struct FrameTooLong;

/// Takes chunks, gives frames.
#[derive(Debug)]
pub(crate) struct Frames {
    framing: Framing,
    buffer: BytesMut,
    /// Bytes of `buffer` known to hold no line feed, so that long lines are not searched again.
    searched: usize,
}

impl Frames {
    pub(crate) fn new(framing: Framing) -> Frames {
        Frames { framing, buffer: BytesMut::new(), searched: 0 }
    }

    /// Adds what arrived.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// The next complete frame, with its line end or length.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, FrameTooLong> {
        let length = match self.framing {
            Framing::Lines => self.line(),
            Framing::Lengths => self.buffer.first_chunk().map(|prefix: &[u8; 4]| {
                usize::try_from(u32::from_be_bytes(*prefix))
                    .map_or(usize::MAX, |n| n.saturating_add(4))
            }),
        };
        if length.unwrap_or(self.buffer.len()) > FRAME_BYTES_MAX {
            return Err(FrameTooLong);
        }
        match length {
            Some(length) if length <= self.buffer.len() => {
                self.searched = 0;
                Ok(Some(self.buffer.split_to(length).freeze()))
            }
            _ => Ok(None),
        }
    }

    fn line(&mut self) -> Option<usize> {
        let found = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n');
        let length = found.map(|at| self.searched + at + 1);
        self.searched = self.buffer.len();
        length
    }

    /// Whether part of a frame has arrived.
    pub(crate) fn has_part(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// What is left when the stream ended, or can't be cut any more.
    pub(crate) fn take_rest(&mut self) -> Bytes {
        self.searched = 0;
        self.buffer.split().freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn content_types_choose_the_framing() {
        let check = |text, expect| assert_eq!(Framing::of(text), expect, "{text}");
        check("application/json", Some(Framing::Lines));
        check("application/json;stream=watch", Some(Framing::Lines));
        check("application/vnd.kubernetes.protobuf;stream=watch", Some(Framing::Lengths));
        check("application/cbor-seq", None);
        check("", None);
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused() {
        let mut frames = Frames::new(Framing::Lengths);
        frames.push(&[0xff; 8]);
        assert!(frames.next().is_err());
        assert_eq!(frames.take_rest().len(), 8);
    }

    proptest! {
        #[test]
        fn frames_do_not_depend_on_chunks(
            lengths in any::<bool>(),
            contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..12),
            chunk in 1..50_usize,
            tail in prop::collection::vec(11..255_u8, 0..4),
        ) {
            let framing = if lengths { Framing::Lengths } else { Framing::Lines };
            let expect: Vec<Vec<u8>> = contents.iter().map(|content| match framing {
                Framing::Lengths => [&(content.len() as u32).to_be_bytes()[..], content].concat(),
                Framing::Lines => content.iter().copied().filter(|byte| *byte != b'\n').chain([b'\n']).collect(),
            }).collect();
            let tail = if lengths { [&[0, 0, 0, 99][..], &tail].concat() } else { tail };
            let (mut frames, mut found) = (Frames::new(framing), Vec::new());
            for piece in [expect.concat(), tail.clone()].concat().chunks(chunk) {
                frames.push(piece);
                while let Some(frame) = frames.next().unwrap() {
                    found.push(frame.to_vec());
                }
            }
            prop_assert_eq!(found, expect);
            prop_assert_eq!(frames.has_part(), !tail.is_empty());
            prop_assert_eq!(frames.take_rest().to_vec(), tail);
        }
    }
}
