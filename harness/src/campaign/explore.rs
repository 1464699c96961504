//! Trials to closure: every world in which the controller can be down is started again, until no new one
//! appears or the budget is used up.
//!
//! Worlds with the controller down are the states (`frontier.rs`). Starting it, or the user going on without it
//! (`while_down.rs`), are the steps. They are told apart by `trace::identity`, coarsely first. A violated trial is a
//! leaf; the worlds behind it are counted.
//!
//! **Every world twice**: with other name suffixes in ascending and in descending order. Where repeats write
//! differently the world is `nondeterministic` and is repeated until two in a row add nothing. The last repeat of the
//! first world of a class waits long at its end.
//!
//! **What is never seen** has no world of its own: such plans run from the beginning, and after the restart on the first
//! world of each class.
//!
//! **When all has settled** a restart must write nothing: tried on the world at the end of one trial of each coarse class
//! (`settled_restarts.rs`).
//!
//! **Order.** What comes first of all this stands in `order.rs`.
//!
//! **No batches.** Trials are carried out, judged and taken apart on worker threads ([`pool::stream`]); their results are
//! counted in order, so that a campaign does not depend on which thread was faster.
//!
//! A controller that is killed remembers nothing, so nothing before the fork matters. A local disk and foreign
//! services are left out; the report's claim says so.

mod bounds;
mod explored;
mod job;
mod plans_file;
mod settled_restarts;

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    num::NonZeroU32,
    time::Instant,
};

use oracles::{Verdict, VerdictValue};
use plans::{Family, Perturbation, Plan, Rule};
use trace::{Event as Happened, GroupResource, History, Level, Masks, versions};

use crate::{
    campaign::{
        confirm::{self, Suspicions},
        families::{self, unobserved_state::Intervals},
        fork_graph::Piece,
        frontier::{Frontier, New, Writes},
        judge,
        lens::Lens,
        node::Waiting,
        order::{self, Depth, Queue, Score, Source, Turns},
        pool::{self, Work},
        progress::{Event, Progress},
        reached,
        reference::References,
        run_folder::RunFolder,
        settled_restart,
        setup::Setup,
    },
    trial::cpu_time,
};
pub use bounds::Bounds;
pub use explored::Explored;
use job::{Asked, Done, Job, Shows, Tried, carry_out};
pub use job::{Carried, Cost};
use plans_file::PlansFile;
use settled_restarts::SettledRestarts;

/// Each world is started again this often at least, with other name suffixes in another order.
const REPEATS: u64 = 2;
/// A world whose repeats write differently is run until this many in a row add no world …
const CALM_REPEATS: u64 = 2;
/// … but no more often than this.
const REPEATS_AT_MOST: u64 = 10;

/// Where exploring ends before the finest level, so many worlds that were merged are run to see whether they write the
/// same.
const SAMPLES: u64 = 20;

/// A violated trial. What happened in it is not kept: those that confirm show it again.
pub struct Suspect {
    /// What was done.
    pub plan: Plan,
    /// Which repeat of it: the order of name suffixes goes by that.
    pub repeat: u64,
    /// The violated verdict that names it: the first in the order of the oracles.
    pub verdict: Verdict,
}

/// Explores from the reference runs on.
pub fn to_closure(
    setup: &Setup,
    references: &References,
    bounds: &Bounds,
    progress: &Progress,
    folder: &RunFolder,
    suspicions: Suspicions,
) -> Explored {
    let (began, used_before) = (Instant::now(), cpu_time::Used::so_far());
    let runs_before = setup.slots.taken();
    let mut explorer = Explorer::new(setup, references, bounds, progress, folder, suspicions);
    explorer.take_references();
    // Jobs wait for threads: what has not begun when the end comes is none of this run.
    let work = |job: Job| (!bounds.are_over()).then(|| carry_out(setup, references, job));
    // Enough for threads never to wait for a result that is counted late.
    pool::stream(setup.workers, 4 * setup.workers, &mut explorer, work);
    let left = [
        (explorer.at_ends.waiting(), "restarts when all had settled"),
        (explorer.after_restarts.len(), "states that the controller misses after a restart"),
    ];
    let (mut explored, from_beginning) = (explorer.explored, explorer.from_beginning.len());
    for (left, what) in left.into_iter().filter(|(left, _)| *left > 0) {
        explored.frontier.limits.insert(what.to_owned(), left as u64);
    }
    explored.left_from_beginning = from_beginning as u64;
    if let Some(why) = &explored.stopped {
        progress.tell(Event::Note(format!("stopped: {why}")));
    }
    explored.runs = setup.slots.taken() - runs_before;
    (explored.real, explored.cpu) = (began.elapsed(), cpu_time::Used::so_far().since(used_before));
    explored
}

