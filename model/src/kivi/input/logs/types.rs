//! Types of nodes and deployments in one cluster, so that it can grow: what is equal but in name and place.

use std::collections::BTreeMap;

use crate::kivi::{
    description::{Deployment, Description, Node},
    manifests::HOSTNAME,
};

/// Nodes whose CPU or memory differ by up to this are of one type, in Kivi's units: thousandths of a processor and GiB.
const TOLERANCE: (u64, u64) = (8, 8 << 30);

/// The places of the members of each type, in the order of the first.
pub(super) type Types = Vec<Vec<usize>>;

/// Types of nodes: with the same taints and labels, but for their names, and about the same amounts.
pub(super) fn of_nodes(of: &Description) -> Types {
    grouped(&of.nodes, |one, other| {
        let near = |one: u64, other: u64, by: u64| one.abs_diff(other) <= by;
        let (cpu, memory) = TOLERANCE;
        own_labels(one) == own_labels(other)
            && (&one.taints, one.is_down) == (&other.taints, other.is_down)
            && near(one.cpu_milli, other.cpu_milli, cpu)
            && near(one.memory_bytes, other.memory_bytes, memory)
            && near(one.taken.0, other.taken.0, cpu)
            && near(one.taken.1, other.taken.1, memory)
    })
}

/// Labels, without that of the node's own name.
fn own_labels(of: &Node) -> BTreeMap<&str, &str> {
    let labels = of.labels.iter().filter(|(key, _)| *key != HOSTNAME);
    labels.map(|(key, value)| (&**key, &**value)).collect()
}

/// Types of deployments: of the same pods, and with the same autoscaler.
pub(super) fn of_deployments(of: &Description) -> Types {
    grouped(&of.deployments, |one: &Deployment, other: &Deployment| {
        let template = |of_one: &Deployment| {
            let mut value = of.templates[of_one.template].value.clone();
            value["metadata"]["labels"] = serde_json::Value::Null;
            value
        };
        template(one) == template(other) && one.autoscaler == other.autoscaler
    })
}

fn grouped<T>(all: &[T], is_same: impl Fn(&T, &T) -> bool) -> Types {
    let mut types = Types::new();
    for (at, one) in all.iter().enumerate() {
        match types.iter_mut().find(|members| is_same(&all[members[0]], one)) {
            Some(members) => members.push(at),
            None => types.push(vec![at]),
        }
    }
    types
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::kivi::description::PodTemplate;

    #[test]
    fn deployments_of_one_type_have_the_same_pods_but_for_their_labels() {
        let template = |app: &str, image: &str| PodTemplate {
            value: json!({"metadata": {"labels": {"app": app}}, "spec": {"image": image}}),
            usage: vec![],
        };
        let templates = vec![template("a", "x"), template("b", "x"), template("c", "y")];
        let deployment = |template: usize, autoscaler: Option<Value>| Deployment {
            template,
            autoscaler,
            ..Deployment::default()
        };
        let scaled = Some(json!({"maxReplicas": 2}));
        let deployments = vec![
            deployment(0, None),
            deployment(1, None),
            deployment(2, None),
            deployment(1, scaled),
        ];
        let of = Description { templates, deployments, ..Description::default() };
        assert_eq!(of_deployments(&of), [vec![0, 1], vec![2], vec![3]]);
    }

    #[test]
    fn nodes_of_one_type_differ_by_little() {
        let node = |cpu_milli: u64, zone: &str| Node {
            cpu_milli,
            labels: [("zone".to_owned(), zone.to_owned())].into(),
            ..Node::default()
        };
        let nodes = vec![node(4000, "a"), node(4008, "a"), node(4009, "a"), node(4000, "b")];
        let of = Description { nodes, ..Description::default() };
        assert_eq!(of_nodes(&of), [vec![0, 1], vec![2], vec![3]]);
    }
}
