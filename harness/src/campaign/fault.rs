//! What of this machine or of the cluster failed for good, noted where it happens. It ends the campaign with exit code 75,
//! and nothing that was found counts: what a controller does on a full disk or without a cluster shows nothing.

use std::sync::OnceLock;

use crate::exit::{Exit, Expected};

static FAULT: OnceLock<String> = OnceLock::new();

/// Notes it, in a sentence for the user. The first one is told.
pub fn note(sentence: String) {
    drop(FAULT.set(sentence));
}

/// What failed, if anything.
pub fn why() -> Option<&'static str> {
    FAULT.get().map(String::as_str)
}

/// # Errors
/// Something failed: exit 75.
pub fn check() -> anyhow::Result<()> {
    match why() {
        Some(why) => Err(Expected::error(Exit::Environment, why)),
        None => Ok(()),
    }
}
