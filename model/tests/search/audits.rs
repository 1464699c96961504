//! What systems say of themselves for reductions: true claims pass, each kind of false one is told.

use model::{
    Footprint, Places, System,
    search::audit::{Breach, audit},
    systems::two_phase_commit::TwoPhaseCommit,
};

use crate::programs::{Instruction, Programs, State, peterson, philosophers};

/// Programs that claim something else.
struct Lying<F>(Programs, Claim, F);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Claim {
    Footprint,
    Future,
    Canonical,
}

impl<F: Fn(&State) -> State + Sync> System for Lying<F> {
    type State = State;
    type Action = (usize, bool);

    fn initial(&self) -> Vec<State> {
        self.0.initial()
    }

    fn actions(&self, state: &State, into: &mut Vec<(usize, bool)>) {
        self.0.actions(state, into);
    }

    fn next(&self, state: &State, action: &(usize, bool)) -> Option<State> {
        self.0.next(state, action)
    }

    fn label(&self, action: &(usize, bool)) -> String {
        self.0.label(action)
    }

    fn canonical(&self, state: &State) -> State {
        if self.1 == Claim::Canonical { (self.2)(state) } else { state.clone() }
    }

    fn actors(&self, state: &State) -> usize {
        self.0.actors(state)
    }

    fn actor(&self, action: &(usize, bool)) -> usize {
        action.0
    }

    fn footprint(&self, state: &State, actor: usize) -> Footprint {
        let footprint = self.0.footprint(state, actor);
        match self.1 {
            // Reads nothing.
            Claim::Footprint => Footprint { reads: Places::none(), ..footprint },
            _ => footprint,
        }
    }

    fn future(&self, state: &State, actor: usize) -> Footprint {
        match self.1 {
            // No more than the next step.
            Claim::Future => self.footprint(state, actor),
            _ => self.0.future(state, actor),
        }
    }
}

const STATES_MAX: usize = 10_000;

#[test]
fn true_claims_pass() {
    for programs in [peterson(), philosophers(3, false), philosophers(3, true)] {
        assert_eq!(audit(&programs, STATES_MAX), None);
    }
    for managers in 1..5 {
        assert_eq!(audit(&TwoPhaseCommit { managers }, STATES_MAX), None);
    }
}

#[test]
fn false_claims_are_told() {
    use Instruction::{Add, Await, Set};
    let same = |state: &State| state.clone();
    let told = |of: Vec<Vec<Instruction>>, claim: Claim| {
        audit(&Lying(Programs { variables: 3, of }, claim, same), STATES_MAX)
    };
    let waits = told(vec![vec![Set(1, 1)], vec![Await(vec![(1, 1)])]], Claim::Footprint);
    assert!(matches!(waits, Some(Breach::Enabled(_, (0, false), 1))), "{waits:?}");
    let future = told(vec![vec![Set(1, 1), Add(2)], vec![Set(0, 1)]], Claim::Future);
    assert!(matches!(future, Some(Breach::Future(_, Some((0, false)), 0))), "{future:?}");
    // Positions are no names: the programs differ.
    let programs = Programs { variables: 3, of: vec![vec![Set(1, 1)], vec![Set(2, 1)]] };
    let sorted = |state: &State| {
        let mut state = state.clone();
        state.at.sort_unstable();
        state
    };
    let canonical = audit(&Lying(programs, Claim::Canonical, sorted), STATES_MAX);
    assert!(matches!(canonical, Some(Breach::Canonical(_))), "{canonical:?}");
}

/// Two that write one thing in turn, and claim to write nothing.
struct Silent;

impl System for Silent {
    type State = (u8, u8, u8);
    type Action = u8;

    fn initial(&self) -> Vec<(u8, u8, u8)> {
        vec![(0, 0, 0)]
    }

    fn actions(&self, state: &(u8, u8, u8), into: &mut Vec<u8>) {
        into.extend([(state.0, 0), (state.1, 1)].iter().filter(|of| of.0 == 0).map(|of| of.1));
    }

    fn next(&self, state: &(u8, u8, u8), action: &u8) -> Option<(u8, u8, u8)> {
        Some(if *action == 0 { (1, state.1, 1) } else { (state.0, 1, 2) })
    }

    fn label(&self, action: &u8) -> String {
        action.to_string()
    }

    fn actors(&self, _: &(u8, u8, u8)) -> usize {
        2
    }

    fn actor(&self, action: &u8) -> usize {
        usize::from(*action)
    }

    fn footprint(&self, _: &(u8, u8, u8), _: usize) -> Footprint {
        Footprint::nothing()
    }
}

#[test]
fn steps_that_do_not_commute_are_told() {
    assert_eq!(audit(&Silent, STATES_MAX), Some(Breach::Order((0, 0, 0), 0, 1)));
}
