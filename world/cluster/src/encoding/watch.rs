//! Watch streams: how events are framed.
//!
//! JSON: one object a line. Protobuf: a big-endian length, then a bare `WatchEvent{1 type, 2
//! RawExtension{1 raw}}` whose raw is an enveloped object.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    Format, ProtobufError, protobuf,
    wire::{Fields, Payload, put_bytes},
};

/// Frames above this size make Go's clients fail; a bigger one is damage.
const FRAME_MAX_BYTES: usize = 16 << 20;

/// One event (`ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK`, `ERROR`) as it goes into a stream. YAML streams
/// don't exist; JSON is written for them.
pub fn watch_frame(kind: &str, object: &Value, format: Format) -> Result<Bytes, ProtobufError> {
    if format != Format::Protobuf {
        let mut line = json!({"type": kind, "object": object}).to_string();
        line.push('\n');
        return Ok(Bytes::from(line));
    }
    let mut raw = Vec::new();
    put_bytes(&mut raw, 1, &protobuf::encode(object)?);
    let mut event = Vec::with_capacity(raw.len() + 24);
    put_bytes(&mut event, 1, kind.as_bytes());
    put_bytes(&mut event, 2, &raw);
    let mut frame = Vec::with_capacity(event.len() + 4);
    frame.extend((event.len() as u32).to_be_bytes());
    frame.append(&mut event);
    Ok(Bytes::from(frame))
}

/// Splits a stream, fed in pieces as they arrive, into events.
#[derive(Debug)]
pub struct WatchFrames {
    format: Format,
    buffer: Vec<u8>,
}

impl WatchFrames {
    /// For a stream with this `Content-Type`.
    pub fn new(content_type: &str) -> WatchFrames {
        let protobuf = content_type.starts_with("application/vnd.kubernetes.protobuf");
        let format = if protobuf { Format::Protobuf } else { Format::Json };
        WatchFrames { format, buffer: Vec::new() }
    }

    /// Adds bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame, with its length or newline; `None` until more bytes come.
    pub fn next_frame(&mut self) -> Option<Vec<u8>> {
        let length = match self.format {
            Format::Protobuf => {
                let head = self.buffer.first_chunk::<4>()?;
                (u32::from_be_bytes(*head) as usize).min(FRAME_MAX_BYTES) + 4
            }
            _ => self.buffer.iter().position(|byte| *byte == b'\n')? + 1,
        };
        if self.buffer.len() < length {
            return None;
        }
        let rest = self.buffer.split_off(length);
        Some(std::mem::replace(&mut self.buffer, rest))
    }

    /// Reads one frame: the event's type and object. `None` for a blank line or damage.
    pub fn read(&self, frame: &[u8]) -> Option<(String, Value)> {
        if self.format != Format::Protobuf {
            let mut event: Value = serde_json::from_slice(frame).ok()?;
            return Some((
                event.get("type")?.as_str()?.to_owned(),
                event.get_mut("object")?.take(),
            ));
        }
        let mut kind = None;
        let mut object = None;
        for field in Fields(frame.get(4..)?) {
            match field.ok()? {
                (1, Payload::Bytes(bytes)) => kind = std::str::from_utf8(bytes).ok(),
                (2, Payload::Bytes(bytes)) => {
                    for field in Fields(bytes) {
                        if let (1, Payload::Bytes(raw)) = field.ok()? {
                            object = Some(protobuf::decode(raw).ok()?);
                        }
                    }
                }
                _ => {}
            }
        }
        Some((kind?.to_owned(), object?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_survive_any_cut() {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": {"containers": null}, "status": {}});
        for (format, content_type) in [
            (Format::Json, "application/json"),
            (Format::Protobuf, "application/vnd.kubernetes.protobuf;stream=watch"),
        ] {
            let mut stream = Vec::new();
            for kind in ["ADDED", "MODIFIED"] {
                stream.extend(watch_frame(kind, &pod, format).unwrap());
            }
            for size in [1, 3, 1000] {
                let mut frames = WatchFrames::new(content_type);
                let mut seen = Vec::new();
                for piece in stream.chunks(size) {
                    frames.feed(piece);
                    while let Some(frame) = frames.next_frame() {
                        seen.push(frames.read(&frame).unwrap());
                    }
                }
                assert_eq!(
                    seen,
                    [("ADDED".to_owned(), pod.clone()), ("MODIFIED".to_owned(), pod.clone())]
                );
            }
        }
    }
}
