//! Pods that have a place of their own: a StatefulSet's by their ordinals; and a DaemonSet's.
//!
//! A StatefulSet that is `OrderedReady` does one thing after the other (`runForAll` of `stateful_set_control.go`), so the
//! comings and goings of all its pods have one order. Where it is `Parallel` they come in batches, and each pod has an
//! order of its own. Of a DaemonSet the lives of its pods are told, on whatever nodes: a scenario ends or deletes one of
//! them by its generated name, so which node that concerns is chance. Pods that were there before are adopted in the
//! order of a Go map (`ClaimPods` of `controller_ref_manager.go` goes through an informer's list), which is not told.
//! Once the owner is being deleted its pods are the garbage collector's, in any order.

use std::collections::BTreeMap;

use trace::Change;

use super::lives::{controller, is_ending};
use crate::watched::{Happened, uid};

/// A pod that is there.
struct Pod<'a> {
    owner: &'a str,
    list: String,
    label: String,
    is_marked: bool,
}

/// An owner that is there.
struct Owner {
    name: String,
    is_ordered: bool,
}

/// Owner, or owner and place → `+` a pod comes, `~` it is marked, `-` it goes; of a DaemonSet the life of each pod,
/// in any order.
pub fn of(living: &[&Happened]) -> BTreeMap<String, Vec<String>> {
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (list, course) in by_place(living) {
        match list.split_once(' ') {
            Some((owner, _)) if owner.starts_with("daemonsets/") => {
                told.entry(owner.to_owned()).or_default().push(course.join(" "));
            }
            _ => drop(told.insert(list, course)),
        }
    }
    for (owner, courses) in &mut told {
        if owner.starts_with("daemonsets/") {
            courses.sort();
        }
    }
    told
}

/// The same with each pod of a DaemonSet by itself.
fn by_place(living: &[&Happened]) -> BTreeMap<String, Vec<String>> {
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut owners, mut pods) = (BTreeMap::<&str, Owner>::new(), BTreeMap::<&str, Pod>::new());
    for event in living {
        let uid = uid(&event.object);
        match event.of {
            "statefulsets" | "daemonsets" => match owner(event) {
                Some(owner) => drop(owners.insert(uid, owner)),
                None => drop(owners.remove(uid)),
            },
            "pods" => {
                let is_known = pods.get(uid).is_some_and(|pod| owners.contains_key(pod.owner));
                let comes = if is_known { None } else { pod(event, &owners) };
                if let Some(pod) = comes {
                    if event.change == Change::Created {
                        told.entry(pod.list.clone()).or_default().push(format!("+{}", pod.label));
                    }
                    pods.insert(uid, pod);
                }
                let Some(pod) = pods.get_mut(uid).filter(|pod| owners.contains_key(pod.owner))
                else {
                    continue;
                };
                let list = told.entry(pod.list.clone()).or_default();
                if event.change == Change::Deleted {
                    list.push(format!("-{}", pod.label));
                    pods.remove(uid);
                } else if is_ending(&event.object) && !pod.is_marked {
                    list.push(format!("~{}", pod.label));
                    pod.is_marked = true;
                }
            }
            _ => {}
        }
    }
    told
}

/// None once it goes.
fn owner(event: &Happened) -> Option<Owner> {
    if event.change == Change::Deleted || is_ending(&event.object) {
        return None;
    }
    let name = event.object["metadata"]["name"].as_str()?;
    let is_ordered =
        event.of == "statefulsets" && event.object["spec"]["podManagementPolicy"] != "Parallel";
    Some(Owner { name: format!("{}/{name}", event.of), is_ordered })
}

