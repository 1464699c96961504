//! The numbers of Bar/Foo. Those of whole specifications are TLC's own, of runs of the modules in `specs` (version
//! of April 2026, one worker).

use std::collections::{HashMap, VecDeque};

use super::*;

/// What a breadth-first search that stops at the first violation finds, counted as TLC counts.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    generated: usize,
    distinct: usize,
    left: usize,
    depth: usize,
    /// The states up to the violation.
    trace: Option<Vec<State>>,
}

/// A plain search: no part of the crate, so that there is something to compare with.
fn search(system: &BarFoo, holds: impl Fn(&State) -> bool) -> Found {
    let initial = system.initial();
    let mut came_from: HashMap<State, Option<State>> =
        initial.iter().map(|state| (*state, None)).collect();
    let mut levels: HashMap<State, usize> = initial.iter().map(|state| (*state, 1)).collect();
    let mut queue: VecDeque<State> = initial.iter().copied().collect();
    let mut found = Found { generated: initial.len(), distinct: 0, left: 0, depth: 1, trace: None };
    while let Some(state) = queue.pop_front() {
        let mut actions = Vec::new();
        system.actions(&state, &mut actions);
        for next in actions.iter().filter_map(|action| system.next(&state, action)) {
            found.generated += 1;
            if came_from.contains_key(&next) {
                continue;
            }
            came_from.insert(next, Some(state));
            levels.insert(next, levels[&state] + 1);
            found.depth = found.depth.max(levels[&next]);
            if !holds(&next) {
                let back = |state: &State| came_from[state];
                let mut trace: Vec<State> = std::iter::successors(Some(next), back).collect();
                trace.reverse();
                found.trace = Some(trace);
                // TLC counts neither the state it is at nor the one that it found as left.
                found.left = queue.len();
                found.distinct = came_from.len();
                return found;
            }
            queue.push_back(next);
        }
    }
    found.distinct = came_from.len();
    found
}

/// The states up to the violation of the invariant.
pub(crate) fn violation(system: &BarFoo) -> Vec<State> {
    search(system, BarFoo::limited_foo_objs).trace.expect("this variant violates it")
}

fn counts(found: &Found) -> [usize; 4] {
    [found.generated, found.distinct, found.left, found.depth]
}

#[test]
fn the_violation_is_that_of_tlc() {
    let system = BarFoo::new(Variant::GeneratedName);
    let found = search(&system, BarFoo::limited_foo_objs);
    assert_eq!(counts(&found), [13, 11, 1, 6]);
    let states: Vec<Vars> = found.trace.unwrap().iter().map(|state| system.vars(state)).collect();
    let text = include_str!("../../traces/fixtures/ns.txt");
    let tlc = crate::traces::read(text, "ns.txt").unwrap().into_trace().unwrap();
    assert_eq!(states, tlc.states);
}

#[test]
fn without_terminating_one_state_less_is_generated() {
    let system = BarFoo { terminating: false, ..BarFoo::new(Variant::GeneratedName) };
    assert_eq!(counts(&search(&system, BarFoo::limited_foo_objs)), [12, 11, 1, 6]);
}

#[test]
fn limits_on_foos_give_finite_models() {
    for (foos_max, states, steps) in [(1, 10, 11), (2, 17, 19), (3, 24, 27), (4, 31, 35)] {
        let system = BarFoo {
            foos_max: Some(foos_max),
            terminating: false,
            ..BarFoo::new(Variant::GeneratedName)
        };
        let found = search(&system, |_| true);
        assert_eq!((found.distinct, found.generated - 1), (states, steps), "{foos_max}");
    }
}

#[test]
fn the_assertion_fails_after_seven_states() {
    let found = search(&BarFoo::new(Variant::GeneratedName), BarFoo::asserted);
    let trace = found.trace.unwrap();
    assert_eq!(trace.len(), 7);
    let last = trace[6];
    assert_eq!((last.pc, last.foos, last.created), (Pc::Start, 2, true));
}

#[test]
fn with_two_reboots_four_of_seven_schedules_violate() {
    let system =
        BarFoo { reboots_max: Some(2), terminating: false, ..BarFoo::new(Variant::GeneratedName) };
    // All ways through the model: their last states.
    let mut open = system.initial();
    let mut ends = Vec::new();
    while let Some(state) = open.pop() {
        let mut actions = Vec::new();
        system.actions(&state, &mut actions);
        let next: Vec<State> =
            actions.iter().filter_map(|action| system.next(&state, action)).collect();
        if next.is_empty() {
            ends.push(state);
        }
        open.extend(next);
    }
    assert!(ends.iter().all(|state| state.pc == Pc::Done && state.created));
    let violating = ends.iter().filter(|state| !BarFoo::limited_foo_objs(state)).count();
    assert_eq!((ends.len(), violating), (7, 4));
}

#[test]
fn mended_controllers_hold() {
    let holds = |state: &State| BarFoo::limited_foo_objs(state) && BarFoo::asserted(state);
    let fixed = search(&BarFoo::new(Variant::FixedName), holds);
    assert_eq!((counts(&fixed), fixed.trace), ([15, 10, 0, 5], None));
    let live = search(&BarFoo::new(Variant::LiveList), holds);
    assert_eq!((counts(&live), live.trace), ([17, 12, 0, 7], None));
}

#[test]
fn a_cached_list_brings_the_violation_back() {
    let found = search(&BarFoo::new(Variant::CachedList), BarFoo::limited_foo_objs);
    assert_eq!(counts(&found), [17, 14, 1, 8]);
    assert_eq!(found.trace.map(|trace| trace.len()), Some(8));
}
