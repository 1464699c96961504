//! Reductions: the same verdicts, and fewer states where there is something to save.

use std::num::NonZeroUsize;

use model::{
    Places, Property, Reductions, Report, Search, SearchError, System,
    systems::two_phase_commit::{self, Manager, TwoPhaseCommit},
};
use proptest::prelude::*;

use crate::{
    programs::{Instruction, Programs, State, VARIABLE, peterson, philosophers},
    systems::assert_real,
};

use Instruction::{Add, Await, Either, Set};

/// Questions to programs: about variable 0, about two variables, and whether all come to their ends.
fn properties(programs: &Programs) -> [Property<'_, Programs>; 4] {
    let variable = || Places::only([(VARIABLE, Some(0))]);
    let two = Places::only([(VARIABLE, Some(0)), (VARIABLE, Some(1))]);
    [
        Property::sometimes("1 before 0", |state: &State| state.variables[..2] == [0, 1])
            .reading(two),
        Property::always("never 2", |state: &State| state.variables[0] != 2).reading(variable()),
        Property::sometimes("once 1", |state: &State| state.variables[0] == 1).reading(variable()),
        Property::no_deadlock("ends", move |state: &State| {
            let at_end = |(at, program): (&u8, &Vec<_>)| usize::from(*at) >= program.len();
            state.at.iter().zip(&programs.of).all(at_end)
        }),
    ]
}

type ReportOf<S> = Report<<S as System>::State, <S as System>::Action>;

