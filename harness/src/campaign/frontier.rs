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

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use cluster::World;
use plans::{Family, Heuristics, Likelihood, Plan, Rule, plan::Weight};
use serde_json::Value;
use trace::{
    Footprint, GroupResource, Level,
    identity::{self, Apart, Identity},
};

use crate::campaign::{
    identities::COARSE,
    order::{Depth, Score, Turns},
    reached::{Harvest, Lens, Node, Then, Unread},
    setup::Setup,
    tally::Tallies,
};

/// Why plans are left out with `heuristics: sieve`.
pub const NOT_SUGGESTED: &str = "plans that Sieve's heuristics don't suggest";

/// So many worlds are kept whole; and so many places to crash that the subject does not read. A world holds all versions
/// of all objects that its trial made, so of later ones only those are kept that coarse levels tell apart from others; the
/// rest is kept as plans.
const KEPT_WHOLE: usize = 2_000;

/// Worlds that are asked what keeps them apart, at most.
const APART_WORLDS: usize = 300;
/// Fields that are told, at most.
const APART_FIELDS: usize = 5;

/// All worlds met so far, and those still to explore.
#[derive(Default)]
pub struct Frontier {
    /// What worlds are told apart by.
    pub lens: Arc<Lens>,
    /// What they were told apart by before, by version.
    before: Vec<Arc<Lens>>,
    /// The worlds met.
    known: HashSet<Identity>,
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
    node: Node,
    score: Score,
    /// The version of the footprint that its classes are of.
    version: u64,
    /// Whether it is explored, or just being so.
    taken: bool,
    /// What its trials wrote, once it is explored: one entry for each way.
    wrote: BTreeSet<Writes>,
}

/// What a trial of a world wrote and came to, as far as another world of its class must have done the same.
pub type Writes = BTreeSet<String>;

#[derive(Default)]
struct Class {
    /// Worlds of it that are explored, or just being so.
    taken: u64,
    /// What worlds of it wrote.
    wrote: BTreeSet<Writes>,
    /// One of its worlds wrote nothing that another did.
    split: bool,
}

/// What exploring merged worlds showed of a level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Audit {
    /// Worlds that were explored although their class had been.
    pub audited: u64,
    /// Those none of whose trials wrote what a trial of another did.
    pub disagreed: u64,
}

/// How much of a level is explored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    /// Which.
    pub level: Level,
    /// Classes met; at the finest level worlds.
    pub classes: u64,
    /// Those of which a world was explored.
    pub explored: u64,
    /// What merging showed.
    pub audit: Audit,
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

/// The order of the worlds of one class: fewest perturbations first, then what is likely to matter, then the simplest plan,
/// so that a world that several plans reach is known by the simplest. The last is the world's number.
type Rank = (usize, Likelihood, Weight, usize);

