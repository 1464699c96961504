//! Heat maps of small sweeps, and where a sweep ends.

use super::*;
use crate::{
    cluster::Granularity,
    kivi::{
        cases::{Case, Variant},
        options::{Faster, Options},
        sizes::Size,
        sweep::sweep,
    },
};

#[test]
fn the_smallest_violation_is_framed() {
    let sizes: Vec<Size> =
        Case::C2.bounds(2, Variant::Violating).sizes(Faster::No).into_iter().take(3).collect();
    let options =
        Options { granularity: Granularity::Drain, all_violations: true, ..Options::default() };
    let describe = |size: &Size| Case::C2.of_size(&size.nodes, size.pods[0], Variant::Violating);
    let swept = sweep(&sizes, describe, &options, None).expect("searches");
    assert_eq!(swept.first_violation().map(|one| one.index), Some(2));
    insta::assert_snapshot!(svg(&swept, "C2 <nodes, pods>"));
}

/// Without all violations, a sweep ends at the first, whichever thread sees it first.
#[test]
fn a_sweep_ends_at_the_smallest_violation() {
    let sizes = Case::C2.bounds(3, Variant::Violating).sizes(Faster::No);
    let describe = |size: &Size| Case::C2.of_size(&size.nodes, size.pods[0], Variant::Violating);
    for threads in [1, 2] {
        let threads = std::num::NonZeroUsize::new(threads).expect("a number");
        let options = Options { granularity: Granularity::Drain, threads, ..Options::default() };
        let swept = sweep(&sizes, describe, &options, None).expect("searches");
        let told: Vec<usize> = swept.swept.iter().map(|one| one.index).collect();
        assert_eq!((told, swept.is_clean()), (vec![1, 2], false));
    }
}
