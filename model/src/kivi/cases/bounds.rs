//! How far Kivi's scaling lets the cases grow: bounds that give its numbers of set-ups and the places of its first
//! violations.

use super::{Case, Variant};
use crate::kivi::sizes::{Bounds, Range, Scale};

/// Pods a node, at most; and of the cases with room for fewer.
const PODS_PER_NODE: u32 = 7;
const FEW_PODS_PER_NODE: u32 = 4;

impl Case {
    /// How far it grows at a scale.
    pub fn bounds(self, scale: u32, variant: Variant) -> Bounds {
        let from = |min| Range { min, max: scale };
        let (nodes, pods_per_node_max) = match self {
            Case::C1 | Case::C2 => (vec![from(1)], PODS_PER_NODE),
            // A node that is lost takes one pod with it only if it has no more.
            Case::C6 if variant == Variant::Cured => (vec![from(2)], 1),
            Case::C4 | Case::C6 => (vec![from(2)], FEW_PODS_PER_NODE),
            Case::C5 => (vec![from(1), from(1)], PODS_PER_NODE),
            Case::C3 | Case::C7 | Case::C8 => (vec![from(0), from(0)], PODS_PER_NODE),
        };
        Bounds {
            nodes,
            deployments: vec![Range { min: 1, max: 8 * scale }],
            pods_per_node_max,
            nodes_scale: Scale::Free,
            deployments_scale: Scale::Free,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kivi::{options::Faster, sizes::Size};

    fn sizes(case: Case, scale: u32) -> Vec<Size> {
        case.bounds(scale, Variant::Violating).sizes(Faster::No)
    }

    #[test]
    fn there_are_as_many_set_ups_as_kivi_has() {
        let check = |scale: u32, expect: [usize; 8]| {
            assert_eq!(Case::ALL.map(|case| sizes(case, scale).len()), expect);
        };
        check(3, [36, 36, 264, 20, 192, 20, 264, 264]);
        check(10, [126, 126, 1764, 80, 1512, 80, 1764, 1764]);
        assert_eq!(Case::ALL.map(|case| sizes(case, 10).len()).iter().sum::<usize>(), 7216);
    }

    #[test]
    fn the_set_ups_of_first_violations_are_where_kivi_has_them() {
        let check = |case: Case, index: usize, expect: &str| {
            assert_eq!(sizes(case, 3)[index - 1].to_string(), expect, "{}", case.name());
        };
        check(Case::C1, 3, "<1, 3>");
        check(Case::C2, 2, "<1, 2>");
        check(Case::C3, 58, "<1+2, 3>");
        check(Case::C4, 5, "<2, 5>");
        check(Case::C5, 2, "<1+1, 2>");
        check(Case::C6, 2, "<2, 2>");
        check(Case::C7, 2, "<1+0, 1>");
        check(Case::C8, 70, "<1+2, 6>");
    }
}
