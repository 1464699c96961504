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

use cluster::{Packed, PackedWorld, World};
use plans::{Crash, CrashPoint, Family, Moment, Plan, Pruned, Rule, StartPoint};
use serde_json::Value;
use trace::{Change, Cursor, Footprint, GroupResource, ObjectKey, Revision};

use crate::{
    campaign::{
        families::stale_state,
        identities::{Classes, Identities},
        judge,
        lens::Lens,
        node::{BehindNow, Node},
        properties::Passed,
        setup::Setup,
        while_down,
    },
    trial::TrialRun,
};

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

/// A crash point that is skipped until the subject reads what a built-in controller changed there.
pub struct Unread {
    key: ObjectKey,
    /// What it was before, if it was there, and what it became.
    versions: Vec<Packed>,
    place: Place<PackedWorld>,
    /// Whether the workload can be taken up there.
    resumable: bool,
}

/// Where the subject could have been killed, and what it meets when it is started again.
pub struct Place<W = World> {
    pub world: W,
    pub cursor: Cursor,
    pub begun: Option<Duration>,
    pub plan: Plan,
    pub behind: Option<BehindNow>,
    /// What of the campaign's properties has happened before it.
    pub passed: Passed,
}

/// All that a trial reached.
#[derive(Default)]
pub struct Harvest {
    /// In the order of the history.
    pub reached: Vec<Node>,
    /// The revision at which the subject would have been killed, of each of them.
    pub killed_at: Vec<Revision>,
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
    let after = setup.workload.led_to(cursor).map_or(String::new(), |led| led.title.clone());
    let crash = Crash::at(Moment::Step { cursor, after });
    let plan = Plan::undisturbed().and(crash);
    let world = run.server.as_ref()?.world_at(revision)?;
    let passed = Passed::default();
    Some(lens.node(setup, Place { world, cursor, begun: None, plan, behind: None, passed }))
}

/// Everything that a trial reached. `leaf`: nothing is explored behind it, so its worlds are only identified.
pub fn harvest(
    setup: &Setup,
    lens: &Lens,
    run: &TrialRun,
    view: &oracles::Run,
    leaf: bool,
) -> Harvest {
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
        let passed = setup.properties.passed(run, point.revision);
        let Some(place) = place(run, point, plan.clone(), passed) else {
            match observed(&lens.identities(setup), run, &names, point, plan) {
                Some(node) => harvest.reach(node, point),
                None => harvest.leave_out("worlds that could not be rebuilt", 1),
            }
            continue;
        };
        let changed = changed_by_environment(run, point).filter(|_| !lens.brute_force);
        let resumable = resumable(setup, point);
        match changed.filter(|(key, versions)| !reads_any(&footprint, key, versions)) {
            _ if leaf => harvest.reach(lens.identified(setup, place), point),
            Some((key, versions)) => {
                harvest.unread.extend(Unread::new(setup, key, &versions, place, resumable));
            }
            None => harvest.reach(lens.node_if(resumable, setup, place), point),
        }
    }
    harvest
}

impl Harvest {
    fn reach(&mut self, node: Node, point: &CrashPoint) {
        self.reached.push(node);
        self.killed_at.push(point.revision);
    }

    /// The worlds that it reached, each with the revision of the trial at which the subject would have been killed.
    pub fn crashes(&self) -> impl Iterator<Item = (&Node, Revision)> {
        self.reached.iter().zip(self.killed_at.iter().copied())
    }

    fn leave_out(&mut self, why: &str, count: u64) {
        if count > 0 {
            *self.left_out.entry(why.to_owned()).or_default() += count;
        }
    }
}

impl Unread {
    fn new(
        setup: &Setup,
        key: ObjectKey,
        versions: &[Arc<Value>],
        place: Place,
        resumable: bool,
    ) -> Option<Unread> {
        let Place { world, cursor, begun, plan, behind, passed } = place;
        let world = world.pack(setup.ground.world()?);
        let place = Place { world, cursor, begun, plan, behind, passed };
        Some(Unread { key, versions: versions.iter().map(Packed::of).collect(), place, resumable })
    }

    /// The type that changed there.
    pub fn resource(&self) -> &GroupResource {
        &self.key.resource
    }

    /// Whether the subject reads by now what changed there.
    pub fn is_read(&self, lens: &Lens) -> bool {
        // Of types that it never asks about nothing needs to be unpacked.
        let asked = lens.footprint.asks_more(&Footprint::default(), &self.key.resource);
        let read = |version: &Packed| lens.footprint.covers(&self.key, &version.object());
        asked && self.versions.iter().any(read)
    }

    /// The world that it leads to.
    pub fn reached(self, setup: &Setup, lens: &Lens) -> Node {
        let Place { world, cursor, begun, plan, behind, passed } = self.place;
        let place = Place { world: world.unpack(), cursor, begun, plan, behind, passed };
        lens.node_if(self.resumable, setup, place)
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

fn place(run: &TrialRun, point: &CrashPoint, plan: Plan, passed: Passed) -> Option<Place> {
    let world = run.server.as_ref()?.world_at(point.revision)?;
    let world = while_down::rebuild(world, point.time, &point.kept)?;
    Some(Place { world, cursor: point.cursor, begun: point.begun, plan, behind: None, passed })
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
    let passed = Passed::default(); // it is only reached from the beginning
    Some(Node { world: None, cursor, begun, plan, behind: None, passed, identity, classes })
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
    let (passed, _) = setup.properties.in_world(node.passed, world);
    match while_down::environment_rests(world) {
        Ok(Some((world, between))) => {
            if between > 0 {
                let what = "restarts between two writes of the built-in controllers";
                then.limits.push((what.to_owned(), between));
            }
            let (cursor, begun, plan) = (node.cursor, node.begun, quiet_restart(&node.plan));
            let place = Place { world, cursor, begun, plan, behind: None, passed };
            then.next = Some(lens.node(setup, place));
            // The user is slower than the environment: what it does next, it does in that world.
            then.prune(Rule::UserWaits);
            return then;
        }
        Err(restless) => then.leave_out(&restless.to_string(), 1),
        Ok(None) => then.prune(Rule::EnvironmentIdle),
    }
    user_step(setup, lens, world, (node, passed), &mut then);
    then
}

/// What the user does next while the controller is down.
fn user_step(
    setup: &Setup,
    lens: &Lens,
    world: &World,
    (node, passed): (&Node, Passed),
    then: &mut Then,
) {
    use while_down::UserStep;
    match while_down::user_step(setup, world, node.cursor, node.begun.unwrap_or_default()) {
        UserStep::Done(world, cursor) => {
            let (world, plan) = (*world, later_restart(&node.plan));
            let place = Place { world, cursor, begun: None, plan, behind: None, passed };
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
