//! Worlds in which the controller is down: seen, waiting to be explored, and which is next.
//!
//! **Coarse first.** A world is *due* at the first level (`trace::identity::Level`) at which no world of its class was
//! explored. Of worlds behind equally many perturbations, the next one is due at the coarsest level; how those are ordered
//! that are due alike, `order.rs` says. At the finest level the next one is of the class that was explored least. So new
//! behaviour comes early, not in the order of the history.
//!
//! Behind a perturbation that takes time ([`plans::Anomaly::takes_time`]) objects are older each time, so that at the
//! finest level there is no end: such worlds are explored by class only, and a campaign that has them is closed at `age`
//! at best.
//!
//! **Merging is audited.** When a world is explored whose class was explored before, both must have written the same. If
//! they did not, the class is split: its worlds are told apart by the next finer level from then on.

mod classes;
mod waiting;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use cluster::World;
use plans::{Family, Heuristics, Plan, PlanId, Rule};
use trace::{
    Footprint, GroupResource, Level,
    identity::{self, Apart, Identity},
};

pub use self::classes::{Audit, Coverage, Writes};
use self::{classes::Class, waiting::Rank};
use crate::campaign::{
    identities::COARSE,
    lens::Lens,
    node::{Node, Waiting},
    order::Score,
    reached::{Harvest, Then, Unread},
    setup::Setup,
    tally::Tallies,
};

/// Why plans are left out with `heuristics: sieve`.
pub const NOT_SUGGESTED: &str = "plans that Sieve's heuristics don't suggest";

/// So many worlds are kept; and so many crash points at what the subject does not read. Of later ones only those are kept
/// that coarse levels tell apart from others; the rest is kept as plans.
const KEPT: usize = 2_000;

/// Worlds that are asked what keeps them apart, at most.
const APART_WORLDS: usize = 300;
/// Fields that are told, at most.
const APART_FIELDS: usize = 5;

/// All worlds met so far, and those still to explore.
#[derive(Default)]
pub struct Frontier {
    /// What worlds are told apart by.
    pub lens: Arc<Lens>,
    /// The world of which all are forks; none on a remote cluster.
    origin: Option<World>,
    /// Where no world can be forked: plans that lead to worlds. Time and uids never repeat there, so that worlds are new each
    /// time.
    plans: HashSet<PlanId>,
    /// What they were told apart by before, by version.
    before: Vec<Arc<Lens>>,
    worlds: Vec<Met>,
    /// Those that wait, by class at `age` and family: of each such group only the first can be next.
    waiting: HashMap<(Identity, Family), BTreeSet<Rank>>,
    /// By level of [`COARSE`] and class.
    classes: [HashMap<Identity, Class>; COARSE.len()],
    /// Worlds behind a violated trial that are known from nowhere else, by identity.
    behind: HashSet<Identity>,
    /// Not read so far.
    unread: Vec<Unread>,
    /// Those before this one are not read by the present footprint.
    read_up_to: usize,
    /// Not read either, and not kept: how many, by the type that changed there.
    forgotten: BTreeMap<GroupResource, u64>,
    /// Worlds that are kept as plans.
    plans_only: u64,
    /// What became of plans, by family.
    pub families: Tallies,
    /// Commits to Leases and Events.
    pub bookkeeping: u64,
    /// Why something reachable was not covered, with how often.
    pub left_out: BTreeMap<String, u64>,
    /// What is no part of what campaigns cover, with how often: it does not keep one from being closed.
    pub limits: BTreeMap<String, u64>,
    /// By level of [`COARSE`].
    audits: [Audit; COARSE.len()],
}

/// A world that was met.
struct Met {
    node: Waiting,
    score: Score,
    /// The version of the footprint that its classes are of.
    version: u64,
    /// Whether it is explored, or just being so.
    taken: bool,
    /// What its trials wrote, once it is explored: one entry for each way.
    wrote: BTreeSet<Writes>,
}

/// By which a plan is counted.
fn family_of(plan: &Plan) -> Family {
    plan.family().unwrap_or(Family::IntermediateState)
}

/// What a trial led to that was not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct New {
    /// Worlds.
    pub worlds: usize,
    /// Classes at `scale`.
    pub classes: usize,
}

impl Frontier {
    /// Nothing met yet. `origin`: the world of which all are forks; none on a remote cluster.
    pub fn new(lens: Lens, origin: Option<World>) -> Frontier {
        Frontier { lens: Arc::new(lens), origin, ..Frontier::default() }
    }

    /// Worlds met.
    pub fn worlds(&self) -> usize {
        self.lens.known.len()
    }

