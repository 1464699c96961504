//! What is kept of a run for an intent.

use controllers::Body;

use crate::{
    cluster::{
        Objects, Store,
        events::{Monitor, Step},
        kinds::KindId,
        objects::Stored,
    },
    kivi::{events::is_broken, pods},
};

/// What a monitor keeps: in the lowest bits what it is judged by, above that what it needs to go on.
const LEVEL_BITS: u32 = 8;
const LEVEL: u64 = (1 << LEVEL_BITS) - 1;

/// What is judged of what a monitor keeps.
pub(super) fn level(kept: u64) -> u64 {
    kept & LEVEL
}

/// Who evicts pods: controllers and events.
const EVICTORS: [&str; 5] =
    ["descheduler", "taint-eviction", "kernelPanic", "nodeFailure", "maintenance"];

fn count(objects: &Objects, store: &Store, deployment: &str) -> u32 {
    u32::try_from(pods::live(objects, store, deployment).count()).unwrap_or(u32::MAX)
}

/// Uids of the live pods of a deployment, in order.
fn uids<'o>(objects: &'o Objects, store: &Store, deployment: &str) -> Vec<&'o str> {
    let mut uids: Vec<&str> =
        pods::live(objects, store, deployment).map(|found| &*found.object.meta.uid).collect();
    uids.sort_unstable();
    uids
}

/// Whether there is one in `one` that is not in `other`; both are in order.
fn has_other(one: &[&str], other: &[&str]) -> bool {
    one.iter().any(|uid| other.binary_search(uid).is_err())
}

/// Whether pods reach the most that an autoscaler allows, and fall to its least or by three.
#[derive(Debug)]
pub(super) struct Oscillation {
    pub deployment: String,
    pub min: u32,
    pub max: u32,
}

impl Oscillation {
    /// They fell. Before that: 1 from when they reached the most.
    pub(super) const VIOLATED: u64 = 2;
    const FALLS: u32 = 3;
}

impl Monitor for Oscillation {
    fn name(&self) -> &str {
        "oscillation"
    }

    fn begin(&self, objects: &Objects, store: &Store) -> u64 {
        u64::from(count(objects, store, &self.deployment) >= self.max && self.min < self.max)
    }

    fn step(&self, objects: &Objects, kept: u64, step: &Step<'_>) -> u64 {
        let pods = count(objects, step.after, &self.deployment);
        let low = self.min.max(self.max.saturating_sub(Self::FALLS));
        match kept {
            0 => u64::from(pods >= self.max && self.min < self.max),
            1 if pods <= low => Self::VIOLATED,
            kept => kept,
        }
    }
}

/// Whether there are as many pods as there should be, once there were.
#[derive(Debug)]
pub(super) struct AtLeast {
    pub deployment: String,
    pub pods: u32,
}

impl AtLeast {
    /// There are fewer. Before that: 1 from when there were enough.
    pub(super) const VIOLATED: u64 = 2;
}

impl Monitor for AtLeast {
    fn name(&self) -> &str {
        "at least"
    }

    fn begin(&self, objects: &Objects, store: &Store) -> u64 {
        u64::from(count(objects, store, &self.deployment) >= self.pods)
    }

    fn step(&self, objects: &Objects, kept: u64, step: &Step<'_>) -> u64 {
        match (kept, count(objects, step.after, &self.deployment) >= self.pods) {
            (0, enough) => u64::from(enough),
            (1, false) => Self::VIOLATED,
            (kept, _) => kept,
        }
    }
}

/// How often pods were evicted and made again; or whether the last step evicted some.
#[derive(Debug)]
pub(super) struct Evictions {
    pub deployment: String,
    pub counts: bool,
}

/// Pods were evicted, and none was made since.
const PENDING: u64 = 1 << LEVEL_BITS;

impl Monitor for Evictions {
    fn name(&self) -> &str {
        "evictions"
    }

    fn begin(&self, _objects: &Objects, _store: &Store) -> u64 {
        0
    }

    fn step(&self, objects: &Objects, kept: u64, step: &Step<'_>) -> u64 {
        let before = uids(objects, step.before, &self.deployment);
        let after = uids(objects, step.after, &self.deployment);
        let evicts = EVICTORS.contains(&step.by) && has_other(&before, &after);
        let adds = has_other(&after, &before);
        match (self.counts, evicts, adds) {
            (false, ..) => evicts.into(),
            (true, true, _) => kept | PENDING,
            (true, false, true) if kept & PENDING != 0 => (kept ^ PENDING) + 1,
            (true, false, _) => kept,
        }
    }
}

