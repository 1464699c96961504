//! A policy, its bindings, and what they say when they deny.

use std::ops::Bound;

use serde_json::{Value, json};
use trace::GroupResource;

use crate::{
    status::Refusal,
    world::{World, meta},
};

const GROUP: &str = "admissionregistration.k8s.io";

/// What policies of a kind do with a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Mutating,
    Validating,
}

impl Role {
    fn plural(self) -> &'static str {
        match self {
            Role::Mutating => "mutatingadmissionpolicies",
            Role::Validating => "validatingadmissionpolicies",
        }
    }

    fn bindings(self) -> &'static str {
        match self {
            Role::Mutating => "mutatingadmissionpolicybindings",
            Role::Validating => "validatingadmissionpolicybindings",
        }
    }
}

/// A policy as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    role: Role,
    pub(super) name: String,
    pub(super) spec: Value,
}

/// What puts a policy to work.
#[derive(Debug, Clone)]
pub(super) struct Binding {
    pub(super) name: String,
    pub(super) spec: Value,
}

/// Why a write may not be.
#[derive(Debug)]
pub(super) struct Denial {
    role: Role,
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
    /// All of a role, by name.
    pub(super) fn all(world: &World, role: Role) -> Vec<Policy> {
        let all = all(world, role.plural());
        all.into_iter().map(|(name, spec)| Policy { role, name, spec }).collect()
    }

    /// Whether there are any of a role.
    pub(crate) fn any(world: &World, role: Role) -> bool {
        world.store.root().count(&GroupResource::new(GROUP, role.plural())) > 0
    }

    /// Those that name it, by name.
    pub(super) fn bindings(&self, world: &World) -> Vec<Binding> {
        let all = all(world, self.role.bindings()).into_iter();
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
            role: self.role,
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

    /// Where policies of a role deny; the first says with what status. None: none does.
    pub(super) fn refusal(all: &[Denial], resource: &GroupResource, name: &str) -> Option<Refusal> {
        let first = all.first()?;
        // Validating ones tell the first only (`validating/dispatcher.go`), mutating ones all (`policyDispatcher`).
        let told = if first.role == Role::Validating { &all[..1] } else { all };
        let message = first.message();
        let mut refusal = Refusal::forbidden(resource, name, &message);
        if first.role == Role::Mutating {
            refusal.message = message;
        }
        let (code, reason) = match (first.role, first.reason.as_str()) {
            (_, "Forbidden") => (403, "Forbidden"),
            (Role::Mutating, "") => (403, "Forbidden"),
            (Role::Mutating, _) => (403, "Invalid"),
            (Role::Validating, "RequestEntityTooLarge") => (413, "RequestEntityTooLarge"),
            (Role::Validating, _) => (422, "Invalid"),
        };
        (refusal.code, refusal.reason) = (code, reason.into());
        let causes: Vec<Value> =
            told.iter().map(|denial| json!({"message": denial.message()})).collect();
        refusal.details.insert("causes".to_owned(), json!(causes));
        Some(refusal)
    }

    fn message(&self) -> String {
        let (policy, why) = (&self.policy, &self.message);
        match (self.role, &self.binding) {
            (Role::Validating, Some(binding)) => format!(
                "ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: {why}"
            ),
            (Role::Validating, None) => {
                format!("ValidatingAdmissionPolicy '{policy}' denied request: {why}")
            }
            (Role::Mutating, Some(binding)) => {
                format!("policy '{policy}' with binding '{binding}' denied request: {why}")
            }
            (Role::Mutating, None) => format!("policy {policy:?} denied request: {why}"),
        }
    }
}
