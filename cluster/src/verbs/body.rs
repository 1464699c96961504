//! Reading request bodies.

use serde_json::Value;

use super::Work;
use crate::status::Refusal;

impl Work<'_> {
    /// The object in the body. Errors: 400, 413, 415.
    pub(super) fn read_object(&self) -> Result<Value, Refusal> {
        let body = self.request.body()?;
        serde_json::from_slice(body).map_err(|error| {
            Refusal::bad_request(format!("couldn't get version/kind; json parse error: {error}"))
        })
    }

    /// The `DeleteOptions` in the body, if there is one.
    pub(super) fn read_delete_options(&self) -> Result<Option<Value>, Refusal> {
        match self.request.body()?.is_empty() {
            true => Ok(None),
            false => self.read_object().map(Some),
        }
    }

    /// Writes down who set which fields.
    pub(super) fn track(&mut self, _old: Option<&Value>, _new: &mut Value) -> Result<(), Refusal> {
        Ok(())
    }
}
