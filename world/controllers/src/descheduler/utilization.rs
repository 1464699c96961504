//! LowNodeUtilization: pods leave nodes that are used more than others; HighNodeUtilization: they leave nodes that are hardly
//! used (`pkg/framework/plugins/nodeutilization`). Used is what pods ask for.

use std::collections::BTreeMap;

use super::{
    anti_affinity,
    args::Utilization,
    cycle::{Cycle, Eviction, Guest, Host},
    filter::Filter,
};
use crate::{
    calls::Stop,
    object::Text,
    resources::Resources,
    scheduler::{Node, tolerates},
};

/// Amounts by resource: thousandths of CPU, bytes, pieces.
type Amounts = BTreeMap<Text, i64>;
/// Percentages by resource.
type Shares = BTreeMap<Text, f64>;

/// A node, and what is used of it.
struct Use<'v> {
    host: Host<'v>,
    guests: Vec<Guest<'v>>,
    amounts: Amounts,
    shares: Shares,
}

/// How one of the two plugins evicts.
struct Move<'a> {
    plugin: &'static str,
    args: &'a Utilization,
    /// Shares of nodes that may be used.
    high: &'a Shares,
    /// Whether nodes are left when they are below that.
    until_low: bool,
}

pub(super) fn low(
    cycle: &mut Cycle<'_, '_, '_>,
    filter: &Filter<'_>,
    args: &Utilization,
) -> Result<(), Stop> {
    let uses = uses(cycle, args);
    let (low, high) = thresholds(&uses, args);
    let is_low = |one: &Use<'_>| !one.host.node.unschedulable && !is_above(&one.shares, &low);
    let all = uses.len();
    let (targets, others): (Vec<_>, Vec<_>) = uses.into_iter().partition(is_low);
    let mut sources: Vec<Use<'_>> = others;
    sources.retain(|one| is_above(&one.shares, &high));
    if !is_worth_it(targets.len(), all, args) || sources.is_empty() {
        return Ok(());
    }
    sources.sort_by_key(|one| -one.amounts.values().sum::<i64>());
    let how = Move { plugin: "LowNodeUtilization", args, high: &high, until_low: true };
    how.evict(cycle, filter, sources, &targets)
}

pub(super) fn high(
    cycle: &mut Cycle<'_, '_, '_>,
    filter: &Filter<'_>,
    args: &Utilization,
) -> Result<(), Stop> {
    let uses = uses(cycle, args);
    let all = uses.len();
    let (mut sources, mut targets): (Vec<_>, Vec<_>) =
        uses.into_iter().partition(|one| !is_above(&one.shares, &args.low));
    targets.retain(|one| !one.host.node.unschedulable);
    if !is_worth_it(sources.len(), all, args) || targets.is_empty() {
        return Ok(());
    }
    sources.sort_by_key(|one| one.amounts.values().sum::<i64>());
    let how = Move { plugin: "HighNodeUtilization", args, high: &args.high, until_low: false };
    how.evict(cycle, filter, sources, &targets)
}

/// Whether there are underutilized nodes, more than some, and others.
fn is_worth_it(low: usize, all: usize, args: &Utilization) -> bool {
    low > 0 && i64::try_from(low).is_ok_and(|low| low > args.few) && low < all
}

/// The resources with thresholds, and those that always count.
fn names(args: &Utilization) -> impl Iterator<Item = Text> {
    let basic = ["cpu", "memory", "pods"].map(Text::from);
    args.low.keys().cloned().chain(basic)
}

fn amount(of: &Resources, name: &str) -> i64 {
    match name {
        "cpu" => of.cpu_milli,
        "memory" => of.memory_bytes,
        "ephemeral-storage" => of.ephemeral_bytes,
        other => of.others.get(other).copied().unwrap_or(0),
    }
}

fn capacity(node: &Node, name: &str) -> i64 {
    if name == "pods" { node.pods } else { amount(&node.allocatable, name) }
}

fn uses<'v>(cycle: &Cycle<'v, '_, '_>, args: &Utilization) -> Vec<Use<'v>> {
    let of_host = |host: &Host<'v>| {
        let guests = cycle.on(&host.name, |_| true);
        let used = cycle.view.load(&host.name);
        let used = |name: &Text| match used {
            Some(load) if **name == *"pods" => load.pods as i64,
            Some(load) => amount(&load.requested, name),
            None => 0,
        };
        let amounts: Amounts = names(args).map(|name| (name.clone(), used(&name))).collect();
        let share = |(name, used): (&Text, &i64)| {
            let has = capacity(host.node, name);
            let share = if has > 0 { *used as f64 / has as f64 * 100.0 } else { 0.0 };
            (name.clone(), share)
        };
        let shares = amounts.iter().map(share).collect();
        Use { host: host.clone(), guests, amounts, shares }
    };
    cycle.hosts.iter().map(of_host).collect()
}

