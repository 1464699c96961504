//! RemovePodsViolatingInterPodAntiAffinity: pods that are near to others that they are to keep away from
//! (`pkg/framework/plugins/removepodsviolatinginterpodantiaffinity`, `utils.CheckPodsWithAntiAffinityExist`).

use std::collections::BTreeSet;

use trace::ObjectKey;

use super::{
    args::Scope,
    cycle::{Cycle, Eviction, Guest, Host},
    filter::{Filter, NO_EVICTION},
};
use crate::{calls::Stop, object::Text};

const NAME: &str = "RemovePodsViolatingInterPodAntiAffinity";

pub(super) fn deschedule(
    cycle: &mut Cycle<'_, '_, '_>,
    filter: &Filter<'_>,
    scope: &Scope,
) -> Result<(), Stop> {
    let hosts = cycle.hosts.clone();
    let all: Vec<(usize, Guest<'_>)> = hosts
        .iter()
        .enumerate()
        .flat_map(|(at, host)| {
            let there = cycle.on(&host.name, |guest| scope.covers(guest));
            there.into_iter().map(move |guest| (at, guest))
        })
        .collect();
    // Pods that go trouble nobody any more.
    let mut gone: BTreeSet<ObjectKey> = BTreeSet::new();
    for at in 0..hosts.len() {
        let mut here: Vec<Guest<'_>> =
            all.iter().filter(|(on, _)| *on == at).map(|(_, guest)| *guest).collect();
        sort(&mut here);
        for guest in here {
            let left = all.iter().filter(|(_, other)| !gone.contains(other.key));
            if !is_troubled(&hosts, (at, &guest), left) || !filter.allows_now(cycle, &guest) {
                continue;
            }
            match cycle.evict(&guest, NAME)? {
                Eviction::Tried { goes: true } => drop(gone.insert(guest.key.clone())),
                Eviction::Tried { goes: false } => {}
                Eviction::NodeIsDone => break,
                Eviction::AllIsDone => return Ok(()),
            }
        }
    }
    Ok(())
}

/// The first that go first: of a low priority, of a low class of service (`SortPodsBasedOnPriorityLowToHigh`).
pub(super) fn sort(guests: &mut [Guest<'_>]) {
    guests.sort_by_key(|guest| {
        let declines = guest.meta.annotations.contains_key(NO_EVICTION);
        (guest.pod.placing.priority, guest.pod.leaving.qos, declines)
    });
}

/// Whether one of the others is where this one does not want it; a pod of the same name is taken for itself.
fn is_troubled<'g>(
    hosts: &[Host<'_>],
    (at, guest): (usize, &Guest<'_>),
    others: impl Iterator<Item = &'g (usize, Guest<'g>)> + Clone,
) -> bool {
    let near = |on: usize, topology: &Text| {
        let value = |of: usize| hosts[of].labels.get(topology);
        on == at || value(on).is_some() && value(on) == value(at)
    };
    guest.pod.placing.avoids.iter().any(|term| {
        others.clone().any(|(on, other)| {
            other.key.name != guest.key.name
                && term.names(&guest.key.namespace, (&other.key.namespace, &other.meta.labels))
                && near(*on, &term.topology)
        })
    })
}
