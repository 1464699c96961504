//! Lets the proxy read what the cluster's encodings can read.

use serde_json::{Value, json};

/// The embedded cluster's encodings, for any cluster.
pub struct ClusterCodec;

impl proxy::Codec for ClusterCodec {
    fn decode(&self, content_type: &str, bytes: &[u8]) -> Option<Value> {
        cluster::encoding::decode(Some(content_type), bytes).ok()
    }

    fn decode_watch_frame(&self, content_type: &str, frame: &[u8]) -> Option<Value> {
        let frames = cluster::encoding::WatchFrames::new(content_type);
        let (kind, object) = if content_type.starts_with("application/vnd.kubernetes.protobuf") {
            // The cluster's reader wants the length that the proxy has taken off.
            let length = u32::try_from(frame.len()).ok()?.to_be_bytes();
            frames.read(&[&length[..], frame].concat())?
        } else {
            frames.read(frame)?
        };
        Some(json!({ "type": kind, "object": object }))
    }
}
