//! Hints by `service.kubernetes.io/topology-mode: Auto`: each zone gets a share of the endpoints that are ready, as
//! large as its share of the processors (`k8s.io/endpointslice/topologycache`, Kubernetes 1.36).
//!
//! What upstream leaves to the order of Go's maps goes by name here: which of two zones gives or gets an endpoint
//! first, where both have as much too many or too few. How many endpoints of a Service are meant for which zone is read
//! off its slices; upstream remembers it, and writes slices whenever it changes.

use std::collections::BTreeMap;

use trace::ObjectKey;

use super::{Endpoint, Hints, Item, Work, Written, hints, slices};
use crate::{
    controller::Affected,
    object::{Body, Text},
    services::{services, told_of},
    view::{View, Zones},
};

/// By how much an endpoint may have more to do than its share (`overloadThreshold`).
const OVERLOAD: f64 = 0.2;
/// The part of its share that a zone needs at least.
const LEAST: f64 = 1.0 / (1.0 + OVERLOAD);

/// Endpoints that are ready, by the zone that they are meant for.
type Counts = BTreeMap<Text, usize>;

/// How many endpoints a zone is to get.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Share {
    /// At most.
    most: usize,
    /// At best.
    desired: f64,
}

/// What each zone is to get.
#[derive(Debug, Clone, PartialEq)]
struct Shares(BTreeMap<Text, Share>);

fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions[0]
}

/// A zone's share of so many endpoints.
fn part(endpoints: usize, cpu_milli: i64, zones: &Zones) -> f64 {
    let all: i64 = zones.values().sum();
    (cpu_milli as f64 / all as f64) * endpoints as f64
}

impl Shares {
    /// None where no zone could get as many as it needs (`getAllocations`).
    fn of(zones: &Zones, endpoints: usize) -> Option<Shares> {
        if zones.len() > endpoints {
            return None;
        }
        let (mut shares, mut left) = (BTreeMap::new(), endpoints);
        for (zone, cpu_milli) in zones {
            let desired = part(endpoints, *cpu_milli, zones);
            let least = (desired * LEAST).ceil() as usize;
            left = left.checked_sub(least)?;
            let share = Share { most: least, desired: desired.max(least as f64) };
            shares.insert(zone.clone(), share);
        }
        shares.values_mut().for_each(|share| share.most += left);
        Some(Shares(shares))
    }

    /// For which zones the endpoints of a slice are meant that stays as it is; none where it has to be written, since
    /// one is meant for nobody, or too many are meant for a zone that has so many already (`getHintsByZone`).
    fn counted(&self, endpoints: &[Endpoint], before: &Counts) -> Option<Counts> {
        let mut counts = Counts::new();
        for endpoint in endpoints.iter().filter(|one| is_ready(one)) {
            let hints = endpoint.hints.as_ref().filter(|hints| !hints.zones.is_empty())?;
            for zone in &hints.zones {
                self.0.get(zone)?;
                *counts.entry(zone.clone()).or_default() += 1;
            }
        }
        let fits = |(zone, count): (&Text, &usize)| {
            let known = before.get(zone).copied().unwrap_or(0);
            self.0.get(zone).is_some_and(|share| known + count <= share.most)
        };
        counts.iter().all(fits).then_some(counts)
    }

    /// How many endpoints each zone gives to others, and how many each gets (`getGivingAndReceivingZones`).
    fn moves(&self, has: &Counts) -> (Counts, Counts) {
        let (mut extra, mut lacking) = (BTreeMap::new(), BTreeMap::new());
        for (zone, share) in &self.0 {
            let more = has.get(zone).copied().unwrap_or(0) as f64 - share.desired;
            if more > 0.0 {
                extra.insert(zone.clone(), more);
            } else if more < 0.0 {
                lacking.insert(zone.clone(), -more);
            }
        }
        let (mut giving, mut getting) = (Counts::new(), Counts::new());
        while let (Some((from, gives)), Some((to, needs))) = (most(&extra), most(&lacking)) {
            if (gives < 1.0 && needs < 1.0) || gives < 0.5 || needs < 0.5 {
                break;
            }
            extra.insert(from.clone(), gives - 1.0);
            lacking.insert(to.clone(), needs - 1.0);
            *giving.entry(from).or_default() += 1;
            *getting.entry(to).or_default() += 1;
        }
        (giving, getting)
    }

