//! Liveness against brute force: on small graphs, all sets of states in which a run can stay for ever are tried.

use model::{Fairness, Property, Run, Search, Verdict};
use proptest::prelude::*;

use crate::systems::{BarFoo, BarFooState, Drawn, assert_real};

/// What is asked, by two sets of states given as bits.
#[derive(Debug, Clone, Copy)]
enum Asked {
    EventuallyAlways,
    AlwaysEventually,
    LeadsTo,
}

/// A graph, which classes are fair and whether strongly, and two sets of states.
#[derive(Debug, Clone)]
struct Question {
    graph: Drawn,
    fair: Vec<(u8, bool)>,
    one: u8,
    other: u8,
}

fn is(set: u8, state: u8) -> bool {
    set >> state & 1 == 1
}

impl Question {
    fn enabled(&self, state: u8, class: u8) -> bool {
        self.graph.edges[usize::from(state)].iter().any(|edge| edge.0 == class)
    }

    /// States reached from `from` by steps to states of `within`.
    fn reached(&self, from: u8, within: u8) -> u8 {
        let mut reached = from;
        for _ in 0..8 {
            let before = reached;
            for state in (0..8).filter(|state| is(before, *state)) {
                for (_, to) in self.graph.edges.get(usize::from(state)).into_iter().flatten() {
                    reached |= (1 << to) & within;
                }
            }
        }
        reached
    }

    /// Whether a fair run can go through all states of `set` again and again and stay there.
    fn is_fair(&self, set: u8) -> bool {
        let states: Vec<u8> = (0..8).filter(|state| is(set, *state)).collect();
        let inner: Vec<(u8, u8)> = states
            .iter()
            .flat_map(|state| &self.graph.edges[usize::from(*state)])
            .filter(|edge| is(set, edge.1))
            .copied()
            .collect();
        let stops = states.len() == 1
            && self.fair.iter().all(|(class, _)| !self.enabled(states[0], *class));
        let connected = states.iter().all(|state| self.reached(1 << state, set) == set);
        connected
            && (stops || !inner.is_empty())
            && self.fair.iter().all(|(class, strong)| {
                let possible = |state: &u8| self.enabled(*state, *class);
                inner.iter().any(|edge| edge.0 == *class)
                    || if *strong {
                        !states.iter().any(possible)
                    } else {
                        !states.iter().all(possible)
                    }
            })
    }

    /// Whether a fair run violates what is asked.
    fn violated(&self, asked: Asked) -> bool {
        let initial = self.graph.initial.iter().fold(0, |set, state| set | 1 << state);
        let all = self.reached(initial, 0xff);
        let wrong = match asked {
            Asked::EventuallyAlways => all,
            Asked::AlwaysEventually => all & !self.one,
            Asked::LeadsTo => self.reached(all & self.one & !self.other, !self.other),
        };
        (1..=wrong).filter(|set| set & !wrong == 0).any(|set| {
            let counts = match asked {
                Asked::EventuallyAlways => set & !self.one != 0,
                Asked::AlwaysEventually | Asked::LeadsTo => true,
            };
            counts && self.is_fair(set)
        })
    }

