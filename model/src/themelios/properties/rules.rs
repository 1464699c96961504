//! The rules: of what is stored, and of what an object is when it was written.

use serde_json::Value;

use super::facts::{self, Facts, HASH, LAST_APPLIED, is_complete, is_stable, number};

type OfStore = fn(&Facts<'_>) -> bool;
/// Of an object before and after it was written, and of what is stored then.
type OfWrite = fn(&Facts<'_>, Option<&Value>, &Value) -> bool;

/// What holds of every store.
pub(super) const STORES: [(&str, OfStore); 6] = [
    ("all resources have unique names", has_unique_names),
    ("dep: replicaset has annotations from deployment", |facts| {
        each(facts, |of, set| !facts::is_new(of, set) || has_annotations(of, set))
    }),
    ("dep: rs has pod-template-hash in selector, label and template label", |facts| {
        each(facts, |_, set| {
            let hash = facts::hash(set);
            hash.is_string()
                && set["spec"]["selector"]["matchLabels"][HASH] == *hash
                && set["spec"]["template"]["metadata"]["labels"][HASH] == *hash
        })
    }),
    ("dep: all pods for the rs should have the pod-template-hash in their labels", |facts| {
        each(facts, |_, set| {
            facts.owned("Pod", set).all(|pod| facts::hash(pod) == facts::hash(set))
        })
    }),
    ("dep: old rss do not have pods", |facts| {
        each(facts, |of, set| !is_complete(of) || facts::is_new(of, set) || facts.active(set) == 0)
    }),
    // Disabled in Themelios.
    ("job: owned active pods have tracking finalizer", |facts| {
        facts.of_kind("Job").all(|job| facts.active_pods(job).all(facts::is_tracked))
    }),
];

/// What holds of every object that is written.
pub(super) const WRITES: [(&str, OfWrite); 11] = [
    ("rs: when stable, status.replicas == count(active_pods)", |facts, _, set| {
        !is_stable_set("ReplicaSet", set)
            || number(set, "/status/replicas") == facts.active(set) as i64
    }),
    ("rs: when stable, status replicas == spec replicas", |_, _, set| {
        !is_stable_set("ReplicaSet", set)
            || number(set, "/status/replicas") == number(set, "/spec/replicas")
    }),
    // The body of Themelios' own is `true`.
    ("dep: no replicaset is created when a deployment is paused", |facts, before, set| {
        let is_new = before.is_none() && set["kind"] == "ReplicaSet";
        let mut paused = facts.of_kind("Deployment").filter(|of| of["spec"]["paused"] == true);
        !is_new || !paused.any(|of| facts::owns(of, set))
    }),
    ("sts: statefulset status.replicas is correct", |facts, _, set| {
        counts(facts, set, "/status/replicas", |_| true)
    }),
    ("sts: statefulset status.ready_replicas is correct", |facts, _, set| {
        counts(facts, set, "/status/readyReplicas", facts::is_ready)
    }),
    ("sts: statefulset status.available_replicas is correct", |facts, _, set| {
        counts(facts, set, "/status/availableReplicas", facts::is_ready)
    }),
    (
        "sts: when stable, the first statefulset pod has the correct start ordinal",
        |facts, _, set| {
            let start = number(set, "/spec/ordinals/start");
            !is_stable_set("StatefulSet", set)
                || facts.ordinals(set).first().is_none_or(|first| *first == start)
        },
    ),
    // Disabled in Themelios.
    ("sts: when stable, statefulset has consecutive pods", |facts, _, set| {
        !is_stable_set("StatefulSet", set)
            || facts.ordinals(set).windows(2).all(|two| two[1] == two[0] + 1)
    }),
    ("job: when synced, status.active is correct", |facts, before, job| {
        !is_synced(before, job) || number(job, "/status/active") == facts.active(job) as i64
    }),
    ("job: when synced, status.ready is correct", |facts, before, job| {
        let ready = || facts.active_pods(job).filter(|pod| facts::is_ready(pod)).count();
        !is_synced(before, job) || number(job, "/status/ready") == ready() as i64
    }),
    // A pod is counted when its uid leaves the list of those that are not.
    ("job: observed finished pods have no finalizer", |facts, before, job| {
        let Some(before) = before.filter(|_| job["kind"] == "Job") else { return true };
        let is_counted = |uid: &&Value| !facts::uncounted(job).any(|other| other == *uid);
        let tracked = |uid: &Value| {
            let mut pods = facts.of_kind("Pod").filter(|pod| pod["metadata"]["uid"] == *uid);
            pods.any(facts::is_tracked)
        };
        !facts::uncounted(before).filter(is_counted).any(tracked)
    }),
];

/// A key stands once.
fn has_unique_names(facts: &Facts<'_>) -> bool {
    let mut keys: Vec<_> = facts.store.values(&facts.cluster.objects).map(|(key, _)| key).collect();
    keys.sort();
    keys.windows(2).all(|two| two[0] != two[1])
}

/// Whether something holds of each ReplicaSet of each Deployment.
fn each(facts: &Facts<'_>, holds: impl Fn(&Value, &Value) -> bool) -> bool {
    facts.of_kind("Deployment").all(|of| facts.owned("ReplicaSet", of).all(|set| holds(of, set)))
}

/// Whether a ReplicaSet has its Deployment's annotations but for what `kubectl apply` and the controller keep there.
fn has_annotations(of: &Value, set: &Value) -> bool {
    let (there, wanted) = (&set["metadata"]["annotations"], &of["metadata"]["annotations"]);
    let is_copied = |(key, _): &(&String, &Value)| {
        !key.starts_with("deployment.kubernetes.io/") && *key != LAST_APPLIED
    };
    let mut wanted = wanted.as_object().into_iter().flatten().filter(is_copied);
    there[LAST_APPLIED].is_null() && wanted.all(|(key, value)| there[key] == *value)
}

fn is_stable_set(kind: &str, set: &Value) -> bool {
    set["kind"] == *kind && is_stable(set)
}

fn is_synced(before: Option<&Value>, job: &Value) -> bool {
    job["kind"] == "Job" && before.is_some_and(|before| before["status"] != job["status"])
}

/// Whether a count in a StatefulSet's status is that of the pods that count.
fn counts(facts: &Facts<'_>, set: &Value, field: &str, counts: fn(&Value) -> bool) -> bool {
    !is_stable_set("StatefulSet", set) || {
        let pods = facts.owned_by(set).into_iter().filter(|pod| counts(pod));
        number(set, field) == pods.count() as i64
    }
}
