//! PodSecurity (`k8s.io/pod-security-admission`, KEP-2579): what labels of a namespace
//! (`pod-security.kubernetes.io/enforce`, `warn`, `audit`, each with its `-version`) ask of the pods in it. Pods that
//! `enforce` does not allow are refused; of pods and of what makes pods there are warnings by `warn`; and who tightens the
//! labels hears of pods that are there already.
//!
//! Of a namespace without labels everything is allowed, and nobody is exempt: so it is where nobody configures the
//! plug-in. `audit` is read and has no effect, for there is no audit log. Upstream looks at 3000 pods of a namespace at
//! most and for one second, this server at all.

mod checks;
mod containers;
mod labels;
mod pod;
mod settings;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    ops::Bound,
};

use serde_json::Value;
use trace::GroupResource;

use self::{
    checks::{Objection, objections},
    labels::{Bar, Policy},
    pod::Pod,
};
use crate::{schema::FieldError, status::Refusal, verbs::Work, webhooks::matching, world::meta};

/// Where what makes pods has its template.
const TEMPLATES: [(&str, &str, &str); 8] = [
    ("", "podtemplates", "/template"),
    ("", "replicationcontrollers", "/spec/template"),
    ("apps", "replicasets", "/spec/template"),
    ("apps", "deployments", "/spec/template"),
    ("apps", "statefulsets", "/spec/template"),
    ("apps", "daemonsets", "/spec/template"),
    ("batch", "jobs", "/spec/template"),
    ("batch", "cronjobs", "/spec/jobTemplate/spec/template"),
];

impl Work<'_> {
    /// Looks at a write that is valid and about to be stored, and may warn. Errors: 403 for a pod that its namespace does
    /// not allow; 422 for labels of a namespace that say nothing.
    pub(crate) fn secure(&mut self, old: Option<&Value>, new: &Value) -> Result<(), Refusal> {
        if !self.live.world.pod_security {
            return Ok(());
        }
        let row = self.kind.row();
        let main = self.route.subresource.is_empty();
        match (row.group.as_str(), row.resource.as_str()) {
            ("", "namespaces") if main => self.secure_namespace(old, new),
            ("", "pods")
                if main || matches!(&*self.route.subresource, "ephemeralcontainers" | "resize") =>
            {
                self.secure_pod(old, new)
            }
            (group, resource) if main => {
                let found =
                    TEMPLATES.iter().find(|(of, plural, _)| (*of, *plural) == (group, resource));
                if let Some(template) = found.and_then(|(_, _, at)| new.pointer(at)) {
                    self.warn_insecure(&self.security().0, template);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What the namespace of the request asks for, and what is wrong with how it says so.
    fn security(&self) -> (Policy, Vec<FieldError>) {
        let namespace = matching::namespace(&self.live.world, &self.route.namespace);
        labels::policy(namespace.unwrap_or(&Value::Null))
    }

    fn secure_pod(&mut self, old: Option<&Value>, new: &Value) -> Result<(), Refusal> {
        let policy = self.security().0;
        if old.is_some_and(|old| !is_significant(old, new)) {
            return Ok(());
        }
        let found = objections(policy.enforce, &Pod::of(new));
        if !found.is_empty() {
            let why = format!("violates PodSecurity \"{}\": {}", policy.enforce, told(&found));
            return Err(Refusal::forbidden(&self.kind.served(), meta(new, "name"), &why));
        }
        self.warn_insecure(&policy, new);
        Ok(())
    }

    fn warn_insecure(&mut self, policy: &Policy, pod: &Value) {
        let found = objections(policy.warn, &Pod::of(pod));
        if !found.is_empty() {
            let bar = policy.warn;
            self.warnings.push(format!("would violate PodSecurity \"{bar}\": {}", told(&found)));
        }
    }

    /// Labels that say nothing are refused where they are new, and tighter ones held against the pods that are there
    /// (`ValidateNamespace`).
    fn secure_namespace(&mut self, old: Option<&Value>, new: &Value) -> Result<(), Refusal> {
        let (policy, errors) = labels::policy(new);
        let before = old.map(labels::policy);
        let known = before.as_ref().map_or(&[][..], |(_, errors)| errors.as_slice());
        if !errors.is_empty() && errors != known {
            return Err(Refusal::invalid("", "Namespace", meta(new, "name"), &errors));
        }
        if let Some((before, _)) = before
            && policy.enforce.is_news_after(before.enforce)
        {
            let warnings = self.insecure_pods(meta(new, "name"), policy.enforce);
            self.warnings.extend(warnings);
        }
        Ok(())
    }

    /// Warnings of the pods of a namespace, those for the same reasons in one (`EvaluatePodsInNamespace`).
    fn insecure_pods(&self, namespace: &str, bar: Bar) -> Vec<String> {
        let mut reasons: BTreeMap<String, (String, usize)> = BTreeMap::new();
        let pods = self.live.world.store.root().scan(
            &GroupResource::new("", "pods"),
            namespace,
            Bound::Unbounded,
        );
        for (_, pod) in pods {
            let found = objections(bar, &Pod::of(pod));
            if found.is_empty() {
                continue;
            }
            let reason: Vec<&str> = found.iter().map(|one| one.reason.as_str()).collect();
            // They come by name.
            match reasons.entry(reason.join(", ")) {
                Entry::Vacant(entry) => drop(entry.insert((meta(pod, "name").to_owned(), 0))),
                Entry::Occupied(mut entry) => entry.get_mut().1 += 1,
            }
        }
        if reasons.is_empty() {
            return Vec::new();
        }
        let mut warnings: Vec<String> = reasons
            .into_iter()
            .map(|(reason, (name, others))| match others {
                0 => format!("{name}: {reason}"),
                1 => format!("{name} (and 1 other pod): {reason}"),
                _ => format!("{name} (and {others} other pods): {reason}"),
            })
            .collect();
        warnings.sort();
        warnings.insert(
            0,
            format!(
                "existing pods in namespace {namespace:?} violate the new PodSecurity enforce level \"{bar}\""
            ),
        );
        warnings
    }
}

/// `ForbiddenDetail`
fn told(found: &[Objection]) -> String {
    let each = found.iter().map(|one| match one.detail.as_str() {
        "" => one.reason.clone(),
        detail => format!("{} ({detail})", one.reason),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// Whether an update of a pod changes what is looked at: its containers and their images (`isSignificantPodUpdate`).
fn is_significant(old: &Value, new: &Value) -> bool {
    let of = |pod: &Value, field: &str| pod["spec"][field].as_array().cloned().unwrap_or_default();
    for field in ["containers", "initContainers"] {
        let (old, new) = (of(old, field), of(new, field));
        let same = |(old, new): (&Value, &Value)| old["image"] == new["image"];
        if old.len() != new.len() || !old.iter().zip(&new).all(same) {
            return true;
        }
    }
    let known = of(old, "ephemeralContainers");
    let is_known = |new: &Value| {
        let old = known.iter().find(|old| old["name"] == new["name"]);
        old.is_some_and(|old| old["image"] == new["image"])
    };
    !of(new, "ephemeralContainers").iter().all(is_known)
}
