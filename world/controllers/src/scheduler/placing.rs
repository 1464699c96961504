//! What of a pod only the scheduler reads.

use std::collections::BTreeSet;

use serde_json::Value;
use trace::Time;

use crate::{
    node_affinity::Term,
    object::{Labels, Text},
    read,
    selector::{Expression, Selector},
    view::View,
};

/// What of a pod only the scheduler reads.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Placing {
    /// `spec.priority`.
    pub priority: i64,
    /// Whether `spec.preemptionPolicy` is Never.
    pub never_preempts: bool,
    /// Whether it has `spec.schedulingGates`.
    pub gated: bool,
    /// `status.nominatedNodeName`: the node that is kept for it.
    pub nominated: Text,
    /// `status.startTime`.
    pub started: Option<Time>,
    /// Whether a scheduler is about to delete it for another pod.
    pub preempted: bool,
    /// Ports that it takes on its node: address, protocol, number.
    pub host_ports: Vec<(Text, Text, i64)>,
    /// Disks that few pods may use at a time.
    pub disks: Vec<Disk>,
    /// Images of its containers, with their tags.
    pub images: Vec<Text>,
    /// How many containers it has, those that end before the others begin included.
    pub containers: i64,
    /// Terms of its preferred node affinity, with weights.
    pub prefers_nodes: Vec<(i64, Term)>,
    /// `podAffinity`, required.
    pub wants: Vec<PodTerm>,
    /// `podAntiAffinity`, required.
    pub avoids: Vec<PodTerm>,
    /// `podAffinity`, preferred, and `podAntiAffinity`, preferred, with negative weights.
    pub prefers: Vec<(i64, PodTerm)>,
    /// `topologySpreadConstraints`.
    pub spread: Vec<Constraint>,
}

/// A volume in a pod's own spec that restricts who else uses it (VolumeRestrictions).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Disk {
    kind: &'static str,
    /// One of these has to be the same.
    hosts: BTreeSet<Text>,
    name: Vec<Text>,
    read_only: bool,
}

/// A PodAffinityTerm.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PodTerm {
    /// `topologyKey`.
    pub topology: Text,
    selector: Option<Selector>,
    /// Whether the pod's own namespace is meant, since none is named.
    own: bool,
    namespaces: Vec<Text>,
    namespace_selector: Option<Selector>,
}

/// A TopologySpreadConstraint.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Constraint {
    /// `maxSkew`.
    pub max_skew: i64,
    /// `topologyKey`.
    pub topology: Text,
    /// Whether `whenUnsatisfiable` is DoNotSchedule.
    pub required: bool,
    /// `labelSelector`, with `matchLabelKeys`; none selects nothing.
    pub selector: Option<Selector>,
    /// `minDomains`; 1 if absent.
    pub min_domains: usize,
    /// Whether only nodes count that the pod's node affinity allows: `nodeAffinityPolicy` is Honor, or absent.
    pub by_affinity: bool,
    /// Whether only nodes count whose taints it tolerates: `nodeTaintsPolicy` is Honor.
    pub by_taints: bool,
}

impl Placing {
    pub(crate) fn read(object: &Value) -> Placing {
        let (spec, status) = (&object["spec"], &object["status"]);
        let affinity = |kind: &str, field: &str| {
            let list = spec["affinity"][kind].get(field).and_then(Value::as_array);
            list.cloned().unwrap_or_default()
        };
        const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
        const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
        let required = |kind: &str| affinity(kind, REQUIRED).iter().map(PodTerm::read).collect();
        let preferred = |kind: &str, sign: i64| {
            affinity(kind, PREFERRED)
                .iter()
                .map(|one| {
                    (sign * read::number(one, "weight"), PodTerm::read(&one["podAffinityTerm"]))
                })
                .collect::<Vec<_>>()
        };
        let mut prefers = preferred("podAffinity", 1);
        prefers.extend(preferred("podAntiAffinity", -1));
        let prefers_nodes = affinity("nodeAffinity", PREFERRED);
        let preempted = read::list(status, "conditions").find(|c| c["type"] == "DisruptionTarget");
        let all = || read::list(spec, "initContainers").chain(read::list(spec, "containers"));
        let of_images =
            read::list(spec, "volumes").filter_map(|volume| volume["image"]["reference"].as_str());
        let images = all().filter_map(|container| container["image"].as_str()).chain(of_images);
        let stays = |init: &&Value| init["restartPolicy"] == "Always";
        let lasting = read::list(spec, "initContainers").filter(stays);
        let labels = read::labels(&object["metadata"], "labels");
        Placing {
            priority: read::number(spec, "priority"),
            never_preempts: spec["preemptionPolicy"] == "Never",
            gated: read::list(spec, "schedulingGates").next().is_some(),
            nominated: read::text(status, "nominatedNodeName"),
            started: read::time(status, "startTime"),
            preempted: preempted
                .is_some_and(|c| c["status"] == "True" && c["reason"] == "PreemptionByScheduler"),
            host_ports: lasting
                .chain(read::list(spec, "containers"))
                .flat_map(host_ports)
                .collect(),
            disks: read::list(spec, "volumes").filter_map(Disk::read).collect(),
            images: images.map(image).collect(),
            containers: all().count() as i64,
            prefers_nodes: prefers_nodes
                .iter()
                .map(|one| (read::number(one, "weight"), Term::read(&one["preference"])))
                .collect(),
            wants: required("podAffinity"),
            avoids: required("podAntiAffinity"),
            prefers,
            spread: read::list(spec, "topologySpreadConstraints")
                .map(|one| Constraint::read(one, &labels))
                .collect(),
        }
    }
}

