//! Bugs that other checkers of liveness had (models.md, 1.4): each has made one say something that is not so.

use model::{Fairness, Property, Search, Verdict};

use crate::systems::{Drawn, assert_real};

type Judged = Verdict<u8, (u8, u8)>;

/// The verdict of one property on a graph; class 1 is fair.
fn judge(edges: &[&[(u8, u8)]], strong: bool, property: Property<'_, Drawn>) -> Judged {
    let system =
        Drawn { initial: vec![0], edges: edges.iter().map(|edges| edges.to_vec()).collect() };
    let of = |action: &(u8, u8)| action.0 == 1;
    let fairness = [if strong { Fairness::strong("one", of) } else { Fairness::weak("one", of) }];
    let properties = [property];
    let mut search = Search::new(&system, &properties);
    search.fairness = &fairness;
    let mut report = search.breadth_first().unwrap();
    let verdict = report.verdicts.remove(0).1;
    if let Some(run) = verdict.run() {
        assert_real(&system, run);
    }
    verdict
}

/// 0 and 1 reach each other, and a fair step leads from 1 back. A run that stays in 0 puts off the fair step that is
/// possible there all the time: the fair edge outside of {0} does not make it fair.
#[test]
fn fairness_is_that_of_the_violating_part_and_not_of_a_component_around_it() {
    let graph: &[&[(u8, u8)]] = &[&[(0, 0), (1, 1)], &[(1, 0)]];
    for strong in [false, true] {
        let recurring = Property::always_eventually("1 again and again", |state| *state == 1);
        assert!(judge(graph, strong, recurring).is_held());
        let effect = Property::leads_to("0 ~> 1", |state| *state == 0, |state| *state == 1);
        assert!(judge(graph, strong, effect).is_held());
    }
}

/// In 0 the fair step is possible in the whole graph, though its edge leads out of the part that is wrong.
#[test]
fn a_step_that_leaves_the_violating_part_is_possible_all_the_same() {
    let graph: &[&[(u8, u8)]] = &[&[(0, 2), (1, 1)], &[(0, 1)], &[(0, 0), (1, 1)]];
    let recurring = Property::always_eventually("1 again and again", |state| *state == 1);
    assert!(judge(graph, false, recurring).is_held());
}

/// Nothing has to happen where no fair step is possible: at an end, and where only others are possible.
#[test]
fn a_run_may_stop_where_no_fair_step_is_possible() {
    let check = |graph: &[&[(u8, u8)]], stops_in: Option<u8>| {
        let reached = Property::always_eventually("2 again and again", |state| *state == 2);
        let verdict = judge(graph, false, reached);
        let stopped = verdict.run().map(|run| {
            assert_eq!(run.loops_to, Some(run.states.len() - 1), "{run:?}");
            run.states[run.states.len() - 1]
        });
        assert_eq!(stopped, stops_in, "{graph:?}");
    };
    check(&[&[(1, 1)], &[], &[]], Some(1));
    check(&[&[(1, 1)], &[(0, 2)], &[]], Some(1));
    check(&[&[(1, 1)], &[(1, 2)], &[]], None);
}

/// A ring with a short cut out of order: the cycle has to go all the way round.
#[test]
fn a_cycle_is_made_of_steps_that_exist() {
    let graph: &[&[(u8, u8)]] =
        &[&[(0, 1)], &[(0, 2)], &[(1, 3), (0, 4)], &[(0, 4)], &[(0, 1), (0, 5)], &[(0, 0)]];
    let never = Property::eventually_always("not 5 from some point on", |state| *state != 5);
    // `judge` asserts that each step exists.
    let verdict = judge(graph, true, never);
    let run = verdict.run().unwrap();
    let cycle = &run.states[run.loops_to.unwrap()..];
    assert!(cycle.contains(&5) && cycle.contains(&3), "{run:?}");
}
