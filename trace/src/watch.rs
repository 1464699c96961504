//! Watch deliveries: one event handed to one watch of one client.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{call::CallId, key::Revision};

/// `type` of a watch event (API concepts, "Efficient detection of changes").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum DeliveryKind {
    /// The object entered the watched set.
    Added,
    /// The object changed.
    Modified,
    /// The object left the watched set.
    Deleted,
    /// A revision marker without an object.
    Bookmark,
    /// A `Status`; the stream ends after it.
    Error,
}

/// One event, when it was released to the client: its bytes go to the socket in the same moment, unless
/// the socket is full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// The watch call.
    pub watch: CallId,
    /// Position in that stream, from 0.
    pub index: u64,
    /// What it says.
    pub kind: DeliveryKind,
    /// `metadata.resourceVersion` of its object.
    pub revision: Option<Revision>,
    /// `namespace/name` or `name` of its object; empty for bookmarks and errors.
    pub object_name: String,
    /// The object, where the recorder keeps it.
    pub object: Option<Arc<Value>>,
}
