//! Cases of autoscalers: C1, C2.

use super::{
    Variant,
    parts::{CPU, POD, description, nodes, pods},
};
use crate::kivi::{
    description::{Description, Written},
    intent::Intent,
    manifests::by_cpu,
    occurrence::{Occurrence, What},
};

/// What C1's pods use from a time on, in seconds and thousandths of a processor.
const BOOT: [(u32, u64); 2] = [(0, 8 * CPU), (30, 3 * CPU)];

/// N empty nodes; pods that use much in their first 30 s.
pub(super) fn c1(n: u32, replicas: u32, most: u32, variant: Variant) -> Description {
    let mut of = description(nodes(1, n, &[]), &pods(POD), replicas);
    of.deployments[0].autoscaler = Some(by_cpu(50, replicas, most));
    if variant != Variant::Cured {
        of.templates[0].usage = BOOT.into();
        of.occurrences = vec![Occurrence::of(What::CpuPattern)];
    }
    if variant != Variant::Clean {
        of.intents = vec![Intent::NoReplicaOscillation { deployment: 0 }];
    }
    of
}

/// N nodes, a pod each; applied again with one replica, or in the cured variant with as many as there are.
pub(super) fn c2(n: u32, replicas: u32, most: u32, variant: Variant) -> Description {
    let mut of = description(nodes(1, n, &[]), &pods(POD), replicas);
    of.deployments[0].autoscaler = Some(by_cpu(100, replicas, most));
    of.deployments[0].placed = (0..n as usize).collect();
    let replicas = if variant == Variant::Cured { replicas } else { 1 };
    let name = of.deployments[0].name.clone();
    of.written = vec![Written { deployment: 0, name, replicas }];
    of.occurrences = vec![Occurrence::after_stable(What::Apply { written: 0 })];
    if variant != Variant::Clean {
        of.intents = vec![Intent::MeetMinimum { deployment: 0 }];
    }
    of
}