    /// Worlds still to explore.
    pub fn waiting(&self) -> usize {
        self.waiting.values().map(BTreeSet::len).sum()
    }

    /// Worlds met only behind a finding.
    pub fn behind_findings(&self) -> usize {
        self.behind.iter().filter(|identity| !self.lens.known.contains(identity)).count()
    }

    /// Which fields keep worlds apart at `scale`, by some hundred of them from all over the campaign.
    pub fn apart(&self, setup: &Setup) -> Vec<Apart> {
        let mut seen = HashSet::new();
        let of_a_class: Vec<&Waiting> = self
            .worlds
            .iter()
            .map(|world| &world.node)
            .filter(|node| seen.insert(node.classes.at(Level::Scale)))
            .collect();
        let step = of_a_class.len().div_ceil(APART_WORLDS).max(1);
        let looked_at = of_a_class
            .into_iter()
            .step_by(step)
            .filter_map(|node| self.lens.canonical_scale(setup, &node.unpack()));
        identity::keep_apart(&looked_at.collect::<Vec<_>>(), APART_FIELDS)
    }

    /// Takes in what a trial reached. Behind a violated one worlds are only counted.
    pub fn absorb(&mut self, setup: &Setup, harvest: Harvest, leaf: bool) -> New {
        self.bookkeeping += harvest.bookkeeping;
        if leaf {
            self.behind.extend(harvest.reached.iter().map(|node| node.identity));
            self.read(setup, &harvest.footprint);
            return New::default();
        }
        for (rule, count) in &harvest.pruned.0 {
            self.families.prune(Family::IntermediateState, *rule, *count);
        }
        for (why, count) in harvest.left_out {
            self.leave_out(&why, count);
        }
        for (what, count) in harvest.limits {
            *self.limits.entry(what).or_default() += count;
        }
        let before = (self.worlds.len(), self.classes[Level::Scale as usize].len());
        let version = harvest.version;
        for node in harvest.reached {
            self.add(node, version);
        }
        let unread = harvest.unread.len() as u64;
        self.families.prune(Family::IntermediateState, Rule::NotRead, unread);
        self.keep_unread(harvest.unread);
        self.read(setup, &harvest.footprint);
        let classes = self.classes[Level::Scale as usize].len().saturating_sub(before.1);
        New { worlds: self.worlds.len() - before.0, classes }
    }

    /// The subject read this, before any world was met.
    pub fn learn(&mut self, footprint: &Footprint) {
        let mut lens = (*self.lens).clone();
        lens.footprint.merge(footprint);
        self.lens = Arc::new(lens);
    }

    /// Caches of these types may be behind when the subject is started.
    pub fn may_be_behind(&mut self, types: BTreeSet<GroupResource>) {
        let lens = Lens { stale_types: types, ..(*self.lens).clone() };
        self.lens = Arc::new(lens);
    }

    /// Caches of this type are never behind for the subject, as a trial showed: worlds with that are not explored, and no
    /// more are made.
    pub fn is_never_behind(&mut self, resource: &GroupResource, why: &str) {
        let mut stale_types = self.lens.stale_types.clone();
        if !stale_types.remove(resource) {
            return;
        }
        self.may_be_behind(stale_types);
        let planned = |rank: &&Rank| self.worlds[rank.3].node.plan.is_behind(resource);
        let gone: Vec<Rank> = self.waiting.values().flatten().filter(planned).copied().collect();
        for (.., at) in gone {
            self.wait_no_more(at);
            self.worlds[at].taken = true;
            for level in COARSE {
                self.class_mut(level, at).taken += 1;
            }
            let which = (Some(at), self.worlds[at].node.plan.id());
            self.families.of(Family::StaleState).count_impossible(which, why.to_owned());
        }
        self.families.of(Family::StaleState).not_for.push(why.to_owned());
    }

    /// These older and unseen states come first, before any world was met; `only`: no others are tried.
    pub fn suggest(&mut self, heuristics: Heuristics, only: bool) {
        let heuristics = Arc::new(heuristics);
        self.lens = Arc::new(Lens { heuristics, only_suggested: only, ..(*self.lens).clone() });
    }

    /// Adds the world before the subject's first write, or one that the user makes of it.
    pub fn add_start(&mut self, start: Node) {
        self.add(start, self.lens.version);
    }

