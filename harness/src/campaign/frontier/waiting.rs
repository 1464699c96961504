//! Worlds that wait: which is next.

use std::collections::BTreeMap;

use plans::{Family, Likelihood, plan::Weight};
use trace::{Level, identity::Identity};

use super::{Frontier, family_of};
use crate::campaign::{
    identities::COARSE,
    node::Waiting,
    order::{Depth, Score, Turns},
};

/// The order of the worlds of one class: fewest perturbations first, then what is likely to matter, then the simplest plan,
/// so that a world that several plans reach is known by the simplest. The last is the world's number.
pub(super) type Rank = (usize, Likelihood, Weight, usize);

/// Which of all is next; the last is the world's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    /// Depth, level, likelihood, how often plans were begun at its spot, how often its class at the level before
    /// was explored.
    Coarse(Depth, Level, Likelihood, u64, u64, Weight, usize),
    /// Whether it is explored as a sample only, and how often its class was explored.
    Exact(bool, u64, Weight, usize),
}

impl Order {
    fn depth(&self) -> Depth {
        match self {
            Order::Coarse(depth, ..) => *depth,
            Order::Exact(..) => Depth::Exact,
        }
    }

    fn level(&self) -> Level {
        match self {
            Order::Coarse(_, level, ..) => *level,
            Order::Exact(..) => Level::Exact,
        }
    }

    fn world(&self) -> usize {
        match self {
            Order::Coarse(.., at) | Order::Exact(.., at) => *at,
        }
    }
}

impl Frontier {
    /// The coarsest level at which a world is due; none if none is.
    pub fn due(&self) -> Option<Level> {
        let orders = self.waiting.values().filter_map(|waiting| waiting.first());
        let orders = orders.map(|rank| self.order(rank, &Turns::default()));
        let due = orders.filter(|order| !matches!(order, Order::Exact(true, ..)));
        due.map(|order| order.level()).min()
    }

    /// Whether worlds wait that are explored by class only, and whose classes are.
    pub fn has_samples(&self) -> bool {
        self.due().is_none() && self.waiting() > 0
    }

    /// How deep the next world of each family is.
    pub fn depths(&self, turns: &Turns) -> BTreeMap<Family, Depth> {
        let mut depths = BTreeMap::new();
        for ((_, family), waiting) in &self.waiting {
            let Some(rank) = waiting.first() else { continue };
            let depth = self.order(rank, turns).depth();
            let least = depths.entry(*family).or_insert(depth);
            *least = depth.min(*least);
        }
        depths
    }

    fn next(&self, family: Family, turns: &Turns) -> Option<Order> {
        let of_family = self.waiting.iter().filter(|((_, of), _)| *of == family);
        let first = of_family.filter_map(|(_, waiting)| waiting.first());
        first.map(|rank| self.order(rank, turns)).min()
    }

    pub(super) fn order(&self, rank: &Rank, turns: &Turns) -> Order {
        let (depth, likelihood, weight, at) = *rank;
        let mut before = 0;
        for level in COARSE {
            let class = self.classes[level as usize].get(&self.class_of(level, at));
            let taken = class.map_or(0, |class| class.taken);
            if taken == 0 {
                let visits = turns.visits(&self.worlds[at].score.spot);
                let depth = match level {
                    Level::Age => Depth::Fine(depth),
                    _ => Depth::Coarse(depth),
                };
                return Order::Coarse(depth, level, likelihood, visits, before, weight, at);
            }
            before = taken;
        }
        Order::Exact(self.worlds[at].node.plan.takes_time(), before, weight, at)
    }

    /// Takes the next world of a family. Its number, the world, and the level at which it was due.
    pub fn take(&mut self, family: Family, turns: &mut Turns) -> Option<(usize, Waiting, Level)> {
        let next = self.next(family, turns)?;
        let at = next.world();
        self.wait_no_more(at);
        turns.visit(&self.worlds[at].score.spot);
        let world = &mut self.worlds[at];
        world.taken = true;
        let node = world.node.clone();
        for level in COARSE {
            self.class_mut(level, at).taken += 1;
        }
        Some((at, node, next.level()))
    }

    pub(super) fn wait(&mut self, at: usize) {
        let (group, rank) = (self.group(at), self.rank(at));
        self.waiting.entry(group).or_default().insert(rank);
    }

    pub(super) fn wait_no_more(&mut self, at: usize) {
        let (group, rank) = (self.group(at), self.rank(at));
        if let Some(waiting) = self.waiting.get_mut(&group) {
            waiting.remove(&rank);
            if waiting.is_empty() {
                self.waiting.remove(&group);
            }
        }
    }

    pub(super) fn group(&self, at: usize) -> (Identity, Family) {
        (self.class_of(Level::Age, at), family_of(&self.worlds[at].node.plan))
    }

    fn rank(&self, at: usize) -> Rank {
        let Score { weight, likelihood, .. } = self.worlds[at].score;
        (weight.perturbations, likelihood, weight, at)
    }
}
