//! The API server called a webhook.

use serde::{Deserialize, Serialize};

use crate::call::{Actor, CallId};

/// One call of a webhook that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// Its name; of a conversion the custom type's. Empty for one that leads nowhere.
    pub name: String,
    /// Verb and object that it was asked about, for people.
    pub about: String,
    /// Where it was called.
    pub url: String,
    /// What came of it.
    pub outcome: WebhookOutcome,
    /// Whose request needed it.
    pub actor: Actor,
    /// That request, if it came through a proxy.
    pub call: Option<CallId>,
}

/// What a webhook said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WebhookOutcome {
    /// Yes, perhaps with a change of its own.
    Allowed {
        /// Whether it came with a patch.
        patched: bool,
    },
    /// No, and why.
    Denied(String),
    /// Objects of a custom type in another version.
    Converted {
        /// How many.
        objects: u64,
    },
    /// Nothing that counts, and why.
    Failed(String),
}
