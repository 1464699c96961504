//! The past templates of StatefulSets and DaemonSets, kept as ControllerRevisions
//! (`pkg/controller/history`, Kubernetes 1.36).

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use crate::{
    calls::{Calls, Response, Stop},
    object::{Body, Meta, Object, Owner, Text},
    read,
    replica_set::candidates,
    request::Request,
    selector::Selector,
    template::Template,
    view::View,
    write,
};

/// `apps.ControllerRevisionHashLabelKey`, also on pods: the revision that they were made from.
pub(crate) const REVISION_LABEL: &str = "controller-revision-hash";
/// `history.ControllerRevisionHashLabel`.
const DATA_HASH_LABEL: &str = "controller.kubernetes.io/hash";
/// Longest part of the owner's name in a revision's.
const PREFIX_LIMIT: usize = 223;

/// A ControllerRevision whose data is a pod template.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    /// `revision`.
    pub number: i64,
    /// `data.spec.template`.
    pub template: Template,
}

/// One of a history.
pub(crate) type Item = (ObjectKey, Object);

impl Revision {
    pub(crate) fn read(object: &Value) -> Revision {
        let mut template = object["data"]["spec"]["template"].clone();
        if let Some(template) = template.as_object_mut() {
            template.remove("$patch");
        }
        Revision { number: read::number(object, "revision"), template: Template::read(&template) }
    }
}

pub(crate) fn revisions() -> GroupResource {
    GroupResource::new("apps", "controllerrevisions")
}

/// The revision in an object of this type.
pub(crate) fn of(item: &Item) -> Option<&Revision> {
    match &item.1.body {
        Body::Revision(revision) => Some(revision),
        _ => None,
    }
}

fn number(item: &Item) -> i64 {
    of(item).map_or(0, |revision| revision.number)
}

/// What a workload controls or may adopt, oldest first.
pub(crate) fn list(view: &View, key: &ObjectKey, meta: &Meta, selector: &Selector) -> Vec<Item> {
    let resource = revisions();
    let mut items: Vec<Item> = candidates(view, &resource, &key.namespace, &meta.uid)
        .into_iter()
        .filter(|(_, object)| selector.matches(&object.meta.labels))
        .map(|(key, object)| (key, object.clone()))
        .collect();
    items.sort_by(|a, b| {
        let order = |item: &Item| (number(item), item.1.meta.created);
        order(a).cmp(&order(b)).then_with(|| a.0.name.cmp(&b.0.name))
    });
    items
}

/// Adopts those of them that nobody controls.
pub(crate) fn adopt(items: &[Item], owner: &Owner, calls: &mut Calls<'_>) -> Result<(), Stop> {
    for (key, object) in items.iter().filter(|(_, object)| object.meta.controller().is_none()) {
        branch!(HistoryAdopts);
        calls.must(|| Request::Adopt {
            key: key.clone(),
            uid: object.meta.uid.clone(),
            owner: owner.clone(),
            finalizer: None,
        })?;
    }
    Ok(())
}

/// The number that a new revision gets.
pub(crate) fn next_number(items: &[Item]) -> i64 {
    items.last().map_or(0, number).max(0) + 1
}

/// Sets the number of a revision. The revision after that.
pub(crate) fn renumber(item: &Item, number: i64, calls: &mut Calls<'_>) -> Result<Item, Stop> {
    let (key, object) = item;
    let written = calls.must(|| Request::Update {
        key: key.clone(),
        revision: object.meta.revision,
        subresource: "",
        fields: vec![("/revision", json!(number))],
    })?;
    Ok((key.clone(), written.unwrap_or_else(|| object.clone())))
}

/// How a new revision is called.
pub(crate) struct Names<'a> {
    /// The end of its name.
    pub(crate) hash: &'a Text,
    /// A label that it gets.
    pub(crate) label: &'static str,
    /// The label's value.
    pub(crate) hash_label: &'a Text,
}

/// Makes a revision of a template; counts names that are taken by another one.
pub(crate) fn create(
    view: &View,
    of: (&ObjectKey, &Meta, &Owner),
    template: &Template,
    number: i64,
    collisions: &mut i64,
    calls: &mut Calls<'_>,
) -> Result<Item, Stop> {
    let hash_label = &template.suffix(Some(*collisions));
    loop {
        let hash = &template.suffix(Some(*collisions));
        let names = Names { hash, label: DATA_HASH_LABEL, hash_label };
        match post(view, of, template, number, names, calls)? {
            Some(item) => return Ok(item),
            None => {
                branch!(HistoryCollision);
                *collisions += 1;
            }
        }
    }
}

/// Makes a revision of a template, or finds it made. None if the name is taken by another one.
pub(crate) fn post(
    view: &View,
    (key, meta, owner): (&ObjectKey, &Meta, &Owner),
    template: &Template,
    number: i64,
    names: Names<'_>,
    calls: &mut Calls<'_>,
) -> Result<Option<Item>, Stop> {
    let prefix = &key.name[..PREFIX_LIMIT.min(key.name.len())];
    let new = ObjectKey::new(revisions(), &key.namespace, &format!("{prefix}-{}", names.hash));
    let object = || revision(&new, meta, owner, template, number, &names);
    let sent = calls.send(|| Request::Create { key: new.clone(), object: Box::new(object()) })?;
    match sent {
        Response::Written(Some(made)) => Ok(Some((new, made.clone()))),
        Response::Refused { reason, .. } if **reason == *"AlreadyExists" => {
            let item = view.get(&new).map(|there| (new.clone(), there.clone()));
            Ok(item
                .filter(|item| of(item).is_some_and(|found| found.template.hash == template.hash)))
        }
        Response::Refused { code, message, .. } => Err(Stop::Failed(format!("{code}: {message}"))),
        _ => Err(Stop::Failed("it is gone already".to_owned())),
    }
}

fn revision(
    key: &ObjectKey,
    meta: &Meta,
    owner: &Owner,
    template: &Template,
    number: i64,
    names: &Names<'_>,
) -> Value {
    let mut labels = template.labels.clone();
    labels.insert(names.label.into(), names.hash_label.clone());
    let mut data = (*template.value).clone();
    data["$patch"] = json!("replace");
    let mut metadata = json!({
        "name": key.name, "namespace": key.namespace, "labels": write::labels(&labels),
        "ownerReferences": [write::owner(owner)],
    });
    if !meta.annotations.is_empty() {
        metadata["annotations"] = write::labels(&meta.annotations);
    }
    json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata,
        "data": {"spec": {"template": data}}, "revision": number,
    })
}

/// Deletes the oldest revisions beyond the limit, of those that are not in use.
pub(crate) fn truncate(
    items: &[Item],
    live: &BTreeSet<Text>,
    limit: i64,
    calls: &mut Calls<'_>,
) -> Result<(), Stop> {
    let Ok(limit) = usize::try_from(limit) else { return Ok(()) };
    let old: Vec<&Item> = items.iter().filter(|(key, _)| !live.contains(&key.name)).collect();
    for (key, object) in old.iter().take(old.len().saturating_sub(limit)) {
        branch!(HistoryForgets);
        calls.need(|| Request::delete(key.clone(), object.meta.uid.clone()))?;
    }
    Ok(())
}
