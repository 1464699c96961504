//! A Pod as controllers see it.

use crate::object::Text;

/// A Pod.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pod {
    /// `spec.nodeName`; empty while it is not bound.
    pub node: Text,
    /// `status.phase`.
    pub phase: Text,
    /// `spec.terminationGracePeriodSeconds`.
    pub termination_grace_seconds: i64,
}

impl Pod {
    /// Whether its containers have ended for good.
    pub fn has_ended(&self) -> bool {
        matches!(&*self.phase, "Succeeded" | "Failed")
    }
}
