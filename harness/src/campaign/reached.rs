//! What a trial reached: every place at which the subject could have been killed in it, as worlds; and what follows a
//! world while the controller stays down.
//!
//! Worlds are taken in on the thread that ran the trial. What follows one is worked out only when it is explored: most
//! are merged with others, and the built-in controllers' way to rest costs more than a look at a world.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use cluster::World;
use plans::{Crash, CrashPoint, Family, Heuristics, Moment, Plan, Pruned, Rule, StartPoint};
use serde_json::Value;
use trace::{
    Change, Cursor, Footprint, GroupResource, Masks, ObjectKey, Revision, identity::Identity,
};

use crate::{
    campaign::{
        families::stale_state::{self, BehindNow},
        identities::{Classes, Identities},
        judge,
        setup::Setup,
        while_down,
    },
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
    /// Caches that are behind when the subject is started on it, if they are.
    pub behind: Option<BehindNow>,
    /// What it is, up to relabelling.
    pub identity: Identity,
    /// What it is at coarser levels.
    pub classes: Classes,
}

/// What worlds are told apart by, as of some moment of a campaign.
#[derive(Debug, Clone, Default)]
pub struct Lens {
    /// Grows with what the subject reads. Each change makes another version.
    pub footprint: Footprint,
    /// Of the footprint.
    pub version: u64,
    /// What of Secrets does not tell worlds apart: see [`oracles::Baseline::random_payloads`].
    pub random_payloads: BTreeSet<String>,
    /// What of them does not at coarse levels: see [`oracles::Baseline::changing_payloads`].
    pub changing_payloads: BTreeSet<String>,
    /// What differs undisturbed too.
    pub masks: Masks,
    /// Types whose caches may be behind when the subject is started; none where that is not asked for.
    pub stale_types: BTreeSet<GroupResource>,
    /// Which older and unseen states are likely to matter.
    pub heuristics: Arc<Heuristics>,
    /// No others are tried.
    pub only_suggested: bool,
    /// No de-duplication: every point of every trial is its own node (a test of the tool on itself).
    pub brute_force: bool,
    /// At most this many perturbations in a plan.
    pub depth: Option<u32>,
}

impl Lens {
    /// How worlds are told apart through it.
    pub fn identities<'a>(&'a self, setup: &'a Setup) -> Identities<'a> {
        Identities {
            workload: &setup.workload,
            heartbeats: &setup.heartbeats,
            random_payloads: &self.random_payloads,
            changing_payloads: &self.changing_payloads,
            masks: &self.masks,
            drawn_names: setup.drawn_names.get(),
            footprint: &self.footprint,
            cached: &[],
            lasts: 0,
        }
    }

    /// The same at the end of a plan, with what caches hold there that are behind.
    pub fn identities_after<'a>(
        &'a self,
        setup: &'a Setup,
        plan: &Plan,
        behind: Option<&'a BehindNow>,
    ) -> Identities<'a> {
        let cached = behind.map(|behind| &behind.objects[..]).unwrap_or_default();
        Identities { cached, lasts: plan.lasts(), ..self.identities(setup) }
    }

    /// The world at a place.
    pub fn node(&self, setup: &Setup, place: Place) -> Node {
        let Place { world, cursor, begun, plan, behind } = place;
        let identities = self.identities_after(setup, &plan, behind.as_ref());
        let identity = identities.of(&world, cursor, begun);
        let classes = identities.classes(&world, cursor, begun);
        // Within the macro, which evaluates it only for those who ask.
        tracing::trace!(
            identity = %identity.short(), "{}", identities.canonical(&world, cursor, begun)
        );
        Node { world: Some(world), cursor, begun, plan, behind, identity, classes }
    }

    /// The same; what can't be taken up on a fork is reached again from the beginning.
    fn node_if(&self, resumable: bool, setup: &Setup, place: Place) -> Node {
        let node = self.node(setup, place);
        match resumable {
            true => node,
            false => {
                let classes = Classes::alone(node.identity);
                Node { world: None, classes, ..node }
            }
        }
    }

    /// Whether a plan is deeper than wanted.
    pub fn too_deep(&self, plan: &Plan) -> bool {
        self.depth.is_some_and(|depth| plan.depth() > depth as usize)
    }
}

/// What follows a world while the controller stays down.
#[derive(Default)]
pub struct Then {
    /// The built-in controllers come to rest, or the user does a step.
    pub next: Option<Node>,
    /// The same world with caches that are behind.
    pub stale: Vec<Node>,
    /// Thought of, besides the world itself and the next.
    pub pruned: Vec<(Family, Rule)>,
    /// Older states that nothing suggests, left out by guess.
    pub not_suggested: u64,
    /// What is not covered, and how often.
    pub left_out: Vec<(String, u64)>,
    /// What is no part of what campaigns cover, and how often.
    pub limits: Vec<(String, u64)>,
}

