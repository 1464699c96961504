//! Generated and distinct states, against stateright 0.31, TLC and published figures.

use std::num::NonZeroUsize;

use model::{Counts, Limit, Property, Search, System, systems::two_phase_commit::TwoPhaseCommit};

use crate::{
    against,
    programs::{peterson, philosophers},
    systems::{BarFoo, BarFooState, Drawn, Register, assert_real},
};

fn check<S>(system: S, expect: Option<(u64, u64)>)
where
    S: System + Clone + Send + std::fmt::Debug + 'static,
    S::State: std::fmt::Debug + 'static,
    S::Action: std::fmt::Debug,
{
    let theirs = against::counts(system.clone(), 1, true);
    let properties = [Property::always("true", |_| true)];
    let mut breadth = Vec::new();
    for threads in 1..4 {
        let mut search = Search::new(&system, &properties);
        search.threads = NonZeroUsize::new(threads).unwrap();
        let report = search.breadth_first().unwrap();
        assert_eq!((report.counts.left, report.limit), (0, None), "{system:?}");
        breadth.push(report.counts);
    }
    assert!(breadth.windows(2).all(|pair| pair[0] == pair[1]), "{system:?}: {breadth:?}");
    let depth = Search::new(&system, &properties).depth_first().unwrap();
    let count = |counts: Counts| (counts.generated, counts.distinct);
    assert_eq!(count(breadth[0]), theirs, "{system:?}");
    assert_eq!(count(depth.counts), theirs, "{system:?}");
    if let Some(expect) = expect {
        assert_eq!(theirs, expect, "{system:?}");
    }
}

#[test]
fn two_phase_commit_has_as_many_states_as_in_stateright() {
    check(TwoPhaseCommit { managers: 3 }, Some((1146, 288)));
    check(TwoPhaseCommit { managers: 4 }, Some((8258, 1568)));
    check(TwoPhaseCommit { managers: 5 }, Some((58146, 8832)));
}

#[test]
fn other_systems_have_as_many_states_as_in_stateright() {
    for clients in 1..5 {
        check(Register { clients }, None);
    }
    check(peterson(), None);
    for seats in 2..5 {
        check(philosophers(seats, false), None);
        check(philosophers(seats, true), None);
    }
    let edges = vec![vec![(0, 1), (0, 0)], vec![(0, 2), (0, 0)], vec![(0, 1), (0, 3)], vec![]];
    check(Drawn { initial: vec![0, 2], edges }, Some((8, 4)));
}

/// models.md, 1.6: the self-test of an engine.
#[test]
fn seven_resource_managers_have_the_published_number_of_states() {
    let system = TwoPhaseCommit { managers: 7 };
    let properties = system.properties();
    let report = Search::new(&system, &properties).breadth_first().unwrap();
    let expect = Counts { generated: 2_744_706, distinct: 296_448, left: 0, depth: 23 };
    assert_eq!(report.counts, expect);
    assert!(report.verdicts.iter().all(|(_, verdict)| verdict.is_held()));
}

/// models.md, 4.2: what TLC says of the Bar/Foo module.
#[test]
fn a_violation_is_found_where_tlc_finds_it() {
    for threads in 1..4 {
        let properties = [Property::always("LimitedFooObjs", |state: &BarFooState| state.1 <= 1)];
        let system = BarFoo::default();
        let mut search = Search::new(&system, &properties);
        search.threads = NonZeroUsize::new(threads).unwrap();
        let report = search.breadth_first().unwrap();
        assert_eq!(report.counts, Counts { generated: 13, distinct: 11, left: 1, depth: 6 });
        assert_eq!(report.limit, Some(Limit::Violation("LimitedFooObjs".to_owned())));
        let run = report.verdict("LimitedFooObjs").run().unwrap();
        assert_real(&system, run);
        let expect = [
            BarFooState("Start", 0, false, 0),
            BarFooState("CreateObject", 0, false, 0),
            BarFooState("RebootDuringMarkingCreation", 1, false, 0),
            BarFooState("Start", 1, false, 0),
            BarFooState("CreateObject", 1, false, 0),
            BarFooState("MarkCreated", 2, false, 0),
        ];
        assert_eq!(run.states, expect);
    }
}

/// models.md, 4.3: with the same name each time all holds.
#[test]
fn the_mended_controller_has_the_derived_number_of_states() {
    let system = BarFoo { fixed_name: true, ..BarFoo::default() };
    let properties = [Property::always("LimitedFooObjs", |state: &BarFooState| state.1 <= 1)];
    let report = Search::new(&system, &properties).breadth_first().unwrap();
    assert_eq!(report.counts, Counts { generated: 15, distinct: 10, left: 0, depth: 5 });
    assert!(report.verdict("LimitedFooObjs").is_held());
}
