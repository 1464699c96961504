//! Small clusters, explored whole.

use controllers::Controller;
use serde_json::{Value, json};

use super::*;
use crate::{Property, Search};

/// A node with so many processors.
pub(super) fn node(name: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {
            "allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "80"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

/// A Deployment of pods that each want a processor.
pub(super) fn deployment(name: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
                    "schedulerName": "default-scheduler",
                    "containers": [{"name": "c", "image": "v1", "resources": {"requests": {"cpu": "1"}}}],
                },
            },
        },
    })
}

/// The controllers of a Deployment's pods.
pub(super) fn workers() -> Vec<ClientSetup> {
    [Controller::Deployment, Controller::ReplicaSet, Controller::Scheduler, Controller::Kubelet]
        .map(ClientSetup::of)
        .into()
}

fn running(cluster: &Cluster, state: &State) -> usize {
    let pods = state.store().of_kind(&cluster.objects, kinds::KindId::POD);
    let values = pods.filter_map(|(_, pod)| pod.value());
    values.filter(|pod| pod["status"]["phase"] == "Running").count()
}

#[test]
fn a_deployment_comes_up_in_steps_of_each_size() {
    let check = |granularity, distinct: u64, steps: usize| {
        let setup = Setup {
            objects: vec![node("a", "4"), node("b", "4"), deployment("web", 2)],
            clients: workers(),
            granularity,
            ..Setup::default()
        };
        let cluster = Cluster::new(setup).expect("a cluster");
        let done = |state: &State| running(&cluster, state) == 2;
        let properties =
            [Property::sometimes("all run", done), Property::no_deadlock("ends well", done)];
        let report = Search::new(&cluster, &properties).breadth_first().expect("a search");
        let ways = report.verdict("all run").run().expect("a way").actions.len();
        assert_eq!((report.counts.distinct, ways), (distinct, steps), "{granularity:?}");
        assert!(report.verdict("ends well").is_held(), "{granularity:?}");
    };
    check(Granularity::Drain, 18, 4);
    check(Granularity::Reconcile, 73, 6);
    check(Granularity::Step, 156, 7);
    check(Granularity::Write, 243, 7);
}

/// Pods are available ten seconds after they are ready. An event that waits for rest alone comes before that.
#[test]
fn settled_is_more_than_stable() {
    let check = |when, holds: bool| {
        let mut web = deployment("web", 1);
        web["spec"]["minReadySeconds"] = json!(10);
        let key = setup::key_of(&web).expect("a key");
        let marks = user::UserEvent {
            name: "mark".to_owned(),
            modifiers: events::Modifiers::at(when),
            times: 1,
            deed: user::Deed::Patch(
                key.clone(),
                vec![json!({"metadata": {"labels": {"mark": "1"}}})],
            ),
        };
        let setup = Setup {
            objects: vec![node("a", "4"), web],
            clients: workers(),
            granularity: Granularity::Drain,
            events: vec![Box::new(marks)],
            ..Setup::default()
        };
        let cluster = Cluster::new(setup).expect("a cluster");
        let late = |state: &State| {
            let web = state.store().get(&cluster.objects, &key).and_then(|web| web.value());
            let web = web.expect("the Deployment");
            web["metadata"]["labels"]["mark"].is_null() || web["status"]["availableReplicas"] == 1
        };
        let properties = [Property::always("late", late)];
        let report = Search::new(&cluster, &properties).breadth_first().expect("a search");
        assert_eq!(report.verdict("late").is_held(), holds, "{when:?}");
    };
    check(events::When::Stable, false);
    check(events::When::Settled, true);
}
