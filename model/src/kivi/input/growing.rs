//! A cluster of a size, from one with a node of each type.

use serde_json::json;

use crate::kivi::{
    description::{Deployment, Description, Node},
    manifests::{HOSTNAME, KIVI_HOSTNAME},
    occurrence::What,
    sizes::Size,
};

/// How a deployment grows, and how the bounds of its autoscaler follow the number of pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Replicas {
    /// Its type: a place in [`Size::pods`].
    pub place: usize,
    /// The most is so many times what there are at the start (`HPAfactor`).
    pub factor: u32,
    /// The least (`minHPAReplicas`); none for what it was: as many as there are at the start where that was so.
    pub min: Option<u32>,
    /// For each node, instead: least, most, at the start (`proportionNodeMin`, `proportionNodeMax`,
    /// `proportionNodeSpec`).
    pub per_node: Option<(u32, u32, u32)>,
}

impl Default for Replicas {
    fn default() -> Replicas {
        Replicas { place: 0, factor: 2, min: None, per_node: None }
    }
}

/// The cluster of a size. Its nodes have new names, but for the first of each type: a pod may name it.
pub(super) fn of_size(
    types: &Description,
    replicas: &[Replicas],
    pods_per_node_max: u32,
    size: &Size,
) -> Description {
    let all = size.all_nodes();
    let deployments = types.deployments.iter().zip(replicas).map(|(deployment, replicas)| {
        let pods = size.pods[replicas.place];
        grown(deployment, *replicas, (pods, all), pods_per_node_max.saturating_mul(all))
    });
    Description { deployments: deployments.collect(), ..with_nodes(types, &size.nodes) }
}

/// The cluster as it is described, with so many nodes of each type and so many pods.
pub(super) fn described(types: &Description, size: &Size) -> Description {
    let mut of = with_nodes(types, &size.nodes);
    of.deployments.iter_mut().zip(&size.pods).for_each(|(one, pods)| one.replicas = *pods);
    of
}

/// So many nodes of each type. What happens to the node of a type happens to the first of them, if there is one.
fn with_nodes(types: &Description, counts: &[u32]) -> Description {
    let mut of = Description { nodes: vec![], ..types.clone() };
    let mut firsts = Vec::new();
    for (node, count) in types.nodes.iter().zip(counts) {
        firsts.push((*count > 0).then_some(of.nodes.len()));
        let named = |number: u32| match number {
            0 => node.clone(),
            _ => {
                let name = format!("{}-{number:03}", node.name);
                let mut other = Node { name: name.clone(), ..node.clone() };
                for label in [HOSTNAME, KIVI_HOSTNAME] {
                    other.labels.entry(label.to_owned()).and_modify(|label| *label = name.clone());
                }
                other
            }
        };
        of.nodes.extend((0..*count).map(named));
    }
    of.occurrences.retain_mut(|one| match &mut one.what {
        What::NodeFailure { node } => {
            let first = firsts.get(*node).copied().flatten();
            *node = first.unwrap_or(0);
            first.is_some()
        }
        _ => true,
    });
    of
}

fn grown(of: &Deployment, by: Replicas, (pods, nodes): (u32, u32), cap: u32) -> Deployment {
    let pods = by.per_node.map_or(pods, |(.., spec)| spec * nodes);
    let mut grown = Deployment { replicas: pods, placed: vec![], ..of.clone() };
    let Some((min, _)) = of.bounds() else { return grown };
    let follows = if min == of.replicas { pods } else { min.min(pods) };
    let (least, most) = match by.per_node {
        Some((least, most, _)) => (least * nodes, most * nodes),
        None => (by.min.unwrap_or(follows), by.factor * pods),
    };
    if let Some(spec) = &mut grown.autoscaler {
        spec["minReplicas"] = json!(least);
        spec["maxReplicas"] = json!(most.min(cap).max(least).max(pods));
    }
    grown
}