    fn property(&self, asked: Asked) -> Property<'_, Drawn> {
        let (one, other) = (self.one, self.other);
        match asked {
            Asked::EventuallyAlways => Property::eventually_always("asked", move |s| is(one, *s)),
            Asked::AlwaysEventually => Property::always_eventually("asked", move |s| is(one, *s)),
            Asked::LeadsTo => {
                Property::leads_to("asked", move |s| is(one, *s), move |s| is(other, *s))
            }
        }
    }

    fn verdict(&self, asked: Asked) -> Verdict<u8, (u8, u8)> {
        let fairness: Vec<_> = self
            .fair
            .iter()
            .map(|&(class, strong)| match strong {
                true => Fairness::strong("class", move |action: &(u8, u8)| action.0 == class),
                false => Fairness::weak("class", move |action: &(u8, u8)| action.0 == class),
            })
            .collect();
        let properties = [self.property(asked)];
        let mut search = Search::new(&self.graph, &properties);
        search.fairness = &fairness;
        search.breadth_first().unwrap().verdicts.remove(0).1
    }

    /// The run exists, never does what is asked, and is fair.
    fn assert_shows(&self, asked: Asked, run: &Run<u8, (u8, u8)>) {
        assert_real(&self.graph, run);
        let from = run.loops_to.expect("a run without end");
        let (cycle, taken) = (&run.states[from..], &run.actions[from..]);
        match asked {
            Asked::EventuallyAlways => assert!(cycle.iter().any(|state| !is(self.one, *state))),
            Asked::AlwaysEventually => assert!(cycle.iter().all(|state| !is(self.one, *state))),
            Asked::LeadsTo => {
                let after = run.states.iter().rposition(|state| is(self.other, *state));
                let after = &run.states[after.map_or(0, |at| at + 1)..];
                assert!(after.iter().any(|state| is(self.one, *state)), "{run:?}");
                assert!(cycle.iter().all(|state| !is(self.other, *state)), "{run:?}");
            }
        }
        for (class, strong) in &self.fair {
            let possible = |state: &u8| self.enabled(*state, *class);
            let put_off =
                if *strong { cycle.iter().any(possible) } else { cycle.iter().all(possible) };
            assert!(
                !put_off || taken.iter().any(|action| action.0 == *class),
                "{class} in {run:?}"
            );
        }
    }
}

fn question() -> impl Strategy<Value = Question> {
    let edges = prop::collection::vec((0u8..4, 0u8..6), 0..4);
    let graph = (prop::collection::vec(0u8..6, 1..3), prop::collection::vec(edges, 6));
    let fair = prop::collection::btree_map(1u8..4, any::<bool>(), 0..4);
    (graph, fair, any::<u8>(), any::<u8>()).prop_map(|((initial, edges), fair, one, other)| {
        let fair = fair.into_iter().collect();
        Question { graph: Drawn { initial, edges }, fair, one, other }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn verdicts_are_those_of_brute_force(question in question()) {
        for asked in [Asked::EventuallyAlways, Asked::AlwaysEventually, Asked::LeadsTo] {
            let verdict = question.verdict(asked);
            prop_assert_eq!(verdict.is_violated(), question.violated(asked), "{:?}", asked);
            prop_assert_eq!(verdict.is_held(), !question.violated(asked));
            if let Some(run) = verdict.run() {
                question.assert_shows(asked, run);
            }
        }
    }
}

/// models.md, 4.2: what is reconciled in the end, of a controller that is killed a limited number of times.
#[test]
fn reconciliation_is_stable_if_a_name_is_fixed() {
    let check = |system: BarFoo, fair: bool, made: bool, one: bool| {
        let fairness = [Fairness::weak("progress", |to: &&str| !to.starts_with("Reboot"))];
        let properties = [
            Property::eventually_always("made", |state: &BarFooState| state.2 && state.1 >= 1),
            Property::stable_reconciliation("one", |state: &BarFooState| state.2 && state.1 == 1),
        ];
        let mut search = Search::new(&system, &properties);
        search.fairness = if fair { &fairness } else { &[] };
        let report = search.breadth_first().unwrap();
        assert_eq!(report.verdict("made").is_held(), made, "{system:?}");
        assert_eq!(report.verdict("one").is_held(), one, "{system:?}");
        report
            .verdicts
            .iter()
            .filter_map(|(_, v)| v.run())
            .for_each(|run| assert_real(&system, run));
    };
    let killed = |fixed_name, times| BarFoo { fixed_name, reboots_max: times };
    check(killed(false, Some(0)), true, true, true);
    check(killed(false, Some(2)), true, true, false);
    check(killed(true, Some(2)), true, true, true);
    // Killed again and again it makes nothing, and left alone it may do nothing.
    check(killed(true, None), true, false, false);
    check(killed(true, Some(2)), false, false, false);
}
