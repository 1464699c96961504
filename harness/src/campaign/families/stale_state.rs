//! A world at which the subject can be started again in front of caches that are behind: which older states they could
//! stand at, as worlds of their own.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cluster::World;
use plans::{
    Behind, CatchUp, Crash, Family, FirstRead, Perturbation, Plan, Rule, Schedule, StaleState,
    StaleView, stale_read,
    stale_views::{Logged, Objects, StaleViews},
};
use serde_json::Value;
use trace::{Change, GroupResource, ObjectKey};

use crate::campaign::{
    frontier::Frontier,
    judge,
    lens::Lens,
    node::{BehindNow, Node},
    order::Score,
    reached::{Place, Then},
    reference::References,
    setup::Setup,
};
use crate::trial::{RunEnd, TrialRun};

/// Which types' caches may be behind when the subject is started: those that it does not first read consistently.
pub fn learn(schedule: &Schedule, frontier: &mut Frontier) {
    let tally = frontier.families.of(Family::StaleState);
    let mut types = BTreeSet::new();
    for (resource, reading) in &schedule.types {
        match reading.first {
            Some(FirstRead::Consistent) => {
                let why =
                    format!("the first list of {resource} is consistent: only its watch may lag");
                tally.not_for.push(why);
            }
            Some(FirstRead::Streamed | FirstRead::Any) => {
                types.insert(resource.clone());
            }
            None => {}
        }
    }
    frontier.may_be_behind(types);
}

/// The type whose caches this trial shows to be never behind for this subject, with why; none if it does not.
///
/// What was refused once is refused again, so one such trial is enough.
pub fn never_behind(run: &TrialRun) -> Option<(GroupResource, String)> {
    let RunEnd::NotPossible(_) = run.end else { return None };
    let Some(Perturbation::StaleState(stale)) = run.spec.plan.perturbations.last() else {
        return None;
    };
    let resource = stale.behind.resource.as_ref()?;
    let waits = stale_read::not_fallen_back(&run.history).contains(resource);
    let why = format!(
        "the first list of {resource} is streamed, and no list with resourceVersion=0 follows where that fails: only its watch may lag"
    );
    waits.then(|| (resource.clone(), why))
}

/// On a cluster that can't be forked: at each crash point of the first undisturbed run each older state that the subject can
/// tell apart, from the beginning.
pub fn from_beginning(
    setup: &Setup,
    references: &References,
    frontier: &mut Frontier,
) -> Vec<(Plan, Score)> {
    if setup.ground.forks() {
        return vec![];
    }
    let Some(run) = references.runs.first() else { return vec![] };
    let lens = frontier.lens.clone();
    let (view, history) = (judge::run_view(run), &run.history);
    let names = view.generated_names();
    let generated = |name: &str| judge::generated_from(&names, name);
    let mut objects: Objects = run.before.iter().cloned().collect();
    let before: Vec<Option<Arc<Value>>> = history
        .commits()
        .map(|commit| match commit.change {
            Change::Deleted => objects.remove(&commit.key),
            _ => objects.insert(commit.key.clone(), commit.object.clone()),
        })
        .collect();
    let log: Vec<Logged<'_>> = history
        .commits()
        .zip(&before)
        .filter(|(commit, _)| lens.stale_types.contains(&commit.key.resource) && !commit.heartbeat)
        .map(|(commit, previous)| Logged {
            revision: commit.revision,
            change: commit.change,
            key: &commit.key,
            object: &commit.object,
            previous: previous.as_ref(),
        })
        .collect();
    let first = shown(&lens, run.before.iter().map(|(key, object)| (key, object)));
    let sees = |key: &ObjectKey, object: &Value| lens.footprint.covers(key, object);
    let found = plans::crash_points(history, run.started_at, &generated);
    let mut plans = Vec::new();
    for point in found.points.iter().filter(|point| point.dropped.is_empty()) {
        let before = log.partition_point(|logged| logged.revision <= point.revision);
        let since = run.started_at.revision;
        let views = plans::stale_views(false, since, &first, &log[..before], &sees, &generated);
        frontier.families.prune(Family::StaleState, Rule::SameView, views.alike);
        let crash = Crash::at(point.at.clone());
        let all = views.views.len();
        let views = views.views.into_iter().filter(|view| tried(&lens, view));
        let before = plans.len();
        plans.extend(views.map(|view| {
            let undisturbed = Plan::undisturbed().and(crash.clone());
            let plan = stale_plan(&undisturbed, &crash, &view.behind, CatchUp::Quiet);
            let score = Score::of(&plan, point.cursor, &lens.heuristics);
            (plan, score)
        }));
        let left_out = all - (plans.len() - before);
        frontier.leave_to_chance(Family::StaleState, left_out as u64);
    }
    frontier.families.of(Family::StaleState).enumerated += plans.len() as u64;
    plans
}

