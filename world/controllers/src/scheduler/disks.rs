//! VolumeRestrictions, VolumeBinding and VolumeZone: from where a pod's volumes can be reached.
//!
//! Not there: limits of volumes a node (CSINode), capacities that drivers tell of (CSIStorageCapacity), and in-tree
//! volumes that stand for a driver's.

use std::collections::BTreeSet;

use trace::ObjectKey;

use super::{
    filter::Rejection,
    snapshot::{NodeInfo, Placed},
};
use crate::{
    object::{Body, Meta, Text},
    view::View,
    volumes::{
        self, BIND_COMPLETED, Claim, Class, NO_PROVISIONER, SELECTED_NODE, Volume, bytes, ephemeral,
    },
};

const BIND: &str = "node(s) didn't find available persistent volumes to bind";
const NODE: &str = "node(s) didn't match PersistentVolume's node affinity";
const ZONE: &str = "node(s) had no available volume zone";
const DISK: &str = "node(s) had no available disk";
const IN_USE: &str = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";
/// Labels of volumes and nodes, and how newer nodes name them (`topologyLabels`).
const ZONES: [(&str, &str); 4] = [
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("topology.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("topology.kubernetes.io/region", "topology.kubernetes.io/region"),
];

/// A claim that waits for its pod to get a node.
#[derive(Debug, Clone)]
pub(super) struct Waiting<'v> {
    pub(super) key: ObjectKey,
    pub(super) meta: &'v Meta,
    pub(super) claim: &'v Claim,
    class: &'v Class,
}

/// A pod's volumes.
#[derive(Debug, Clone, Default)]
pub(super) struct Disks<'v> {
    bound: Vec<&'v Volume>,
    pub(super) waiting: Vec<Waiting<'v>>,
    /// Labels and values of the nodes that the bound ones are for.
    zones: Vec<(&'static str, &'static str, BTreeSet<Text>)>,
    /// Claims that only one pod may use.
    exclusive: BTreeSet<Text>,
}

/// How the waiting claims are served on a node.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan<'v> {
    /// Claims and the volumes that they get.
    pub(super) bind: Vec<(Waiting<'v>, ObjectKey, &'v Meta, &'v Volume)>,
    /// Claims whose volumes are to be made.
    pub(super) provision: Vec<Waiting<'v>>,
}

impl<'v> Disks<'v> {
    /// Errors: why no node will do (PreFilter).
    pub(super) fn read(view: &'v View, of: &Placed<'v>) -> Result<Disks<'v>, String> {
        let mut disks = Disks::default();
        let mut claims = Vec::new();
        let mut missing = None;
        for (_, name) in &of.pod.claims {
            let key = ObjectKey::new(volumes::claims(), &of.key.namespace, name);
            let own = of.pod.is_ephemeral(name);
            match view.get(&key).map(|object| (&*object.meta, &object.body)) {
                Some((meta, Body::Claim(claim))) => claims.push((key, meta, &**claim)),
                // VolumeRestrictions, which comes first, does not look at them.
                _ if own => missing = missing.or(Some((claims.len(), name))),
                _ => return Err(format!("persistentvolumeclaim {name:?} not found")),
            }
        }
        for (key, _, claim) in &claims {
            let own = of.pod.is_ephemeral(&key.name);
            if !own && claim.modes.iter().any(|mode| **mode == *"ReadWriteOncePod") {
                disks.exclusive.insert(key.name.clone());
            }
        }
        let before = missing.map_or(claims.len(), |(before, _)| before);
        for (key, meta, claim) in &claims[..before] {
            let (name, volume) = (&key.name, &claim.volume);
            if *claim.phase == *"Lost" {
                branch!(SchedulerClaimLost);
                return Err(format!(
                    "persistentvolumeclaim {name:?} bound to non-existent persistentvolume {volume:?}"
                ));
            }
            if meta.is_deleted() {
                return Err(format!("persistentvolumeclaim {name:?} is being deleted"));
            }
            if of.pod.is_ephemeral(name) && !ephemeral::is_for(meta, of.meta) {
                return Err(ephemeral::not_its_own(key, &of.key.name));
            }
        }
        if let Some((_, name)) = missing {
            return Err(format!(
                "waiting for ephemeral volume controller to create the persistentvolumeclaim {name:?}"
            ));
        }
        let mut immediate = false;
        for (key, meta, claim) in claims {
            let bound = !claim.volume.is_empty() && meta.annotations.contains_key(BIND_COMPLETED);
            match class_of(view, claim) {
                _ if bound => disks.add_bound(view, &claim.volume)?,
                Some(class) if class.waits && claim.volume.is_empty() => {
                    disks.waiting.push(Waiting { key, meta, claim, class });
                }
                _ => immediate = true,
            }
        }
        if immediate {
            branch!(SchedulerClaimUnbound);
            return Err("pod has unbound immediate PersistentVolumeClaims".to_owned());
        }
        disks.waiting.sort_by_key(|waiting| bytes(&waiting.claim.request));
        Ok(disks)
    }

    fn add_bound(&mut self, view: &'v View, name: &Text) -> Result<(), String> {
        let key = ObjectKey::new(volumes::volumes(), "", name);
        let Some(object) = view.get(&key) else {
            return Err(format!("persistentvolume {name:?} not found"));
        };
        let Body::Volume(volume) = &object.body else { return Ok(()) };
        self.bound.push(volume);
        for (label, newer) in ZONES {
            if let Some(values) = object.meta.labels.get(label) {
                let values = values.split("__").map(|value| Text::from(value.trim())).collect();
                self.zones.push((label, newer, values));
            }
        }
        Ok(())
    }

    /// Its claims that another pod uses, of those that only one may use (`calPreFilterState`).
    pub(super) fn taken(&self, of: &Placed<'_>, nodes: &[NodeInfo<'_>]) -> i64 {
        let used = |claim: &&Text| {
            let mut pods = nodes.iter().flat_map(NodeInfo::pods);
            pods.any(|other| {
                other.key.namespace == of.key.namespace
                    && other.pod.claims.iter().any(|(_, used)| used == *claim)
            })
        };
        self.exclusive.iter().filter(used).count() as i64
    }

    /// How many of these a pod uses.
    pub(super) fn shares(&self, other: &Placed<'_>) -> i64 {
        let shared = other.pod.claims.iter().filter(|(_, used)| self.exclusive.contains(used));
        shared.count() as i64
    }

    /// Where its volumes are (VolumeBinding, Filter, and VolumeZone).
    pub(super) fn filter(&self, view: &'v View, info: &NodeInfo<'_>) -> Result<(), Rejection> {
        let mut reasons = Vec::new();
        if !self.bound.iter().all(|volume| volume.is_reached_from(info.labels)) {
            branch!(SchedulerVolumeElsewhere);
            reasons.push(NODE);
        }
        if self.plan(view, info).is_none() {
            branch!(SchedulerNoVolume);
            reasons.push(BIND);
        }
        if !reasons.is_empty() {
            return Err(Rejection::final_for_all(&reasons));
        }
        let zoned = ZONES.iter().any(|(label, _)| info.labels.contains_key(*label));
        let is_there = |(label, newer, values): &(&str, &str, BTreeSet<Text>)| {
            let value = info.labels.get(*label).or_else(|| info.labels.get(*newer));
            value.is_some_and(|value| values.contains(value))
        };
        if zoned && !self.zones.iter().all(is_there) {
            branch!(SchedulerVolumeZone);
            return Err(Rejection::final_for(ZONE));
        }
        Ok(())
    }

    /// How the waiting claims would be served on a node; none where they can't be (`FindPodVolumes`).
    pub(super) fn plan(&self, view: &'v View, info: &NodeInfo<'_>) -> Option<Plan<'v>> {
        let mut plan = Plan::default();
        for waiting in &self.waiting {
            match waiting.meta.annotations.get(SELECTED_NODE) {
                Some(node) if *node != info.name => return None,
                Some(_) => plan.provision.push(waiting.clone()),
                None => match waiting.find(view, info, &plan) {
                    Some((key, meta, volume)) => {
                        plan.bind.push((waiting.clone(), key, meta, volume));
                    }
                    None => plan.provision.push(waiting.clone()),
                },
            }
        }
        let can = |waiting: &Waiting<'_>| {
            *waiting.class.provisioner != *NO_PROVISIONER && waiting.class.allows(info.labels)
        };
        plan.provision.iter().all(can).then_some(plan)
    }
}