/// Which of all is next; the last is the world's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
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
    /// Nothing met yet.
    pub fn new(lens: Lens) -> Frontier {
        Frontier { lens: Arc::new(lens), ..Frontier::default() }
    }

    /// Worlds met.
    pub fn worlds(&self) -> usize {
        self.known.len()
    }

    /// Worlds still to explore.
    pub fn waiting(&self) -> usize {
        self.waiting.values().map(BTreeSet::len).sum()
    }

    /// Worlds met only behind a finding.
    pub fn behind_findings(&self) -> usize {
        self.behind.difference(&self.known).count()
    }

    /// How far each level is explored, coarse ones first.
    pub fn coverage(&self) -> Vec<Coverage> {
        let of = |(at, level): (usize, &Level)| {
            let classes = self.classes[at].values().filter(|class| !class.split);
            Coverage {
                level: *level,
                classes: classes.clone().count() as u64,
                explored: classes.filter(|class| class.taken > 0).count() as u64,
                audit: self.audits[at],
            }
        };
        let mut all: Vec<Coverage> = COARSE.iter().enumerate().map(of).collect();
        let (met, left) = (self.worlds.len() as u64, self.waiting() as u64);
        let audit = Audit::default();
        all.push(Coverage { level: Level::Exact, classes: met, explored: met - left, audit });
        all
    }

    /// Which fields keep worlds apart at `scale`, by some hundred of them from all over the campaign.
    pub fn apart(&self, setup: &Setup) -> Vec<Apart> {
        let mut seen = HashSet::new();
        let of_a_class: Vec<&Node> = self
            .worlds
            .iter()
            .map(|world| &world.node)
            .filter(|node| seen.insert(node.classes.at(Level::Scale)))
            .collect();
        let step = of_a_class.len().div_ceil(APART_WORLDS).max(1);
        let looked_at = of_a_class.into_iter().step_by(step).filter_map(|node| {
            let identities = self.lens.identities_after(setup, &node.plan, node.behind.as_ref());
            Some(identities.canonical_scale(node.world.as_ref()?, node.cursor, node.begun))
        });
        identity::keep_apart(&looked_at.collect::<Vec<_>>(), APART_FIELDS)
    }

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

    fn order(&self, rank: &Rank, turns: &Turns) -> Order {
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
    pub fn take(&mut self, family: Family, turns: &mut Turns) -> Option<(usize, Node, Level)> {
        let next = self.next(family, turns)?;
        let at = next.world();
        self.wait_no_more(at);
        turns.visit(&self.worlds[at].score.spot);
        let world = &mut self.worlds[at];
        world.taken = true;
        let node = world.node.clone();
        // What it is told apart by when the subject reads more.
        world.node.world = node.world.as_ref().map(World::without_history);
        for level in COARSE {
            self.class_mut(level, at).taken += 1;
        }
        Some((at, node, next.level()))
    }

    fn wait(&mut self, at: usize) {
        let (group, rank) = (self.group(at), self.rank(at));
        self.waiting.entry(group).or_default().insert(rank);
    }

    fn wait_no_more(&mut self, at: usize) {
        let (group, rank) = (self.group(at), self.rank(at));
        if let Some(waiting) = self.waiting.get_mut(&group) {
            waiting.remove(&rank);
            if waiting.is_empty() {
                self.waiting.remove(&group);
            }
        }
    }

    fn group(&self, at: usize) -> (Identity, Family) {
        (self.class_of(Level::Age, at), family_of(&self.worlds[at].node.plan))
    }

    fn rank(&self, at: usize) -> Rank {
        let Score { weight, likelihood, .. } = self.worlds[at].score;
        (weight.perturbations, likelihood, weight, at)
    }

    /// A world was explored: what its trials wrote and came to, one entry for each way. None of a world whose trials
    /// proved nothing.
    pub fn explored(&mut self, at: usize, wrote: BTreeSet<Writes>) {
        if wrote.is_empty() {
            return;
        }
        // One that is repeated further was audited before.
        let again = !self.worlds[at].wrote.is_empty();
        for level in COARSE {
            let class = self.class_mut(level, at);
            if class.wrote.is_empty() || again {
                continue;
            }
            let agrees = !class.wrote.is_disjoint(&wrote);
            let audit = &mut self.audits[level as usize];
            audit.audited += 1;
            audit.disagreed += u64::from(!agrees);
            if !agrees {
                let plan = &self.worlds[at].node.plan;
                tracing::debug!("a class of {level} is split by the world after: {plan}");
            }
        }
        self.worlds[at].wrote.extend(wrote);
        if COARSE.into_iter().any(|level| self.classify_one(level, at)) {
            self.classify_all();
        }
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
        if !self.lens.brute_force && self.known.contains(&node.identity) {
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
        self.known.insert(node.identity);
        let at = self.worlds.len();
        let score = Score::of(&node.plan, node.cursor, &self.lens.heuristics);
        self.worlds.push(Met { node, score, version, taken: false, wrote: BTreeSet::new() });
        self.classify(at);
        if at >= KEPT_WHOLE && !self.lens.brute_force && self.stands_for(at) {
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
            if self.unread.len() < KEPT_WHOLE {
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

    /// Tells worlds apart by the present footprint. Most hold nothing of what it has more than theirs.
    fn classify_anew(&mut self, setup: &Setup) {
        let (lens, before) = (self.lens.clone(), &self.before);
        // An object is in many worlds.
        let mut known: HashMap<(u64, *const Value), bool> = HashMap::new();
        for world in self.worlds.iter_mut().filter(|world| world.version != lens.version) {
            let version = std::mem::replace(&mut world.version, lens.version);
            let Node { world: Some(objects), cursor, begun, plan, behind, .. } = &world.node else {
                continue;
            };
            let old = before.get(version as usize).map(|lens| &lens.footprint);
            let more = objects.objects().any(|(key, object)| {
                *known.entry((version, Arc::as_ptr(object))).or_insert_with(|| {
                    let was = old.is_some_and(|old| old.covers(key, object));
                    !was && lens.footprint.covers(key, object)
                })
            });
            if more {
                let identities = lens.identities_after(setup, plan, behind.as_ref());
                world.node.classes = identities.classes(objects, *cursor, *begun);
            }
        }
        self.classify_all();
    }

    /// Counts classes from the worlds in them, until none is split by that. What was split stays so.
    fn classify_all(&mut self) {
        loop {
            for classes in &mut self.classes {
                classes.retain(|_, class| class.split);
                for class in classes.values_mut() {
                    *class = Class { split: true, ..Class::default() };
                }
            }
            let mut splits = false;
            for at in 0..self.worlds.len() {
                splits |= self.classify(at);
            }
            if !splits {
                break;
            }
        }
        self.waiting.clear();
        for at in 0..self.worlds.len() {
            if !self.worlds[at].taken {
                self.wait(at);
            }
        }
    }

    /// Counts a world in its classes. Whether it splits one.
    fn classify(&mut self, at: usize) -> bool {
        let mut splits = false;
        for level in COARSE {
            let taken = self.worlds[at].taken;
            self.class_mut(level, at).taken += u64::from(taken);
            splits |= self.classify_one(level, at);
        }
        splits
    }

    /// Adds what a world wrote to its class. Whether that splits it.
    fn classify_one(&mut self, level: Level, at: usize) -> bool {
        let wrote = self.worlds[at].wrote.clone();
        if wrote.is_empty() {
            return false;
        }
        let class = self.class_mut(level, at);
        let splits = !class.split && !class.wrote.is_empty() && class.wrote.is_disjoint(&wrote);
        class.split |= splits;
        class.wrote.extend(wrote);
        splits
    }

    /// The class of a world at a level: of one that was split, its class at the next.
    fn class_of(&self, level: Level, at: usize) -> Identity {
        let Node { classes, identity, .. } = &self.worlds[at].node;
        let is_split = |level: &Level| {
            let class = self.classes[*level as usize].get(&classes.at(*level));
            class.is_some_and(|class| class.split)
        };
        let finer = COARSE.into_iter().skip(level as usize);
        finer.skip_while(is_split).map(|level| classes.at(level)).next().unwrap_or(*identity)
    }

    fn class_mut(&mut self, level: Level, at: usize) -> &mut Class {
        let class = self.class_of(level, at);
        self.classes[level as usize].entry(class).or_default()
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
