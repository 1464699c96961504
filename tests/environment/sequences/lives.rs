//! The life of each object: its changes, a name that is the same in both arms, and how it ended.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};
use trace::Change;

use super::forms::exact;
use crate::watched::{Happened, uid};

/// One object from its creation to its end.
pub struct Life<'a> {
    /// The plural of its type.
    pub of: &'static str,
    uid: &'a str,
    /// `TYPE/NAME`; the sets of a Deployment are numbered as they came, since their own names have a hash in them; who
    /// comes after one of the same name has a `'`.
    pub name: String,
    events: Vec<&'a Happened>,
}

impl<'a> Life<'a> {
    /// What it was like before it, or its namespace, was being deleted.
    pub fn states(&self, until: u64) -> Vec<&'a Value> {
        let events = self.events.iter().copied();
        let events = events.take_while(|event| {
            event.revision < until && event.change != Change::Deleted && !is_ending(&event.object)
        });
        events.map(|event| &event.object).collect()
    }

    /// What it was like until it was gone.
    pub fn all_states(&self) -> Vec<&'a Value> {
        let events = self.events.iter().copied();
        events
            .take_while(|event| event.change != Change::Deleted)
            .map(|event| &event.object)
            .collect()
    }

    /// Whether a Deployment made it.
    pub fn is_of_deployment(&self) -> bool {
        self.name.contains('#')
    }
}

/// Whether it is being deleted.
pub fn is_ending(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Who owns it as its controller: kind, name and uid.
pub fn controller(object: &Value) -> Option<(&str, &str, &str)> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true)?;
    Some((owner["kind"].as_str()?, owner["name"].as_str()?, owner["uid"].as_str()?))
}

/// From which revision on the namespace is being deleted.
pub fn end_of_namespace(happened: &[Arc<Happened>]) -> u64 {
    let mut of_it = happened.iter().filter(|event| event.of == "namespaces");
    let end = of_it.find(|event| event.change == Change::Deleted || is_ending(&event.object));
    end.map_or(u64::MAX, |event| event.revision)
}

/// All but pods, whose names are chance.
pub fn of(happened: &[Arc<Happened>]) -> Vec<Life<'_>> {
    let mut lives: Vec<Life> = Vec::new();
    for event in happened.iter().map(|event| &**event).filter(|event| event.of != "pods") {
        let uid = uid(&event.object);
        match lives.iter_mut().find(|life| life.uid == uid) {
            Some(life) => life.events.push(event),
            None => {
                let name = name(&lives, event);
                lives.push(Life { of: event.of, uid, name, events: vec![event] });
            }
        }
    }
    lives
}

fn name(before: &[Life], event: &Happened) -> String {
    if event.of == "replicasets"
        && let Some(("Deployment", owner, _)) = controller(&event.object)
    {
        let start = format!("{}/{owner}#", event.of);
        let number = before.iter().filter(|life| life.name.starts_with(&start)).count() + 1;
        return format!("{start}{number}");
    }
    let mut name =
        format!("{}/{}", event.of, event.object["metadata"]["name"].as_str().unwrap_or(""));
    while before.iter().any(|life| life.name == name) {
        name.push('\'');
    }
    name
}

/// Whether it is being deleted and what keeps it, change by change; at its end the types of what it leaves behind.
pub fn course(life: &Life, living: &[&Happened], until: u64) -> Value {
    exact(life.events.iter().map(|event| match event.change {
        Change::Deleted if event.revision >= until => json!("gone"),
        Change::Deleted => json!({"gone, leaving": left(life.uid, living, event.revision)}),
        _ => {
            let finalizers = event.object["metadata"]["finalizers"].as_array();
            json!({
                "deleted": is_ending(&event.object),
                "finalizers": finalizers.cloned().unwrap_or_default(),
            })
        }
    }))
}

/// The types of what was there at this revision and is owned by this uid as its controller, or blocks its deletion.
fn left<'a>(owner: &str, living: &[&'a Happened], at: u64) -> BTreeSet<&'a str> {
    let before: Vec<&Happened> =
        living.iter().copied().take_while(|event| event.revision < at).collect();
    let mut seen = BTreeSet::new();
    let newest = before.iter().rev().filter(|event| seen.insert(uid(&event.object)));
    let there = newest.filter(|event| event.change != Change::Deleted);
    there.filter(|event| is_held_by(&event.object, owner)).map(|event| event.of).collect()
}

fn is_held_by(object: &Value, uid: &str) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let mut owners = owners.filter(|owner| owner["uid"] == uid);
    owners.any(|owner| owner["controller"] == true || owner["blockOwnerDeletion"] == true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequences::sample::{Story, owned};

    fn owner() -> Value {
        json!({"metadata": {"name": "web", "finalizers": []}})
    }

    fn dying() -> Value {
        json!({"metadata": {
            "name": "web", "deletionTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": ["foregroundDeletion"],
        }})
    }

    fn pod() -> Value {
        owned("Deployment", "web", json!({"metadata": {"name": "web-x"}}))
    }

    #[test]
    fn an_owner_that_is_deleted_in_the_foreground_goes_last() {
        let story = || Story::default().made("deployments", owner()).made("pods", pod());
        let right =
            story().now("deployments", dying()).gone("pods", pod()).gone("deployments", dying());
        let early =
            story().now("deployments", dying()).gone("deployments", dying()).gone("pods", pod());
        let unmarked = story().gone("pods", pod()).gone("deployments", owner());
        // An update that is none of this.
        let other = story()
            .now("deployments", dying())
            .now("deployments", dying())
            .gone("pods", pod())
            .gone("deployments", dying());
        assert_eq!(right.told(), other.told());
        assert_ne!(right.told(), early.told());
        assert_ne!(right.told(), unmarked.told());
    }

    #[test]
    fn sets_of_a_deployment_are_numbered() {
        let set = |name: &str| owned("Deployment", "web", json!({"metadata": {"name": name}}));
        let story = Story::default()
            .made("replicasets", set("web-5f"))
            .made("replicasets", set("web-a1"))
            .made("configmaps", json!({"metadata": {"name": "m"}}))
            .gone("configmaps", json!({"metadata": {"name": "m"}}))
            .again("configmaps", json!({"metadata": {"name": "m"}}));
        let names: Vec<String> = of(&story.0).into_iter().map(|life| life.name).collect();
        assert_eq!(
            names,
            ["replicasets/web#1", "replicasets/web#2", "configmaps/m", "configmaps/m'"]
        );
    }
}