/// Disks in the pod's own spec that another pod of the node has (VolumeRestrictions, Filter).
pub(super) fn conflicts(of: &Placed<'_>, info: &NodeInfo<'_>) -> Result<(), Rejection> {
    let taken = of.pod.placing.disks.iter().any(|disk| {
        let mut others = info.pods().iter().flat_map(|other| &other.pod.placing.disks);
        others.any(|other| disk.conflicts(other))
    });
    if taken {
        branch!(SchedulerDiskTaken);
        return Err(Rejection::of(DISK));
    }
    Ok(())
}

/// A claim that only one pod may use, and one does.
pub(super) fn in_use() -> Rejection {
    branch!(SchedulerClaimInUse);
    Rejection::of(IN_USE)
}

fn class_of<'v>(view: &'v View, claim: &Claim) -> Option<&'v Class> {
    let name = claim.class.as_ref().filter(|name| !name.is_empty())?;
    match &view.get(&ObjectKey::new(volumes::classes(), "", name))?.body {
        Body::Class(class) => Some(class),
        _ => None,
    }
}

impl<'v> Waiting<'v> {
    /// The smallest free volume that it can have on a node, or the one that is kept for it (`FindMatchingVolume`).
    fn find(
        &self,
        view: &'v View,
        info: &NodeInfo<'_>,
        plan: &Plan<'v>,
    ) -> Option<(ObjectKey, &'v Meta, &'v Volume)> {
        let class = self.claim.class.as_deref().unwrap_or("");
        let resource = volumes::volumes();
        let all = view.list(&resource, "").filter_map(|(key, object)| match &object.body {
            Body::Volume(volume) => Some((key, &*object.meta, &**volume)),
            _ => None,
        });
        let mut found: Option<(ObjectKey, &Meta, &Volume)> = None;
        for (key, meta, volume) in all {
            let is_kept = volume.claim.as_ref().is_some_and(|of| {
                of.key() == self.key && (of.uid.is_empty() || of.uid == self.meta.uid)
            });
            let taken = plan.bind.iter().any(|(_, other, ..)| *other == key);
            if taken
                || volume.claim.is_some() && !is_kept
                || *volume.class != *class
                || bytes(&volume.capacity) < bytes(&self.claim.request)
                || volume.volume_mode != self.claim.volume_mode
                || meta.is_deleted()
            {
                continue;
            }
            let reached = volume.is_reached_from(info.labels);
            if is_kept {
                return reached.then_some((key, meta, volume));
            }
            let selected = self.claim.selector.as_ref();
            let fits = *volume.phase == *"Available"
                && selected.is_none_or(|selector| selector.matches(&meta.labels))
                && self.claim.modes.iter().all(|mode| volume.modes.contains(mode));
            let smaller = found
                .as_ref()
                .is_none_or(|(_, _, other)| bytes(&volume.capacity) < bytes(&other.capacity));
            if reached && fits && smaller {
                found = Some((key, meta, volume));
            }
        }
        found
    }
}
