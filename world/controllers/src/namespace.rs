//! The namespace controller (`pkg/controller/namespace`, Kubernetes 1.36): empties namespaces that are being
//! deleted, says in their conditions what remains, and lets them go.
//!
//! Pods go first; while any is left nothing else is deleted (KEP-5080, ordered namespace deletion). The other
//! types go by name; upstream's order among them is random. Types without objects are passed over, upstream
//! asks for each: nobody sees the difference in the store.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled, Response, Stop},
    controller::{Affected, Change},
    object::{Body, Meta, Text},
    request::{Propagation, Request},
    view::View,
};

/// How long after the last change of a terminating namespace its content is deleted
/// (`namespaceDeletionGracePeriod`).
const GRACE: Duration = Duration::from_secs(5);
/// How long finalizers are expected to take, in seconds (`finalizerEstimateSeconds`).
const FINALIZERS_TAKE_SECONDS: i64 = 15;
/// The finalizer that is this controller's (`v1.FinalizerKubernetes`).
const KUBERNETES: &str = "kubernetes";
const TERMINATING: &str = "Terminating";

/// A Namespace.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Namespace {
    /// `spec.finalizers`.
    pub finalizers: Vec<Text>,
    /// `status.phase`.
    pub phase: Text,
    /// `status.conditions`, in order.
    pub conditions: Vec<Condition>,
}

/// A condition of a Namespace.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// `type`.
    pub kind: Text,
    /// Whether `status` is True.
    pub status: bool,
    /// `lastTransitionTime`.
    pub since: Time,
    /// `reason`.
    pub reason: Text,
    /// `message`.
    pub message: Text,
}

