//! Worlds in which the controller is down: seen, waiting to be explored, and how they are told apart.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
    time::Duration,
};

use cluster::World;
use plans::{
    Crash, CrashPoint, Moment, Perturbation, Plan, Pruned, Restart, Rule, StartPoint, plan::Weight,
};
use serde_json::Value;
use trace::{Change, Cursor, ObjectKey, Revision, identity::Identity};

use crate::{
    campaign::{identities::Identities, judge, setup::Setup, while_down},
    trial::TrialRun,
};

/// A world with the controller down: a place to start it again.
#[derive(Clone)]
pub struct Node {
    /// The world; none on a remote cluster, where it can only be reached again from the beginning.
    pub world: Option<World>,
    /// How far the workload is.
    pub cursor: Cursor,
    /// For how long the operation there has been under way; none if it has not begun.
    pub begun: Option<Duration>,
    /// How it is reached from the beginning.
    pub plan: Plan,
    /// What it is, up to relabelling.
    pub identity: Identity,
}

/// All worlds met so far, and those still to explore.
#[derive(Default)]
pub struct Frontier {
    seen: HashSet<Identity>,
    /// Simplest plans first, so that a world that several plans reach is known by the simplest.
    waiting: BTreeMap<(Weight, u64), Node>,
    /// Worlds that ever waited.
    queued: u64,
    /// Worlds behind a violated trial that are known from nowhere else, by identity.
    behind: HashSet<Identity>,
    /// No de-duplication: every point of every trial is its own node (a test of the tool on itself).
    pub brute_force: bool,
    /// What of Secrets does not tell worlds apart: see [`oracles::Baseline::random_payloads`].
    pub random_payloads: BTreeSet<String>,
    /// At most this many perturbations in a plan.
    pub depth: Option<u32>,
    /// Thought of.
    pub enumerated: u64,
    /// Left out, by rule.
    pub pruned: Pruned,
    /// Commits to Leases and Events.
    pub bookkeeping: u64,
    /// Why something reachable was not covered, with how often.
    pub left_out: BTreeMap<String, u64>,
}

impl Frontier {
    /// Worlds met.
    pub fn worlds(&self) -> usize {
        self.seen.len()
    }

    /// Worlds still to explore.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Worlds met only behind a finding.
    pub fn behind_findings(&self) -> usize {
        self.behind.difference(&self.seen).count()
    }

    /// Takes up to `count` worlds, those with the simplest plans first.
    pub fn take(&mut self, count: usize) -> Vec<Node> {
        std::iter::from_fn(|| self.waiting.pop_first()).take(count).map(|(_, node)| node).collect()
    }

    fn identities<'a>(&'a self, setup: &'a Setup) -> Identities<'a> {
        setup.identities(&self.random_payloads)
    }

    /// Adds the world before the subject's first write: it may die right after it connected.
    pub fn add_start(&mut self, setup: &Setup, reference: &TrialRun) {
        let StartPoint { revision, cursor, .. } = reference.started_at;
        let crash =
            Crash { at: Moment::Step { cursor }, dropped: vec![], restart: Restart::Immediately };
        let plan = Plan::undisturbed().and(Perturbation::Crash(crash));
        let Some(world) = reference.server.as_ref().and_then(|server| server.world_at(revision))
        else {
            return; // a remote cluster: the same as the reference run itself
        };
        let identity = self.identities(setup).of(&world, cursor, None);
        self.enumerated += 1;
        self.add(setup, Node { world: Some(world), cursor, begun: None, plan, identity });
    }

    /// Adds every place at which the subject could have been killed in this trial. Worlds behind a
    /// violated trial are only counted. Says how many worlds were new.
    pub fn absorb(&mut self, setup: &Setup, run: &TrialRun, violated: bool) -> usize {
        let view = judge::run_view(run);
        let names = view.generated_names();
        // Suffixes have five characters (apiserver, storage/names).
        let generated = |name: &str| {
            let prefix = name.get(..name.len().saturating_sub(5));
            prefix.filter(|_| names.contains(name)).map(str::to_owned)
        };
        let found = plans::crash_points(&run.history, run.started_at, &generated);
        self.bookkeeping += found.bookkeeping;
        if violated {
            for point in &found.points {
                if let Some(node) = node_at(&self.identities(setup), run, &names, point) {
                    self.behind.insert(node.identity);
                }
            }
            return 0;
        }
        self.enumerated += found.pruned.total();
        for (rule, count) in &found.pruned.0 {
            self.pruned.count(*rule, *count);
        }
        self.leave_out("subsets of writes under way beyond the limit", found.left_out);
        self.leave_out("crashes within one request", found.within_calls);
        let inside =
            found.user_writes.iter().filter(|cursor| !stops_within(setup, **cursor)).count();
        self.leave_out(
            "crashes between the writes of one script, command or concurrent step",
            inside as u64,
        );
        let before = self.seen.len();
        for point in &found.points {
            self.enumerated += 1;
            match node_at(&self.identities(setup), run, &names, point) {
                // What can't be taken up on a fork is reached again from the beginning.
                Some(node) if !resumable(setup, point) => {
                    self.add(setup, Node { world: None, ..node })
                }
                Some(node) => self.add(setup, node),
                None => self.leave_out("worlds that could not be rebuilt", 1),
            }
        }
        self.seen.len() - before
    }

