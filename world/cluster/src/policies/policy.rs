//! A policy, its bindings, and what they say when they deny.

use std::ops::Bound;

use serde_json::{Value, json};
use trace::GroupResource;

use crate::{
    status::Refusal,
    world::{World, meta},
};

const GROUP: &str = "admissionregistration.k8s.io";

/// A policy as it is stored.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(super) name: String,
    pub(super) spec: Value,
}

/// What puts a policy to work.
#[derive(Debug)]
pub(super) struct Binding {
    name: String,
    pub(super) spec: Value,
}

/// Why a write may not be.
#[derive(Debug)]
pub(super) struct Denial {
    policy: String,
    /// None where the policy itself is misconfigured.
    binding: Option<String>,
    message: String,
    /// Empty: the usual one.
    reason: String,
}

fn all(world: &World, plural: &str) -> Vec<(String, Value)> {
    let resource = GroupResource::new(GROUP, plural);
    let found = world.store.root().scan(&resource, "", Bound::Unbounded);
    found.map(|(_, object)| (meta(object, "name").to_owned(), object["spec"].clone())).collect()
}

impl Policy {
    /// All there are, by name.
    pub(super) fn all(world: &World) -> Vec<Policy> {
        let all = all(world, "validatingadmissionpolicies");
        all.into_iter().map(|(name, spec)| Policy { name, spec }).collect()
    }

    /// Whether there are any.
    pub(crate) fn any(world: &World) -> bool {
        world.store.root().count(&GroupResource::new(GROUP, "validatingadmissionpolicies")) > 0
    }

    /// Those that name it, by name.
    pub(super) fn bindings(&self, world: &World) -> Vec<Binding> {
        let all = all(world, "validatingadmissionpolicybindings").into_iter();
        all.filter(|(_, spec)| spec["policyName"] == *self.name)
            .map(|(name, spec)| Binding { name, spec })
            .collect()
    }

    /// `failurePolicy: Ignore`: what can't be evaluated counts as allowed.
    pub(super) fn ignores_failures(&self) -> bool {
        self.spec["failurePolicy"] == "Ignore"
    }

    /// What a policy says that can't be put to work, or a binding that can't do it.
    pub(super) fn broken(&self, binding: Option<&Binding>, why: &str) -> Option<Denial> {
        let what = if binding.is_some() { "binding" } else { "policy" };
        let message = format!("failed to configure {what}: {why}");
        (!self.ignores_failures()).then(|| self.denial(binding, message, ""))
    }

    pub(super) fn denial(
        &self,
        binding: Option<&Binding>,
        message: String,
        reason: &str,
    ) -> Denial {
        Denial {
            policy: self.name.clone(),
            binding: binding.map(|binding| binding.name.clone()),
            message,
            reason: reason.to_owned(),
        }
    }
}

impl Binding {
    /// Whether an action is taken when the policy denies.
    pub(super) fn does(&self, action: &str) -> bool {
        let mut actions = self.spec["validationActions"].as_array().into_iter().flatten();
        actions.any(|one| one == action)
    }
}

impl Denial {
    /// For a binding that only warns.
    pub(super) fn warning(&self) -> String {
        let binding = self.binding.as_deref().unwrap_or_default();
        format!(
            "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{binding}': {}",
            self.policy, self.message
        )
    }

    pub(super) fn refusal(self, resource: &GroupResource, name: &str) -> Refusal {
        let by = match &self.binding {
            Some(binding) => format!("'{}' with binding '{binding}'", self.policy),
            None => format!("'{}'", self.policy),
        };
        let message = format!("ValidatingAdmissionPolicy {by} denied request: {}", self.message);
        let mut refusal = Refusal::forbidden(resource, name, &message);
        let (code, reason) = match self.reason.as_str() {
            "Forbidden" => (403, "Forbidden"),
            "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
            _ => (422, "Invalid"),
        };
        (refusal.code, refusal.reason) = (code, reason.into());
        refusal.details.insert("causes".to_owned(), json!([{"message": message}]));
        refusal
    }
}