impl Placing {
    /// Whether it says which pods it wants to be near to, or away from.
    pub(crate) fn has_terms(&self) -> bool {
        !self.wants.is_empty() || !self.avoids.is_empty() || !self.prefers.is_empty()
    }
}

fn host_ports(container: &Value) -> impl Iterator<Item = (Text, Text, i64)> {
    let taken = read::list(container, "ports").filter(|port| read::number(port, "hostPort") > 0);
    taken.map(|port| {
        let text = |field: &str, none: &str| {
            port[field].as_str().filter(|text| !text.is_empty()).unwrap_or(none).into()
        };
        (text("hostIP", "0.0.0.0"), text("protocol", "TCP"), read::number(port, "hostPort"))
    })
}

/// `normalizedImageName`.
fn image(name: &str) -> Text {
    match (name.rfind(':'), name.rfind('/')) {
        (Some(colon), slash) if slash.is_none_or(|slash| colon > slash) => name.into(),
        _ => format!("{name}:latest").into(),
    }
}

impl Disk {
    fn read(volume: &Value) -> Option<Disk> {
        let of = |kind: &'static str, names: &[&str]| {
            let disk = volume.get(kind)?;
            let hosts = read::list(disk, "monitors").filter_map(Value::as_str);
            Some(Disk {
                kind,
                hosts: hosts.map(Text::from).collect(),
                name: names.iter().map(|name| read::text(disk, name)).collect(),
                read_only: kind != "awsElasticBlockStore" && read::flag(disk, "readOnly"),
            })
        };
        of("gcePersistentDisk", &["pdName"])
            .or_else(|| of("awsElasticBlockStore", &["volumeID"]))
            .or_else(|| of("iscsi", &["iqn"]))
            .or_else(|| of("rbd", &["pool", "image"]))
    }

    /// Whether two pods of a node can't both have these (`isVolumeConflict`).
    pub(super) fn conflicts(&self, other: &Disk) -> bool {
        self.kind == other.kind
            && self.name == other.name
            && (self.kind != "rbd" || !self.hosts.is_disjoint(&other.hosts))
            && !(self.read_only && other.read_only)
    }
}

impl PodTerm {
    fn read(term: &Value) -> PodTerm {
        let selector = |field: &str| term.get(field).filter(|one| one.is_object());
        let namespaces: Vec<Text> = read::list(term, "namespaces")
            .filter_map(|name| name.as_str().map(Text::from))
            .collect();
        let by_labels = selector("namespaceSelector").map(Selector::read);
        PodTerm {
            topology: read::text(term, "topologyKey"),
            selector: selector("labelSelector").map(Selector::read),
            own: namespaces.is_empty() && by_labels.is_none(),
            namespaces,
            namespace_selector: by_labels,
        }
    }

    /// Whether it means a pod; `own` is the namespace of the pod whose term it is (`AffinityTerm.Matches`).
    pub(super) fn matches(
        &self,
        view: &View,
        own: &Text,
        (namespace, labels): (&Text, &Labels),
    ) -> bool {
        let named = if self.own { own == namespace } else { self.namespaces.contains(namespace) };
        let there = named
            || self.namespace_selector.as_ref().is_some_and(|selector| {
                selector.matches(&super::snapshot::namespace_labels(view, namespace))
            });
        there && self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }
}

impl PodTerm {
    /// Whether it means a pod, as those see it who know no selectors of namespaces: a term that names no namespace means
    /// its pod's own.
    pub(crate) fn names(&self, own: &Text, (namespace, labels): (&Text, &Labels)) -> bool {
        let there = if self.namespaces.is_empty() {
            own == namespace
        } else {
            self.namespaces.contains(namespace)
        };
        there && self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }
}

impl Constraint {
    fn read(value: &Value, labels: &Labels) -> Constraint {
        let selector = value.get("labelSelector").filter(|one| one.is_object());
        let mut selector = selector.map(Selector::read);
        let keys = read::list(value, "matchLabelKeys").filter_map(Value::as_str);
        for (key, value) in keys.filter_map(|key| labels.get_key_value(key)) {
            if let Some(selector) = &mut selector {
                selector.expressions.push(Expression {
                    key: key.clone(),
                    operator: "In".into(),
                    values: vec![value.clone()],
                });
            }
        }
        let domains = value.get("minDomains").and_then(Value::as_u64).unwrap_or(1);
        Constraint {
            max_skew: read::number(value, "maxSkew"),
            topology: read::text(value, "topologyKey"),
            required: value["whenUnsatisfiable"] == "DoNotSchedule",
            selector,
            min_domains: domains as usize,
            by_affinity: value["nodeAffinityPolicy"] != "Ignore",
            by_taints: value["nodeTaintsPolicy"] == "Honor",
        }
    }

    pub(crate) fn selects(&self, labels: &Labels) -> bool {
        self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }

    /// Whether it selects everything, and so counts nothing (`countPodsMatchSelector`).
    pub(super) fn is_empty(&self) -> bool {
        self.selector.as_ref().is_some_and(Selector::is_empty)
    }
}
