//! What can be checked by hand.

use std::num::NonZeroUsize;

use super::*;
use crate::{
    cluster::Granularity,
    kivi::{
        check::{self, Checked},
        options::{Mode, Options},
    },
};

fn checked(of: &Description, mode: Mode) -> Checked {
    let options = Options { granularity: Granularity::Drain, mode, ..Options::default() };
    let intents = check::asked(of, &options);
    check::check(of, &intents, &options, NonZeroUsize::MIN, None).expect("a search")
}

/// Numbers of pods that a run's deployment is to have, without repetitions.
fn replicas(checked: &Checked) -> Vec<i64> {
    let (_, trace) = checked.violation().expect("a violation");
    let mut all: Vec<i64> = trace
        .states
        .iter()
        .flat_map(|state| state.deployments.values().map(|(spec, _)| *spec))
        .collect();
    all.dedup();
    all
}

#[test]
fn c1_goes_up_to_the_most_and_down_by_three() {
    let found = checked(&Case::C1.at_scale(3, Variant::Violating), Mode::Parity);
    assert_eq!(replicas(&found), [1, 2, 4, 6, 5, 4, 3]);
}

#[test]
fn c3_leaves_the_sixth_pod_without_a_node() {
    let of = Case::C3.at_scale(3, Variant::Violating);
    let found = checked(&of, Mode::Parity);
    let (_, trace) = found.violation().expect("a violation");
    let (first, last) = (&trace.states[0], trace.states.last().expect("a state"));
    assert_eq!(first.nodes.values().copied().collect::<Vec<_>>(), [2, 1, 2]);
    assert_eq!((first.waiting, last.waiting), (0, 1));
    assert_eq!(replicas(&found), [5, 6]);
}

/// Sizes around the smallest that Kivi finds.
#[test]
fn the_smallest_violations_are_kivis() {
    let check = |case: Case, nodes: &[u32], pods: u32, expect: bool| {
        let found = checked(&case.of_size(nodes, pods, Variant::Violating), Mode::Parity);
        let told = format!("{} {nodes:?} {pods}: {:?}", case.name(), found.verdicts);
        assert_eq!(found.violation().is_some(), expect, "{told}");
        assert!(expect || found.is_clean(), "{told}");
    };
    check(Case::C1, &[1], 1, false);
    check(Case::C1, &[1], 2, false);
    check(Case::C1, &[1], 3, true);
    check(Case::C2, &[1], 1, false);
    check(Case::C2, &[1], 2, true);
    check(Case::C3, &[1, 2], 2, false);
    check(Case::C3, &[1, 2], 3, true);
    check(Case::C4, &[2], 4, false);
    check(Case::C4, &[2], 5, true);
    check(Case::C5, &[1, 1], 1, false);
    check(Case::C5, &[1, 1], 2, true);
    check(Case::C6, &[2], 1, false);
    check(Case::C6, &[2], 2, true);
    check(Case::C7, &[0, 1], 1, false);
    check(Case::C7, &[1, 0], 1, true);
    check(Case::C8, &[1, 2], 5, false);
    check(Case::C8, &[1, 2], 6, true);
}

/// What repeats for ever, without counting. C1's pods go up and down once, which is no loop.
#[test]
fn exact_violations_are_loops_that_are_fair() {
    let check = |case: Case, variant: Variant, expect: Option<bool>| {
        let found = checked(&case.at_scale(3, variant), Mode::Exact);
        let looped = found.violation().map(|(_, trace)| trace.loops_to.is_some());
        assert_eq!(looped, expect, "{} {variant:?}: {:?}", case.name(), found.verdicts);
        assert!(expect.is_some() || found.is_clean());
    };
    check(Case::C1, Variant::Violating, None);
    check(Case::C2, Variant::Violating, Some(false));
    check(Case::C3, Variant::Violating, Some(true));
    check(Case::C5, Variant::Violating, Some(true));
    check(Case::C7, Variant::Violating, Some(true));
    check(Case::C8, Variant::Violating, Some(true));
    check(Case::C2, Variant::Cured, None);
    check(Case::C5, Variant::Clean, None);
    check(Case::C7, Variant::Clean, None);
    check(Case::C8, Variant::Clean, None);
}

/// Whether a cluster comes to rest is asked on top.
#[test]
fn a_cluster_that_evicts_for_ever_does_not_come_to_rest() {
    let rests = |variant: Variant| {
        let options =
            Options { granularity: Granularity::Drain, loops: true, ..Options::default() };
        let mut of = Case::C7.at_scale(1, variant);
        of.intents.clear();
        let intents = check::asked(&of, &options);
        let found = check::check(&of, &intents, &options, NonZeroUsize::MIN, None);
        found.expect("a search").is_clean()
    };
    assert_eq!([Variant::Violating, Variant::Clean].map(rests), [false, true]);
}
