//! Server-side apply, and the record of who set which fields.

use super::{Outcome, Work};
use crate::status::Refusal;

impl Work<'_> {
    /// An apply patch.
    pub(super) fn apply(&mut self) -> Result<Outcome, Refusal> {
        Err(Refusal::method_not_allowed())
    }
}
