//! Admission policies: rules in CEL that have a say in what is written. ValidatingAdmissionPolicies
//! (`plugin/policy/validating`) are asked after mutating webhooks and before validating ones, MutatingAdmissionPolicies
//! (`plugin/policy/mutating`, [`mutating`]) change what is written before mutating webhooks do; `plugin/policy/generic` is
//! what both share.
//!
//! Upstream's policies work a second or so after they were written, and know the fields of a new custom type some five
//! seconds after it; ours do both at once. Where several refuse, upstream tells the first in the order of a Go map, and
//! mutates in that order too; ours go by name. Who could notice: a client that writes a policy and counts on a moment
//! without it, or one whose policies depend on each other's order.
//!
//! Not here: audit annotations, for there is no audit log; limits of cost; the type check that the
//! kube-controller-manager writes into a policy's status.

mod atomics;
mod inputs;
mod mutating;
mod mutation;
mod params;
mod policy;
mod verdict;

use serde_json::{Value, json};

use crate::{
    status::Refusal,
    verbs::Work,
    webhooks::{Attributes, Calls, Resource, Shown, matching},
    world::{kinds::Kind, meta},
};

use inputs::Inputs;
use policy::{Binding, Denial};
pub(crate) use policy::{Policy, Role};

/// A policy put to work on one write.
struct Invocation {
    binding: Binding,
    /// The form of the type in which the policy asked for it.
    form: Resource,
    /// One after the other; null where none are asked for.
    params: Vec<Value>,
}

