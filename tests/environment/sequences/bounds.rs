//! Whether rolling updates keep to their bounds, looked at after each change: by how much all sets of a Deployment
//! together are larger than `maxSurge` allows, and how many ready pods there are fewer than `maxUnavailable` allows.
//!
//! Told is the worst moment of each generation of the Deployment: who scales a Deployment down, or is not ready yet, is
//! beyond the bounds at once, and both arms are by the same number; what only one of them does on the way makes it more.
//! Upstream: `NewRSNewReplicas`, `MaxUnavailable` and `ResolveFenceposts` of `deployment_util.go`, and
//! `reconcileOldReplicaSets` of `rolling.go`, which counts what the statuses of sets say; these lag behind the pods
//! that are ready, never behind those that are deleted on its behalf.

use std::collections::BTreeMap;

use serde_json::Value;
use trace::Change;

use super::lives::{controller, is_ending};
use crate::watched::{Happened, uid};

/// What is there now, by uid.
#[derive(Default)]
struct Now<'a> {
    deployments: BTreeMap<&'a str, &'a Value>,
    sets: BTreeMap<&'a str, &'a Value>,
    pods: BTreeMap<&'a str, &'a Value>,
}

/// Deployment → for each of its generations how many pods too many were asked for, and how many ready ones were missing.
pub fn of(living: &[&Happened]) -> BTreeMap<String, Vec<[i64; 2]>> {
    let (mut now, mut worst) = (Now::default(), BTreeMap::<(String, i64), [i64; 2]>::new());
    for event in living {
        if now.changes(event) {
            for deployment in now.deployments.values() {
                let name = deployment["metadata"]["name"].as_str().unwrap_or("").to_owned();
                let generation = deployment["metadata"]["generation"].as_i64().unwrap_or(0);
                let [over, short] = now.beyond(deployment);
                let worst = worst.entry((name, generation)).or_default();
                *worst = [worst[0].max(over), worst[1].max(short)];
            }
        }
    }
    let mut told: BTreeMap<String, Vec<[i64; 2]>> = BTreeMap::new();
    for ((name, _), worst) in worst {
        told.entry(name).or_default().push(worst);
    }
    told
}

impl<'a> Now<'a> {
    /// Whether it has anything to do with bounds.
    fn changes(&mut self, event: &'a Happened) -> bool {
        let (uid, object) = (uid(&event.object), &event.object);
        let is_gone = event.change == Change::Deleted || is_ending(object);
        let of = match event.of {
            "deployments" => &mut self.deployments,
            "replicasets" => &mut self.sets,
            "pods" => &mut self.pods,
            _ => return false,
        };
        let is_there = !is_gone && (event.of != "deployments" || is_rolling(object));
        match is_there {
            true => of.insert(uid, object),
            false => of.remove(uid),
        };
        true
    }

