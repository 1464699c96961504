//! What the kubelet of a node keeps in mind.

use controllers::Controller;

use crate::{
    Property, Search, System,
    cluster::{
        Action, ClientSetup, Cluster, Consistency, Granularity, Setup, State,
        state::Budgets,
        tests::{deployment, node},
    },
};

fn cluster(budgets: Budgets) -> Cluster {
    let others = [Controller::Deployment, Controller::ReplicaSet, Controller::Scheduler];
    let others = others.map(ClientSetup::of).into_iter();
    let kubelets = ["a", "b"].map(ClientSetup::kubelet_of);
    let setup = Setup {
        objects: vec![node("a", "4"), node("b", "4"), deployment("web", 2)],
        clients: others.chain(kubelets).collect(),
        granularity: Granularity::Step,
        consistency: Consistency::Synchronous,
        budgets,
        ..Setup::default()
    };
    Cluster::new(setup).expect("a cluster")
}

fn running(state: &State) -> Vec<usize> {
    state.clients.iter().map(|client| client.runs.len()).collect()
}

#[test]
fn each_kubelet_runs_the_pods_of_its_node() {
    let cluster = cluster(Budgets::default());
    let settled = |state: &State| running(state) == [0, 0, 0, 1, 1];
    let properties = [Property::no_deadlock("each runs one", settled)];
    let report = Search::new(&cluster, &properties).breadth_first().expect("a search");
    assert!(report.verdict("each runs one").is_held());
}

#[test]
fn a_kubelet_that_starts_again_lost_all_and_joins() {
    let cluster = cluster(Budgets { restarts: 1, ..Budgets::default() });
    // Both pods may have come to one node while the other was away.
    let both_run = |state: &State| running(state).iter().sum::<usize>() == 2;
    let properties = [
        Property::sometimes("both run, then one starts again", |state: &State| {
            state.environment.budgets.restarts == 0
                && running(state).iter().sum::<usize>() == 1
                && told_to_run(&cluster, state) == 2
        }),
        Property::no_deadlock("all is as before", both_run),
    ];
    let mut search = Search::new(&cluster, &properties);
    search.all_violations = true;
    let report = search.breadth_first().expect("a search");
    assert!(report.verdict("all is as before").is_held());
    let run = report.verdict("both run, then one starts again").run().expect("a run");
    let (last, state) = (run.actions.last().expect("a step"), run.states.last().expect("a state"));
    let Action::Restart { client, name } = last else { panic!("{}", cluster.label(last)) };
    // The node joins, and what it runs comes back without a word to the API server.
    let own = |state: &State| {
        let mut steps = Vec::new();
        cluster.actions(state, &mut steps);
        steps.into_iter().find(|step| step.client() == Some(usize::from(*client)))
    };
    let (mut state, mut told) = (state.clone(), Vec::new());
    while let Some(step) = own(&state) {
        told.push(cluster.label(&step));
        state = cluster.next(&state, &step).expect("a state");
    }
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with(&format!("{name}: create Node")), "{told:?}");
    assert!(told[1].starts_with(&format!("{name}: start Pod default/web-")), "{told:?}");
}

/// How many pods are said to run.
fn told_to_run(cluster: &Cluster, state: &State) -> usize {
    let pods = state.store().of_kind(&cluster.objects, super::KindId::POD);
    let phases = pods.filter_map(|(_, pod)| Some(pod.value()?["status"]["phase"].clone()));
    phases.filter(|phase| phase == "Running").count()
}
