//! Whether a pod would fit on a node: some of what a scheduler asks for (`pkg/descheduler/node/node.go`, `NodeFit`).

use super::cycle::{Guest, Host, guests};
use crate::{resources::Resources, scheduler::is_selected, view::View};

/// Whether it fits one of these nodes that it is not on (`PodFitsAnyOtherNode`).
pub(super) fn fits_another(view: &View, guest: &Guest<'_>, hosts: &[Host<'_>]) -> bool {
    hosts.iter().any(|host| host.name != guest.pod.node && fits(view, guest, host))
}

/// Whether it fits one of these nodes, its own among them (`PodFitsAnyNode`).
pub(super) fn fits_any(view: &View, guest: &Guest<'_>, hosts: &[Host<'_>]) -> bool {
    hosts.iter().any(|host| fits(view, guest, host))
}

fn fits(view: &View, guest: &Guest<'_>, host: &Host<'_>) -> bool {
    let Host { name, labels, node } = host;
    !node.unschedulable
        && is_selected(guest.pod, name, labels)
        && !node.repels(guest.pod)
        && !is_avoided(view, guest, host)
        && (guest.pod.node == *name || has_room(view, guest, host))
}

/// Whether there is a pod on the node that this one keeps away from (`podMatchesInterPodAntiAffinity`): of the same name,
/// in whichever namespace, it is taken for itself.
fn is_avoided(view: &View, guest: &Guest<'_>, host: &Host<'_>) -> bool {
    let means = |other: &Guest<'_>, term: &crate::scheduler::PodTerm| {
        !other.pod.has_ended()
            && other.key.name != guest.key.name
            && term.names(&guest.key.namespace, (&other.key.namespace, &other.meta.labels))
    };
    let mut terms = guest.pod.placing.avoids.iter();
    terms.any(|term| {
        host.labels.contains_key(&term.topology)
            && guests(view, &host.name).any(|other| means(&other, term))
    })
}

/// `fitsRequest`.
fn has_room(view: &View, guest: &Guest<'_>, host: &Host<'_>) -> bool {
    let (pods, used) = match view.load(&host.name) {
        Some(load) => (load.pods as i64, load.requested.clone()),
        None => (0, Resources::default()),
    };
    let (asked, has) = (&guest.pod.requests.all, &host.node.allocatable);
    let room = |asked: i64, has: i64, used: i64| asked == 0 || asked <= has - used;
    host.node.pods > pods
        && room(asked.cpu_milli, has.cpu_milli, used.cpu_milli)
        && room(asked.memory_bytes, has.memory_bytes, used.memory_bytes)
        && room(asked.ephemeral_bytes, has.ephemeral_bytes, used.ephemeral_bytes)
        && asked.others.iter().all(|(name, asked)| {
            let of = |amounts: &Resources| amounts.others.get(name).copied().unwrap_or(0);
            room(*asked, of(has), of(&used))
        })
}
