//! Whether what a system says of itself for reductions is so.
//!
//! Footprints and canonical states are claims of whoever writes a system; a wrong one makes verdicts wrong without a
//! word. Here they are held against what the system does, state by state, without any reduction. What is not reached
//! within the limit is not looked at.

use std::collections::{BTreeSet, HashSet, VecDeque};

use crate::{System, search::fingerprint::Fingerprinter};

/// A claim that is not so, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Breach<State, Action> {
    /// The canonical state has another canonical state, or other steps than the state that it stands for.
    Canonical(State),
    /// This actor's future does not contain its next step, or, after the step, its future from there.
    Future(State, Option<Action>, usize),
    /// After the step, which is independent by the footprints, this other actor has other steps than before.
    Enabled(State, Action, usize),
    /// These two steps are independent by the footprints, and lead elsewhere in the other order.
    Order(State, Action, Action),
}

/// The first claim that is not so in the first `states_max` states by distance; none if all are.
pub fn audit<S: System>(system: &S, states_max: usize) -> Option<Breach<S::State, S::Action>> {
    let mut queue: VecDeque<S::State> = system.initial().into();
    let mut seen: HashSet<S::State> = queue.iter().cloned().collect();
    while let Some(state) = queue.pop_front() {
        let steps = steps(system, &state);
        let breach = canonical(system, &state)
            .or_else(|| futures(system, &state, &steps))
            .or_else(|| independence(system, &state, &steps));
        if breach.is_some() {
            return breach;
        }
        for (_, next) in steps {
            if seen.len() < states_max && !seen.contains(&next) {
                seen.insert(next.clone());
                queue.push_back(next);
            }
        }
    }
    None
}

type Steps<S> = Vec<(<S as System>::Action, <S as System>::State)>;
type BreachOf<S> = Breach<<S as System>::State, <S as System>::Action>;

fn steps<S: System>(system: &S, state: &S::State) -> Steps<S> {
    let mut actions = Vec::new();
    system.actions(state, &mut actions);
    let step = |action: S::Action| Some((action.clone(), system.next(state, &action)?));
    actions.into_iter().filter_map(step).collect()
}

fn canonical<S: System>(system: &S, state: &S::State) -> Option<BreachOf<S>> {
    let canonical = system.canonical(state);
    let ways = |state: &S::State| -> BTreeSet<_> {
        let mut fingerprinter = Fingerprinter::default();
        let steps = steps(system, state);
        steps.iter().map(|(_, next)| fingerprinter.of(&system.canonical(next))).collect()
    };
    let is_so = system.canonical(&canonical) == canonical && ways(state) == ways(&canonical);
    (!is_so).then(|| Breach::Canonical(state.clone()))
}

fn futures<S: System>(system: &S, state: &S::State, steps: &Steps<S>) -> Option<BreachOf<S>> {
    for actor in 0..system.actors(state) {
        let future = system.future(state, actor);
        if !future.contains(&system.footprint(state, actor)) {
            return Some(Breach::Future(state.clone(), None, actor));
        }
        let grows =
            |(_, next): &&(S::Action, S::State)| !future.contains(&system.future(next, actor));
        if let Some((action, _)) = steps.iter().find(grows) {
            return Some(Breach::Future(state.clone(), Some(action.clone()), actor));
        }
    }
    None
}

fn independence<S: System>(system: &S, state: &S::State, steps: &Steps<S>) -> Option<BreachOf<S>> {
    for (action, next) in steps {
        let actor = system.actor(action);
        let footprint = system.footprint(state, actor);
        let after = self::steps(system, next);
        let others = (0..system.actors(state)).filter(|other| *other != actor);
        for other in others.filter(|other| footprint.independent(&system.footprint(state, *other)))
        {
            let of_other = |(action, _): &&(S::Action, S::State)| system.actor(action) == other;
            let before: Vec<_> = steps.iter().filter(of_other).map(|(action, _)| action).collect();
            let later: Vec<_> = after.iter().filter(of_other).collect();
            if before != later.iter().map(|(action, _)| action).collect::<Vec<_>>() {
                return Some(Breach::Enabled(state.clone(), action.clone(), other));
            }
            for (then, both) in later {
                let first = system.next(state, then);
                if first.and_then(|first| system.next(&first, action)).as_ref() != Some(both) {
                    return Some(Breach::Order(state.clone(), action.clone(), then.clone()));
                }
            }
        }
    }
    None
}
