//! RemovePodsViolatingNodeAffinity: pods on nodes that their node affinity does not allow, or likes less than others
//! (`pkg/framework/plugins/removepodsviolatingnodeaffinity`).

use super::{
    args::NodeAffinities,
    cycle::{Cycle, Guest, Host},
    filter::Filter,
    fit,
};
use crate::{calls::Stop, scheduler::is_selected};

const NAME: &str = "RemovePodsViolatingNodeAffinity";

pub(super) fn deschedule(
    cycle: &mut Cycle<'_, '_, '_>,
    filter: &Filter<'_>,
    args: &NodeAffinities,
) -> Result<(), Stop> {
    for required in &args.required {
        for host in cycle.hosts.clone() {
            let violates = if *required { is_not_allowed } else { is_liked_less };
            let violating = cycle.on(&host.name, |guest| {
                violates(guest, &host, &cycle.hosts)
                    && filter.allows_of(cycle, &args.scope, guest)
                    && fit::fits_any(cycle.view, guest, &cycle.hosts)
            });
            if !cycle.evict_all(&violating, NAME)? {
                // It goes on with the next kind of affinity, for which nothing is left.
                break;
            }
        }
    }
    Ok(())
}

fn is_not_allowed(guest: &Guest<'_>, host: &Host<'_>, _: &[Host<'_>]) -> bool {
    guest.pod.affinity.is_some() && !is_selected(guest.pod, &host.name, host.labels)
}

fn is_liked_less(guest: &Guest<'_>, host: &Host<'_>, hosts: &[Host<'_>]) -> bool {
    let here = weight(guest, host);
    hosts.iter().any(|other| weight(guest, other) > here.max(0))
}

/// `GetNodeWeightGivenPodPreferredAffinity`.
fn weight(guest: &Guest<'_>, host: &Host<'_>) -> i64 {
    let terms = guest.pod.placing.prefers_nodes.iter();
    terms.filter(|(_, term)| term.allows(&host.name, host.labels)).map(|(weight, _)| weight).sum()
}