/// From where on a node is not underutilized any more, and from where on it is overutilized: as given, or so far from
/// the average of all nodes.
fn thresholds(uses: &[Use<'_>], args: &Utilization) -> (Shares, Shares) {
    if !args.from_average {
        return (args.low.clone(), args.high.clone());
    }
    let from_average = |of: &Shares, sign: f64| {
        let of = of.iter().map(|(name, distance)| {
            // A node that has nothing of it has no share in it.
            let with = uses.iter().filter(|one| capacity(one.host.node, name) > 0);
            let shares: Vec<f64> = with.map(|one| one.shares[name]).collect();
            let average = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
            (name.clone(), (average + sign * distance).clamp(0.0, 100.0))
        });
        of.collect()
    };
    (from_average(&args.low, -1.0), from_average(&args.high, 1.0))
}

/// Whether more is used of one resource.
fn is_above(shares: &Shares, threshold: &Shares) -> bool {
    threshold.iter().any(|(name, most)| shares.get(name).copied().unwrap_or(0.0) > *most)
}

impl Move<'_> {
    /// What of a node may be used (`capNodeCapacityToThreshold`).
    fn usable(&self, host: &Host<'_>, name: &Text) -> i64 {
        let has = capacity(host.node, name);
        self.high.get(name).map_or(has, |share| (share * 0.01 * has as f64) as i64)
    }

    /// `evictPodsFromSourceNodes`.
    fn evict<'v>(
        &self,
        cycle: &mut Cycle<'v, '_, '_>,
        filter: &Filter<'_>,
        sources: Vec<Use<'v>>,
        targets: &[Use<'v>],
    ) -> Result<(), Stop> {
        let free = |name: Text| {
            let of = targets.iter().map(|one| self.usable(&one.host, &name) - one.amounts[&name]);
            let sum = of.sum();
            (name, sum)
        };
        let mut free: Amounts = names(self.args).map(free).collect();
        for mut source in sources {
            source.guests.retain(|guest| filter.allows(cycle, guest));
            anti_affinity::sort(&mut source.guests);
            if !self.evict_from(cycle, filter, source, targets, &mut free)? {
                break;
            }
        }
        Ok(())
    }

    /// Evicts pods of a node, as long as that helps. Whether the plugin goes on with another (`evictPods`).
    fn evict_from<'v>(
        &self,
        cycle: &mut Cycle<'v, '_, '_>,
        filter: &Filter<'_>,
        mut source: Use<'v>,
        targets: &[Use<'v>],
        free: &mut Amounts,
    ) -> Result<bool, Stop> {
        let mut evicted = 0;
        for guest in std::mem::take(&mut source.guests) {
            if !self.goes_on(&source, free)
                || self.args.per_node.is_some_and(|most| evicted >= most)
            {
                break;
            }
            let excluded = self.args.excluded.contains(&guest.key.namespace);
            if excluded || !is_tolerant(&guest, targets) || !filter.may_go(cycle.view, &guest) {
                continue;
            }
            match cycle.evict(&guest, self.plugin)? {
                Eviction::Tried { goes: false } => continue,
                Eviction::Tried { goes: true } => {}
                Eviction::NodeIsDone => break,
                Eviction::AllIsDone => return Ok(false),
            }
            evicted += 1;
            for (name, free) in free.iter_mut() {
                let asked = amount(&guest.pod.requests.all, name);
                let asked = if **name == *"pods" { 1 } else { asked };
                *free -= asked;
                *source.amounts.entry(name.clone()).or_default() -= asked;
            }
        }
        Ok(true)
    }

    fn goes_on(&self, source: &Use<'_>, free: &Amounts) -> bool {
        let is_high = |(name, used): (&Text, &i64)| *used > self.usable(&source.host, name);
        (!self.until_low || source.amounts.iter().any(is_high))
            && free.values().all(|free| *free > 0)
    }
}

/// Whether a pod tolerates all taints of one of the nodes; with fewer tolerations than taints it is taken not to
/// (`PodToleratesTaints`).
fn is_tolerant(guest: &Guest<'_>, targets: &[Use<'_>]) -> bool {
    targets.iter().any(|target| {
        let taints = &target.host.node.taints;
        guest.pod.tolerations.len() >= taints.len()
            && taints.iter().all(|taint| tolerates(guest.pod, taint))
    })
}