/// What is under way and to come.
struct Explorer<'e> {
    setup: &'e Setup,
    references: &'e References,
    bounds: &'e Bounds,
    progress: &'e Progress,
    folder: &'e RunFolder,
    suspicions: Suspicions,
    plans_file: PlansFile,
    explored: Explored,
    /// Worlds that are being explored.
    visits: HashMap<usize, Visit>,
    /// Repeats that come before the next world: which of which world.
    repeats: VecDeque<(usize, u64)>,
    /// Plans that are carried out from the beginning, each in both orders of names.
    from_beginning: Queue<Plan>,
    /// What is never seen after a restart, each on a fork of its world.
    after_restarts: Queue<(Waiting, Perturbation)>,
    /// Ends of trials on which the controller is restarted.
    at_ends: SettledRestarts,
    /// What was begun so far.
    turns: Turns,
    /// Trials begun.
    begun: u64,
    /// Worlds that may still be explored to audit the level at which exploring ends.
    samples: u64,
}

/// A world that is being explored.
struct Visit {
    node: Waiting,
    done: u64,
    signatures: BTreeSet<BTreeSet<String>>,
    writes: BTreeSet<Writes>,
    /// The level at which it was due. Coarsely, a world that leads to no new class is calm.
    due: Level,
    /// Repeats in a row that added nothing.
    calm: u64,
}

impl Work for Explorer<'_> {
    type Job = Job;
    /// None: it was withdrawn.
    type Done = Option<Done>;

    fn next(&mut self) -> Option<Job> {
        if self.bounds.are_over() {
            self.explored.withdrawn += self.repeats.drain(..).count() as u64;
        }
        if let Some((world, repeat)) = self.repeats.pop_front() {
            return self.job(world, repeat);
        }
        if self.explored.stopped.is_some() {
            return None;
        }
        let goes_on = self.goes_on();
        if !goes_on && self.by_plan() == 0 {
            return None;
        }
        self.explored.stopped = self.bounds.reached(self.begun, self.suspicions.any());
        if self.explored.stopped.is_some() {
            return None;
        }
        if goes_on && let Some((world, visit)) = self.next_restless() {
            let repeat = visit.done;
            self.visits.insert(world, visit);
            return self.job(world, repeat);
        }
        let source = order::next_source(self.sources(goes_on), &self.turns)?;
        self.turns.begin(source);
        match source {
            Source::Worlds(family) => self.next_world(family),
            Source::Beginning => self.next_from_beginning(),
            Source::Ends => self.at_ends.next().map(|node| self.restart_at_end(node)),
            Source::AfterRestarts => self.next_after_a_restart(),
        }
    }

    fn take(&mut self, done: Option<Done>) {
        match done {
            Some(done) => self.count_in(done),
            None => {
                self.explored.withdrawn += 1;
                let why = || self.bounds.reached(self.begun, false);
                self.explored.stopped = self.explored.stopped.take().or_else(why);
            }
        }
        // The trial is taken apart, and what waits is packed: nobody holds its objects any more.
        versions::forget_unheld();
    }
}

