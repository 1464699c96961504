//! Pods that are evicted for what has become of them, wherever they are: RemovePodsHavingTooManyRestarts, RemoveFailedPods
//! and PodLifeTime (`pkg/framework/plugins/removepodshavingtoomanyrestarts`, `removefailedpods`, `podlifetime`).

use std::cmp::Reverse;

use trace::Time;

use super::{
    args::{Failed, LifeTime, Restarts},
    cycle::{Cycle, Eviction, Guest},
    filter::Filter,
    leaving::{ContainerKind, ContainerState},
};
use crate::{calls::Stop, object::Text, pod::Container};

/// The pods with the most restarts first, node by node.
pub(super) fn restarts(
    cycle: &mut Cycle<'_, '_, '_>,
    filter: &Filter<'_>,
    args: &Restarts,
) -> Result<(), Stop> {
    let count = |guest: &Guest<'_>| {
        let of = |containers: &[Container]| containers.iter().map(|one| one.restarts).sum::<i64>();
        let init = if args.with_init { of(&guest.pod.init_containers) } else { 0 };
        of(&guest.pod.containers) + init
    };
    let is_in_state = |guest: &Guest<'_>| {
        let waits = |state: &ContainerState| {
            state.exit_code.is_none() && args.states.contains(&state.reason)
        };
        args.states.is_empty()
            || args.states.contains(&guest.pod.phase)
            || states(guest, args.with_init, false).any(waits)
    };
    for host in cycle.hosts.clone() {
        let mut found = cycle.all_on(&host.name, |guest| {
            count(guest) >= args.least
                && is_in_state(guest)
                && filter.allows_of(cycle, &args.scope, guest)
        });
        found.sort_by_key(|guest| Reverse(count(guest)));
        if !cycle.evict_all(&found, "RemovePodsHavingTooManyRestarts")? {
            break;
        }
    }
    Ok(())
}

/// Pods that have failed.
pub(super) fn failed(
    cycle: &mut Cycle<'_, '_, '_>,
    filter: &Filter<'_>,
    args: &Failed,
) -> Result<(), Stop> {
    for host in cycle.hosts.clone() {
        let found = cycle.all_on(&host.name, |guest| {
            *guest.pod.phase == *"Failed"
                && has_failed_so(guest, args, cycle.now)
                && filter.allows_of(cycle, &args.scope, guest)
        });
        if !cycle.evict_all(&found, "RemoveFailedPods")? {
            break;
        }
    }
    Ok(())
}

fn has_failed_so(guest: &Guest<'_>, args: &Failed, now: Time) -> bool {
    let states = || states(guest, args.with_init, false);
    let is_reason = |reason: &Text| args.reasons.contains(reason) && !reason.is_empty();
    now.since(guest.meta.created) >= args.min_age
        && !has_owner_of(guest, &args.excluded_kinds)
        && (args.reasons.is_empty()
            || is_reason(&guest.pod.leaving.reason)
            || states().any(|state| is_reason(&state.reason)))
        && has_exited_so(states(), &args.exit_codes)
}

/// Pods that are old enough, the oldest first.
pub(super) fn life_time(
    cycle: &mut Cycle<'_, '_, '_>,
    filter: &Filter<'_>,
    args: &LifeTime,
) -> Result<(), Stop> {
    let mut found = Vec::new();
    for host in &cycle.hosts {
        found.extend(cycle.all_on(&host.name, |guest| {
            has_lived_so(guest, args, cycle.now) && filter.allows_of(cycle, &args.scope, guest)
        }));
    }
    found.sort_by_key(|guest| guest.meta.created);
    for guest in found {
        if cycle.evict(&guest, "PodLifeTime")? == Eviction::AllIsDone {
            break;
        }
    }
    Ok(())
}

fn has_lived_so(guest: &Guest<'_>, args: &LifeTime, now: Time) -> bool {
    let is_state = |text: &Text| args.states.contains(text);
    let mut in_states = states(guest, args.with_init, args.with_ephemeral);
    let age = now.since(guest.meta.created).as_secs();
    args.max_age_seconds.is_none_or(|most| age > most)
        && (args.states.is_empty()
            || is_state(&guest.pod.phase)
            || is_state(&guest.pod.leaving.reason)
            || in_states.any(|state| is_state(&state.reason)))
        && (args.included_kinds.is_empty() || has_owner_of(guest, &args.included_kinds))
        && !has_owner_of(guest, &args.excluded_kinds)
        && has_exited_so(states(guest, args.with_init, false), &args.exit_codes)
}

fn states<'g>(
    guest: &'g Guest<'_>,
    with_init: bool,
    with_ephemeral: bool,
) -> impl Iterator<Item = &'g ContainerState> {
    guest.pod.leaving.states.iter().filter(move |state| match state.kind {
        ContainerKind::Usual => true,
        ContainerKind::Init => with_init,
        ContainerKind::Ephemeral => with_ephemeral,
    })
}

/// Whether one has ended with one of these codes, if there are any.
fn has_exited_so<'s>(mut states: impl Iterator<Item = &'s ContainerState>, codes: &[i64]) -> bool {
    codes.is_empty()
        || states.any(|state| state.exit_code.is_some_and(|code| codes.contains(&code)))
}

fn has_owner_of(guest: &Guest<'_>, kinds: &[Text]) -> bool {
    guest.meta.owners.iter().any(|owner| kinds.contains(&owner.kind))
}
