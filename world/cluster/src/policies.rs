//! ValidatingAdmissionPolicies (`plugin/policy/validating`, `plugin/policy/generic`): rules in CEL that have a say in
//! what is written, asked after mutating webhooks and before validating ones.
//!
//! Upstream's policies work a second or so after they were written, ours at once; where several refuse, upstream tells
//! the first in the order of a Go map, ours by name. Who could notice: a client that writes a policy and counts on a
//! moment without it.
//!
//! Not here: MutatingAdmissionPolicies; audit annotations, for there is no audit log; limits of cost; the type check
//! that the kube-controller-manager writes into a policy's status.
//!
//! MutatingAdmissionPolicies are kept and not evaluated, which a warning says; they would stand beside this file.

mod params;
mod policy;
mod verdict;

use serde_json::{Value, json};

use crate::{
    status::Refusal,
    verbs::Work,
    webhooks::{Attributes, Calls, Resource, matching},
    world::{kinds::Kind, meta},
};

pub(crate) use policy::Policy;
use policy::{Binding, Denial};
use verdict::Inputs;

impl Work<'_> {
    /// Asks all policies about a write; `object` is what is about to be stored, none for a delete. Errors: what the
    /// first that denies says.
    pub(crate) fn judge(
        &mut self,
        about: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Refusal> {
        let policies = Policy::all(&self.live.world);
        let mut denials = Vec::new();
        for policy in &policies {
            self.judge_by(policy, about, object, &mut denials);
        }
        if self.calls.is_wanting() {
            return Err(Calls::stopped());
        }
        let Some(first) = denials.into_iter().next() else { return Ok(()) };
        let named = match (about.name.as_str(), object) {
            ("", Some(object)) => meta(object, "generateName"),
            ("", None) => "Unknown",
            (name, _) => name,
        };
        Err(first.refusal(&self.kind.served(), named))
    }

    fn judge_by(
        &mut self,
        policy: &Policy,
        about: &Attributes<'_>,
        object: Option<&Value>,
        denials: &mut Vec<Denial>,
    ) {
        let constraints = &policy.spec["matchConstraints"];
        let form = match self.constrained(constraints, about, object) {
            Ok(Some(form)) => form,
            Ok(None) => return,
            Err(why) => return denials.extend(policy.broken(None, &why)),
        };
        let kind = match params::kind(&self.live.world, &policy.spec["paramKind"]) {
            Ok(kind) => kind,
            Err(why) => return denials.extend(policy.broken(None, &why)),
        };
        for binding in policy.bindings(&self.live.world) {
            let found = self.by_binding(policy, &binding, kind.as_ref(), (&form, about, object));
            let denied = match found {
                Ok(denied) => denied,
                Err(why) => {
                    denials.extend(policy.broken(Some(&binding), &why));
                    continue;
                }
            };
            for denial in denied {
                if binding.does("Warn") {
                    self.warnings.push(denial.warning());
                }
                denials.extend(binding.does("Deny").then_some(denial));
            }
        }
    }

    /// What a policy finds wrong where one binding puts it to work. Errors: how that is misconfigured.
    fn by_binding(
        &mut self,
        policy: &Policy,
        binding: &Binding,
        kind: Option<&Kind>,
        (form, about, object): (&Resource, &Attributes<'_>, Option<&Value>),
    ) -> Result<Vec<Denial>, String> {
        let resources = &binding.spec["matchResources"];
        if resources.is_object() && self.constrained(resources, about, object)?.is_none() {
            return Ok(Vec::new());
        }
        let reference = &binding.spec["paramRef"];
        let params = self.params(kind, reference, &about.namespace)?;
        let shown = self
            .converted(form.clone(), about, object)
            .map_err(|refusal| format!("failed to convert object version: {}", refusal.message))?;
        let world = &self.live.world;
        let request =
            about.request(&shown.form, &shown.kind, shown.object.as_ref(), shown.old.as_ref());
        let namespace = match about.resource.is_namespaces() {
            true => None,
            false => matching::namespace(world, &about.namespace),
        };
        let namespace = namespace.map_or(Value::Null, shown_namespace);
        let (object, old) = (shown.object.as_ref(), shown.old.as_ref());
        let inputs = Inputs {
            request: &request,
            unconverted: &about.request(&about.resource, &shown.kind, object, old),
            namespace: &namespace,
            asker: &self.asker(),
            resource: &about.asked(),
        };
        let each = params.iter().map(|param| verdict::denials(policy, binding, &inputs, param));
        Ok(each.flatten().collect())
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