    /// How many pods more than allowed its sets ask for, and how many ready ones fewer than needed there are.
    fn beyond(&self, deployment: &Value) -> [i64; 2] {
        let is_of = |object: &Value, owner: &str| {
            controller(object).is_some_and(|(_, _, uid)| uid == owner)
        };
        let sets = self.sets.iter().filter(|(_, set)| is_of(set, uid(deployment)));
        let (mut asked_for, mut ready) = (0, 0);
        for (set, object) in sets {
            asked_for += number(&object["spec"]["replicas"]);
            let pods = self.pods.values().filter(|pod| is_of(pod, set) && is_ready(pod));
            ready += pods.count() as i64;
        }
        let replicas = number(&deployment["spec"]["replicas"]);
        let (surge, unavailable) = fenceposts(deployment, replicas);
        [(asked_for - replicas - surge).max(0), (replicas - unavailable - ready).max(0)]
    }
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

fn is_rolling(deployment: &Value) -> bool {
    deployment["spec"]["strategy"]["rollingUpdate"].is_object()
}

fn is_ready(pod: &Value) -> bool {
    let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let has_ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let ready = |one: &Value| one["type"] == "Ready" && one["status"] == "True";
    !has_ended && conditions.any(ready)
}

/// As `ResolveFenceposts` has it: parts of a pod count as one where they are created and as none where they may be
/// missing; where both come to zero, one may be missing.
fn fenceposts(deployment: &Value, replicas: i64) -> (i64, i64) {
    let bounds = &deployment["spec"]["strategy"]["rollingUpdate"];
    let hundredths = |bound: &Value| match bound.as_str() {
        Some(text) => replicas * text.trim_end_matches('%').parse::<i64>().unwrap_or(0),
        None => 100 * number(bound),
    };
    let surge = (hundredths(&bounds["maxSurge"]) + 99) / 100;
    match (surge, hundredths(&bounds["maxUnavailable"]) / 100) {
        (0, 0) => (0, 1),
        both => both,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sequences::sample::{Story, owned};

    fn deployment(generation: i64, replicas: i64) -> Value {
        let bounds = json!({"maxSurge": 1, "maxUnavailable": "25%"});
        json!({
            "metadata": {"name": "web", "generation": generation},
            "spec": {"replicas": replicas, "strategy": {"rollingUpdate": bounds}},
        })
    }

    fn set(name: &str, replicas: i64) -> Value {
        let set = json!({"metadata": {"name": name}, "spec": {"replicas": replicas}});
        owned("Deployment", "web", set)
    }

    fn ready(name: &str) -> Value {
        let status = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        owned("ReplicaSet", "old", json!({"metadata": {"name": name}, "status": status}))
    }

    /// Four ready pods of an old set, and a change of the Deployment.
    fn start() -> Story {
        let start = Story::default().made("deployments", deployment(1, 4));
        let start = start.made("replicasets", set("old", 4));
        let start =
            ["a", "b", "c", "d"].iter().fold(start, |story, pod| story.made("pods", ready(pod)));
        start.now("deployments", deployment(2, 4))
    }

    fn told(story: &Story) -> Value {
        story.told()["bounds"]["web"].clone()
    }

    #[test]
    fn a_set_may_not_grow_before_another_has_shrunk() {
        let surging = || start().made("replicasets", set("new", 1));
        let shrunk = || surging().now("replicasets", set("old", 3));
        let right = shrunk().now("replicasets", set("new", 2));
        // Coalesced.
        let other = start()
            .made("replicasets", set("new", 0))
            .now("replicasets", set("old", 3))
            .now("replicasets", set("new", 2));
        let wrong = surging().now("replicasets", set("new", 2)).now("replicasets", set("old", 3));
        assert_eq!(told(&right), json!([[0, 3], [0, 0]]));
        assert_eq!(told(&right), told(&other));
        assert_eq!(told(&wrong), json!([[0, 3], [1, 0]]));
    }

    #[test]
    fn pods_are_missing_at_one_moment() {
        let one = start().gone("pods", ready("a"));
        let two = start().gone("pods", ready("a")).gone("pods", ready("b"));
        let back = two.clone().again("pods", ready("b"));
        assert_eq!(told(&one), json!([[0, 3], [0, 0]]));
        assert_eq!(told(&back), json!([[0, 3], [0, 1]]));
        assert_ne!(told(&one), told(&back));
        // Smaller by the user's wish: as large as before at first, in both arms.
        let smaller = start().now("deployments", deployment(3, 1));
        assert_eq!(told(&smaller), json!([[0, 3], [0, 0], [2, 0]]));
    }

    #[test]
    fn bounds_are_rounded() {
        let check = |surge: Value, unavailable: Value, expect: (i64, i64)| {
            let bounds = json!({"maxSurge": surge, "maxUnavailable": unavailable});
            let deployment = json!({"spec": {"strategy": {"rollingUpdate": bounds}}});
            assert_eq!(fenceposts(&deployment, 5), expect);
        };
        check(json!(2), json!(3), (2, 3));
        check(json!("25%"), json!("25%"), (2, 1));
        check(json!(0), json!("10%"), (0, 1));
    }
}
