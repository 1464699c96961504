//! Lives of a model and of a run, by hand.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use trace::{Actor, GroupResource, Revision};

use super::*;
use crate::commands::model::confirm::play::Ending;

/// Writes as in a file.
fn writes(text: &str) -> Vec<Write> {
    serde_saphyr::from_str(text).expect("writes")
}

/// A pod's or Deployment's state: name, and `nodeName` or `replicas`; none for a deletion.
type Happens<'a> = (&'a str, &'a str, Option<Value>);

fn played(happens: &[Happens<'_>]) -> Played {
    let mut there: Vec<&str> = vec![];
    let commits = happens.iter().map(|(kind, name, field)| {
        let plural = format!("{}s", kind.to_lowercase());
        let change = match (field, there.contains(name)) {
            (None, _) => Change::Deleted,
            (_, true) => Change::Updated,
            (_, false) => Change::Created,
        };
        there.push(name);
        let spec = field.clone().unwrap_or_default();
        let object = json!({"kind": kind, "metadata": {"name": name}, "spec": spec});
        let commit = Commit {
            revision: Revision(1),
            change,
            key: ObjectKey::new(GroupResource::new("", &plural), "default", name),
            object: Arc::new(object),
            actor: Actor::Environment("kube-controller-manager".into()),
            call: None,
            heartbeat: false,
        };
        (Duration::ZERO, commit)
    });
    let commits = commits.collect();
    let took = Duration::ZERO;
    Played { start: vec![], commits, ending: Ending::Settled, steps: 0, took }
}

/// The number of the write at which they part, from 1, and what was done instead.
fn check(model: &str, real: &[Happens<'_>], expect: Option<(usize, &str)>) {
    let model = writes(model);
    let model: Vec<&Write> = model.iter().collect();
    let found = first_difference(&of_model(&model), &of_real(&model, &played(real)));
    let found = found.expect("few renamings");
    let found = found.as_ref().map(|one| (one.write + 1, &*one.instead));
    assert_eq!(found, expect, "{real:?}");
}

fn on(node: &str) -> Option<Value> {
    Some(json!({"nodeName": node}))
}

const EVICTED: &str = "
- {verb: create, kind: Pod, name: web-*, object: a}
- {verb: create, kind: Pod, name: web-*, object: b}
- {verb: update, kind: Pod, name: web-*, object: a, set: {spec.nodeName: $x}}
- {verb: update, kind: Pod, name: web-*, object: b, set: {spec.nodeName: $x}}
- {verb: delete, kind: Pod, name: web-*, object: b}
";

#[test]
fn objects_and_values_are_renamed() {
    let new = || Some(json!({}));
    let one = ("Pod", "web-1", new());
    let two = ("Pod", "web-2", new());
    let gone = ("Pod", "web-1", None);
    let together = [one.clone(), ("Pod", "web-1", on("n")), two.clone(), ("Pod", "web-2", on("n"))];
    let mut evicted = together.to_vec();
    evicted.push(gone.clone());
    check(EVICTED, &evicted, None);
    check(EVICTED, &together, Some((5, "web-2: made; spec.nodeName n")));
    let apart = [one, ("Pod", "web-1", on("n")), two, ("Pod", "web-2", on("m")), gone];
    check(EVICTED, &apart, Some((4, "web-2: made; spec.nodeName m")));
    check(EVICTED, &[], Some((1, "no further object of this name")));
}

#[test]
fn values_come_in_their_order_and_real_runs_go_on() {
    let model = "
- {verb: create, kind: Deployment, name: web, set: {spec.replicas: 1}}
- {verb: update, kind: Deployment, name: web, set: {spec.replicas: 3}}
";
    let to = |replicas: i64| ("Deployment", "web", Some(json!({"replicas": replicas})));
    check(model, &[to(1), to(1), to(3), to(2)], None);
    check(model, &[to(1), to(2), to(3)], Some((2, "web: made; spec.replicas 1, then 2, then 3")));
}