    /// Adds a world, and the worlds that the user makes of it while the controller is down.
    fn add(&mut self, setup: &Setup, node: Node) {
        if self.seen.contains(&node.identity) && !self.brute_force {
            self.pruned.count(Rule::SameWorld, 1);
            return;
        }
        if self.depth.is_some_and(|depth| node.plan.depth() > depth as usize) {
            self.leave_out("crash points deeper than `depth`", 1);
            return;
        }
        self.seen.insert(node.identity);
        tracing::debug!(
            identity = %node.identity.short(), cursor = %node.cursor, "new world: {}", node.plan
        );
        if let Some(world) = &node.world {
            // Within the macro, which evaluates it only for those who ask.
            tracing::trace!("{}", self.identities(setup).canonical(world, node.cursor, node.begun));
        }
        self.queued += 1;
        self.waiting.insert((node.plan.weight(), self.queued), node.clone());
        self.enumerated += 1;
        match node.world.as_ref().map(while_down::environment_rests) {
            Some(Ok(Some((world, between)))) => {
                self.leave_out("restarts between two writes of the built-in controllers", between);
                let plan = quiet_restart(&node.plan);
                let identity = self.identities(setup).of(&world, node.cursor, node.begun);
                self.add(setup, Node { world: Some(world), plan, identity, ..node });
                // The user is slower than the environment: what it does next, it does in that world.
                self.enumerated += 1;
                self.pruned.count(Rule::UserWaits, 1);
                return;
            }
            Some(Err(restless)) => self.leave_out(&restless.to_string(), 1),
            Some(Ok(None)) | None => self.pruned.count(Rule::EnvironmentIdle, 1),
        }
        self.enumerated += 1;
        let Some(world) = &node.world else {
            self.leave_out("restarts after a further user step, of worlds that can't be forked", 1);
            return;
        };
        match while_down::user_step(setup, world, node.cursor, node.begun.unwrap_or_default()) {
            while_down::UserStep::Done(world, cursor) => {
                let plan = later_restart(&node.plan);
                let identity = self.identities(setup).of(&world, cursor, None);
                self.add(setup, Node { world: Some(*world), cursor, begun: None, plan, identity });
            }
            while_down::UserStep::Waits | while_down::UserStep::End => self.pruned.count(Rule::UserWaits, 1),
            while_down::UserStep::Foreign => {
                self.leave_out("restarts after a script or command step (its effects outside the cluster can't be forked)", 1)
            }
            while_down::UserStep::Failed(why) => self.leave_out(&format!("restarts after a user step that fails while the controller is down ({why})"), 1),
        }
    }

    fn leave_out(&mut self, why: &str, count: u64) {
        if count > 0 {
            *self.left_out.entry(why.to_owned()).or_default() += count;
        }
    }
}

/// Whether the workload can be taken up on a fork of this point: not while a program runs, nor where a later
/// step uses what an earlier one put out.
fn resumable(setup: &Setup, point: &CrashPoint) -> bool {
    let within = point.begun.is_none() || stops_within(setup, point.cursor);
    within && setup.workload.resumable_from(point.cursor).is_ok()
}

/// Whether the operation at this position is done document by document, and can stop between two.
fn stops_within(setup: &Setup, cursor: Cursor) -> bool {
    setup.workload.operation(cursor).is_none_or(|operation| operation.resumable_within())
}

/// The same plan, its last restart one user step later.
fn later_restart(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    if let Some(Perturbation::Crash(crash)) = plan.perturbations.last_mut() {
        crash.restart = match crash.restart {
            Restart::AfterUserStep(steps) | Restart::QuietAfterUserStep(steps) => {
                Restart::AfterUserStep(steps + 1)
            }
            Restart::Immediately | Restart::EnvironmentQuiet => Restart::AfterUserStep(1),
        };
    }
    plan
}

/// The same plan, its last restart when the environment is quiet.
fn quiet_restart(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    if let Some(Perturbation::Crash(crash)) = plan.perturbations.last_mut() {
        crash.restart = match crash.restart {
            Restart::AfterUserStep(steps) => Restart::QuietAfterUserStep(steps),
            _ => Restart::EnvironmentQuiet,
        };
    }
    plan
}

fn node_at(
    identities: &Identities,
    run: &TrialRun,
    names: &BTreeSet<&str>,
    point: &CrashPoint,
) -> Option<Node> {
    let crash = Crash {
        at: point.at.clone(),
        dropped: point.dropped.clone(),
        restart: Restart::Immediately,
    };
    let plan = run.spec.plan.and(Perturbation::Crash(crash));
    let (cursor, begun) = (point.cursor, point.begun);
    let Some(server) = &run.server else {
        // Other worlds than those that were observed can't be made there.
        if !point.kept.is_empty() {
            return None;
        }
        let objects = objects_at(run, point.revision);
        let identity = identities.of_observed(&objects, point, names);
        return Some(Node { world: None, cursor, begun, plan, identity });
    };
    let world = server.world_at(point.revision)?;
    let world = while_down::rebuild(world, point.time, &point.kept)?;
    let identity = identities.of(&world, cursor, begun);
    Some(Node { world: Some(world), cursor, begun, plan, identity })
}

/// Every object as of a revision, from what was observed.
fn objects_at(run: &TrialRun, revision: Revision) -> BTreeMap<ObjectKey, Arc<Value>> {
    let mut objects: BTreeMap<ObjectKey, Arc<Value>> = run.before.iter().cloned().collect();
    let mut commits: Vec<&trace::Commit> =
        run.history.commits().filter(|commit| commit.revision <= revision).collect();
    commits.sort_by_key(|commit| commit.revision);
    for commit in commits {
        match commit.change {
            Change::Deleted => objects.remove(&commit.key),
            _ => objects.insert(commit.key.clone(), commit.object.clone()),
        };
    }
    objects
}
