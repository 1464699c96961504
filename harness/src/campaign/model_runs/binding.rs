//! Whether a binding can be meant: what is certain before anything runs.

use std::collections::BTreeSet;

use cluster::{Release, facts};
use model::{Binding, Bound, schedule::nearest};
use serde_json::Value;
use trace::GroupResource;
use workloads::{OperationKind, Workload};

use crate::campaign::expression;

/// What a binding is about.
pub struct Surroundings<'a> {
    /// Whose steps it may name.
    pub workload: &'a Workload,
    /// What is applied, definitions of types included.
    pub manifests: &'a [Value],
}

impl Surroundings<'_> {
    /// Looks for what there can't be.
    ///
    /// # Errors
    /// The field, what is wrong with it, and what may have been meant.
    pub fn check(&self, binding: &Binding) -> Result<(), String> {
        for (variable, text) in &binding.variables {
            expression::check(text).map_err(|why| format!("spec.variables.{variable}: {why}"))?;
        }
        for (action, bound) in &binding.actions {
            let field = |name: &str| format!("spec.actions.{action}.{name}");
            match bound {
                Bound::Internal => {}
                Bound::Request(of) => self.resource(&field("request"), &of.resource)?,
                Bound::CrashBefore(of) => self.resource(&field("crashBefore"), &of.resource)?,
                Bound::CrashAfter(of) => self.resource(&field("crashAfter"), &of.resource)?,
                Bound::Sees(of) => self.resource(&field("sees"), &of.resource)?,
                Bound::User(step) => self.step(&field("user"), *step)?,
            }
        }
        let mut free = binding.free.iter().enumerate();
        free.try_for_each(|(at, of)| self.resource(&format!("spec.free[{at}]"), &of.resource))
    }

    /// A type of a group that Kubernetes has by itself, or that manifests define. Of other groups nothing is known: the
    /// controller may define their types.
    fn resource(&self, field: &str, resource: &GroupResource) -> Result<(), String> {
        let built_in = [Release::CURRENT, Release::OLDEST].into_iter().flat_map(facts::resources);
        let built_in = built_in.map(|row| GroupResource::new(&row.group, &row.resource));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let defined = self.manifests.iter().filter(|of| of["kind"] == "CustomResourceDefinition");
        let defined = defined
            .map(|of| &of["spec"])
            .map(|spec| GroupResource::new(&text(&spec["group"]), &text(&spec["names"]["plural"])));
        let known: BTreeSet<GroupResource> = built_in.chain(defined).collect();
        if known.contains(resource) || !known.iter().any(|of| of.group == resource.group) {
            return Ok(());
        }
        let of_group = known.iter().filter(|of| of.group == resource.group);
        let of_group: Vec<String> = of_group.map(ToString::to_string).collect();
        let near = nearest(&resource.to_string(), of_group.iter());
        Err(format!("{field}.resource: there is no {resource}{near}"))
    }

    /// A step of the workload that writes.
    fn step(&self, field: &str, step: u32) -> Result<(), String> {
        let writes = self.workload.operations.iter().filter(|operation| {
            matches!(operation.kind, OperationKind::Act(_) | OperationKind::Concurrently(_))
        });
        let steps: BTreeSet<u32> =
            writes.map(|operation| operation.step).filter(|at| *at > 0).collect();
        if steps.contains(&step) {
            return Ok(());
        }
        let steps: Vec<String> = steps.iter().map(u32::to_string).collect();
        let there = steps.join(", ");
        Err(format!("{field}: the workload has no step {step} that writes; those that do: {there}"))
    }
}

/// The bound actions that none of these names is.
pub fn unused<'b>(binding: &'b Binding, actions: &BTreeSet<String>) -> Vec<&'b str> {
    let names = binding.actions.keys().filter(|name| !actions.contains(*name));
    names.map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn what_there_can_not_be_is_told_with_its_field() {
        let workload = "apiVersion: trommel.dev/v1alpha1\nkind: Test\nmetadata: {name: a}\nspec:\n  steps:\n\
            \x20   - try: [{apply: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}}}]\n\
            \x20   - try: [{settle: {}}]\n";
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("workload.yaml");
        std::fs::write(&file, workload).expect("it is written");
        let workload = Workload::load(&file, &BTreeMap::new()).expect("a workload");
        let foo = json!({"kind": "CustomResourceDefinition", "spec": {"group": "a.b", "names": {"plural": "foos"}}});
        let there = Surroundings { workload: &workload, manifests: &[foo] };
        let check = |bound: Value, expect: Option<&str>| {
            let binding =
                serde_json::from_value(json!({"actions": {"A": bound}})).expect("a binding");
            assert_eq!(there.check(&binding).err().as_deref(), expect);
        };
        let create = |resource: &str| json!({"verb": "create", "resource": resource});
        for fine in ["configmaps", "foos.a.b", "things.of.another", "deployments.apps"] {
            check(json!({"request": create(fine)}), None);
        }
        check(
            json!({"crashBefore": create("configmap")}),
            Some(
                "spec.actions.A.crashBefore.resource: there is no configmap: did you mean \"configmaps\"?",
            ),
        );
        check(
            json!({"request": create("fo.a.b")}),
            Some("spec.actions.A.request.resource: there is no fo.a.b: did you mean \"foos.a.b\"?"),
        );
        check(json!({"user": 1}), None);
        check(
            json!({"user": 2}),
            Some("spec.actions.A.user: the workload has no step 2 that writes; those that do: 1"),
        );
    }

    #[test]
    fn actions_that_no_run_has_are_named() {
        let binding = json!({"actions": {"A": "internal", "B": "internal"}});
        let binding = serde_json::from_value(binding).expect("a binding");
        assert_eq!(unused(&binding, &BTreeSet::from(["A".to_owned()])), ["B"]);
    }
}
