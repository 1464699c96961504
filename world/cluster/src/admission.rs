//! Admission: what may change or refuse a write after it was read and before it is validated.
//!
//! The plug-ins that upstream has on by default and that controllers see at work, each a function of the
//! request's object and the world, called in upstream's order: those that change an object first
//! ([`Work::admit`]), and once it is valid those that only refuse it ([`Work::admit_valid`]). Policies and webhooks come
//! after the former and before the latter ([`crate::policies`], [`crate::webhooks`]); only PodSecurity is asked before
//! the validating ones ([`pod_security`]). The check that a namespace exists and lives (NamespaceLifecycle) is
//! made where an object is created.

mod accounts;
mod again;
mod limits;
mod pod_security;
mod pods;
mod quota;
mod storage;
mod topology;

use serde_json::{Value, json};

use crate::{status::Refusal, verbs::Work, webhooks::Change, world::meta};
pub(crate) use again::Again;

impl Work<'_> {
    /// Lets the plug-ins and then the mutating policies and webhooks see a write; and once more, where one of them asked
    /// for that and something changed after it (`NewReinvocationHandler`). Says whether there are any. Errors: whatever
    /// admission refuses with.
    pub(crate) fn admit_all(
        &mut self,
        change: Change<'_>,
        new: &mut Value,
    ) -> Result<bool, Refusal> {
        self.admit(change.old, new, change.dry_run)?;
        // Of a Scale its own body is asked about, before it becomes a write of its object.
        if self.route.subresource == "scale" {
            return Ok(false);
        }
        let mut again = Again::default();
        let asked = self.mutate(change, new, &mut again)?;
        if again.is_due() {
            self.admit(change.old, new, change.dry_run)?;
            again.begin();
            self.mutate(change, new, &mut again)?;
        }
        Ok(asked)
    }

    /// Lets admission see a write; it may change `new`. Errors: whatever admission refuses with.
    pub(crate) fn admit(
        &mut self,
        old: Option<&Value>,
        new: &mut Value,
        dry_run: bool,
    ) -> Result<(), Refusal> {
        match self.route.subresource.as_str() {
            _ if self.kind.is_custom() => return Ok(()),
            "" => {}
            "binding" => {
                topology::label_binding(self, new);
                return Ok(());
            }
            _ => return Ok(()),
        }
        let row = self.kind.row();
        match (row.group.as_str(), row.resource.as_str(), old) {
            ("", "pods", None) => {
                limits::set_defaults(self, new);
                accounts::mount(self, new, dry_run)?;
                pods::priority(self, new)?;
                pods::tolerations(new);
                topology::label_pod(self, new);
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
            ("scheduling.k8s.io", "priorityclasses", _) => pods::one_default_class(self, new),
            _ => Ok(()),
        }
    }

    /// Lets admission see a write that is valid and about to be stored. Errors: 403.
    pub(crate) fn admit_valid(
        &mut self,
        old: Option<&Value>,
        new: &Value,
        dry_run: bool,
    ) -> Result<(), Refusal> {
        if self.route.namespace.is_empty() || !self.route.subresource.is_empty() {
            return Ok(());
        }
        let row = self.kind.row();
        match (row.group.as_str(), row.resource.as_str(), old) {
            ("", "pods", None) => limits::check_pod(self, new)?,
            ("", "persistentvolumeclaims", _) => limits::check_claim(self, new)?,
            _ => {}
        }
        quota::charge(self, old, new, dry_run)
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

/// Refuses an object if there are errors (`admission.NewForbidden`). Errors: 403.
fn refuse(work: &Work<'_>, object: &Value, errors: &[String]) -> Result<(), Refusal> {
    if errors.is_empty() {
        return Ok(());
    }
    let why = crate::rbac::aggregate(errors);
    Err(Refusal::forbidden(&work.kind.served(), meta(object, "name"), &why))
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
