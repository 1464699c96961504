//! `kubectl describe node`.

use super::{File, InputError};
use crate::kivi::{
    amounts,
    description::{Node, Taint},
    input::configs::PODS_MAX,
};

/// All nodes. What all pods of a node ask for is taken, those of deployments included.
pub(super) fn read(file: &File<'_>) -> Result<Vec<Node>, InputError> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut section = "";
    for (at, line) in file.text.lines().enumerate() {
        let wrong = |expected: &str| InputError::Field {
            file: file.path.to_owned(),
            field: format!("line {}", at + 1),
            expected: expected.to_owned(),
            found: line.trim().to_owned(),
        };
        let is_inner = line.starts_with([' ', '\t']);
        let (head, rest) = line.split_once(':').unwrap_or((line, ""));
        let mut text = rest.trim();
        if !is_inner && !line.is_empty() {
            section = head;
            if head == "Name" {
                nodes.push(Node { name: text.to_owned(), pods_max: PODS_MAX, ..Node::default() });
            }
        } else if is_inner && matches!(section, "Labels" | "Taints") {
            text = line.trim();
        }
        let Some(node) = nodes.last_mut() else { continue };
        match section {
            "Labels" if !text.is_empty() && text != "<none>" => {
                let (key, value) =
                    text.split_once('=').ok_or_else(|| wrong("a label key=value"))?;
                node.labels.insert(key.to_owned(), value.to_owned());
            }
            "Taints" if !text.is_empty() && text != "<none>" => {
                node.taints.push(taint(text).ok_or_else(|| wrong("a taint key=value:Effect"))?);
            }
            "Conditions" if is_inner => condition(line, node),
            "Allocatable" if is_inner => {
                allocatable(head.trim(), text, node).ok_or_else(|| wrong("a quantity"))?;
            }
            "Non-terminated Pods" if is_inner => pod(line, node),
            _ => {}
        }
    }
    match nodes.iter().find(|node| node.cpu_milli == 0 || node.memory_bytes == 0) {
        Some(node) => Err(InputError::Field {
            file: file.path.to_owned(),
            field: format!("node {}", node.name),
            expected: "Allocatable with cpu and memory".to_owned(),
            found: "none".to_owned(),
        }),
        None if nodes.is_empty() => Err(InputError::Format {
            file: file.path.to_owned(),
            why: "there is no line `Name: ..` of a node".to_owned(),
        }),
        None => Ok(nodes),
    }
}

fn taint(text: &str) -> Option<Taint> {
    let (left, effect) = text.rsplit_once(':')?;
    let (key, value) = left.split_once('=').unwrap_or((left, ""));
    Some(Taint { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned() })
}

fn condition(line: &str, node: &mut Node) {
    let mut words = line.split_whitespace();
    if words.next() == Some("Ready") {
        node.is_down = words.next() != Some("True");
    }
}

fn allocatable(name: &str, text: &str, node: &mut Node) -> Option<()> {
    match name {
        "cpu" => node.cpu_milli = amounts::milli(text)?,
        "memory" => node.memory_bytes = amounts::bytes(text)?,
        "pods" => node.pods_max = text.parse().ok()?,
        _ => {}
    }
    Some(())
}

/// `Namespace Name CPU-requests (..) CPU-limits (..) Memory-requests (..) ..`.
fn pod(line: &str, node: &mut Node) {
    let words: Vec<&str> = line.split_whitespace().filter(|word| !word.starts_with('(')).collect();
    let [_, _, cpu, _, memory, ..] = &words[..] else { return };
    // Rows of lines and of names hold no quantities.
    if let (Some(cpu), Some(memory)) = (amounts::milli(cpu), amounts::bytes(memory)) {
        node.taken = (node.taken.0 + cpu, node.taken.1 + memory);
    }
}
