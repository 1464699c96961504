//! Decoding copies of what passes, for the record.
//!
//! The proxy knows framing only; what the bytes mean is handed in, because the facts about Kubernetes'
//! types belong to the cluster.

use serde_json::Value;

/// Decodes the encodings of the API to the JSON of the same object.
pub trait Codec: Send + Sync {
    /// One body. `content_type` is as sent, parameters included: the JSON family (`application/json`,
    /// `…+json`), `application/yaml`, `application/apply-patch+yaml`,
    /// `application/vnd.kubernetes.protobuf`. `None` for what can't be decoded.
    fn decode(&self, content_type: &str, bytes: &[u8]) -> Option<Value>;

    /// One frame of a watch stream, without its line end or length prefix, as `{"type": …, "object": …}`.
    fn decode_watch_frame(&self, content_type: &str, frame: &[u8]) -> Option<Value>;
}

/// Decodes JSON and nothing else.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonCodec;

impl Codec for JsonCodec {
    fn decode(&self, content_type: &str, bytes: &[u8]) -> Option<Value> {
        is_json(content_type).then(|| serde_json::from_slice(bytes).ok()).flatten()
    }

    fn decode_watch_frame(&self, content_type: &str, frame: &[u8]) -> Option<Value> {
        self.decode(content_type, frame)
    }
}

/// The media type without its parameters, in lower case.
pub(crate) fn media_type(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// `application/json` and the `+json` family.
pub(crate) fn is_json(content_type: &str) -> bool {
    let media_type = media_type(content_type);
    media_type == "application/json" || media_type.ends_with("+json")
}
