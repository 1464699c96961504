//! What the subject saw when it made the write in question, beside what was true: for findings that need an old view.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;
use trace::{
    Call, CallId, Change, DeliveryKind, Event, GroupResource, ObjectKey, Record, Revision, Verb,
    diff,
};

use crate::{
    run::Trial,
    verdict::{Evidence, Verdict},
};

/// Objects that are told, and fields of each.
const TOLD_AT_MOST: usize = 3;

/// A sentence for each object that the subject saw otherwise than it was, when it sent the write in question: the first
/// after the last perturbation that is about an object of which the verdict speaks, or else the first at all.
pub fn seen(trial: &Trial, verdict: &Verdict) -> Vec<String> {
    let records = &trial.run.history.records;
    let Some(call) = write_in_question(trial, verdict) else { return vec![] };
    let Some(sent) = records
        .iter()
        .position(|record| matches!(&record.event, Event::Call(one) if one.id == call.id))
    else {
        return vec![];
    };
    let (view, was) = (View::at(&records[..sent], call), was(trial, sent));
    let mut told = Vec::new();
    for (key, object) in &view.objects {
        let truth = was.get(key);
        if truth.and_then(|truth| revision(truth)) != revision(object) {
            told.push(difference(key, object, truth.map(|truth| &**truth)));
        }
    }
    let whole = |key: &&ObjectKey| {
        view.types.get(&key.resource) == Some(&true) && !view.objects.contains_key(*key)
    };
    told.extend(was.keys().filter(whole).map(|key| format!("it did not see {key}, which existed")));
    let more = told.len().saturating_sub(TOLD_AT_MOST);
    told.truncate(TOLD_AT_MOST);
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    let write = format!("when it sent {}", said(call));
    told.into_iter().map(|text| format!("{write}: {text}")).collect()
}

fn said(call: &Call) -> String {
    let resource = call.resource.as_ref().map_or(String::new(), ToString::to_string);
    let name = match (call.name.as_str(), call.body.json()) {
        ("", Some(body)) => body["metadata"]["name"].as_str().unwrap_or_default(),
        (name, _) => name,
    };
    format!("{} of {resource}/{}/{name}", call.verb, call.namespace)
}

fn write_in_question<'t>(trial: &'t Trial, verdict: &Verdict) -> Option<&'t Call> {
    let spoken_of: BTreeSet<&str> = verdict
        .evidence
        .iter()
        .filter_map(|evidence| match evidence {
            Evidence::Deleted { object, .. } => Some(object.as_str()),
            _ => None,
        })
        .collect();
    let after = trial.after_last_perturbation();
    let records = &trial.run.history.records[after..];
    let by_subject = || {
        records.iter().filter_map(|record| match &record.event {
            Event::Commit(commit) if commit.actor.is_subject() && !commit.is_bookkeeping() => {
                Some(commit)
            }
            _ => None,
        })
    };
    let about = by_subject().find(|commit| {
        commit.change == Change::Deleted && spoken_of.contains(commit.key.to_string().as_str())
    });
    let call = about.or_else(|| by_subject().next())?.call?;
    trial.run.history.calls().find(|one| one.id == call)
}

/// What a start of the subject was told of the types that it lists and watches.
struct View {
    objects: BTreeMap<ObjectKey, Arc<Value>>,
    /// Whether all of a type in its namespaces is asked for.
    types: BTreeMap<GroupResource, bool>,
}

impl View {
    fn at(records: &[Record], call: &Call) -> View {
        let mut view = View { objects: BTreeMap::new(), types: BTreeMap::new() };
        let mut asked: BTreeMap<CallId, &Call> = BTreeMap::new();
        for record in records {
            match &record.event {
                Event::Call(one)
                    if one.actor == call.actor
                        && one.incarnation == call.incarnation
                        && matches!(one.verb, Verb::List | Verb::Watch) =>
                {
                    asked.insert(one.id, one);
                }
                Event::Answer(answer) => {
                    let items = answer.body.json().and_then(|body| body.get("items")?.as_array());
                    if let (Some(one), Some(items)) = (asked.get(&answer.call), items) {
                        view.lists(one, items);
                    }
                }
                Event::Delivery(delivery) => {
                    let object = delivery.object.as_ref();
                    if let (Some(one), Some(object)) = (asked.get(&delivery.watch), object) {
                        view.shows(one, delivery.kind, object);
                    }
                }
                _ => {}
            }
        }
        view
    }

