//! New states get their numbers, in the order in which one thread would have found them.

use std::{num::NonZeroUsize, sync::Mutex};

use crate::search::{expansion::Expanded, graph::Graph, parallel::in_order, table::Table};

/// Keeps each new state of a block's `chunks` once, where the table says, and numbers what is kept from `first` on.
pub fn number<State: Send>(
    threads: NonZeroUsize,
    table: &Table<u32>,
    first: u32,
    chunks: &mut [Expanded<State>],
) {
    let chunks: Vec<_> = chunks.iter_mut().map(|chunk| Mutex::new(&mut chunk.fresh)).collect();
    let lock = |chunk: usize| chunks[chunk].lock().expect("nothing panics with a chunk in hand");
    let kept = in_order(threads, chunks.len(), |chunk| {
        let mut fresh = lock(chunk);
        fresh.retain(|fresh| table.get(fresh.fingerprint()) == Some(first + fresh.position));
        fresh.len() as u32
    });
    let firsts = kept.iter().scan(first, |next, kept| {
        let first = *next;
        *next += kept;
        Some(first)
    });
    let firsts: Vec<u32> = firsts.collect();
    in_order(threads, chunks.len(), |chunk| {
        for (fresh, number) in lock(chunk).iter().zip(firsts[chunk]..) {
            table.insert(fresh.fingerprint(), number, |_| number);
        }
    });
}

/// Adds the states that were expanded, and their steps, to `graph`.
pub fn add<State: Sync>(
    threads: NonZeroUsize,
    table: &Table<u32>,
    chunks: &[Expanded<State>],
    graph: &mut Graph,
) {
    let targets = in_order(threads, chunks.len(), |chunk| {
        let number = |fingerprint| table.get(fingerprint).expect("each state found is numbered");
        chunks[chunk].edges.iter().map(|(to, _)| number(*to)).collect::<Vec<u32>>()
    });
    for (chunk, targets) in chunks.iter().zip(targets) {
        let before = graph.targets.len() as u64;
        // A state in which the search ended is no node: not all of its steps were taken.
        let edges = chunk.nodes.last().map_or(0, |node| node.end);
        graph.targets.extend(&targets[..edges]);
        graph.classes.extend(chunk.edges[..edges].iter().map(|(_, classes)| classes));
        for node in &chunk.nodes {
            graph.ends.push(before + node.end as u64);
            graph.enabled.push(node.enabled);
            graph.truths.push(node.truths);
        }
    }
}
