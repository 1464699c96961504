//! `trommel model check --from DIR`: a folder of manifests on clusters of growing size.
//!
//! Sizes are tried by the number of nodes, the first types first, up to the first violation: so the cluster that is told is
//! one of the smallest. A step is all that a controller does with one key, kubelets act at once, and the scheduler takes
//! pods in the order of their names: hundreds of states where single writes would be millions. A scenario file asks for
//! more.

use std::{collections::BTreeMap, fmt::Write, path::Path, str::FromStr};

use super::{
    clusters::{self, Limits},
    scenario::{Granularity, ModelSpec, NodesSpec, Scenario},
};
use crate::exit::Exit;

/// A type of node, and how many there are at most.
#[derive(Debug, Clone)]
pub(super) struct NodeType {
    node: NodesSpec,
    most: u32,
}

impl FromStr for NodeType {
    type Err = String;

    fn from_str(text: &str) -> Result<NodeType, String> {
        let (mut cpu, mut memory, mut most, mut labels) = (None, None, 3, BTreeMap::new());
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or("expected KEY=VALUE,KEY=VALUE")?;
            match key {
                "cpu" => cpu = Some(value.to_owned()),
                "memory" => memory = Some(value.to_owned()),
                "max" => {
                    most = value.parse().map_err(|_| format!("max: {value:?} is no number"))?
                }
                label => {
                    labels.insert(label.to_owned(), value.to_owned());
                }
            }
        }
        let (Some(cpu), Some(memory)) = (cpu, memory) else {
            return Err("it needs cpu and memory, as cpu=4,memory=16Gi,max=3".to_owned());
        };
        let node = NodesSpec {
            name: String::new(),
            count: 0,
            cpu,
            memory,
            pods: 110,
            labels,
            taints: vec![],
        };
        Ok(NodeType { node, most })
    }
}

/// How fine the model is, for people.
const HOW: &str = "a step is all that a controller does with one object; kubelets act at once, the scheduler takes pods by name";

/// The verdict on the smallest cluster that violates what is asked, or on all of them.
///
/// # Errors
/// Wrong manifests, with their places: exit 64.
pub(super) fn check(
    folder: &Path,
    types: &[NodeType],
    limits: Limits,
) -> anyhow::Result<(String, Exit)> {
    let (mut told, mut unknown) = (format!("{HOW}\n"), false);
    for (nth, counts) in sizes(types).into_iter().enumerate() {
        let spec = ModelSpec {
            manifests: vec![folder.to_owned()],
            nodes: nodes(types, &counts),
            granularity: Granularity::Reconcile,
            coarse: true,
            ..ModelSpec::default()
        };
        let scenario = Scenario::of(&spec, Path::new(""), folder)?;
        if nth == 0 {
            scenario.notes.iter().for_each(|note| super::files::tell(note));
        }
        let (verdict, exit) = clusters::judged(&scenario, folder, limits)?;
        let size = named(types, &counts);
        match exit {
            Exit::Finding => {
                let _ = writeln!(told, "{size}: violated\n\n{verdict}");
                return Ok((told, exit));
            }
            Exit::Unknown => {
                let _ = writeln!(told, "{size}: unknown, a limit was reached");
                unknown = true;
            }
            _ => {
                let _ = writeln!(told, "{size}: held");
            }
        }
    }
    Ok((told, if unknown { Exit::Unknown } else { Exit::Clean }))
}

/// How many nodes of each type, by their sum.
fn sizes(types: &[NodeType]) -> Vec<Vec<u32>> {
    let mut all = vec![vec![]];
    for of in types {
        let with = |counts: &Vec<u32>| {
            let counts = counts.clone();
            (0..=of.most).map(move |count| [&counts[..], &[count]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    all.retain(|counts| counts.iter().sum::<u32>() > 0);
    all.sort_by_key(|counts| counts.iter().sum::<u32>());
    all
}

fn nodes(types: &[NodeType], counts: &[u32]) -> Vec<NodesSpec> {
    let present = types.iter().zip(counts).enumerate().filter(|(_, (_, count))| **count > 0);
    let node = |(at, (of, count)): (usize, (&NodeType, &u32))| {
        let name = if types.len() == 1 { "node".to_owned() } else { format!("node-{}", at + 1) };
        NodesSpec { name, count: *count, ..of.node.clone() }
    };
    present.map(node).collect()
}

fn named(types: &[NodeType], counts: &[u32]) -> String {
    let present = types.iter().zip(counts).filter(|(_, count)| **count > 0);
    let part = |(of, count): (&NodeType, &u32)| {
        let NodesSpec { cpu, memory, labels, .. } = &of.node;
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!(" {key}={value}")).collect();
        format!("{count} of {cpu} cpu, {memory}{}", labels.concat())
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
        assert_eq!(named(&types, &[1, 0]), "1 of 4 cpu, 16Gi zone=a");
        for wrong in ["cpu=4", "cpu", "cpu=4,memory=1Gi,max=x"] {
            assert!(wrong.parse::<NodeType>().is_err(), "{wrong}");
        }
    }
}