impl<'e> Explorer<'e> {
    /// Takes in what a job came to.
    fn count_in(&mut self, done: Done) {
        let Done { world, version, then, pieces, trial } = done;
        let properties = &self.setup.properties;
        pieces.into_iter().for_each(|piece| self.explored.graph.add(piece, properties));
        let violated = trial.as_ref().is_some_and(|trial| trial.verdict == VerdictValue::Violated);
        if let Some(then) = then {
            self.explored.frontier.add_following(then, version, violated);
        }
        let Some(mut trial) = trial else {
            // Nothing but what follows it was asked for.
            self.visits.retain(|at, _| Some(*at) != world);
            return;
        };
        let (signature, writes) = (trial.signature.clone(), trial.writes.clone());
        self.keep_intervals(world, &trial.intervals);
        if let Some(end) = trial.end.take() {
            self.keep_end(end);
        }
        let new = self.count(world, trial);
        self.tell_of_progress();
        let Some(world) = world else { return };
        let Some(visit) = self.visits.get_mut(&world) else { return };
        visit.done += 1;
        visit.signatures.insert(signature);
        visit.writes.extend(writes);
        if visit.done > REPEATS {
            let new = if visit.due == Level::Exact { new.worlds } else { new.classes };
            visit.calm = if new == 0 { visit.calm + 1 } else { 0 };
        }
        self.go_on_with(world);
    }

    fn tell_of_progress(&mut self) {
        let left = self.explored.frontier.waiting() as u64;
        let by_plan = self.by_plan() as u64;
        self.progress.tell(Event::Total(self.explored.run + REPEATS * left + by_plan));
        if self.explored.run.is_multiple_of(16)
            && let Err(error) = self.folder.write_json("stats.json", &self.explored.stats())
        {
            self.explored.stopped = Some(format!("{error:#}"));
        }
    }

