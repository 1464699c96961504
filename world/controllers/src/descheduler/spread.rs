//! RemovePodsViolatingTopologySpreadConstraint: pods are to be spread as they themselves ask for
//! (`pkg/framework/plugins/removepodsviolatingtopologyspreadconstraint`).
//!
//! Upstream looks at pods that may be evicted only, and at no constraint but the one in hand: what one constraint asks to
//! have moved may make another worse. `minDomains` is not read.

use std::collections::BTreeMap;

use super::{
    args::Spread,
    cycle::{Cycle, Eviction, Guest, Host},
    filter::Filter,
    fit,
};
use crate::{
    calls::Stop,
    object::Text,
    scheduler::{Constraint, is_selected},
};

const NAME: &str = "RemovePodsViolatingTopologySpreadConstraint";

/// Pods for eviction, by their keys.
type Chosen<'v> = BTreeMap<&'v trace::ObjectKey, Guest<'v>>;

/// The pods of the nodes with one value of a label.
struct Domain<'v> {
    value: Text,
    /// The last go first.
    guests: Vec<Guest<'v>>,
}

pub(super) fn balance(
    cycle: &mut Cycle<'_, '_, '_>,
    filter: &Filter<'_>,
    args: &Spread,
) -> Result<(), Stop> {
    let mut namespaces: BTreeMap<Text, Vec<Guest<'_>>> = BTreeMap::new();
    let passes = |cycle: &Cycle<'_, '_, '_>, guest: &Guest<'_>| {
        args.scope.covers(guest) && filter.allows(cycle, guest)
    };
    for host in &cycle.hosts {
        for guest in cycle.on(&host.name, |guest| passes(cycle, guest)) {
            namespaces.entry(guest.key.namespace.clone()).or_default().push(guest);
        }
    }
    let mut chosen = Chosen::new();
    for guests in namespaces.values() {
        for (constraint, of) in constraints(guests, args) {
            let domains = domains(cycle, guests, constraint, &of);
            choose(cycle, filter, args, (constraint, &of), domains, &mut chosen);
        }
    }
    let mut done: Vec<Text> = Vec::new();
    for guest in cycle.view.in_order(chosen.into_values().collect()) {
        let skipped = done.contains(&guest.pod.node) || !passes(cycle, &guest);
        if skipped || !filter.may_go(cycle.view, &guest) {
            continue;
        }
        match cycle.evict(&guest, NAME)? {
            Eviction::Tried { .. } => {}
            Eviction::NodeIsDone => done.push(guest.pod.node.clone()),
            Eviction::AllIsDone => break,
        }
    }
    Ok(())
}

/// The constraints of these pods that count, each once, with a pod that has it: which nodes it is about depends on what
/// that pod says of nodes, where it asks for that (`newTopologySpreadConstraint`, `hasIdenticalConstraints`).
fn constraints<'v>(guests: &[Guest<'v>], args: &Spread) -> Vec<(&'v Constraint, Guest<'v>)> {
    let mut all: Vec<(&Constraint, Guest<'_>)> = Vec::new();
    for guest in guests {
        for constraint in &guest.pod.placing.spread {
            let counts = if constraint.required { args.required } else { args.preferred };
            let known = || all.iter().any(|(other, of)| is_same((constraint, guest), (other, of)));
            if counts && !known() {
                all.push((constraint, *guest));
            }
        }
    }
    all
}

fn is_same((a, of): (&Constraint, &Guest<'_>), (b, by): (&Constraint, &Guest<'_>)) -> bool {
    (a.max_skew, &a.topology, &a.selector) == (b.max_skew, &b.topology, &b.selector)
        && (a.by_affinity, a.by_taints) == (b.by_affinity, b.by_taints)
        && (!a.by_affinity
            || (&of.pod.node_selector, &of.pod.affinity)
                == (&by.pod.node_selector, &by.pod.affinity))
        && (!a.by_taints || of.pod.tolerations == by.pod.tolerations)
}

/// Whether a constraint is about a node (`matchNodeInclusionPolicies`).
fn includes(constraint: &Constraint, of: &Guest<'_>, host: &Host<'_>) -> bool {
    (!constraint.by_affinity || is_selected(of.pod, &host.name, host.labels))
        && (!constraint.by_taints || !host.node.repels(of.pod))
}

/// Who is where. A node that the constraint is not about counts nevertheless, if one of the pods is there.
fn domains<'v>(
    cycle: &Cycle<'v, '_, '_>,
    guests: &[Guest<'v>],
    constraint: &Constraint,
    of: &Guest<'_>,
) -> Vec<Domain<'v>> {
    let mut domains: BTreeMap<Text, Vec<Guest<'_>>> = BTreeMap::new();
    let value = |host: &Host<'_>| host.labels.get(&constraint.topology).cloned();
    for host in cycle.hosts.iter().filter(|host| includes(constraint, of, host)) {
        if let Some(value) = value(host) {
            domains.entry(value).or_default();
        }
    }
    let values: BTreeMap<&Text, Text> =
        cycle.hosts.iter().filter_map(|host| Some((&host.name, value(host)?))).collect();
    for guest in guests {
        if !cycle.is_going(guest)
            && constraint.selects(&guest.meta.labels)
            && let Some(value) = values.get(&guest.pod.node)
        {
            domains.entry(value.clone()).or_default().push(*guest);
        }
    }
    let domains = domains.into_iter().map(|(value, guests)| Domain { value, guests });
    cycle.view.in_order(domains.collect())
}