    fn lists(&mut self, call: &Call, items: &[Value]) {
        let Some(resource) = &call.resource else { return };
        let whole = !call.uri.contains("Selector=") && call.namespace.is_empty();
        *self.types.entry(resource.clone()).or_default() |= whole;
        for item in items {
            self.objects.insert(key(resource, item), Arc::new(item.clone()));
        }
    }

    fn shows(&mut self, call: &Call, kind: DeliveryKind, object: &Arc<Value>) {
        let Some(resource) = &call.resource else { return };
        match kind {
            DeliveryKind::Added | DeliveryKind::Modified => {
                self.objects.insert(key(resource, object), object.clone());
            }
            DeliveryKind::Deleted => drop(self.objects.remove(&key(resource, object))),
            DeliveryKind::Bookmark | DeliveryKind::Error => {}
        }
    }
}

/// What was true when so many records had been made.
fn was(trial: &Trial, records: usize) -> BTreeMap<ObjectKey, Arc<Value>> {
    let mut was: BTreeMap<ObjectKey, Arc<Value>> = trial.run.start.iter().cloned().collect();
    for record in &trial.run.history.records[..records] {
        let Event::Commit(commit) = &record.event else { continue };
        match commit.change {
            Change::Deleted => was.remove(&commit.key),
            _ => was.insert(commit.key.clone(), commit.object.clone()),
        };
    }
    was
}

fn difference(key: &ObjectKey, saw: &Value, was: Option<&Value>) -> String {
    let at = |object: &Value| revision(object).unwrap_or_default().0;
    let Some(was) = was else {
        return format!("it saw {key} at revision {}, which had been deleted", at(saw));
    };
    let uid = |object: &Value| object["metadata"]["uid"].clone();
    let other = if uid(saw) == uid(was) { "" } else { ", another object of that name" };
    let all = diff::object_differences(&key.to_string(), saw, was);
    let deleted = |object: &Value| object["metadata"]["deletionTimestamp"].is_string();
    let going = match (deleted(saw), deleted(was)) {
        (false, true) => Some("it was not yet being deleted for it".to_owned()),
        (true, false) => Some("it was being deleted for it, and is not in the store".to_owned()),
        _ => None,
    };
    let fields = all.into_iter().filter_map(|one| {
        let path = one.path.to_string();
        // Items of lists don't say of which type they are.
        let counts = ![".apiVersion", ".kind"].contains(&path.as_str())
            && ![
                "resourceVersion",
                "managedFields",
                "generation",
                "uid",
                "creationTimestamp",
                "deletionTimestamp",
                "deletionGracePeriodSeconds",
            ]
            .iter()
            .any(|name| path.contains(name));
        let shown =
            |value: Option<Value>| value.map_or("nothing".to_owned(), |value| value.to_string());
        counts.then(|| {
            format!("{path} was {} for it and {} in the store", shown(one.left), shown(one.right))
        })
    });
    let fields: Vec<String> = going.into_iter().chain(fields).take(TOLD_AT_MOST).collect();
    let fields = if fields.is_empty() { String::new() } else { format!(": {}", fields.join(", ")) };
    format!("it saw {key} at revision {}; the store had it at {}{other}{fields}", at(saw), at(was))
}

fn revision(object: &Value) -> Option<Revision> {
    Revision::parse(object["metadata"]["resourceVersion"].as_str()?)
}

fn key(resource: &GroupResource, object: &Value) -> ObjectKey {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    ObjectKey::new(resource.clone(), text("namespace"), text("name"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_item_of_a_list_differs_in_what_it_says_only() {
        let saw = json!({"metadata": {"resourceVersion": "3"}, "spec": {"replicas": 1}});
        let was = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"resourceVersion": "5"}, "spec": {"replicas": 2, "kind": "x"},
        });
        let key = ObjectKey::new(GroupResource::new("apps", "replicasets"), "default", "web");
        let expect = "it saw replicasets.apps/default/web at revision 3; the store had it at 5: .spec.kind was nothing for it \
                      and \"x\" in the store, .spec.replicas was 1 for it and 2 in the store";
        assert_eq!(difference(&key, &saw, Some(&was)), expect);
    }
}
