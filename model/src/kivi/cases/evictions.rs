//! Cases of pods that are evicted and come back: C5, C7, C8.

use super::{
    Variant,
    parts::{self, NODE, POD, app, descheduler, description, pods, with_taken},
};
use crate::kivi::{
    description::{Description, Taint},
    intent::Intent,
    manifests::{HOSTNAME, spread},
};

const LIFECYCLE: &str = "lifecycle";
/// What is left of C5's nodes that are nearly full, in units; and in the variant without a violation.
const LEFT: (u64, u64) = (4, 56);

fn left(variant: Variant) -> u64 {
    if variant == Variant::Violating { LEFT.0 } else { LEFT.1 }
}

/// Most nodes are nearly full and have a pod each; of the others one in five of all has three, the rest four.
pub(super) fn c5_at_scale(n: u32, variant: Variant) -> Description {
    let full = (3 * n).div_ceil(5);
    let three = n.div_ceil(5).min(n - full);
    let four = n - full - three;
    let mut of = c5(full, three + four, full + 3 * three + 4 * four, variant);
    // A pod of ours is part of what is taken.
    for node in &mut of.nodes[..full as usize] {
        let taken = NODE - POD - left(variant);
        node.taken = (taken * parts::CPU, taken << 30);
    }
    let pods = |node: u32| match node {
        node if node < full => 1,
        node if node < full + three => 3,
        _ => 4,
    };
    let placed = (0..n).flat_map(|node| vec![node as usize; pods(node)]);
    of.deployments[0].placed = placed.collect();
    of
}

/// Nodes that are nearly full, and others; RemoveDuplicates.
pub(super) fn c5(full: u32, others: u32, replicas: u32, variant: Variant) -> Description {
    let mut nodes = with_taken(parts::nodes(1, full, &[]), NODE - left(variant));
    nodes.extend(parts::nodes(1 + full, others, &[]));
    let mut of = description(nodes, &pods(POD), replicas);
    of.descheduler = Some(descheduler("RemoveDuplicates", "{}"));
    of.intents = vec![Intent::NoEvictionCycle { deployment: 0 }];
    of
}

/// Pods that name the first node, which is tainted if any is.
pub(super) fn c7(tainted: u32, plain: u32, replicas: u32, variant: Variant) -> Description {
    let mut nodes = parts::nodes(1, tainted + plain, &[]);
    if variant == Variant::Violating {
        let taint = Taint {
            key: "dedicated".to_owned(),
            value: "true".to_owned(),
            effect: "NoExecute".to_owned(),
        };
        nodes[..tainted as usize].iter_mut().for_each(|node| node.taints.push(taint.clone()));
    }
    let mut of = pods(POD);
    of.node_name.clone_from(&nodes[0].name);
    let mut of = description(nodes, &of, replicas);
    of.intents = vec![Intent::NoEvictionCycle { deployment: 0 }];
    of
}

/// Pods that would rather be on demand, and rather be spread; the descheduler spreads them.
pub(super) fn c8(on_demand: u32, spot: u32, replicas: u32, variant: Variant) -> Description {
    let mut nodes = parts::nodes(1, on_demand, &[(LIFECYCLE, "on-demand")]);
    nodes.extend(parts::nodes(1 + on_demand, spot, &[(LIFECYCLE, "spot")]));
    let mut of = pods(POD);
    of.spread = vec![spread(1, HOSTNAME, false, &app()), spread(1, LIFECYCLE, false, &app())];
    of.preferred = vec![
        (4, parts::labels(&[(LIFECYCLE, "spot")])),
        (5, parts::labels(&[(LIFECYCLE, "on-demand")])),
    ];
    let mut of = description(nodes, &of, replicas);
    of.descheduler = Some(parts::spreading(variant == Variant::Violating));
    of.intents = vec![Intent::NoEvictionCycle { deployment: 0 }];
    of
}