/// A pod of one of these owners.
fn pod<'a>(event: &'a Happened, owners: &BTreeMap<&str, Owner>) -> Option<Pod<'a>> {
    if event.change == Change::Deleted {
        return None;
    }
    let (_, _, uid) = controller(&event.object)?;
    let owner = owners.get(uid)?;
    let place = match owner.name.starts_with("daemonsets/") {
        true => crate::watched::uid(&event.object),
        false => event.object["metadata"]["name"].as_str().unwrap_or(""),
    };
    let image = event.object["spec"]["containers"][0]["image"].as_str().unwrap_or("");
    let list =
        if owner.is_ordered { owner.name.clone() } else { format!("{} {place}", owner.name) };
    let label = match owner.name.starts_with("daemonsets/") {
        true => image.to_owned(),
        false => format!("{place} {image}"),
    };
    Some(Pod { owner: uid, list, label, is_marked: false })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::sequences::sample::{Story, owned};

    fn set(policy: &str) -> Value {
        json!({"metadata": {"name": "db"}, "spec": {"podManagementPolicy": policy}})
    }

    fn member(name: &str, image: &str) -> Value {
        let spec = json!({"containers": [{"image": image}], "nodeName": name});
        owned("StatefulSet", "db", json!({"metadata": {"name": name}, "spec": spec}))
    }

    /// Pods that come (`+`) and go (`-`).
    fn told(of: &'static str, owner: Value, course: &[(char, &str)]) -> Value {
        let start = Story::default().made(of, owner);
        let story = course.iter().fold(start, |story, (what, name)| match what {
            '+' => story.made("pods", member(name, "v1")),
            _ => story.gone("pods", member(name, "v1")),
        });
        story.told()["pods in order"].clone()
    }

    #[test]
    fn ordered_sets_have_one_order() {
        let up = [('+', "db-0"), ('+', "db-1")];
        let turned = [('+', "db-1"), ('+', "db-0")];
        let told =
            |policy: &str, course: &[(char, &str)]| told("statefulsets", set(policy), course);
        assert_eq!(told("OrderedReady", &up), json!({"statefulsets/db": ["+db-0 v1", "+db-1 v1"]}));
        assert_ne!(told("OrderedReady", &up), told("OrderedReady", &turned));
        assert_eq!(told("Parallel", &up), told("Parallel", &turned));
        let again = [('+', "db-0"), ('-', "db-0"), ('+', "db-1")];
        assert_ne!(told("Parallel", &up), told("Parallel", &again));
    }

    #[test]
    fn each_pod_of_a_daemon_set_has_a_life() {
        let told = |course: &[(char, &str)]| {
            told("daemonsets", json!({"metadata": {"name": "db"}}), course)
        };
        let one = told(&[('+', "a"), ('+', "b"), ('-', "a"), ('-', "b")]);
        assert_eq!(one, told(&[('+', "b"), ('+', "a"), ('-', "b"), ('-', "a")]));
        assert_eq!(one["daemonsets/db"], json!(["+v1 -v1", "+v1 -v1"]));
        assert_ne!(one, told(&[('+', "a"), ('-', "a"), ('+', "b")]));
        let either = |gone: &str| told(&[('+', "a"), ('+', "b"), ('-', gone)]);
        assert_eq!(either("a"), either("b"), "by chance");
    }

    #[test]
    fn pods_are_adopted_and_marked() {
        let alone =
            json!({"metadata": {"name": "db-0"}, "spec": {"containers": [{"image": "v1"}]}});
        let mut marked = member("db-0", "v1");
        marked["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let story = Story::default()
            .made("pods", alone)
            .made("statefulsets", set("OrderedReady"))
            .now("pods", member("db-0", "v1"))
            .now("pods", marked.clone())
            .now("pods", marked.clone())
            .gone("pods", marked);
        let told = story.told()["pods in order"].clone();
        assert_eq!(told, json!({"statefulsets/db": ["~db-0 v1", "-db-0 v1"]}));
    }

    #[test]
    fn the_collector_deletes_in_any_order() {
        let start = Story::default()
            .made("statefulsets", set("OrderedReady"))
            .made("pods", member("db-0", "v1"))
            .made("pods", member("db-1", "v1"))
            .gone("statefulsets", set("OrderedReady"));
        let gone = |first: &str, second: &str| {
            let story = start.clone();
            let story = story.gone("pods", member(first, "v1")).gone("pods", member(second, "v1"));
            story.told()["pods in order"].clone()
        };
        assert_eq!(gone("db-0", "db-1"), gone("db-1", "db-0"));
    }
}