/// The conditions that this controller keeps, in upstream's order: type, reason and message when all is well.
const CONDITIONS: [(&str, &str, &str); 5] = [
    (
        "NamespaceDeletionDiscoveryFailure",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    (
        "NamespaceFinalizersRemaining",
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
];

/// What was found to be left.
#[derive(Default)]
struct Remains {
    /// How long it may take, in seconds.
    estimate: i64,
    by_type: BTreeMap<GroupResource, usize>,
    by_finalizer: BTreeMap<Text, usize>,
    failures: Vec<String>,
}

pub(crate) fn keys_affected(change: &Change<'_>) -> Vec<Affected> {
    match change.after {
        Some(object) if matches!(object.body, Body::Namespace(_)) && object.meta.is_deleted() => {
            vec![Affected { key: change.key.clone(), after: GRACE }]
        }
        _ => vec![],
    }
}

pub(crate) fn namespaces() -> GroupResource {
    GroupResource::new("", "namespaces")
}

pub(crate) fn reconcile(
    view: &View,
    key: &ObjectKey,
    now: Time,
    calls: &mut Calls<'_>,
) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::Namespace(namespace) = &object.body else { return Ok(None) };
    let Some(deleted) = object.meta.deleted else { return Ok(None) };
    let mut revision = object.meta.revision;
    let status = |revision, conditions: Vec<Condition>| Request::NamespaceStatus {
        key: key.clone(),
        revision,
        phase: TERMINATING.into(),
        conditions,
    };
    if *namespace.phase != *TERMINATING {
        let written = calls.need(|| status(revision, namespace.conditions.clone()))?;
        let Response::Written(Some(written)) = written else { return Ok(None) };
        revision = written.meta.revision;
    }
    if namespace.finalizers.is_empty() {
        return Ok(None);
    }
    let mut remains = Remains::default();
    let pods = GroupResource::new("", "pods");
    let others = view.resources().filter(|resource| **resource != pods);
    for resource in std::iter::once(&pods).chain(others) {
        if view.list(resource, &key.name).next().is_some() {
            remains.empty(view, resource, &key.name, now.since(deleted), calls)?;
        }
        if *resource == pods && !remains.by_type.is_empty() {
            // Upstream's conditions say nothing of pods that hold up the rest.
            branch!(NamespacePodsFirst);
            remains.by_type.clear();
            remains.by_finalizer.clear();
            break;
        }
    }
    let conditions = remains.conditions(&namespace.conditions, now);
    if conditions != namespace.conditions {
        // A refusal is only logged upstream; but the write makes a new revision, which the last step needs.
        if let Response::Written(Some(written)) = calls.send(|| status(revision, conditions))? {
            revision = written.meta.revision;
        }
    }
    if !remains.failures.is_empty() {
        return Err(Stop::Failed(remains.failures.join(", ")));
    }
    if remains.estimate > 0 {
        branch!(NamespaceComesBack);
        return Ok(Some(Duration::from_secs((remains.estimate / 2 + 1).unsigned_abs())));
    }
    branch!(NamespaceFinalizes);
    calls.need(|| Request::NamespaceFinalize {
        key: key.clone(),
        revision,
        finalizers: namespace.finalizers.iter().filter(|f| ***f != *KUBERNETES).cloned().collect(),
    })?;
    Ok(None)
}

impl Remains {
    /// Deletes a type's objects in a namespace and counts what is left.
    fn empty(
        &mut self,
        view: &View,
        resource: &GroupResource,
        namespace: &Text,
        since: Duration,
        calls: &mut Calls<'_>,
    ) -> Result<(), Stop> {
        let estimate = estimate(view, resource, namespace, since);
        let deleted = calls.send(|| Request::DeleteCollection {
            resource: resource.clone(),
            namespace: namespace.clone(),
            propagation: Propagation::Background,
        })?;
        if let Response::Refused { message, .. } = deleted {
            self.failures.push(message.to_string());
            self.estimate = self.estimate.max(estimate);
            return Ok(());
        }
        let listed = calls
            .send(|| Request::List { resource: resource.clone(), namespace: namespace.clone() })?;
        let Response::Listed(left) = listed else { return Ok(()) };
        self.count(resource, namespace, left, estimate);
        Ok(())
    }

    fn count(
        &mut self,
        resource: &GroupResource,
        namespace: &str,
        left: &[Arc<Meta>],
        estimate: i64,
    ) {
        if left.is_empty() {
            return;
        }
        self.by_type.insert(resource.clone(), left.len());
        let finalizers: Vec<&Text> = left.iter().flat_map(|meta| &meta.finalizers).collect();
        for finalizer in &finalizers {
            *self.by_finalizer.entry((*finalizer).clone()).or_default() += 1;
        }
        let takes = match estimate {
            0 if finalizers.is_empty() => {
                self.failures.push(format!(
                    "unexpected items still remain in namespace: {namespace} for {resource}"
                ));
                0
            }
            0 => {
                branch!(NamespaceFinalizers);
                FINALIZERS_TAKE_SECONDS
            }
            estimate => estimate,
        };
        self.estimate = self.estimate.max(takes);
    }

    /// All conditions, from those before; times only move where a status changes.
    fn conditions(&self, before: &[Condition], now: Time) -> Vec<Condition> {
        let mut conditions = before.to_vec();
        for (kind, reason, message) in CONDITIONS {
            let (status, reason, message) = match self.trouble(kind) {
                Some((reason, message)) => (true, reason, message),
                None => (false, reason, message.to_owned()),
            };
            let found = conditions.iter_mut().find(|condition| *condition.kind == *kind);
            let new = Condition {
                kind: kind.into(),
                status,
                since: now,
                reason: reason.into(),
                message: message.into(),
            };
            match found {
                None => conditions.push(new),
                Some(old) => {
                    let since = if old.status == status { old.since } else { now };
                    *old = Condition { since, ..new };
                }
            }
        }
        conditions
    }

    /// Reason and message of a condition that is true.
    fn trouble(&self, condition: &str) -> Option<(&'static str, String)> {
        let (reason, intro, items) = match condition {
            "NamespaceDeletionContentFailure" => {
                let mut failures = self.failures.clone();
                failures.sort();
                let intro =
                    format!("Failed to delete all resource types, {} remaining", failures.len());
                ("ContentDeletionFailed", intro, failures)
            }
            "NamespaceContentRemaining" => {
                let instance = |(resource, count): (&GroupResource, &usize)| {
                    format!(
                        "{}.{} has {count} resource instances",
                        resource.resource, resource.group
                    )
                };
                let mut items: Vec<String> = self.by_type.iter().map(instance).collect();
                items.sort();
                ("SomeResourcesRemain", "Some resources are remaining".to_owned(), items)
            }
            "NamespaceFinalizersRemaining" => {
                let instance = |(name, count): (&Text, &usize)| {
                    format!("{name} in {count} resource instances")
                };
                let items = self.by_finalizer.iter().map(instance).collect();
                let intro = "Some content in the namespace has finalizers remaining".to_owned();
                ("SomeFinalizersRemain", intro, items)
            }
            _ => return None,
        };
        (!items.is_empty()).then(|| (reason, format!("{intro}: {}", items.join(", "))))
    }
}

/// How long a type's objects may take to go, in seconds: the longest grace period of its pods, until the
/// namespace has been waiting for longer.
fn estimate(view: &View, resource: &GroupResource, namespace: &str, since: Duration) -> i64 {
    let periods =
        view.list(resource, namespace).filter_map(|(_, object)| object.body.grace_seconds());
    let longest = periods.max().unwrap_or(0);
    let over = since >= Duration::from_secs(longest.unsigned_abs());
    if over { 0 } else { longest }
}

#[cfg(test)]
mod tests;
