//! Cases of nodes and where pods may be: C3, C4, C6.

use super::{
    Variant,
    parts::{self, CPU, POD, app, description, pods},
};
use crate::kivi::{
    description::Description,
    expression::Expression,
    intent::Intent,
    manifests::{HOSTNAME, by_cpu, spread},
    occurrence::{Occurrence, What},
};

const ZONE: &str = "topology.kubernetes.io/zone";

/// Two pods on each node, but one on the middle one, which is in the larger zone.
pub(super) fn c3_at_scale(n: u32, variant: Variant) -> Description {
    let n = n | 1;
    let mut of = c3(n / 2, n.div_ceil(2), 2 * n - 1, 2 * n, variant);
    let middle = (n / 2) as usize;
    let twice = (0..n as usize).filter(|node| *node != middle);
    of.deployments[0].placed = twice.flat_map(|node| [node, node]).chain([middle]).collect();
    of
}

/// Pods in two zones, spread over nodes and zones; one of them comes to use more.
pub(super) fn c3(
    first: u32,
    second: u32,
    replicas: u32,
    most: u32,
    variant: Variant,
) -> Description {
    let mut nodes = parts::nodes(1, first, &[(ZONE, "1")]);
    nodes.extend(parts::nodes(1 + first, second, &[(ZONE, "2")]));
    let mut of = pods(POD);
    of.spread.push(spread(1, HOSTNAME, true, &app()));
    if variant == Variant::Violating {
        of.spread.push(spread(1, ZONE, true, &app()));
    }
    let mut of = description(nodes, &of, replicas);
    of.deployments[0].autoscaler = Some(by_cpu(91, replicas, most));
    let change = What::CpuChange { deployment: 0, unit_milli: CPU };
    of.occurrences = vec![Occurrence::after_stable(change)];
    of.intents = vec![Intent::AlwaysSchedulable];
    of
}

/// Three pods of 21 leave less than 2 % of a node.
pub(super) fn c4(n: u32, replicas: u32, variant: Variant) -> Description {
    let units = if variant == Variant::Violating { 21 } else { POD };
    let mut of = description(parts::nodes(1, n, &[]), &pods(units), replicas);
    of.occurrences = vec![Occurrence::of(What::KernelPanic)];
    of.intents = vec![Intent::NoKernelPanic];
    of
}

/// N nodes, a pod each. In the cured variant the descheduler spreads pods again before the next node goes.
pub(super) fn c6(n: u32, replicas: u32, variant: Variant) -> Description {
    let mut of = pods(POD);
    of.spread.push(spread(1, HOSTNAME, false, &app()));
    let mut of = description(parts::nodes(1, n, &[]), &of, replicas);
    of.deployments[0].placed = (0..n as usize).collect();
    let mut every_seconds = What::MAINTENANCE_SECONDS;
    if variant == Variant::Cured {
        of.descheduler = Some(parts::spreading(true));
        // Longer than from one of its cycles to the next.
        every_seconds = 600;
    }
    let maintenance = What::Maintenance { at_a_time: 1, every_seconds };
    of.occurrences = vec![Occurrence::after_stable(maintenance)];
    let expected = if variant == Variant::Clean { "0" } else { "specReplicas - 1" };
    let expected = Expression::parse(expected).expect("an expression");
    of.intents = vec![Intent::MeetExpected { deployment: 0, expected }];
    of
}
