//! RemovePodsViolatingNodeTaints: pods on nodes with taints that they don't tolerate
//! (`pkg/framework/plugins/removepodsviolatingnodetaints`).

use super::{args, cycle::Cycle, filter::Filter};
use crate::{
    calls::Stop,
    object::Text,
    scheduler::{Taint, tolerates},
};

const NAME: &str = "RemovePodsViolatingNodeTaints";

pub(super) fn deschedule(
    cycle: &mut Cycle<'_, '_, '_>,
    filter: &Filter<'_>,
    args: &args::Taints,
) -> Result<(), Stop> {
    for host in cycle.hosts.clone() {
        let mut violating =
            cycle.on(&host.name, |guest| filter.allows_of(cycle, &args.scope, guest));
        violating.retain(|guest| {
            let mut counted = host.node.taints.iter().filter(|taint| counts(args, taint));
            counted.any(|taint| !tolerates(guest.pod, taint))
        });
        if !cycle.evict_all(&violating, NAME)? {
            break;
        }
    }
    Ok(())
}

fn counts(args: &args::Taints, taint: &Taint) -> bool {
    let pair = format!("{}={}", taint.key, taint.value);
    let is_in = |list: &Vec<Text>| {
        list.contains(&taint.key)
            || !taint.value.is_empty() && list.iter().any(|one| **one == *pair)
    };
    let effect = match &*taint.effect {
        "NoSchedule" => true,
        "PreferNoSchedule" => args.preferred,
        _ => false,
    };
    effect && !is_in(&args.excluded) && args.included.as_ref().is_none_or(is_in)
}
