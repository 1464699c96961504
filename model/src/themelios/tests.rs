//! A handful of the hundred cases; the others are rows of `cargo run --example themelios`.

use std::collections::BTreeSet;

use controllers::Controller;

use super::{Case, Model, properties, wishes};
use crate::{
    Search, System,
    cluster::{Cluster, Consistency, Setup},
};

/// How many steps the shortest trace of each violated property has; and that all else holds.
fn violated(model: Model, consistency: Consistency, instances: usize) -> Vec<(String, usize)> {
    let case = Case { model, consistency, instances };
    let cluster = Cluster::new(case.setup()).expect("a cluster");
    let properties = properties::safety(&cluster);
    let mut search = Search::new(&cluster, &properties);
    search.all_violations = true;
    let report = search.breadth_first().expect("a search");
    let violated = report.verdicts.iter().filter(|(_, verdict)| !verdict.is_held());
    let steps = violated
        .map(|(name, verdict)| (name.clone(), verdict.run().expect("all was seen").actions.len()));
    steps.collect()
}

#[test]
fn there_are_a_hundred_cases_of_which_28_are_expected_to_be_violated() {
    let all = Case::all();
    let names: BTreeSet<String> = all.iter().map(|case| case.name()).collect();
    assert_eq!((all.len(), names.len()), (100, 100));
    assert_eq!(all.iter().filter(|case| case.expects_violation()).count(), 28);
}

#[test]
fn synchronous_controllers_violate_nothing() {
    for (model, instances) in [
        (Model::NonParallelJob, 1),
        (Model::NonParallelJob, 2),
        (Model::StatefulSetAvailable, 2),
        (Model::PausedDeployment, 1),
    ] {
        assert_eq!(violated(model, Consistency::Synchronous, instances), [], "{model:?}");
    }
}

/// The length of the shortest trace to a violation of one property.
fn shortest(model: Model, consistency: Consistency, instances: usize, name: &str) -> usize {
    let case = Case { model, consistency, instances };
    let cluster = Cluster::new(case.setup()).expect("a cluster");
    let mut properties = properties::safety(&cluster);
    properties.retain(|property| property.name == name);
    let report = Search::new(&cluster, &properties).breadth_first().expect("a search");
    report.verdict(name).run().map_or(0, |run| run.actions.len())
}

#[test]
fn branching_histories_run_a_pod_on_two_nodes() {
    let unique = properties::UNIQUE_PODS;
    for consistency in [Consistency::OptimisticLinear, Consistency::Causal] {
        assert_eq!(shortest(Model::NonParallelJob, consistency, 2, unique), 6, "{consistency:?}");
    }
}

/// Themelios' own search missed this case. Its status is counted on what was read.
#[test]
fn a_job_counts_what_it_read() {
    let name = "job: when synced, status.ready is correct";
    assert_eq!(shortest(Model::ParallelJob(2), Consistency::ResettableSession, 2, name), 6);
}

/// An instance that has read and not yet written goes on with what it read.
#[test]
fn a_controller_that_did_nothing_yet_may_be_behind() {
    let name = "job: owned active pods have tracking finalizer";
    assert_eq!(shortest(Model::NonParallelJob, Consistency::MonotonicSession, 2, name), 5);
}

/// Cursors for each type allow all that one for all types allows.
#[test]
fn cursors_for_each_type_allow_what_one_cursor_allows() {
    let name = "job: when synced, status.ready is correct";
    for consistency in [Consistency::MonotonicSession, Consistency::PerKind { resettable: false }] {
        assert_eq!(shortest(Model::NonParallelJob, consistency, 1, name), 5, "{consistency:?}");
    }
}

/// The trace of kubernetes#59848: a kubelet that starts again reads of a pod that was replaced on another node.
const STALE_READS: [&str; 13] = [
    "statefulset: create ControllerRevision default/web-859c75fd4f",
    "statefulset: create Pod default/web-0",
    "scheduler: bind Pod default/web-0 to node-0",
    "kubelet node-0: falls behind",
    "client: scale web replicas=0",
    "statefulset: delete Pod default/web-0",
    "kubelet node-0: delete Pod default/web-0",
    "kubelet node-0: starts again",
    "kubelet node-0: update status of Pod default/web-0 Running, 1 write behind",
    "client: scale web replicas=1",
    "statefulset: create Pod default/web-0",
    "scheduler: bind Pod default/web-0 to node-1",
    "kubelet node-1: update status of Pod default/web-0 Running",
];

#[test]
fn a_kubelet_that_goes_back_runs_a_pod_that_is_elsewhere() {
    let states = |consistency| {
        let case = Case {
            model: Model::StaleReads,
            consistency: Consistency::ResettableSession,
            instances: 1,
        };
        let setup = Setup { consistency, ..case.setup() };
        let cluster = Cluster::new(setup).expect("a cluster");
        let unique = properties::safety(&cluster).swap_remove(0);
        let mut state = cluster.initial().swap_remove(0);
        for (at, wanted) in STALE_READS.iter().enumerate() {
            let mut steps = Vec::new();
            cluster.actions(&state, &mut steps);
            let Some(step) = steps.iter().find(|step| cluster.label(step) == *wanted) else {
                return (at, unique.decided_by(&state));
            };
            state = cluster.next(&state, step).expect("a state");
        }
        (STALE_READS.len(), unique.decided_by(&state))
    };
    assert_eq!(states(Consistency::ResettableSession), (13, true));
    // A kubelet whose first list is consistent has nothing older to go on with after a restart.
    assert_eq!(states(Consistency::MonotonicSession), (8, false));
}

#[test]
fn wishes_come_true_only_where_somebody_works() {
    let violated = |left_out: Option<Controller>| {
        let case = Case {
            model: Model::StatefulSetAvailable,
            consistency: Consistency::Synchronous,
            instances: 1,
        };
        let mut setup = case.setup();
        setup.clients.retain(|client| Some(client.controller) != left_out);
        let cluster = Cluster::new(setup).expect("a cluster");
        let (properties, fairness) = (wishes::liveness(&cluster), wishes::fairness(&cluster));
        let mut search = Search::new(&cluster, &properties);
        search.fairness = &fairness;
        let report = search.breadth_first().expect("a search");
        let violated = report.verdicts.iter().filter(|(_, verdict)| !verdict.is_held());
        violated.map(|(name, _)| name.clone()).collect::<Vec<String>>()
    };
    assert_eq!(violated(None), Vec::<String>::new());
    assert_eq!(violated(Some(Controller::Scheduler)), ["created pod is eventually scheduled"]);
    assert_eq!(violated(Some(Controller::Kubelet)), ["scheduled pod eventually runs"]);
}