/// Chooses pods of large domains, until small ones could have them and all would be within the skew (`balanceDomains`).
/// Pods that fit nowhere else count as moved, but are not chosen.
fn choose<'v>(
    cycle: &Cycle<'v, '_, '_>,
    filter: &Filter<'_>,
    args: &Spread,
    (constraint, of): (&Constraint, &Guest<'_>),
    mut domains: Vec<Domain<'v>>,
    chosen: &mut Chosen<'v>,
) {
    let sizes = || domains.iter().map(|domain| domain.guests.len());
    let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
    if (most - least) as i64 <= constraint.max_skew {
        return;
    }
    let average = sizes().sum::<usize>() as f64 / domains.len() as f64;
    sort(cycle, filter, &mut domains);
    let below = below(cycle, &domains, (constraint, of), average);
    let fits = |guest: &Guest<'_>| fit::fits_another(cycle.view, guest, &below);
    let (mut small, mut large) = (0, domains.len() - 1);
    while small < large {
        // It has no more to give.
        if domains[large].guests.len() as f64 <= average {
            large -= 1;
        }
        let moved =
            to_move(domains[small].guests.len(), domains[large].guests.len(), constraint, average);
        if moved == 0 {
            small += 1;
            continue;
        }
        let from = &mut domains[large].guests;
        from.sort_by_key(|guest| fits(guest));
        let moving = from.split_off(from.len() - moved);
        for guest in &moving {
            if !args.only_where_they_fit || fits(guest) {
                chosen.insert(guest.key, *guest);
            }
        }
        domains[small].guests.extend(moving);
    }
}

/// How many pods go from a large domain to a small one: half of what is beyond the skew, but so many that neither passes
/// the average.
fn to_move(small: usize, large: usize, constraint: &Constraint, average: f64) -> usize {
    let (small, large) = (small as f64, large as f64);
    let skew = large - small;
    if skew as i64 <= constraint.max_skew {
        return 0;
    }
    let (above, below) = ((large - average).ceil(), (average - small).ceil());
    let half = ((skew - constraint.max_skew as f64) / 2.0).ceil();
    above.min(below).min(half).max(0.0) as usize
}

/// Domains by size, and in each those that go first last: with a high priority, before that those that choose their nodes,
/// before all those that may not be evicted (`sortDomains`). That those with a low priority stay is upstream's order, not
/// what its comments say.
fn sort(cycle: &Cycle<'_, '_, '_>, filter: &Filter<'_>, domains: &mut [Domain<'_>]) {
    for domain in domains.iter_mut() {
        domain.guests.sort_by_key(|guest| {
            let free = !guest.pod.leaving.chooses_nodes;
            (filter.allows(cycle, guest), free, guest.pod.placing.priority)
        });
    }
    domains.sort_by_key(|domain| domain.guests.len());
}

/// The nodes of domains that are smaller than the average (`filterNodesBelowIdealAvg`).
fn below<'v>(
    cycle: &Cycle<'v, '_, '_>,
    domains: &[Domain<'_>],
    (constraint, of): (&Constraint, &Guest<'_>),
    average: f64,
) -> Vec<Host<'v>> {
    let is_below = |host: &&Host<'_>| {
        let value = host.labels.get(&constraint.topology);
        let mut small = domains.iter().filter(|domain| (domain.guests.len() as f64) < average);
        includes(constraint, of, host) && small.any(|domain| Some(&domain.value) == value)
    };
    cycle.hosts.iter().filter(is_below).cloned().collect()
}
