//! Admission: what may change or refuse a write after it was read and before it is validated.
//!
//! The plug-ins that upstream has on by default and that controllers see at work, each a function of the
//! request's object and the world, called in upstream's order: LimitRanger is not here yet, nor are
//! ResourceQuota (objects are stored, nothing is counted), ServiceAccount (no token is mounted), webhooks
//! and policies. Who could notice: whoever relies on being refused, or on what a webhook fills in. The check
//! that a namespace exists and lives (NamespaceLifecycle) is made where an object is created.

mod pods;
mod storage;

use serde_json::{Value, json};

use crate::{status::Refusal, verbs::Work};

impl Work<'_> {
    /// Lets admission see a write; it may change `new`. Errors: whatever admission refuses with.
    pub(crate) fn admit(&mut self, old: Option<&Value>, new: &mut Value) -> Result<(), Refusal> {
        if self.kind.is_custom() || !self.route.subresource.is_empty() {
            return Ok(());
        }
        let row = self.kind.row();
        match (row.group.as_str(), row.resource.as_str(), old) {
            ("", "pods", None) => {
                pods::priority(self, new)?;
                pods::tolerations(new);
                Ok(())
            }
            ("", "pods", Some(old)) => {
                pods::keep_priority(old, new);
                pods::tolerations(new);
                Ok(())
            }
            ("", "nodes", None) => {
                taint(new);
                Ok(())
            }
            ("", "persistentvolumeclaims", None) => {
                storage::protect(new, "kubernetes.io/pvc-protection");
                storage::default_class(self, new);
                Ok(())
            }
            ("", "persistentvolumeclaims", Some(old)) => storage::check_resize(self, old, new),
            ("", "persistentvolumes", None) => {
                storage::protect(new, "kubernetes.io/pv-protection");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Namespaces that can't be deleted (NamespaceLifecycle). Errors: 403.
    pub(crate) fn admit_delete(&self, name: &str) -> Result<(), Refusal> {
        let namespaces = self.kind.storage == crate::world::namespaces();
        if namespaces && ["default", "kube-system", "kube-public"].contains(&name) {
            let why = "this namespace may not be deleted";
            return Err(Refusal::forbidden(&self.kind.served(), name, why));
        }
        Ok(())
    }
}

/// A new node is not ready (TaintNodesByCondition).
fn taint(node: &mut Value) {
    const NOT_READY: &str = "node.kubernetes.io/not-ready";
    let taints = &mut node["spec"]["taints"];
    if !taints.is_array() {
        *taints = json!([]);
    }
    let Some(list) = taints.as_array_mut() else { return };
    if !list.iter().any(|taint| taint["key"] == NOT_READY && taint["effect"] == "NoSchedule") {
        list.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
    }
}
