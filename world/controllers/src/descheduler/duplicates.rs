//! RemoveDuplicates: pods of one owner with the same images are to be on as many nodes as can take them
//! (`pkg/framework/plugins/removeduplicates`).

use std::collections::{BTreeMap, BTreeSet};

use super::{
    args::Duplicates,
    cycle::{Cycle, Guest, Host},
    filter::Filter,
};
use crate::{calls::Stop, object::Text, scheduler::is_selected};

const NAME: &str = "RemoveDuplicates";

/// Whose pods: namespace, kind and name of the owner, and the images.
type Owner = (Text, Text, Text, Vec<Text>);

/// Of each owner, by node, the pods that have one like them there before them.
type Spare<'v> = BTreeMap<Owner, BTreeMap<Text, Vec<Guest<'v>>>>;

pub(super) fn balance(
    cycle: &mut Cycle<'_, '_, '_>,
    filter: &Filter<'_>,
    args: &Duplicates,
) -> Result<(), Stop> {
    let (counts, spare) = count(cycle, filter, args);
    for (owner, nodes) in cycle.view.in_order(spare.into_iter().collect()) {
        let targets = targets(&cycle.hosts, nodes.values().flatten());
        if targets < 2 {
            continue;
        }
        let most = counts[&owner].div_ceil(targets);
        for (_, guests) in cycle.view.in_order(nodes.into_iter().collect()) {
            // The first of each node is not among them.
            let surplus = guests.get(most - 1..).unwrap_or_default();
            if !cycle.evict_all(surplus, NAME)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn owners<'g>(guest: &'g Guest<'_>) -> impl Iterator<Item = Owner> + use<'g> {
    let images = &guest.pod.leaving.images;
    guest.meta.owners.iter().map(|owner| {
        let namespace = guest.key.namespace.clone();
        (namespace, owner.kind.clone(), owner.name.clone(), images.clone())
    })
}

/// How many pods each owner has, and which of them are spare. A pod with several owners counts for each.
fn count<'v>(
    cycle: &Cycle<'v, '_, '_>,
    filter: &Filter<'_>,
    args: &Duplicates,
) -> (BTreeMap<Owner, usize>, Spare<'v>) {
    let (mut counts, mut spare) = (BTreeMap::<Owner, usize>::new(), Spare::new());
    for host in &cycle.hosts {
        let mut seen = BTreeSet::new();
        let counted = |guest: &Guest<'_>| {
            let excluded = |owner: &crate::Owner| args.excluded_kinds.contains(&owner.kind);
            filter.allows_of(cycle, &args.scope, guest)
                && !guest.meta.owners.is_empty()
                && !guest.meta.owners.iter().any(excluded)
        };
        for guest in cycle.on(&host.name, counted) {
            let mut all: Vec<Owner> = owners(&guest).collect();
            for owner in &all {
                *counts.entry(owner.clone()).or_default() += 1;
            }
            all.sort();
            if seen.insert(all.clone()) {
                continue;
            }
            for owner in all {
                let nodes = spare.entry(owner).or_default();
                nodes.entry(host.name.clone()).or_default().push(guest);
            }
        }
    }
    (counts, spare)
}

/// How many nodes there are that one of the pods could be on, of pods that could be on several (`getTargetNodes`). What is
/// free there does not matter.
fn targets<'g>(hosts: &[Host<'_>], guests: impl Iterator<Item = &'g Guest<'g>>) -> usize {
    let mut all = BTreeSet::new();
    for guest in guests {
        let takes = |host: &&Host<'_>| {
            !host.node.repels(guest.pod) && is_selected(guest.pod, &host.name, host.labels)
        };
        let own: Vec<&Text> = hosts.iter().filter(takes).map(|host| &host.name).collect();
        if own.len() > 1 {
            all.extend(own);
        }
    }
    all.len()
}
