//! A cluster of a size, from one with a node of each type.

use serde_json::json;

use crate::kivi::{
    description::{Deployment, Description, Node},
    sizes::Size,
};

/// How the bounds of an autoscaler follow the number of pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Replicas {
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
        Replicas { factor: 2, min: None, per_node: None }
    }
}

/// The cluster of a size. Its nodes have new names, but for the first of each type: a pod may name it.
pub(super) fn of_size(
    types: &Description,
    replicas: &[Replicas],
    pods_per_node_max: u32,
    size: &Size,
) -> Description {
    let of_type = |(node, count): (&Node, &u32)| {
        let named = |number: u32| {
            let name =
                if number == 0 { node.name.clone() } else { format!("{}-{number:03}", node.name) };
            Node { name, ..node.clone() }
        };
        (0..*count).map(named).collect::<Vec<Node>>()
    };
    let nodes: Vec<Node> = types.nodes.iter().zip(&size.nodes).flat_map(of_type).collect();
    let all = size.all_nodes();
    let deployments = types.deployments.iter().zip(replicas).zip(&size.pods);
    let deployments = deployments.map(|((deployment, replicas), pods)| {
        grown(deployment, *replicas, (*pods, all), pods_per_node_max * all)
    });
    Description { nodes, deployments: deployments.collect(), ..types.clone() }
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
