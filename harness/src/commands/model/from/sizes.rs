//! Sizes of clusters: how many nodes of each type.

use std::{collections::BTreeMap, str::FromStr};

use serde_json::{Value, json};

use super::super::scenario::NodesSpec;

/// A type of node, and how many there are at least and at most.
#[derive(Debug, Clone)]
pub struct NodeType {
    node: NodesSpec,
    least: u32,
    most: u32,
}

impl FromStr for NodeType {
    type Err = String;

    fn from_str(text: &str) -> Result<NodeType, String> {
        let (mut cpu, mut memory, mut labels) = (None, None, BTreeMap::new());
        let (mut least, mut most, mut pods, mut taints) = (0, 3, 110, vec![]);
        let count = |key: &str, value: &str| {
            value.parse().map_err(|_| format!("{key}: {value:?} is no number"))
        };
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or("expected KEY=VALUE,KEY=VALUE")?;
            match key {
                "cpu" => cpu = Some(value.to_owned()),
                "memory" => memory = Some(value.to_owned()),
                "pods" => pods = count(key, value)?,
                "taint" => taints.push(taint(value)?),
                "min" => least = count(key, value)?,
                "max" => most = count(key, value)?,
                label => {
                    labels.insert(label.to_owned(), value.to_owned());
                }
            }
        }
        let (Some(cpu), Some(memory)) = (cpu, memory) else {
            return Err("it needs cpu and memory, as cpu=4,memory=16Gi,max=3".to_owned());
        };
        let node = NodesSpec { name: String::new(), count: 0, cpu, memory, pods, labels, taints };
        if least > most {
            return Err(format!("min={least} is more than max={most}; max is 3 if left out"));
        }
        Ok(NodeType { node, least, most })
    }
}

/// `key=value:NoSchedule`, or without a value.
fn taint(text: &str) -> Result<Value, String> {
    let (name, effect) = text.rsplit_once(':').ok_or("taint: expected KEY=VALUE:EFFECT")?;
    let (key, value) = name.split_once('=').unwrap_or((name, ""));
    Ok(json!({"key": key, "value": value, "effect": effect}))
}

/// How many nodes of each type, by their sum.
pub fn sizes(types: &[NodeType]) -> Vec<Vec<u32>> {
    let mut all = vec![vec![]];
    for of in types {
        let with = |counts: &Vec<u32>| {
            let counts = counts.clone();
            (of.least..=of.most)
                .map(move |count| [&counts[..], &[count]].concat())
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    all.retain(|counts| counts.iter().sum::<u32>() > 0);
    all.sort_by_key(|counts| counts.iter().sum::<u32>());
    all
}

/// The nodes of a size.
pub fn nodes(types: &[NodeType], counts: &[u32]) -> Vec<NodesSpec> {
    let present = types.iter().zip(counts).enumerate().filter(|(_, (_, count))| **count > 0);
    let node = |(at, (of, count)): (usize, (&NodeType, &u32))| {
        let name = if types.len() == 1 { "node".to_owned() } else { format!("node-{}", at + 1) };
        NodesSpec { name, count: *count, ..of.node.clone() }
    };
    present.map(node).collect()
}

/// A size in words.
pub fn named(types: &[NodeType], counts: &[u32]) -> String {
    let present = types.iter().zip(counts).filter(|(_, count)| **count > 0);
    let part = |(of, count): (&NodeType, &u32)| {
        let NodesSpec { cpu, memory, labels, .. } = &of.node;
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!(", {key}={value}")).collect();
        let nodes = if *count == 1 { "node" } else { "nodes" };
        format!("{count} {nodes} ({cpu} CPUs, {memory}{})", labels.concat())
    };
    let parts: Vec<String> = present.map(part).collect();
    parts.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_and_sizes_grow() {
        let one: NodeType = "cpu=4,memory=16Gi,max=2,zone=a".parse().expect("a type");
        let two: NodeType = "cpu=8,memory=16Gi,max=1".parse().expect("a type");
        let types = [one, two];
        let expect = [[0, 1], [1, 0], [1, 1], [2, 0], [2, 1]];
        assert_eq!(sizes(&types), expect.map(|counts| counts.to_vec()));
        assert_eq!(named(&types, &[1, 0]), "1 node (4 CPUs, 16Gi, zone=a)");
        for wrong in ["cpu=4", "cpu", "cpu=4,memory=1Gi,max=x", "cpu=4,memory=1Gi,min=4"] {
            assert!(wrong.parse::<NodeType>().is_err(), "{wrong}");
        }
    }
}
