//! What is known of stores with the same digest, held against what controllers do on each store.

use std::collections::{HashSet, VecDeque};

use super::{
    super::{Cluster, State, Store, time::NOW},
    *,
};
use crate::{
    System,
    cluster::ClientSetup,
    kivi::{
        cases::{Case, Variant},
        options::{Mode, Options},
        setup,
    },
    themelios,
};

/// States of each cluster that are looked at.
const STATES: usize = 400;

/// The first states of a cluster, and then some that lie further away: each third step only.
fn states(cluster: &Cluster) -> Vec<State> {
    let mut queue: VecDeque<State> = cluster.initial().into();
    let mut known: HashSet<State> = queue.iter().cloned().collect();
    let mut all = Vec::new();
    while let Some(state) = if all.len() % 2 == 0 { queue.pop_front() } else { queue.pop_back() } {
        let mut actions = Vec::new();
        cluster.actions(&state, &mut actions);
        for action in &actions {
            let next = cluster.next(&state, action);
            queue.extend(next.filter(|next| known.insert(next.clone())));
        }
        all.push(state);
        if all.len() == STATES {
            break;
        }
    }
    all
}

/// What a client would do on a store, in words that tell all of it apart.
fn shown(look: &Look) -> Vec<String> {
    let of = |one: &Arc<Candidate>| format!("{} {:?}", one.key, one.first.request);
    let candidates = look.candidates.iter().map(of);
    candidates.chain([format!("{:?}", look.due)]).collect()
}

/// As [`Cluster::look`], with nothing that is known already.
fn afresh(cluster: &Cluster, of: &ClientSetup, store: &Store) -> Look {
    let looking = Looking {
        objects: &cluster.objects,
        nodes: KindId::NODE.resource(),
        controller: of.controller,
        now: NOW,
        all_ties: cluster.setup.all_ties,
    };
    looking.look(store, || cluster.view(store), |_, work_out| work_out())
}

fn audit(name: &str, cluster: &Cluster) {
    for state in states(cluster) {
        for client in &cluster.setup.clients {
            let (known, new) =
                (cluster.look(client, state.store()), afresh(cluster, client, state.store()));
            assert_eq!(shown(&known), shown(&new), "{name}: {}", client.name);
        }
    }
}

#[test]
fn clusters_of_kivi() {
    let options = Options { mode: Mode::Exact, ..Options::default() };
    for case in Case::ALL {
        let of = case.at_scale(3, Variant::Violating);
        let cluster = setup::cluster(&of, &of.intents, &options).expect("a cluster");
        audit(case.name(), &cluster);
    }
}

#[test]
fn clusters_of_themelios() {
    // The first of each model has one instance of each controller.
    let mut models = HashSet::new();
    for case in themelios::Case::all() {
        if models.insert(case.model) {
            let cluster = Cluster::new(case.setup()).expect("a cluster");
            audit(&case.name(), &cluster);
        }
    }
}