/// The reports without and with partial order reduction.
fn both(programs: &Programs, properties: &[Property<'_, Programs>]) -> [ReportOf<Programs>; 2] {
    [false, true].map(|partial_order| {
        let mut search = Search::new(programs, properties);
        search.partial_order = partial_order;
        search.all_violations = true;
        let report = search.breadth_first().unwrap();
        report
            .verdicts
            .iter()
            .filter_map(|(_, v)| v.run())
            .for_each(|run| assert_real(programs, run));
        report
    })
}

fn instruction() -> impl Strategy<Value = Instruction> {
    let value = || (0u8..3, 0u8..3);
    prop_oneof![
        value().prop_map(|(variable, value)| Set(variable, value)),
        (0u8..3).prop_map(Add),
        prop::collection::vec(value(), 1..3).prop_map(Await),
        (0u8..5, 0u8..5).prop_map(|(one, other)| Either(one, other)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn leaving_out_orders_changes_no_verdict(
        of in prop::collection::vec(prop::collection::vec(instruction(), 1..5), 2..4),
    ) {
        let programs = Programs { variables: 3, of };
        let properties = properties(&programs);
        let [full, reduced] = both(&programs, &properties);
        for ((name, full), (_, reduced)) in full.verdicts.iter().zip(&reduced.verdicts) {
            prop_assert_eq!(full.is_held(), reduced.is_held(), "{}", name);
            prop_assert_eq!(full.is_violated(), reduced.is_violated(), "{}", name);
        }
        // A search in which all is decided ends early.
        let whole = full.limit.is_none() && reduced.limit.is_none();
        prop_assert!(!whole || reduced.counts.distinct <= full.counts.distinct);
    }
}

#[test]
fn leaving_out_orders_saves_states_where_programs_keep_to_themselves() {
    // Each counts in a variable of its own; only the last one writes what is asked about.
    let programs =
        Programs { variables: 4, of: (0..4).map(|own| vec![Add((own + 1) % 4); 2]).collect() };
    let [full, reduced] = both(&programs, &properties(&programs)[1..]);
    assert_eq!(full.counts.distinct, 3 * 3 * 3 * 3);
    assert!(reduced.counts.distinct <= 3 * 3, "{:?}", reduced.counts);
    assert_eq!(reduced.reductions, Reductions { symmetry: false, partial_order: true });
    assert!(reduced.verdict("never 2").is_violated());
}

#[test]
fn a_reduced_search_is_the_same_on_one_thread_and_on_many() {
    let programs = philosophers(4, false);
    let at_end = |state: &State| state.at.iter().all(|at| *at == 7);
    let properties = [Property::no_deadlock("all leave", at_end)];
    let reports = [1, 2, 3].map(|threads| {
        let mut search = Search::new(&programs, &properties);
        search.threads = NonZeroUsize::new(threads).unwrap();
        (search.partial_order, search.all_violations) = (true, true);
        let report = search.breadth_first().unwrap();
        (report.counts, report.verdict("all leave").run().cloned())
    });
    assert!(reports[0].1.is_some());
    assert!(reports.iter().all(|report| *report == reports[0]), "{reports:?}");
}

/// One program goes round for ever and keeps to itself. If its step were enough each time, the other one would never
/// take the step that violates.
#[test]
fn a_step_is_not_put_off_for_ever_on_a_cycle() {
    let programs = Programs { variables: 3, of: vec![vec![Add(1), Either(0, 0)], vec![Set(0, 2)]] };
    let [full, reduced] = both(&programs, &properties(&programs));
    assert!(full.verdict("never 2").is_violated());
    assert!(reduced.verdict("never 2").is_violated());
}

/// The first program's step writes what is asked about, and the second one's later step writes it again.
#[test]
fn steps_that_a_property_sees_are_taken_in_all_orders() {
    let programs = Programs { variables: 2, of: vec![vec![Set(0, 1)], vec![Set(1, 1)]] };
    let place = |variable| Places::only([(VARIABLE, Some(variable))]);
    let mut both_read = place(0);
    both_read.add(&place(1));
    let seen = |state: &State| state.variables == [0, 1];
    let properties = [Property::sometimes("second first", seen).reading(both_read)];
    let [full, reduced] = both(&programs, &properties);
    assert!(full.verdict("second first").is_held());
    assert!(reduced.verdict("second first").is_held());
}

/// The second program can be woken by the first: its waiting step is not enough, and is not independent.
#[test]
fn a_step_that_others_make_possible_is_waited_for() {
    let programs =
        Programs { variables: 3, of: vec![vec![Set(1, 1)], vec![Await(vec![(1, 1)]), Set(0, 2)]] };
    let [full, reduced] = both(&programs, &properties(&programs));
    assert!(full.verdict("never 2").is_violated());
    assert!(reduced.verdict("never 2").is_violated());
    assert!(reduced.verdict("ends").is_held());
}

#[test]
fn liveness_and_steps_are_judged_in_full() {
    let programs = peterson();
    let used = |property: Property<'_, Programs>| {
        let properties = [property.symmetric()];
        let mut search = Search::new(&programs, &properties);
        (search.partial_order, search.symmetry) = (true, true);
        search.breadth_first().unwrap().reductions
    };
    assert_eq!(used(Property::always_eventually("live", |_| true)), Reductions::default());
    let steps = used(Property::steps("steps", |_, _, _| true));
    assert_eq!(steps, Reductions { symmetry: true, partial_order: false });
}

#[test]
fn symmetry_keeps_verdicts_and_saves_states() {
    for managers in 1..6 {
        let system = TwoPhaseCommit { managers };
        let mut properties = system.properties();
        properties.push(
            Property::always(
                "nobody aborts when one is prepared",
                move |state: &two_phase_commit::State| {
                    let any = |at| (0..managers).any(|rm| state.manager(rm) == at);
                    !(any(Manager::Prepared) && any(Manager::Aborted))
                },
            )
            .symmetric(),
        );
        let reports = [false, true].map(|symmetry| {
            let mut search = Search::new(&system, &properties);
            (search.symmetry, search.all_violations) = (symmetry, true);
            search.breadth_first().unwrap()
        });
        for ((name, full), (_, reduced)) in reports[0].verdicts.iter().zip(&reports[1].verdicts) {
            assert_eq!(full.is_held(), reduced.is_held(), "{name} of {managers}");
            // Runs are real ones, also in terms of names, and no longer.
            assert_eq!(
                full.run().map(|run| run.states.len()),
                reduced.run().map(|run| run.states.len())
            );
            if let Some(run) = reduced.run() {
                assert_real(&system, run);
                let last = run.states.last().unwrap();
                let any = |at| (0..managers).any(|rm| last.manager(rm) == at);
                let shown = match name.as_str() {
                    "abort agreement" => !any(Manager::Prepared) && !any(Manager::Committed),
                    "commit agreement" => !any(Manager::Prepared) && !any(Manager::Aborted),
                    _ => any(Manager::Prepared) && any(Manager::Aborted),
                };
                assert!(shown, "{name} of {managers}: {run:?}");
            }
        }
        let saved = reports[1].counts.distinct < reports[0].counts.distinct;
        assert!(saved || managers == 1);
    }
}

#[test]
fn symmetry_is_refused_if_a_property_names_names() {
    let system = TwoPhaseCommit { managers: 2 };
    let properties =
        [Property::always("the first never aborts", |state: &two_phase_commit::State| {
            state.manager(0) != Manager::Aborted
        })];
    let mut search = Search::new(&system, &properties);
    search.symmetry = true;
    let refused = SearchError::NotSymmetric("the first never aborts".to_owned());
    assert_eq!(search.breadth_first().unwrap_err(), refused);
    assert_eq!(search.depth_first().unwrap_err(), refused);
}