impl Work<'_> {
    /// Asks all policies about a write; `object` is what is about to be stored, none for a delete. Errors: what the
    /// first that denies says.
    pub(crate) fn judge(
        &mut self,
        about: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Refusal> {
        let policies = Policy::all(&self.live.world, Role::Validating);
        let mut denials = Vec::new();
        for policy in &policies {
            self.judge_by(policy, about, object, &mut denials);
        }
        if self.calls.is_wanting() {
            return Err(Calls::stopped());
        }
        self.refuse_denied(&denials, about, object)
    }

    fn refuse_denied(
        &self,
        denials: &[Denial],
        about: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Refusal> {
        let named = match (about.name.as_str(), object) {
            ("", Some(object)) => meta(object, "generateName"),
            ("", None) => "Unknown",
            (name, _) => name,
        };
        Denial::refusal(denials, &self.kind.served(), named).map_or(Ok(()), Err)
    }

    fn judge_by(
        &mut self,
        policy: &Policy,
        about: &Attributes<'_>,
        object: Option<&Value>,
        denials: &mut Vec<Denial>,
    ) {
        for Invocation { binding, form, params } in self.invocations(policy, about, object, denials)
        {
            let inputs = match self.converted(form, about, object) {
                Ok(shown) => self.inputs(about, &shown),
                Err(refusal) => {
                    let why = format!("failed to convert object version: {}", refusal.message);
                    denials.extend(policy.broken(Some(&binding), &why));
                    continue;
                }
            };
            let each =
                params.iter().map(|param| verdict::denials(policy, &binding, &inputs, param));
            for denial in each.flatten() {
                if binding.does("Warn") {
                    self.warnings.push(denial.warning());
                }
                denials.extend(binding.does("Deny").then_some(denial));
            }
        }
    }

    /// How bindings put a policy to work on a write. What is misconfigured denies it.
    fn invocations(
        &mut self,
        policy: &Policy,
        about: &Attributes<'_>,
        object: Option<&Value>,
        denials: &mut Vec<Denial>,
    ) -> Vec<Invocation> {
        let form = match self.constrained(&policy.spec["matchConstraints"], about, object) {
            Ok(Some(form)) => form,
            Ok(None) => return Vec::new(),
            Err(why) => {
                denials.extend(policy.broken(None, &why));
                return Vec::new();
            }
        };
        let kind = match params::kind(&self.live.world, &policy.spec["paramKind"]) {
            Ok(kind) => kind,
            Err(why) => {
                denials.extend(policy.broken(None, &why));
                return Vec::new();
            }
        };
        let mut found = Vec::new();
        for binding in policy.bindings(&self.live.world) {
            match self.bound(&binding, kind.as_ref(), about, object) {
                Ok(None) => {}
                Ok(Some(params)) => found.push(Invocation { binding, form: form.clone(), params }),
                Err(why) => denials.extend(policy.broken(Some(&binding), &why)),
            }
        }
        found
    }

    /// The parameters with which a binding puts its policy to work, if it does. Errors: how that is misconfigured.
    fn bound(
        &mut self,
        binding: &Binding,
        kind: Option<&Kind>,
        about: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<Option<Vec<Value>>, String> {
        let resources = &binding.spec["matchResources"];
        if resources.is_object() && self.constrained(resources, about, object)?.is_none() {
            return Ok(None);
        }
        self.params(kind, &binding.spec["paramRef"], &about.namespace).map(Some)
    }

    /// What expressions see of a write whose object is shown in the form that their policy asked for.
    fn inputs(&self, about: &Attributes<'_>, shown: &Shown) -> Inputs {
        let (object, old) = (shown.object.as_ref(), shown.old.as_ref());
        let namespace = match about.resource.is_namespaces() {
            true => None,
            false => matching::namespace(&self.live.world, &about.namespace),
        };
        Inputs {
            request: about.request(&shown.form, &shown.kind, object, old),
            unconverted: about.request(&about.resource, &shown.kind, object, old),
            namespace: namespace.map_or(Value::Null, shown_namespace),
            asker: self.asker(),
            resource: about.asked(),
        }
    }

    /// The objects that a binding refers to, in the version that its policy names; one that is null where none are asked
    /// for. Errors: there are none, though there have to be.
    fn params(
        &mut self,
        kind: Option<&Kind>,
        reference: &Value,
        namespace: &str,
    ) -> Result<Vec<Value>, String> {
        let Some(kind) = kind.filter(|_| reference.is_object()) else {
            return Ok(vec![Value::Null]);
        };
        let found = params::of(&self.live.world, kind, reference, namespace)?;
        let shown = self.present_as(kind, &found).map_err(|refusal| refusal.message)?;
        Ok(shown.into_iter().map(std::sync::Arc::unwrap_or_clone).collect())
    }

    /// The form of the type in which constraints ask for a write, if they do. Errors: its namespace is not there.
    fn constrained(
        &self,
        constraints: &Value,
        about: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<Option<Resource>, String> {
        let world = &self.live.world;
        let Some(selected) = matching::is_selected(world, constraints, about, object) else {
            return Ok(None);
        };
        let equivalent = constraints["matchPolicy"] != "Exact";
        let form = |rules| matching::form(world, rules, equivalent, about, &self.kind);
        if form(&constraints["excludeResourceRules"]).is_some() {
            return Ok(None);
        }
        let rules = &constraints["resourceRules"];
        let all = rules.as_array().is_none_or(Vec::is_empty);
        let form = if all { Some(about.resource.clone()) } else { form(rules) };
        match (form, selected) {
            (None, _) => Ok(None),
            (Some(_), Err(refusal)) => Err(refusal.message),
            (form, Ok(_)) => Ok(form),
        }
    }
}

/// What expressions see of a namespace (`CreateNamespaceObject`).
fn shown_namespace(namespace: &Value) -> Value {
    let metadata = &namespace["metadata"];
    let fields = [
        "name",
        "generateName",
        "namespace",
        "labels",
        "annotations",
        "uid",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "resourceVersion",
        "finalizers",
    ];
    let kept = fields.into_iter().filter_map(|field| {
        let value = metadata.get(field)?;
        Some((field.to_owned(), value.clone()))
    });
    json!({
        "metadata": Value::Object(kept.collect()),
        "spec": namespace["spec"],
        "status": namespace["status"],
    })
}