/// How often the same node broke down, most of all; or whether one did in the last step. Of as many nodes as there are
/// bits for counts.
#[derive(Debug)]
pub(super) struct Breakdowns {
    /// The place of the first of these nodes.
    pub first: usize,
    pub counts: bool,
}

impl Breakdowns {
    /// Each node is counted up to three.
    const BITS: u32 = 2;
    /// How many nodes one monitor counts.
    pub(super) const NODES: usize = ((u64::BITS - LEVEL_BITS) / Self::BITS) as usize;
}

impl Monitor for Breakdowns {
    fn name(&self) -> &str {
        "breakdowns"
    }

    fn begin(&self, _objects: &Objects, _store: &Store) -> u64 {
        0
    }

    fn step(&self, objects: &Objects, kept: u64, step: &Step<'_>) -> u64 {
        if step.by != "kernelPanic" {
            return if self.counts { kept } else { 0 };
        }
        let nodes = step.after.of_kind(objects, KindId::NODE);
        let nodes = nodes.skip(self.first).take(Self::NODES).enumerate();
        let broke = nodes.filter(|(_, (id, node))| {
            is_broken(node) && step.before.id(objects, &node.key) != Some(*id)
        });
        broke.fold(if self.counts { kept } else { 0 }, |kept, (at, _)| match self.counts {
            false => 1,
            true => {
                let shift = LEVEL_BITS + Self::BITS * at as u32;
                let count = (kept >> shift & 3) + 1;
                let counted = if count <= 3 { kept + (1 << shift) } else { kept };
                counted & !LEVEL | count.max(level(kept))
            }
        })
    }
}

/// Whether pods come to nodes that have too many already.
#[derive(Debug)]
pub(super) struct Balanced {
    pub deployment: String,
    pub max_skew: u32,
}

impl Monitor for Balanced {
    fn name(&self) -> &str {
        "balance"
    }

    fn begin(&self, _objects: &Objects, _store: &Store) -> u64 {
        0
    }

    fn step(&self, objects: &Objects, kept: u64, step: &Step<'_>) -> u64 {
        let bound = |store| {
            let live = pods::live(objects, store, &self.deployment);
            live.filter(|found| !found.pod.node.is_empty())
        };
        let before: Vec<&str> = bound(step.before).map(|found| &*found.object.meta.uid).collect();
        if bound(step.after).all(|found| before.contains(&&*found.object.meta.uid)) {
            return kept;
        }
        let ready = step.after.of_kind(objects, KindId::NODE).filter(|(_, node)| {
            let body = node.seen().map(|seen| &seen.body);
            matches!(body, Some(Body::Node(node)) if node.ready && !node.unschedulable)
        });
        let counts: Vec<usize> = ready
            .map(|(_, node)| {
                bound(step.after).filter(|found| found.pod.node == node.key.name).count()
            })
            .collect();
        let (most, least) = (counts.iter().max(), counts.iter().min());
        let skew = most.zip(least).map_or(0, |(most, least)| most - least);
        kept.max(u64::from(skew > self.max_skew as usize))
    }
}

/// Whether the last step changed something that matters: not who said what of it when.
#[derive(Debug)]
pub(super) struct Changes {
    /// Whose replicas; none for pods, nodes and replicas of all.
    deployment: Option<String>,
}

impl Changes {
    pub(super) fn of_replicas(deployment: String) -> Changes {
        Changes { deployment: Some(deployment) }
    }

    pub(super) fn of_all() -> Changes {
        Changes { deployment: None }
    }

    /// What matters of an object.
    fn matters(&self, stored: &Stored) -> Option<String> {
        let value = stored.value()?;
        let kind = stored.kind.kind();
        match &self.deployment {
            Some(name) => (kind == "Deployment" && *stored.key.name == **name)
                .then(|| value["spec"]["replicas"].to_string()),
            None => match kind {
                "Deployment" => Some(value["spec"]["replicas"].to_string()),
                "Pod" => {
                    Some(format!("{} {}", value["spec"]["nodeName"], value["status"]["phase"]))
                }
                "Node" => Some(format!("{} {}", value["spec"], is_broken(stored))),
                _ => None,
            },
        }
    }
}

impl Monitor for Changes {
    fn name(&self) -> &str {
        "changes"
    }

    fn begin(&self, _objects: &Objects, _store: &Store) -> u64 {
        0
    }

    fn step(&self, objects: &Objects, _kept: u64, step: &Step<'_>) -> u64 {
        let changed = step.after.changed_since(objects, step.before);
        let matters = |(before, after): (Option<&Stored>, Option<&Stored>)| {
            before.and_then(|one| self.matters(one)) != after.and_then(|one| self.matters(one))
        };
        u64::from(changed.into_iter().any(matters))
    }
}
