//! Admission: what may change or refuse a write after it was read and before it is validated.
//!
//! The place where webhooks, policies and the built-in plug-ins that controllers rely on (ServiceAccount,
//! PVC protection, Priority, …) are called in upstream's order; each is a function of the request's object
//! and the world. So far only the rule that upstream's `NamespaceLifecycle` holds over the namespaces of
//! the system; the check that a namespace exists and lives is made where an object is created.

use serde_json::Value;

use crate::{status::Refusal, verbs::Work};

impl Work<'_> {
    /// Lets admission see a write; it may change `new`. Errors: whatever admission refuses with.
    pub(crate) fn admit(&mut self, _old: Option<&Value>, _new: &mut Value) -> Result<(), Refusal> {
        Ok(())
    }

    /// Namespaces that can't be deleted. Errors: 403.
    pub(crate) fn admit_delete(&self, name: &str) -> Result<(), Refusal> {
        let namespaces = self.kind.storage == crate::world::namespaces();
        if namespaces && ["default", "kube-system", "kube-public"].contains(&name) {
            let why = "this namespace may not be deleted";
            return Err(Refusal::forbidden(&self.kind.served(), name, why));
        }
        Ok(())
    }
}