    /// Takes in what follows a world that is being explored, of this version of the footprint. Where a start on it was
    /// violated, starts in front of caches that are behind are only counted.
    pub fn add_following(&mut self, then: Then, version: u64, violated: bool) {
        for (family, rule) in then.pruned {
            self.families.prune(family, rule, 1);
        }
        self.leave_to_chance(Family::StaleState, then.not_suggested);
        for (why, count) in then.left_out {
            self.leave_out(&why, count);
        }
        for (what, count) in then.limits {
            *self.limits.entry(what).or_default() += count;
        }
        let stale = then.stale.into_iter();
        if violated {
            self.behind.extend(stale.map(|node| node.identity));
            then.next.into_iter().for_each(|node| self.add(node, version));
        } else {
            then.next.into_iter().chain(stale).for_each(|node| self.add(node, version));
        }
    }

    fn add(&mut self, node: Node, version: u64) {
        let family = family_of(&node.plan);
        if !self.lens.brute_force && self.lens.known.contains(&node.identity) {
            self.families.prune(family, Rule::SameWorld, 1);
            return;
        }
        if self.origin.is_none() && !self.plans.insert(node.plan.id()) {
            self.families.prune(family, Rule::SameWorld, 1);
            return;
        }
        self.families.of(family).enumerated += 1;
        if self.lens.too_deep(&node.plan) {
            self.leave_out("crash points deeper than `depth`", 1);
            return;
        }
        tracing::debug!(
            identity = %node.identity.short(), cursor = %node.cursor, "new world: {}", node.plan
        );
        self.lens.known.insert(node.identity);
        let at = self.worlds.len();
        let score = Score::of(&node.plan, node.cursor, &self.lens.heuristics);
        let node = node.pack(self.origin.as_ref());
        self.worlds.push(Met { node, score, version, taken: false, wrote: BTreeSet::new() });
        self.classify(at);
        if at >= KEPT && !self.lens.brute_force && self.stands_for(at) {
            let node = &mut self.worlds[at].node;
            (node.world, node.behind) = (None, None);
            self.plans_only += 1;
        }
        self.wait(at);
    }

    /// Whether another world of its class at `age` was explored, or waits and is kept whole.
    fn stands_for(&self, at: usize) -> bool {
        let class = self.classes[Level::Age as usize].get(&self.class_of(Level::Age, at));
        class.is_some_and(|class| class.taken > 0) || self.waiting.contains_key(&self.group(at))
    }

    fn keep_unread(&mut self, unread: Vec<Unread>) {
        for one in unread {
            if self.unread.len() < KEPT {
                self.unread.push(one);
            } else {
                *self.forgotten.entry(one.resource().clone()).or_default() += 1;
            }
        }
    }

    /// What was not kept may have mattered after all: it is not covered.
    fn miss_forgotten(&mut self, before: &Footprint) {
        let now = &self.lens.footprint;
        let missed = self.forgotten.extract_if(.., |resource, _| now.asks_more(before, resource));
        let missed: u64 = missed.map(|(_, count)| count).sum();
        self.leave_out("crash points that were forgotten before the controller read more", missed);
        let plans = std::mem::take(&mut self.plans_only);
        self.leave_out("worlds that were kept as plans before the controller read more", plans);
    }

    /// The subject read this. If it is new, worlds are told apart anew, and what it did not read before may be a place
    /// to crash.
    fn read(&mut self, setup: &Setup, footprint: &Footprint) {
        let mut lens = (*self.lens).clone();
        if lens.footprint.merge(footprint) {
            lens.version += 1;
            tracing::debug!(
                version = lens.version,
                "the footprint grew: {:?}",
                lens.footprint.lines()
            );
            let before = std::mem::replace(&mut self.lens, Arc::new(lens));
            self.miss_forgotten(&before.footprint);
            self.before.push(before);
            self.read_up_to = 0;
        }
        // Of what came since the last look, some was harvested when less was known to be read.
        let is_read = |unread: &mut Unread| unread.is_read(&self.lens);
        let read: Vec<Unread> = self.unread.extract_if(self.read_up_to.., is_read).collect();
        for unread in read {
            self.families.unprune(Family::IntermediateState, Rule::NotRead);
            let node = unread.reached(setup, &self.lens);
            self.add(node, self.lens.version);
        }
        self.read_up_to = self.unread.len();
        if self.worlds.iter().any(|world| world.version != self.lens.version) {
            self.classify_anew(setup);
        }
    }

    /// Something of this family was left out because nothing suggests it: a guess, so it is not covered.
    pub fn leave_to_chance(&mut self, family: Family, count: u64) {
        self.families.prune(family, Rule::NotSuggested, count);
        self.leave_out(NOT_SUGGESTED, count);
    }

    /// Counts something that is not covered.
    pub fn leave_out(&mut self, why: &str, count: u64) {
        if count > 0 {
            *self.left_out.entry(why.to_owned()).or_default() += count;
        }
    }
}