/// A place to crash that is none as long as the subject does not read what a built-in controller changed there.
pub struct Unread {
    key: ObjectKey,
    /// What it was before, if it was there, and what it became.
    versions: Vec<Arc<Value>>,
    place: Place,
    /// Whether the workload can be taken up there.
    resumable: bool,
}

/// Where the subject could have been killed, and what it meets when it is started again.
pub struct Place {
    pub world: World,
    pub cursor: Cursor,
    pub begun: Option<Duration>,
    pub plan: Plan,
    pub behind: Option<BehindNow>,
}

/// All that a trial reached.
#[derive(Default)]
pub struct Harvest {
    /// In the order of the history.
    pub reached: Vec<Node>,
    /// Changes of what the subject does not read.
    pub unread: Vec<Unread>,
    /// What the subject read.
    pub footprint: Footprint,
    /// The version of the footprint that classes are of.
    pub version: u64,
    /// Candidates that are no place of their own, by rule.
    pub pruned: Pruned,
    /// Commits to Leases and Events.
    pub bookkeeping: u64,
    /// Why something reachable was not covered, with how often.
    pub left_out: BTreeMap<String, u64>,
    /// What is no part of what campaigns cover, with how often.
    pub limits: BTreeMap<String, u64>,
}

/// The world before the subject's first write: it may die right after it connected. None on a remote cluster, where it
/// is the same as the run itself.
pub fn start(setup: &Setup, lens: &Lens, run: &TrialRun) -> Option<Node> {
    let StartPoint { revision, cursor, .. } = run.started_at;
    let crash = Crash::at(Moment::Step { cursor });
    let plan = Plan::undisturbed().and(crash);
    let world = run.server.as_ref()?.world_at(revision)?;
    Some(lens.node(setup, Place { world, cursor, begun: None, plan, behind: None }))
}

/// Everything that a trial reached.
pub fn harvest(setup: &Setup, lens: &Lens, run: &TrialRun, view: &oracles::Run) -> Harvest {
    let names = view.generated_names();
    let generated = |name: &str| judge::generated_from(&names, name);
    let found = plans::crash_points(&run.history, run.started_at, &generated);
    let mut harvest = Harvest { version: lens.version, ..Harvest::default() };
    harvest.footprint.learn(&run.history, &|name| names.contains(name));
    harvest.bookkeeping = found.bookkeeping;
    harvest.pruned = found.pruned;
    harvest.leave_out("subsets of writes under way beyond the limit", found.left_out);
    if found.within_calls > 0 {
        harvest.limits.insert("crashes within one request".to_owned(), found.within_calls);
    }
    let inside = found.user_writes.iter().filter(|cursor| !stops_within(setup, **cursor)).count();
    harvest.leave_out(
        "crashes between the writes of one script, command or concurrent step",
        inside as u64,
    );
    let mut footprint = lens.footprint.clone();
    footprint.merge(&harvest.footprint);
    for point in &found.points {
        let plan = plan_of(run, point);
        let Some(place) = place(run, point, plan.clone()) else {
            match observed(&lens.identities(setup), run, &names, point, plan) {
                Some(node) => harvest.reached.push(node),
                None => harvest.leave_out("worlds that could not be rebuilt", 1),
            }
            continue;
        };
        let changed = changed_by_environment(run, point).filter(|_| !lens.brute_force);
        let resumable = resumable(setup, point);
        match changed.filter(|(key, versions)| !reads_any(&footprint, key, versions)) {
            Some((key, versions)) => {
                harvest.unread.push(Unread { key, versions, place, resumable });
            }
            None => harvest.reached.push(lens.node_if(resumable, setup, place)),
        }
    }
    harvest
}

impl Harvest {
    fn leave_out(&mut self, why: &str, count: u64) {
        if count > 0 {
            *self.left_out.entry(why.to_owned()).or_default() += count;
        }
    }
}

impl Unread {
    /// The type that changed there.
    pub fn resource(&self) -> &GroupResource {
        &self.key.resource
    }

    /// Whether the subject reads by now what changed there.
    pub fn is_read(&self, lens: &Lens) -> bool {
        reads_any(&lens.footprint, &self.key, &self.versions)
    }

    /// The world that it leads to.
    pub fn reached(self, setup: &Setup, lens: &Lens) -> Node {
        lens.node_if(self.resumable, setup, self.place)
    }
}

fn reads_any(footprint: &Footprint, key: &ObjectKey, versions: &[Arc<Value>]) -> bool {
    versions.iter().any(|object| footprint.covers(key, object))
}