/// Whether an older state is tried: only those that are suggested, where the campaign asks for no others.
fn tried(lens: &Lens, view: &StaleView) -> bool {
    !lens.only_suggested || lens.heuristics.suggests_stale(&view.behind)
}

/// What the subject sees of those of these objects whose caches may be behind.
fn shown<'o>(
    lens: &Lens,
    objects: impl Iterator<Item = (&'o ObjectKey, &'o Arc<Value>)>,
) -> BTreeMap<GroupResource, Objects> {
    let mut shown: BTreeMap<GroupResource, Objects> = BTreeMap::new();
    let stale = |key: &ObjectKey| lens.stale_types.contains(&key.resource);
    for (key, object) in objects {
        if stale(key) && lens.footprint.covers(key, object) {
            let of_type = shown.entry(key.resource.clone()).or_default();
            of_type.insert(key.clone(), object.clone());
        }
    }
    shown
}

/// The starts on the world of `node` with caches that are behind, into `then`. They catch up at the first quiet moment.
pub fn add(setup: &Setup, lens: &Lens, node: &Node, then: &mut Then) {
    let (Some(world), Some(first)) = (&node.world, setup.ground.world()) else { return };
    let Some(Perturbation::Crash(crash)) = node.plan.perturbations.last() else { return };
    if lens.stale_types.is_empty() {
        return;
    }
    let StaleViews { mut views, alike } = views(setup, lens, world, first);
    then.pruned.extend((0..alike).map(|_| (Family::StaleState, Rule::SameView)));
    let all = views.len();
    views.retain(|view| tried(lens, view));
    then.not_suggested += (all - views.len()) as u64;
    for view in views {
        let plan = stale_plan(&node.plan, crash, &view.behind, CatchUp::Quiet);
        let behind = BehindNow { revision: view.revision, objects: Arc::new(view.objects) };
        then.stale.push(lens.node(setup, place(node, world, plan, behind)));
    }
}

/// The same start, its caches catching up one user step later; none where the user does nothing but wait.
pub fn later(setup: &Setup, lens: &Lens, node: &Node, then: &mut Then) {
    let (Some(world), Some(behind)) = (&node.world, &node.behind) else { return };
    let Some(Perturbation::StaleState(stale)) = node.plan.perturbations.last() else { return };
    let steps = match stale.catch_up {
        CatchUp::Quiet => 1,
        CatchUp::AfterUserStep(steps) => steps + 1,
    };
    if setup.workload.writes_before_a_wait(node.cursor) < steps {
        then.pruned.push((Family::StaleState, Rule::UserWaits));
        return;
    }
    let catch_up = CatchUp::AfterUserStep(steps);
    let plan = stale_plan(&node.plan, &stale.crash, &stale.behind, catch_up);
    then.stale.push(lens.node(setup, place(node, world, plan, behind.clone())));
}

fn place(node: &Node, world: &World, plan: Plan, behind: BehindNow) -> Place {
    let (cursor, begun, passed) = (node.cursor, node.begun, node.passed);
    Place { world: world.clone(), cursor, begun, plan, behind: Some(behind), passed }
}

/// The plan with its last kill followed by a start in front of caches that are behind.
fn stale_plan(plan: &Plan, crash: &Crash, behind: &Behind, catch_up: CatchUp) -> Plan {
    let mut plan = plan.clone();
    plan.perturbations.pop();
    plan.and(StaleState { crash: crash.clone(), behind: behind.clone(), catch_up })
}

fn views(setup: &Setup, lens: &Lens, world: &World, first: &World) -> StaleViews {
    let since = first.revision();
    let types = || lens.stale_types.iter();
    let mut log: Vec<_> = types()
        .flat_map(|resource| world.changes_after(resource, since))
        .filter(|logged| !beats(setup, logged))
        .collect();
    log.sort_by_key(|logged| logged.revision);
    let log: Vec<Logged<'_>> = log
        .iter()
        .map(|logged| Logged {
            revision: logged.revision,
            change: logged.change,
            key: &logged.key,
            object: &logged.object,
            previous: logged.previous.as_ref(),
        })
        .collect();
    let sees = |key: &ObjectKey, object: &Value| lens.footprint.covers(key, object);
    let at_first = shown(lens, first.objects());
    let names: BTreeSet<&str> = world.generated_names().collect();
    let generated = |name: &str| judge::generated_from(&names, name);
    plans::stale_views(lens.brute_force, since, &at_first, &log, &sees, &generated)
}

/// Whether a change is no more than a heartbeat: those are not counted where plans say which change they mean.
fn beats(setup: &Setup, logged: &cluster::Logged) -> bool {
    let Some(previous) = &logged.previous else { return false };
    let without = |object: &Arc<Value>| {
        setup.heartbeats.without(&logged.key, object).map(|rest| plans::stale_views::said(&rest))
    };
    match (without(previous), without(&logged.object)) {
        (Some(before), Some(after)) => before == after,
        _ => false,
    }
}
