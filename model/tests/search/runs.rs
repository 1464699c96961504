//! Runs: shortest, real, and the same on one thread and on many.

use std::num::NonZeroUsize;

use model::{
    Limit, Property, Search, Verdict,
    systems::two_phase_commit::{self, TwoPhaseCommit},
};

use crate::{
    programs::{CRITICAL, Programs, State, peterson, philosophers},
    systems::{BarFoo, BarFooState, Drawn, assert_real},
};

#[test]
fn one_thread_and_many_say_the_same() {
    let system = TwoPhaseCommit { managers: 5 };
    let reports = [1, 2, 3, 8].map(|threads| {
        let mut properties = system.properties();
        let late = |state: &two_phase_commit::State| {
            (0..5).any(|rm| state.manager(rm) != two_phase_commit::Manager::Committed)
        };
        properties.push(Property::always("not all commit", late));
        properties.push(Property::steps("nobody commits", |_, action, _| {
            !matches!(action, two_phase_commit::Action::RmRcvCommitMsg(3))
        }));
        let mut search = Search::new(&system, &properties);
        search.threads = NonZeroUsize::new(threads).unwrap();
        let first = search.breadth_first().unwrap();
        search.all_violations = true;
        let all = search.breadth_first().unwrap();
        let runs = |report: model::Report<_, _>| {
            let runs = report.verdicts.into_iter().map(|(_, verdict)| match verdict {
                Verdict::Held { witness: run } | Verdict::Violated { run } => run,
                Verdict::Unknown { .. } => None,
            });
            (report.counts, runs.collect::<Vec<_>>())
        };
        (runs(first), runs(all))
    });
    assert!(reports.iter().all(|report| *report == reports[0]), "{reports:?}");
    let (_, all) = &reports[0].1;
    assert!(all.iter().flatten().count() >= 4, "{all:?}");
    all.iter().flatten().for_each(|run| assert_real(&system, run));
}

#[test]
fn a_breadth_first_run_is_shortest() {
    // A ladder with a long way listed first.
    let edges =
        vec![vec![(0, 1), (0, 4)], vec![(0, 2)], vec![(0, 3)], vec![(0, 5)], vec![(0, 5)], vec![]];
    let system = Drawn { initial: vec![0], edges };
    let properties = [Property::always("not 5", |state: &u8| *state != 5)];
    let search = Search::new(&system, &properties);
    assert_eq!(search.breadth_first().unwrap().verdict("not 5").run().unwrap().states, [0, 4, 5]);
    let deep = search.depth_first().unwrap();
    assert_eq!(deep.verdict("not 5").run().unwrap().states, [0, 1, 2, 3, 5]);
    assert_eq!(deep.limit, Some(Limit::Violation("not 5".to_owned())));
}

#[test]
fn an_initial_state_can_violate() {
    let system = Drawn { initial: vec![1, 2], edges: vec![vec![]; 3] };
    let properties = [Property::always("not 2", |state: &u8| *state != 2)];
    let search = Search::new(&system, &properties);
    for report in [search.breadth_first().unwrap(), search.depth_first().unwrap()] {
        assert_eq!(report.verdict("not 2").run().unwrap().states, [2]);
    }
}

#[test]
fn all_engines_find_deadlocks() {
    let programs = peterson();
    let stuck = philosophers(3, false);
    let check = |system: &Programs, expect: bool| {
        let ended = |state: &State| state.at.iter().all(|at| *at == 7);
        let properties = [Property::no_deadlock("goes on", ended)];
        let search = Search::new(system, &properties);
        let walked = search.random_walk(7, 200).unwrap();
        for report in [search.breadth_first().unwrap(), search.depth_first().unwrap()] {
            let verdict = report.verdict("goes on");
            assert_eq!(verdict.is_violated(), expect, "{verdict:?}");
            assert_eq!(verdict.is_held(), !expect);
            verdict.run().into_iter().for_each(|run| assert_real(system, run));
        }
        assert_eq!(walked.verdict("goes on").is_violated(), expect);
        walked.verdict("goes on").run().into_iter().for_each(|run| assert_real(system, run));
    };
    check(&stuck, true);
    // Peterson's never end: a walk needs a depth to come back.
    let properties = [
        Property::no_deadlock("goes on", |_| false),
        Property::always("one at a time", |state: &State| state.at != [CRITICAL, CRITICAL]),
        Property::sometimes("the second gets in", |state: &State| state.at[1] == CRITICAL),
    ];
    let mut search = Search::new(&programs, &properties);
    assert!(search.breadth_first().unwrap().verdicts.iter().all(|(_, verdict)| verdict.is_held()));
    assert!(search.depth_first().unwrap().verdicts.iter().all(|(_, verdict)| verdict.is_held()));
    search.budgets.depth = 50;
    let walked = search.random_walk(1, 20).unwrap();
    assert!(matches!(walked.verdict("goes on"), Verdict::Unknown { why: Limit::Sampled, .. }));
    assert!(walked.verdict("the second gets in").is_held());
}

#[test]
fn a_walk_is_the_same_for_the_same_seed() {
    let properties = [Property::always("one Foo", |state: &BarFooState| state.1 <= 1)];
    let system = BarFoo::default();
    let mut search = Search::new(&system, &properties);
    search.budgets.depth = 40;
    let walk = |seed| {
        let report = search.random_walk(seed, 1000).unwrap();
        let run = report.verdict("one Foo").run().cloned().unwrap();
        assert_real(&BarFoo::default(), &run);
        (report.counts, run)
    };
    assert_eq!(walk(3), walk(3));
    assert!((0..20).any(|seed| walk(seed) != walk(3)));
}

#[test]
fn a_state_that_is_wanted_and_not_there_is_a_violation_only_if_all_was_seen() {
    let system = Drawn { initial: vec![0], edges: vec![vec![(0, 1)], vec![(0, 0)], vec![]] };
    let properties = [Property::sometimes("2", |state: &u8| *state == 2)];
    let mut search = Search::new(&system, &properties);
    assert!(matches!(
        search.breadth_first().unwrap().verdict("2"),
        Verdict::Violated { run: None }
    ));
    search.budgets.depth = 2;
    for report in [search.breadth_first().unwrap(), search.depth_first().unwrap()] {
        assert!(matches!(report.verdict("2"), Verdict::Unknown { why: Limit::Depth, .. }));
    }
}
