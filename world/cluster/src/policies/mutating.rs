//! MutatingAdmissionPolicies at work on one write (`policy/mutating/dispatcher.go`): each sees what the one before it
//! made.
//!
//! Which policies are about a write is told by the object as it was before the first; their `matchConditions` see it as
//! it has become. A mutation that can't be carried out goes by `failurePolicy`, and the next is tried all the same.

use serde_json::Value;

use super::{
    Invocation,
    inputs::Part,
    policy::{Denial, Policy, Role},
};
use crate::{
    admission::Again,
    status::Refusal,
    verbs::Work,
    webhooks::{Attributes, Calls},
};

/// Why a mutation was not carried out.
pub(super) enum Failure {
    /// The request is refused with it, whatever the policy says.
    Refused(Refusal),
    /// The policy decides.
    Said(String),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Refused(refusal)
    }
}

impl Work<'_> {
    /// Lets all mutating policies change an object that is about to be created or updated. Errors: a policy that can't
    /// be carried out and must.
    pub(crate) fn mutate_by_policies(
        &mut self,
        about: &Attributes<'_>,
        object: &mut Value,
        again: &mut Again,
    ) -> Result<(), Refusal> {
        let (mut denials, mut found) = (Vec::new(), Vec::new());
        for policy in Policy::all(&self.live.world, Role::Mutating) {
            let invocations = self.invocations(&policy, about, Some(object), &mut denials);
            found.extend(invocations.into_iter().map(|one| (policy.clone(), one)));
        }
        if self.calls.is_wanting() {
            return Err(Calls::stopped());
        }
        let mut patched = false;
        for (policy, invocation) in &found {
            for param in &invocation.params {
                let one = (policy, invocation, param);
                patched |= self.invoke(one, about, object, again, &mut denials)?;
            }
        }
        // Whether or not a patch changed anything (`Dirty`).
        if patched {
            again.policies.changed();
            again.require();
        }
        self.refuse_denied(&denials, about, Some(object))
    }

    /// Whether any mutation of a policy was carried out. Errors: what the request is refused with.
    fn invoke(
        &mut self,
        (policy, invocation, param): (&Policy, &Invocation, &Value),
        about: &Attributes<'_>,
        object: &mut Value,
        again: &mut Again,
        denials: &mut Vec<Denial>,
    ) -> Result<bool, Refusal> {
        let mut shown = self.converted(invocation.form.clone(), about, Some(object))?;
        let mut fails = |why: String| {
            if !policy.ignores_failures() {
                denials.push(policy.denial(Some(&invocation.binding), why, "Invalid"));
            }
        };
        match self.inputs(about, &shown).are_met(policy, param) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(why) => {
                fails(why);
                return Ok(false);
            }
        }
        let known = |field: &str| param["metadata"][field].as_str().unwrap_or("");
        let (name, namespace) = (known("name"), known("namespace"));
        let who = format!("{}/{}/{namespace}/{name}", policy.name, invocation.binding.name);
        if again.is_second() && !again.policies.wants(&who) {
            return Ok(false);
        }
        let (before, mut patched) = (shown.object.clone(), false);
        let mutations = policy.spec["mutations"].as_array().into_iter().flatten();
        for mutation in mutations {
            let inputs = self.inputs(about, &shown);
            let variables = inputs.variables(policy, param, Part::Main);
            match self.mutated(mutation, &shown, &variables) {
                Ok(object) => (shown.object, patched) = (Some(object), true),
                Err(Failure::Refused(refusal)) => return Err(refusal),
                Err(Failure::Said(why)) => fails(why),
            }
        }
        if shown.object != before {
            again.policies.changed();
        }
        if policy.spec["reinvocationPolicy"] == "IfNeeded" {
            again.policies.remember(who);
        }
        if let Some(made) = shown.object.take().filter(|_| patched) {
            *object = match &shown.other {
                Some(_) => self.convert(&made, &self.kind.api_version())?,
                None => made,
            };
        }
        Ok(patched)
    }
}