    /// Gives hints to endpoints that are ready, where others have theirs already (`AddHints`, `redistributeHints`).
    fn give(&self, mut has: Counts, mut endpoints: Vec<&mut Endpoint>) {
        for endpoint in &mut endpoints {
            if let Some(zone) = endpoint.zone.clone() {
                *has.entry(zone.clone()).or_default() += 1;
                endpoint.hints = Some(Hints::of_zone(zone));
            }
        }
        let (mut giving, mut getting) = self.moves(&has);
        for endpoint in endpoints {
            let Some(to) = getting.keys().next().cloned() else { return };
            let from = endpoint.zone.clone().filter(|zone| giving.contains_key(zone));
            if let Some(from) = from {
                branch!(SliceShareMoved);
                take(&mut giving, &from);
                take(&mut getting, &to);
                endpoint.hints = Some(Hints::of_zone(to));
            }
        }
    }
}

/// The zone with the most, where one has any.
fn most(zones: &BTreeMap<Text, f64>) -> Option<(Text, f64)> {
    let mut found: Option<(&Text, f64)> = None;
    for (zone, amount) in zones {
        if *amount > found.map_or(0.0, |(_, most)| most) {
            found = Some((zone, *amount));
        }
    }
    found.map(|(zone, amount)| (zone.clone(), amount))
}

fn take(counts: &mut Counts, zone: &Text) {
    if let Some(count) = counts.get_mut(zone) {
        *count -= 1;
        if *count == 0 {
            counts.remove(zone);
        }
    }
}

impl<'v> Work<'v, '_, '_> {
    /// Gives hints by shares to the slices that are to be written, and writes those too that need others. False where
    /// there are to be none; then nothing was done.
    pub(super) fn share_out(
        &self,
        unchanged: &[&Item<'v>],
        changes: &mut Vec<Written<'v>>,
    ) -> bool {
        let Some(zones) = &self.zones else { return false };
        let known = unchanged.iter().map(|item| &item.2.endpoints);
        let all = changes.iter().map(|change| &change.endpoints).chain(known).flatten();
        let Some(shares) = Shares::of(zones, all.filter(|one| is_ready(one)).count()) else {
            branch!(SliceSharesUnfair);
            return false;
        };
        let (mut has, mut also) = (Counts::new(), Vec::new());
        for item in unchanged {
            match shares.counted(&item.2.endpoints, &has) {
                None => also.push(Written::again(item)),
                Some(counts) => {
                    for (zone, count) in counts {
                        *has.entry(zone).or_default() += count;
                    }
                }
            }
        }
        let is_nowhere = |one: &Endpoint| is_ready(one) && one.zone.is_none();
        let written = changes.iter().chain(&also);
        if written.flat_map(|written| &written.endpoints).any(is_nowhere) {
            return false;
        }
        branch!(SliceShares);
        changes.extend(also);
        let mut order: Vec<&mut Written<'v>> = changes.iter_mut().collect();
        order.sort_by_key(|written| written.over.is_some());
        let endpoints = order.into_iter().flat_map(|written| written.endpoints.iter_mut());
        shares.give(has, endpoints.filter(|one| is_ready(one)).collect());
        true
    }
}

/// The Services whose hints leave some zone with too little, now that zones are counted anew (`GetOverloadedServices`).
pub(super) fn overloaded(view: &View) -> Vec<Affected> {
    let zones = view.zones();
    let is_overloaded = |key: &ObjectKey, family: &Text| {
        leaves_too_little(&hinted(view, key, family), zones.as_ref())
    };
    let mut affected = Vec::new();
    for (key, object) in view.list(&services(), "") {
        let Body::Service(service) = &object.body else { continue };
        if hints::by_shares(&object.meta.annotations)
            && service.is_managed()
            && service.families.iter().any(|family| is_overloaded(&key, family))
        {
            branch!(SliceOverloaded);
            affected.push(Affected::now(&key));
        }
    }
    affected
}

/// For which zones the endpoints of a Service are meant.
fn hinted(view: &View, service: &ObjectKey, family: &Text) -> Counts {
    let mut counts = Counts::new();
    for (key, object) in view.list(&slices(), &service.namespace) {
        let Body::Slice(slice) = &object.body else { continue };
        if slice.family != *family || told_of(&key, object).as_ref() != Some(service) {
            continue;
        }
        let ready = slice.endpoints.iter().filter(|one| is_ready(one));
        for zone in ready.filter_map(|one| one.hints.as_ref()).flat_map(|hints| &hints.zones) {
            *counts.entry(zone.clone()).or_default() += 1;
        }
    }
    counts
}

/// `serviceOverloaded`.
fn leaves_too_little(counts: &Counts, zones: Option<&Zones>) -> bool {
    let endpoints: usize = counts.values().sum();
    match zones {
        _ if counts.is_empty() => false,
        None => true,
        Some(zones) => zones.iter().any(|(zone, cpu_milli)| {
            let least = (part(endpoints, *cpu_milli, zones) * LEAST).ceil() as usize;
            counts.get(zone).copied().unwrap_or(0) < least
        }),
    }
}

#[cfg(test)]
mod tests;