    fn new(
        setup: &'e Setup,
        references: &'e References,
        bounds: &'e Bounds,
        progress: &'e Progress,
        folder: &'e RunFolder,
        suspicions: Suspicions,
    ) -> Explorer<'e> {
        let spec = &setup.campaign.file.spec;
        // On a cluster that can't be forked time is real and never repeats: worlds hardly ever merge, and only a
        // bound on the depth ends the exploration.
        let unforked = (!setup.ground.forks()).then_some(1);
        let lens = Lens {
            random_payloads: references.baseline.random_payloads.clone(),
            changing_payloads: references.baseline.changing_payloads.clone(),
            // What a campaign accepts in end states may steer the subject all the same.
            masks: Masks { accepted: vec![], ..references.baseline.masks.clone() },
            brute_force: bounds.brute_force.is_some(),
            ends_at_violations: bounds.through_findings == 0,
            depth: bounds.brute_force.or(spec.depth.map(NonZeroU32::get)).or(unforked),
            ..Lens::default()
        };
        let frontier = Frontier::new(lens, setup.ground.world().cloned());
        let explored = Explored { frontier, precision: spec.precision, ..Explored::default() };
        let (visits, repeats) = Default::default();
        let (begun, samples) = (0, SAMPLES);
        let (from_beginning, after_restarts, at_ends, turns) = Default::default();
        Explorer {
            setup,
            references,
            bounds,
            progress,
            folder,
            suspicions,
            plans_file: PlansFile::create(folder),
            explored,
            visits,
            repeats,
            from_beginning,
            after_restarts,
            at_ends,
            turns,
            begun,
            samples,
        }
    }

    /// What undisturbed runs read and reached. All that they read is known before the first world is met.
    fn take_references(&mut self) {
        let (setup, frontier) = (self.setup, &mut self.explored.frontier);
        for reference in &self.references.runs {
            let view = judge::run_view(reference);
            self.explored.end_states.extend(judge::end_state(&view, &self.references.baseline));
            frontier.learn(&judge::footprint(&view));
        }
        let mut plans = families::learn(setup, self.references, frontier);
        plans.extend(setup.model_runs.plans().map(|plan| (plan.clone(), Score::of_model(plan))));
        self.explored.model_runs.enumerated = setup.model_runs.plans().count() as u64;
        let repeats = if setup.ground.draws_by_repeat() { REPEATS } else { 1 };
        for (plan, score) in plans {
            (0..repeats)
                .for_each(|repeat| self.from_beginning.put(plan.clone(), repeat, score.clone()));
        }
        let frontier = &mut self.explored.frontier;
        let families = &setup.campaign.file.spec.families;
        if !families.iter().any(|family| family.restarts()) {
            return; // no restart is asked for
        }
        if let Some(first) = self.references.runs.first() {
            // What the user does before the controller ever led is known by that: Leases don't tell worlds apart, and
            // whoever is killed as a leader has to wait for its own lease.
            let mut next = reached::start(setup, &frontier.lens, first);
            while let Some(node) = next {
                next = reached::follow(setup, &frontier.lens, &node).next;
                frontier.add_start(node);
            }
        }
        self.take_end_of_references();
        let frontier = &mut self.explored.frontier;
        for reference in &self.references.runs {
            let view = judge::run_view(reference);
            let harvest = reached::harvest(setup, &frontier.lens, reference, &view, false);
            if setup.keeps_graph {
                let piece = Piece::of_trial(setup, &frontier.lens, reference, &harvest, false);
                let properties = &setup.properties;
                piece.into_iter().for_each(|piece| self.explored.graph.add(piece, properties));
            }
            frontier.absorb(setup, harvest, false);
        }
    }

    /// What the next trial may come from. `goes_on`: worlds as well.
    fn sources(&self, goes_on: bool) -> Vec<(Source, Depth)> {
        let worlds = self.explored.frontier.depths(&self.turns).into_iter();
        let worlds = worlds.map(|(family, depth)| (Source::Worlds(family), depth));
        let coarse = |source, depth: Option<usize>| Some((source, Depth::Coarse(depth?)));
        let others = [
            coarse(Source::Beginning, self.from_beginning.depth(&self.turns)),
            coarse(Source::Ends, self.at_ends.depth(goes_on)),
            coarse(Source::AfterRestarts, self.after_restarts.depth(&self.turns)),
        ];
        others.into_iter().flatten().chain(worlds.filter(|_| goes_on)).collect()
    }

    fn next_world(&mut self, family: Family) -> Option<Job> {
        let (world, node, due) = self.explored.frontier.take(family, &mut self.turns)?;
        let (signatures, writes) = Default::default();
        self.visits.insert(world, Visit { node, due, done: 0, signatures, writes, calm: 0 });
        if !self.is_only_passed(world) {
            self.repeats.extend((1..self.at_least()).map(|repeat| (world, repeat)));
        }
        self.job(world, 0)
    }

    fn next_from_beginning(&mut self) -> Option<Job> {
        let (plan, repeat) = self.from_beginning.take(&mut self.turns)?;
        self.begun += 1;
        let spec = confirm::from_beginning(&plan, repeat, self.references.settle.usual());
        let asked = Asked::OfPlan(Box::new(spec));
        let job = Job::aside(None, asked, self.explored.frontier.lens.clone());
        let end = settled_restart::asked(self.setup) && !self.setup.ground.forks();
        Some(Job { shows: Shows { end, ..Shows::default() }, ..job })
    }

    /// Whether another world is to be explored: one is due at the level at which exploring may end, or may be a sample
    /// of those that this level merged.
    fn goes_on(&mut self) -> bool {
        let frontier = &self.explored.frontier;
        if frontier.lens.brute_force {
            return frontier.waiting() > 0;
        }
        let restless =
            !self.explored.restless.is_empty() && self.explored.precision == Level::Exact;
        match frontier.due() {
            None if restless || !frontier.has_samples() => restless,
            Some(due) if due <= self.explored.precision => true,
            // What is under way may still lead to worlds that are due.
            _ if !self.visits.is_empty() || self.samples == 0 => false,
            _ => {
                self.samples -= 1;
                true
            }
        }
    }

    /// Trials to come that are no world's.
    fn by_plan(&self) -> usize {
        self.from_beginning.len() + self.after_restarts.len() + self.at_ends.waiting()
    }

    /// Trials of each world. Where the cluster draws names by itself, another trial shows nothing new.
    fn at_least(&self) -> u64 {
        let once = self.bounds.brute_force.is_some() || !self.setup.ground.draws_by_repeat();
        if once { 1 } else { REPEATS }
    }

    /// Whether nothing is asked of a world but what follows it: a plain restart, where crashes are not asked for.
    fn is_only_passed(&self, world: usize) -> bool {
        let family = self.visits.get(&world).and_then(|visit| visit.node.plan.family());
        family.is_some_and(|family| !self.setup.campaign.file.spec.families.contains(&family))
    }

    fn job(&mut self, world: usize, repeat: u64) -> Option<Job> {
        let visit = self.visits.get(&world)?;
        // Long waits are for the last of the first two in a class; and for every other of those that follow at the finest
        // level.
        let patient = match repeat < self.at_least() {
            true => repeat + 1 == self.at_least() && visit.due < Level::Exact,
            false => visit.due == Level::Exact && !repeat.is_multiple_of(2),
        };
        let passed = self.is_only_passed(world);
        let asked = (!passed).then_some(Asked::OfNode { repeat, patient, missed: None });
        self.begun += u64::from(!passed);
        let frontier = &self.explored.frontier;
        let shows = Shows {
            intervals: repeat == 0 && self.shows_intervals(visit),
            // Only where it was waited for long does late work not look like that of a restart.
            end: repeat + 1 == self.at_least()
                && visit.due < Level::Exact
                && settled_restart::asked(self.setup),
        };
        let (lens, node) = (frontier.lens.clone(), Some(visit.node.clone()));
        Some(Job { world: Some(world), node, asked, lens, follow: repeat == 0, shows })
    }

    /// Whether what may never be seen after this restart is to be tried: at the first world of each class.
    fn shows_intervals(&self, visit: &Visit) -> bool {
        let lens = &self.explored.frontier.lens;
        let plan = &visit.node.plan;
        let deeper = plan.depth() as u32 + 1;
        self.setup.campaign.file.spec.families.contains(&Family::UnobservedState)
            && visit.due < Level::Exact
            && visit.node.world.is_some()
            && plan.depth() > 0
            && !plan.takes_time()
            && !lens.brute_force
            && lens.depth.is_none_or(|depth| deeper <= depth)
    }

    fn keep_intervals(&mut self, world: Option<usize>, found: &Intervals) {
        let Some(visit) = world.and_then(|world| self.visits.get(&world)) else { return };
        let frontier = &mut self.explored.frontier;
        frontier.leave_to_chance(Family::UnobservedState, found.not_suggested);
        frontier.families.prune(Family::UnobservedState, Rule::UserWaits, found.across_waits);
        let tally = frontier.families.of(Family::UnobservedState);
        tally.enumerated += found.intervals.len() as u64;
        for (interval, cursor) in &found.intervals {
            let plan = visit.node.plan.and(interval.clone());
            let score = Score::of(&plan, *cursor, &frontier.lens.heuristics);
            self.after_restarts.put((visit.node.clone(), interval.clone()), 0, score);
        }
    }

    fn next_after_a_restart(&mut self) -> Option<Job> {
        let ((node, interval), _) = self.after_restarts.take(&mut self.turns)?;
        // Both orders of names come up, though not of each.
        let repeat = self.begun % REPEATS;
        self.begun += 1;
        let asked = Asked::OfNode { repeat, patient: false, missed: Some(Box::new(interval)) };
        Some(Job::aside(Some(node), asked, self.explored.frontier.lens.clone()))
    }

    /// Another repeat of a world whose repeats wrote differently, until some in a row bring nothing new; otherwise it is
    /// explored.
    fn go_on_with(&mut self, world: usize) {
        let Some(visit) = self.visits.get(&world) else { return };
        if visit.done < self.at_least() {
            return;
        }
        let differs = visit.signatures.len() > 1;
        if visit.done == self.at_least() {
            self.explored.nondeterministic += u64::from(differs);
        }
        if differs && visit.calm < CALM_REPEATS && visit.done < REPEATS_AT_MOST {
            return self.repeats.push_back((world, visit.done));
        }
        if differs && visit.calm < CALM_REPEATS {
            let why =
                format!("worlds that still led to new worlds after {REPEATS_AT_MOST} repeats");
            self.explored.frontier.leave_out(&why, 1);
        }
        let Some(mut visit) = self.visits.remove(&world) else { return };
        self.explored.frontier.explored(world, std::mem::take(&mut visit.writes));
        if differs && visit.due < Level::Exact && !visit.node.plan.takes_time() {
            // Coarsely it is calm. At the finest level it is to be repeated until no new world comes.
            (visit.due, visit.calm) = (Level::Exact, 0);
            self.explored.restless.push((world, visit));
        }
    }

    /// A world that is to be repeated further, once nothing coarser waits.
    fn next_restless(&mut self) -> Option<(usize, Visit)> {
        let coarser = self.explored.frontier.due().is_some_and(|due| due < Level::Exact);
        if coarser || self.explored.precision < Level::Exact {
            return None;
        }
        self.explored.restless.pop()
    }

    /// Leaves out what is planned with old caches of this type.
    fn is_never_behind(&mut self, resource: &GroupResource, why: &str) {
        let frontier = &mut self.explored.frontier;
        frontier.is_never_behind(resource, why);
        let tally = frontier.families.of(Family::StaleState);
        self.from_beginning.retain(|plan| {
            let planned = plan.is_behind(resource);
            if planned {
                tally.count_impossible((None, plan.id()), why.to_owned());
            }
            !planned
        });
    }

    /// Counts a trial and takes in the worlds that it reached.
    fn count(&mut self, world: Option<usize>, done: Tried) -> New {
        let which = (world, done.carried.id.clone());
        self.plans_file.add(&done.carried);
        if let Some((resource, why)) = done.never_behind {
            self.is_never_behind(&resource, &why);
        }
        let explored = &mut self.explored;
        if let (Some(why), Some(family)) = (done.not_possible, done.family) {
            explored.frontier.families.of(family).count_impossible(which, why);
            self.progress.tell(Event::Done { verdict: None });
            return New::default();
        }
        self.progress.tell(Event::Done { verdict: Some(done.verdict) });
        if done.of_model {
            explored.model_runs.count(which, done.verdict, done.never_fired);
        } else if let Some(family) = done.family {
            explored.frontier.families.of(family).count(which, done.verdict, done.never_fired);
        }
        explored.run += 1;
        explored.costs.push(done.cost);
        explored.missing_permissions.extend(done.missing_permissions);
        explored.notes.extend(done.notes);
        explored.trials.push(done.carried);
        match done.verdict {
            VerdictValue::Held => explored.held += 1,
            VerdictValue::Violated => explored.violated += 1,
            VerdictValue::Unknown => explored.unknown += 1,
        }
        if let Some(why) = done.why_unknown {
            *explored.unknown_reasons.entry(why).or_default() += 1;
        }
        explored.end_states.extend(done.end_state);
        let violated = done.verdict == VerdictValue::Violated;
        let leaf = violated && explored.violated > self.bounds.through_findings;
        let new = explored.frontier.absorb(self.setup, done.harvest, leaf);
        for suspect in done.suspects {
            tracing::debug!("violated: {}; plan: {}", suspect.verdict.title, suspect.plan);
            if explored.wants(&suspect) {
                self.suspicions.tell(suspect);
            }
        }
        new
    }
}

/// What a run had to tell: what of the controller can't be seen, what fell back to something weaker.
pub fn told(history: &History) -> impl Iterator<Item = String> {
    history.records.iter().filter_map(|record| match &record.event {
        Happened::Note { text } => Some(text.clone()),
        _ => None,
    })
}
