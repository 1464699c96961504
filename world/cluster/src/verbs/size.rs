//! How large an object may be: the real server writes each with one request to etcd, which takes no larger ones
//! (`GuaranteedUpdate` and `Create` of `k8s.io/apiserver/pkg/storage/etcd3`).
//!
//! The limits are etcd's defaults, which most clusters leave as they are. Evictions, bindings, and what a deletion leaves
//! of finalizers are let through: they change some bytes of an object that fitted before.

use serde_json::Value;

use super::{Work, object};
use crate::{
    encoding::{Format, encode},
    status::Refusal,
    world::meta,
};

/// What etcd takes as one entry of its log (`--max-request-bytes`).
const ENTRY_LIMIT_BYTES: usize = 1_572_864;

/// What its client sends as one message (`defaultMaxCallSendMsgSize` of `go.etcd.io/etcd/client/v3`).
const MESSAGE_LIMIT_BYTES: usize = 2 * 1024 * 1024;

/// What etcd writes beside the transaction of an entry: the request's number, and the lengths of both.
const ENTRY_HEAD_BYTES: usize = 19;

/// Objects with fewer bytes of text are not measured. A character of JSON takes at most six bytes (`\u0001`).
const MEASURED_FROM_BYTES: usize = ENTRY_LIMIT_BYTES / 6;

/// What a value may take beside its texts, in both encodings.
const VALUE_BYTES: usize = 16;

impl Work<'_> {
    /// An object as it can be stored. Where it is too large with its `managedFields`, it is stored without them, unless it
    /// was applied (`isTooLargeError` in `endpoints/handlers`). Errors: 500, it is too large.
    pub(super) fn fit(&self, name: &str, stored: Value) -> Result<Value, Refusal> {
        if text_bytes(&stored) < MEASURED_FROM_BYTES {
            return Ok(stored);
        }
        let refusal = match self.too_large(name, &stored) {
            None => return Ok(stored),
            Some(refusal) => refusal,
        };
        if self.request.header("content-type").contains("apply-patch") {
            return Err(refusal);
        }
        let mut without = stored;
        object::remove_meta(&mut without, "managedFields");
        self.too_large(name, &without).map_or(Ok(without), Err)
    }

    fn too_large(&self, name: &str, stored: &Value) -> Option<Refusal> {
        let bytes = self.message_bytes(name, stored);
        if bytes > MESSAGE_LIMIT_BYTES {
            return Some(Refusal::unclassified(format!(
                "rpc error: code = ResourceExhausted desc = trying to send message larger than max ({bytes} vs. \
                 {MESSAGE_LIMIT_BYTES})"
            )));
        }
        (bytes + ENTRY_HEAD_BYTES > ENTRY_LIMIT_BYTES)
            .then(|| Refusal::unclassified("etcdserver: request is too large"))
    }

    /// The bytes of the transaction that sets an object: if its key has still this revision, put it; else read it.
    fn message_bytes(&self, name: &str, stored: &Value) -> usize {
        let mut kept = stored.clone();
        object::remove_meta(&mut kept, "resourceVersion");
        let encoded = encode(&kept, Format::Protobuf).or_else(|_| encode(&kept, Format::Json));
        let value = field(encoded.map_or(0, |bytes| bytes.len()));
        let key = field(self.storage_key(name).len());
        let revision = meta(stored, "resourceVersion").parse().unwrap_or(0);
        let compare = 2 + key + 1 + varint(revision);
        let otherwise = if revision == 0 { 0 } else { field(field(field(key))) };
        field(compare) + field(field(key + value)) + otherwise
    }
}

/// The bytes of a field with a length, in protobuf.
fn field(bytes: usize) -> usize {
    1 + varint(bytes as u64) + bytes
}

fn varint(number: u64) -> usize {
    (64 - number.max(1).leading_zeros() as usize).div_ceil(7)
}

/// At least as many bytes as a value has, but for what is escaped in texts.
fn text_bytes(value: &Value) -> usize {
    let inner: usize = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| name.len() + text_bytes(value)).sum()
        }
        _ => 0,
    };
    inner + VALUE_BYTES
}
