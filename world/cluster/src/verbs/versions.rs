//! Where objects leave the store and enter it: in the version of the request on one side, in the stored one on the
//! other.
//!
//! A webhook that converts is asked before anything is done. What a write answers with is converted from what it has
//! stored: it is asked about that before it is stored ([`Work::foresee`]), and the answer is used after.
//!
//! A conversion's reply holds for the whole request, wherever the same objects are to be converted again.

use std::sync::Arc;

use serde_json::Value;

use super::Work;
use crate::{
    status::Refusal,
    store::Stored,
    webhooks::{Asking, Calls},
    world::kinds::Kind,
};

impl Work<'_> {
    /// A stored object as the request's version shows it. Errors: 500 if it can't be converted; or the run can't go on
    /// without calls, as for all that follows.
    pub(crate) fn present(&mut self, object: &Arc<Value>) -> Result<Arc<Value>, Refusal> {
        if self.kind.has_version_of(object) {
            return Ok(object.clone());
        }
        let mut shown = self.present_all(std::slice::from_ref(object))?;
        shown.pop().ok_or_else(|| Refusal::internal("one object is one object in any version"))
    }

    /// The same of several, in their order.
    pub(crate) fn present_all(
        &mut self,
        objects: &[Arc<Value>],
    ) -> Result<Vec<Arc<Value>>, Refusal> {
        Asking { live: self.live, calls: self.calls }.leave(&self.kind, objects)
    }

    /// The same of several that keep what was made of them where they are shown as they are stored.
    pub(super) fn present_stored(&mut self, stored: Vec<Stored>) -> Result<Vec<Stored>, Refusal> {
        if stored.iter().all(|stored| self.kind.has_version_of(stored.object())) {
            return Ok(stored);
        }
        let objects: Vec<_> = stored.iter().map(|stored| stored.object().clone()).collect();
        let shown = self.present_all(&objects)?.into_iter().zip(stored);
        let kept = shown.map(|(shown, stored)| match Arc::ptr_eq(&shown, stored.object()) {
            true => stored,
            false => Stored::new(shown),
        });
        Ok(kept.collect())
    }

    /// Stored objects of another type, in a version of it.
    pub(crate) fn present_as(
        &mut self,
        kind: &Kind,
        objects: &[Arc<Value>],
    ) -> Result<Vec<Arc<Value>>, Refusal> {
        Asking { live: self.live, calls: self.calls }.leave(kind, objects)
    }

    /// An object of the request's version as it is stored.
    pub(super) fn store_form(&mut self, object: Value) -> Result<Value, Refusal> {
        Asking { live: self.live, calls: self.calls }.enter(&self.kind, object)
    }

    /// An object in another version of its type, as it is told to others than clients: all that a webhook has made of
    /// it.
    pub(crate) fn convert(&mut self, object: &Value, api_version: &str) -> Result<Value, Refusal> {
        let object = Arc::new(object.clone());
        let asking = &mut Asking { live: self.live, calls: self.calls };
        let converted = asking.convert(&self.kind, std::slice::from_ref(&object), api_version)?;
        Ok(converted.into_iter().next().map(Arc::unwrap_or_clone).unwrap_or_default())
    }

    /// Asks what the client will see of an object that is about to be stored. As upstream, a write is done even if
    /// that can't be told: only its answer is an error then. Errors: the run can't go on without calls.
    pub(super) fn foresee(&mut self, stored: &Value) -> Result<(), Refusal> {
        if self.kind.needs_webhook(stored) {
            drop(self.present(&Arc::new(stored.clone())));
        }
        match self.calls.is_wanting() {
            true => Err(Calls::stopped()),
            false => Ok(()),
        }
    }
}
