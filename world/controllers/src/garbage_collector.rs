//! The garbage collector (`pkg/controller/garbagecollector`, Kubernetes 1.36; user documentation:
//! kubernetes.io/docs/concepts/architecture/garbage-collection).
//!
//! An object goes when all its owners are absent, or when the last that is not waits for it to go. An owner
//! is known by its coordinates *and* uid: another object of the same name is no owner. Owners are looked up
//! in the object's own namespace; a cluster-scoped object can't have a namespaced owner, and such a
//! reference keeps it for ever.
//!
//! Upstream's virtual nodes, absent-owner cache and 30-second discovery resync have no part here: the view
//! is complete. So dependents whose owner's type appears later are looked at when it appears, not up to 30 s
//! later: a faster collector than any real one, and being late is what a plan may add.

use trace::ObjectKey;

use crate::{
    calls::{Calls, Reconciled},
    controller::{Affected, Change},
    object::{FOREGROUND, Meta, ORPHAN, Object, Owner, Text},
    request::{Propagation, Request},
    view::View,
};

/// What the owners of an object are.
#[derive(Default)]
struct Owners {
    solid: usize,
    /// Absent, by uid.
    dangling: Vec<Text>,
    /// Present, and waiting for this object to go.
    waiting: Vec<Text>,
}

pub(crate) fn reconcile(view: &View, key: &ObjectKey, calls: &mut Calls<'_>) -> Reconciled {
    let Some(item) = view.get(key) else { return Ok(None) };
    let meta = &*item.meta;
    if meta.orphans_dependents() {
        return orphan(view, key, meta, calls);
    }
    if meta.deletes_dependents() {
        if view.dependents(&meta.uid).any(|(_, dependent)| blocks(dependent, &meta.uid)) {
            branch!(GcWaits);
            return Ok(None); // the removal of each brings this one back
        }
        branch!(GcForegroundEnds);
        calls.need(|| remove_finalizer(key, meta, FOREGROUND))?;
        return Ok(None);
    }
    if meta.is_deleted() || meta.owners.is_empty() {
        return Ok(None);
    }
    let Some(owners) = classify(view, key, meta) else { return Ok(None) };
    if owners.solid > 0 {
        let gone = [owners.dangling, owners.waiting].concat();
        if !gone.is_empty() {
            let uid = meta.uid.clone();
            branch!(GcForgetsOwners);
            calls.need(|| Request::RemoveOwners { key: key.clone(), uid, owners: gone })?;
        }
        return Ok(None);
    }
    let waited_for = !owners.waiting.is_empty();
    let mut dependents = view.dependents(&meta.uid).peekable();
    let propagation = if waited_for && dependents.peek().is_some() {
        // A circle of objects that wait for each other, or what looks like one: this one blocks nobody any more.
        if dependents.any(|(_, dependent)| view.has_deleted_dependents(&dependent.meta.uid)) {
            let uid = meta.uid.clone();
            branch!(GcUnblocks);
            calls.need(|| Request::UnblockOwners { key: key.clone(), uid })?;
        }
        branch!(GcForeground);
        Propagation::Foreground
    } else if meta.has_finalizer(ORPHAN) {
        Propagation::Orphan
    } else if meta.has_finalizer(FOREGROUND) {
        Propagation::Foreground
    } else {
        branch!(GcBackground);
        Propagation::Background
    };
    calls.need(|| Request::Delete {
        key: key.clone(),
        uid: meta.uid.clone(),
        revision: Some(meta.revision),
        propagation: Some(propagation),
        grace_seconds: None,
    })?;
    Ok(None)
}

/// Lets every dependent go, then the object.
fn orphan(view: &View, key: &ObjectKey, meta: &Meta, calls: &mut Calls<'_>) -> Reconciled {
    for (dependent, object) in view.dependents(&meta.uid) {
        calls.need(|| Request::RemoveOwners {
            key: dependent.clone(),
            uid: object.meta.uid.clone(),
            owners: vec![meta.uid.clone()],
        })?;
    }
    branch!(GcOrphans);
    calls.need(|| remove_finalizer(key, meta, ORPHAN))?;
    Ok(None)
}

fn remove_finalizer(key: &ObjectKey, meta: &Meta, name: &str) -> Request {
    Request::SetFinalizers {
        key: key.clone(),
        revision: meta.revision,
        finalizers: meta.finalizers_without(name),
    }
}

fn blocks(dependent: &Object, owner: &str) -> bool {
    dependent.meta.owners.iter().any(|reference| *reference.uid == *owner && reference.blocks)
}

/// `None`: a reference keeps the object whatever becomes of the others: it can never be right, or its type is
/// not served (upstream asks again with back-off; here the object is looked at again when types change).
fn classify(view: &View, key: &ObjectKey, meta: &Meta) -> Option<Owners> {
    let mut owners = Owners::default();
    for reference in &meta.owners {
        let Owner { api_version, kind, .. } = reference;
        let found = view.kinds.get(api_version, kind)?;
        if key.namespace.is_empty() && found.namespaced {
            branch!(GcBadOwner);
            return None;
        }
        let namespace = if found.namespaced { &*key.namespace } else { "" };
        let at = ObjectKey::new(found.resource.clone(), namespace, &reference.name);
        match view.get(&at).filter(|owner| owner.meta.uid == reference.uid) {
            None => {
                branch!(GcDangling);
                owners.dangling.push(reference.uid.clone());
            }
            Some(owner) if owner.meta.deletes_dependents() => {
                owners.waiting.push(reference.uid.clone());
            }
            Some(_) => owners.solid += 1,
        }
    }
    Some(owners)
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    // Upstream collects nothing of these: nobody waits for them.
    if matches!(
        (&*change.key.resource.group, &*change.key.resource.resource),
        ("" | "events.k8s.io", "events")
    ) {
        return vec![];
    }
    let mut affected = Vec::new();
    if *change.key.resource.resource == *"customresourcedefinitions" {
        affected.extend(view.owned().map(Affected::now));
    }
    let owners = |object: Option<&Object>| object.map_or(vec![], |found| found.meta.owners.clone());
    let (before, after) = (owners(change.before), owners(change.after));
    // Owners that wait may have one dependent less to wait for.
    for lost in before.iter().filter(|owner| !after.contains(owner)) {
        if let Some((key, owner)) = view.by_uid(&lost.uid)
            && owner.meta.deletes_dependents()
        {
            affected.push(Affected::now(key));
        }
    }
    let waits = |object: Option<&Object>| object.is_some_and(|o| o.meta.deletes_dependents());
    let uid = |object: Option<&Object>| object.map(|found| found.meta.uid.clone());
    let gone = uid(change.before) != uid(change.after);
    if let Some(before) = change.before
        && (gone || waits(change.after) && !waits(change.before))
    {
        affected.extend(view.dependents(&before.meta.uid).map(|(key, _)| Affected::now(key)));
    }
    if let Some(object) = change.after
        && (!after.is_empty() || object.meta.is_deleted())
    {
        affected.push(Affected::now(change.key));
    }
    affected.dedup();
    affected
}

#[cfg(test)]
mod tests;