/// The object that a built-in controller wrote last at this point, before and after; none if somebody else did.
fn changed_by_environment(
    run: &TrialRun,
    point: &CrashPoint,
) -> Option<(ObjectKey, Vec<Arc<Value>>)> {
    let Moment::Environment { .. } = point.at else { return None };
    let commit = run.history.commits().find(|commit| commit.revision == point.revision)?;
    let before = run.server.as_ref()?.world_at(Revision(point.revision.0.checked_sub(1)?));
    let before = before.and_then(|world| world.object(&commit.key).cloned());
    Some((commit.key.clone(), before.into_iter().chain([commit.object.clone()]).collect()))
}

fn plan_of(run: &TrialRun, point: &CrashPoint) -> Plan {
    let crash = Crash { dropped: point.dropped.clone(), ..Crash::at(point.at.clone()) };
    run.spec.plan.and(crash)
}

fn place(run: &TrialRun, point: &CrashPoint, plan: Plan) -> Option<Place> {
    let world = run.server.as_ref()?.world_at(point.revision)?;
    let world = while_down::rebuild(world, point.time, &point.kept)?;
    Some(Place { world, cursor: point.cursor, begun: point.begun, plan, behind: None })
}

/// On a remote cluster: a world that was only seen. None for those that were not observed, and can't be made there.
fn observed(
    identities: &Identities,
    run: &TrialRun,
    names: &BTreeSet<&str>,
    point: &CrashPoint,
    plan: Plan,
) -> Option<Node> {
    if run.server.is_some() || !point.kept.is_empty() {
        return None;
    }
    let objects = objects_at(run, point.revision);
    let identity = identities.of_observed(&objects, point, names);
    let (cursor, begun, classes) = (point.cursor, point.begun, Classes::alone(identity));
    Some(Node { world: None, cursor, begun, plan, behind: None, identity, classes })
}

/// What follows a world while the controller stays down.
pub fn follow(setup: &Setup, lens: &Lens, node: &Node) -> Then {
    let mut then = Then::default();
    let Some(world) = &node.world else {
        then.prune(Rule::EnvironmentIdle);
        then.leave_out("restarts after a further user step, of worlds that can't be forked", 1);
        return then;
    };
    if node.behind.is_some() {
        // Whatever else can happen before a start follows the world itself.
        stale_state::later(setup, lens, node, &mut then);
        return then;
    }
    stale_state::add(setup, lens, node, &mut then);
    match while_down::environment_rests(world) {
        Ok(Some((world, between))) => {
            if between > 0 {
                let what = "restarts between two writes of the built-in controllers";
                then.limits.push((what.to_owned(), between));
            }
            let (cursor, begun, plan) = (node.cursor, node.begun, quiet_restart(&node.plan));
            then.next = Some(lens.node(setup, Place { world, cursor, begun, plan, behind: None }));
            // The user is slower than the environment: what it does next, it does in that world.
            then.prune(Rule::UserWaits);
            return then;
        }
        Err(restless) => then.leave_out(&restless.to_string(), 1),
        Ok(None) => then.prune(Rule::EnvironmentIdle),
    }
    user_step(setup, lens, world, node, &mut then);
    then
}

/// What the user does next while the controller is down.
fn user_step(setup: &Setup, lens: &Lens, world: &World, node: &Node, then: &mut Then) {
    use while_down::UserStep;
    match while_down::user_step(setup, world, node.cursor, node.begun.unwrap_or_default()) {
        UserStep::Done(world, cursor) => {
            let (world, plan) = (*world, later_restart(&node.plan));
            let place = Place { world, cursor, begun: None, plan, behind: None };
            then.next = Some(lens.node(setup, place));
        }
        UserStep::Waits | UserStep::End => then.prune(Rule::UserWaits),
        UserStep::Foreign => then.leave_out(
            "restarts after a script or command step (its effects outside the cluster can't be forked)",
            1,
        ),
        UserStep::Failed(why) => then.leave_out(
            &format!("restarts after a user step that fails while the controller is down ({why})"),
            1,
        ),
    }
}

impl Then {
    fn prune(&mut self, rule: Rule) {
        self.pruned.push((Family::IntermediateState, rule));
    }

    fn leave_out(&mut self, why: &str, count: u64) {
        if count > 0 {
            self.left_out.push((why.to_owned(), count));
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
    if let Some(crash) = plan.last_crash_mut() {
        crash.restart = crash.restart.later();
    }
    plan
}

/// The same plan, its last restart when the environment is quiet.
fn quiet_restart(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    if let Some(crash) = plan.last_crash_mut() {
        crash.restart = crash.restart.quiet();
    }
    plan
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
