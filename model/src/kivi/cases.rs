//! Kivi's eight cases, at any scale: violating their intent, not, and not for a reason that says something.

use super::{description::Description, intent::Intent};

mod bounds;
mod evictions;
mod nodes;
mod parts;
mod scaling;
#[cfg(test)]
mod tests;

/// A case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Case {
    /// Pods use much when they start, and an autoscaler follows them up and down.
    C1,
    /// What is applied says nothing of replicas, so there is one, whatever the autoscaler wants.
    C2,
    /// Two hard spread constraints leave no node.
    C3,
    /// Pods pile up on nodes, which break down one after the other.
    C4,
    /// The descheduler's RemoveDuplicates and the scheduler don't agree.
    C5,
    /// Nodes that come back from maintenance get no pods, and then too many go at once.
    C6,
    /// A pod's `nodeName` and a taint don't agree.
    C7,
    /// The descheduler and the scheduler don't agree about soft constraints (descheduler issue 921).
    C8,
}

/// A variant of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variant {
    /// The intent is violated.
    Violating,
    /// Kivi's own that is not: the cause is taken away, or the intent (C1, C2, C6).
    Clean,
    /// Ours where Kivi's takes the intent away: the cause is taken away, and the intent kept.
    Cured,
}

impl Case {
    /// All of them.
    pub const ALL: [Case; 8] =
        [Case::C1, Case::C2, Case::C3, Case::C4, Case::C5, Case::C6, Case::C7, Case::C8];

    /// The case of this name, `c1` to `c8`.
    pub fn named(name: &str) -> Option<Case> {
        Case::ALL.into_iter().find(|case| case.name() == name.to_ascii_lowercase())
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"][self as usize]
    }

    /// Whether Kivi's variant without a violation asks for nothing, so that there is one of ours.
    pub fn has_cured(self) -> bool {
        matches!(self, Case::C1 | Case::C2 | Case::C6)
    }

    /// The case as Kivi's generator makes it at a scale, of which pods run at the start.
    pub fn at_scale(self, scale: u32, variant: Variant) -> Description {
        let n = scale.max(1);
        asking_always(
            variant,
            match self {
                Case::C1 => scaling::c1(n, (n / 5).max(1), 2 * n, variant),
                Case::C2 => scaling::c2(n, n, n + 2, variant),
                Case::C3 => nodes::c3_at_scale(n, variant),
                Case::C4 => nodes::c4(n, 2 * n + 1, variant),
                Case::C5 => evictions::c5_at_scale(n, variant),
                Case::C6 => nodes::c6(n, n, variant),
                Case::C7 => evictions::c7(1, n.saturating_sub(1), 5 * n, variant),
                Case::C8 => evictions::c8(n.div_ceil(5), n - n.div_ceil(5), 2 * n, variant),
            },
        )
    }

    /// The case with so many nodes of each of its types and so many pods, none of which runs at the start. The most
    /// that an autoscaler may want is twice as many, and no more than seven a node.
    pub fn of_size(self, nodes: &[u32], pods: u32, variant: Variant) -> Description {
        let all: u32 = nodes.iter().sum();
        let most = (2 * pods).min(7 * all).max(pods);
        let second = nodes.get(1).copied().unwrap_or(0);
        asking_always(
            variant,
            match self {
                Case::C1 => scaling::c1(all, pods, most, variant),
                Case::C2 => without_placement(scaling::c2(all, pods, most, variant)),
                Case::C3 => nodes::c3(nodes[0], second, pods, most, variant),
                Case::C4 => nodes::c4(all, pods, variant),
                Case::C5 => evictions::c5(nodes[0], second, pods, variant),
                Case::C6 => without_placement(nodes::c6(all, pods, variant)),
                Case::C7 => evictions::c7(nodes[0], second, pods, variant),
                Case::C8 => evictions::c8(nodes[0], second, pods, variant),
            },
        )
    }
}

/// Kivi asks always whether a node is found. Here a case that violates its intent is asked for that alone: C4 leaves a
/// pod without a node long before a node breaks down for the third time.
fn asking_always(variant: Variant, mut of: Description) -> Description {
    if variant != Variant::Violating && !of.intents.contains(&Intent::AlwaysSchedulable) {
        of.intents.push(Intent::AlwaysSchedulable);
    }
    of
}

fn without_placement(mut of: Description) -> Description {
    of.deployments.iter_mut().for_each(|deployment| deployment.placed.clear());
    of
}
