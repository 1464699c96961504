//! Breadth first: states in the order of their distance from the initial ones, a block at a time.
//!
//! A block of states from the front of the queue is expanded on all threads. Then its new states are numbered in the
//! order in which one thread would have found them: by their parent's position, then by step. So numbers, runs and
//! counts do not depend on the threads, and what is found first is nearest.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use crate::{
    Counts, Limit, Places, Reductions, System,
    search::{
        Paused, ReportOf, Search, SearchError,
        expansion::{Expanded, Expansion, Scratch},
        fingerprint::Fingerprinter,
        graph::Graph,
        judge::{self, Judge, Spot},
        lasso::lasso,
        liveness::{self, Classes},
        numbering,
        parallel::in_order_with,
        rebuild::Rebuild,
        table::Table,
        tree::Tree,
    },
};

/// States expanded between two looks at the budgets.
const BLOCK: usize = 1 << 14;
/// States that a thread takes at once.
const CHUNK: usize = 1 << 5;
/// States that can be numbered, with room for what a block leads to.
const STATES_MAX: u64 = 1 << 31;

/// A search under way.
pub struct Breadth<'s, 'a, S: System> {
    search: &'s Search<'a, S>,
    at: Paused<S::State>,
    /// What the queue's states keep on the heap, in bytes.
    heap: usize,
    /// The property whose violation ended the search.
    ended_by: Option<usize>,
    /// States that one thread would have left when it ended, beyond those in the queue.
    behind: u64,
    /// States in the queue into which one thread would not have put them: the one that ended it.
    dropped: u64,
}

enum Block {
    Done,
    TimeIsUp,
}

impl<'s, 'a, S: System> Breadth<'s, 'a, S> {
    /// A search that knows the initial states.
    pub fn begin(search: &'s Search<'a, S>) -> Self {
        let at = Paused {
            table: Table::new(),
            tree: Tree::default(),
            graph: search.judges_liveness().then(Graph::default),
            queue: VecDeque::new(),
            found: 0,
            next_level: 0,
            depth: 1,
            generated: 0,
            spots: vec![None; search.properties.len()],
            symmetry: search.uses_symmetry(),
        };
        let mut this = Breadth { search, at, heap: 0, ended_by: None, behind: 0, dropped: 0 };
        this.initial();
        this
    }

    /// A search that goes on.
    pub fn resume(search: &'s Search<'a, S>, at: Paused<S::State>) -> Result<Self, SearchError> {
        let (asked, begun) = (search.properties.len(), at.spots.len());
        let same =
            at.graph.is_some() == search.judges_liveness() && at.symmetry == search.uses_symmetry();
        if asked != begun || !same {
            return Err(SearchError::OtherSearch { asked, begun });
        }
        let heap = at.queue.iter().map(|state| search.system.heap_bytes(state)).sum();
        Ok(Breadth { search, at, heap, ended_by: None, behind: 0, dropped: 0 })
    }

    fn initial(&mut self) {
        let mut fingerprinter = Fingerprinter::default();
        for mut state in self.search.system.initial() {
            self.at.generated += 1;
            if self.search.uses_symmetry() {
                state = self.search.system.canonical(&state);
            }
            let number = self.at.found;
            let before = self.at.table.insert(fingerprinter.of(&state), number, |known| known);
            if before.is_some() {
                continue;
            }
            self.at.found += 1;
            let judge = Judge::new(self.search, |index| self.at.spots[index].is_none());
            for index in judge.state(&state) {
                self.at.spots[index] = Some(Spot { state: number, step: None });
                if self.search.ends_with(index) {
                    self.ended_by = self.ended_by.or(Some(index));
                }
            }
            self.heap += self.search.system.heap_bytes(&state);
            self.at.queue.push_back(state);
            if self.ended_by.is_some() {
                self.dropped = 1;
                break;
            }
        }
        self.at.tree.add(self.at.found as usize);
        self.at.next_level = self.at.found;
    }

    /// Explores until nothing is left, a budget is reached, or what was found is enough.
    pub fn explore(mut self) -> Result<ReportOf<S>, SearchError> {
        loop {
            let judge = Judge::new(self.search, |index| self.at.spots[index].is_none());
            if let Some(index) = self.ended_by {
                let name = self.search.properties[index].name.clone();
                return self.report(Some(Limit::Violation(name)));
            }
            if self.at.queue.is_empty() {
                return self.report(None);
            }
            if judge.is_done() {
                return self.report(Some(Limit::Decided));
            }
            if self.at.found as usize - self.at.queue.len() == self.at.next_level as usize {
                self.at.depth += 1;
                self.at.next_level = self.at.found;
            }
            if let Some(limit) = self.budget() {
                return self.report(Some(limit));
            }
            if let Block::TimeIsUp = self.block(judge) {
                return self.report(Some(Limit::Deadline));
            }
        }
    }

    fn budget(&self) -> Option<Limit> {
        let Paused { table, tree, graph, queue, .. } = &self.at;
        let graph = graph.as_ref().map_or(0, Graph::bytes);
        let queue = queue.capacity() * size_of::<S::State>() + self.heap;
        let budgets = self.search.budgets;
        if self.at.depth >= budgets.depth {
            Some(Limit::Depth)
        } else if u64::from(self.at.found) >= budgets.states.min(STATES_MAX) {
            Some(Limit::States)
        } else if table.bytes() + tree.bytes() + graph + queue >= budgets.memory_bytes {
            Some(Limit::Memory)
        } else {
            None
        }
    }

    /// Expands the next states, of one level.
    fn block(&mut self, judge: Judge<'s, 'a, S>) -> Block {
        let first = self.at.found - self.at.queue.len() as u32;
        let length = BLOCK.min((self.at.next_level - first) as usize);
        let block: Vec<S::State> = self.at.queue.drain(..length).collect();
        let expansion = Expansion {
            search: self.search,
            judge,
            table: &self.at.table,
            ample_unless: self.ample_unless(),
            first,
            unnumbered: self.at.found,
            next_level: self.at.next_level,
        };
        let Some(mut chunks) = self.expand(&expansion, &block) else {
            // The block is taken back: its states come first again, and what it led to was never seen.
            self.at.table.retain(|number| number < self.at.found);
            block.into_iter().rev().for_each(|state| self.at.queue.push_front(state));
            return Block::TimeIsUp;
        };
        self.heap -= block.iter().map(|state| self.search.system.heap_bytes(state)).sum::<usize>();
        drop(block);
        let threads = self.search.threads;
        numbering::number(threads, &self.at.table, self.at.found, &mut chunks);
        if let Some(graph) = &mut self.at.graph {
            numbering::add(threads, &self.at.table, &chunks, graph);
        }
        self.add(chunks, length);
        Block::Done
    }

    /// What properties look at, if orders of steps are to be left out.
    fn ample_unless(&self) -> Option<Places> {
        self.search.uses_partial_order().then(|| {
            self.search.properties.iter().fold(Places::none(), |mut all, property| {
                if property.is_of_states() {
                    all.add(&property.reads);
                }
                all
            })
        })
    }

    /// The chunks up to the first in which something ends the search; none if the time is up.
    fn expand(
        &self,
        expansion: &Expansion<'_, '_, S>,
        block: &[S::State],
    ) -> Option<Vec<Expanded<S::State>>> {
        let (last, time_is_up) = (AtomicUsize::new(usize::MAX), AtomicBool::new(false));
        let deadline = self.search.budgets.deadline;
        let threads = self.search.threads;
        let chunks = in_order_with(
            threads,
            block.len().div_ceil(CHUNK),
            Scratch::default,
            |chunk, scratch| {
                if deadline.is_some_and(|is_up| is_up()) {
                    time_is_up.store(true, Ordering::Relaxed);
                }
                if time_is_up.load(Ordering::Relaxed) || last.load(Ordering::Relaxed) < chunk {
                    return None;
                }
                let positions = chunk * CHUNK..block.len().min((chunk + 1) * CHUNK);
                let expanded = expansion.chunk(block, positions, scratch);
                if expanded.ended.is_some() {
                    last.fetch_min(chunk, Ordering::Relaxed);
                }
                Some(expanded)
            },
        );
        if time_is_up.into_inner() {
            return None;
        }
        let chunks = chunks.into_iter().take(last.into_inner().saturating_add(1));
        Some(chunks.map(|chunk| chunk.expect("only chunks behind the last are left out")).collect())
    }

    fn add(&mut self, chunks: Vec<Expanded<S::State>>, length: usize) {
        let (mut children, mut next) = (0, 0);
        let ended = chunks.last().and_then(|chunk| chunk.ended);
        for chunk in chunks {
            self.at.generated += chunk.generated;
            for (index, spot) in chunk.found {
                if self.at.spots[index].is_none() {
                    self.at.spots[index] = Some(spot);
                }
                if chunk.ended.is_some() && self.search.ends_with(index) {
                    self.ended_by = self.ended_by.or(Some(index));
                }
            }
            for fresh in chunk.fresh {
                while next < fresh.position {
                    self.at.tree.add(std::mem::take(&mut children));
                    next += 1;
                }
                children += 1;
                self.at.found += 1;
                self.heap += self.search.system.heap_bytes(&fresh.state);
                self.at.queue.push_back(fresh.state);
            }
        }
        while (next as usize) < length {
            self.at.tree.add(std::mem::take(&mut children));
            next += 1;
        }
        if let Some((position, is_state)) = ended {
            self.behind = length as u64 - 1 - u64::from(position);
            self.dropped = u64::from(is_state);
        }
    }

    fn report(self, limit: Option<Limit>) -> Result<ReportOf<S>, SearchError> {
        let Breadth { search, at, behind, dropped, .. } = self;
        let deeper = u64::from(at.found > at.next_level);
        let counts = Counts {
            generated: at.generated,
            distinct: u64::from(at.found),
            left: at.queue.len() as u64 + behind - dropped,
            depth: if at.found == 0 { 0 } else { at.depth + deeper },
        };
        let rebuild = Rebuild { search, table: &at.table, tree: &at.tree };
        let spots = at.spots.iter().enumerate();
        let mut runs = spots
            .map(|(index, spot)| spot.map(|spot| rebuild.run(spot, index)).transpose())
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(graph) = &at.graph {
            let classes = Classes::of(search.fairness);
            let liveness = search.properties.iter().enumerate().filter(|(_, p)| p.is_liveness());
            for (nth, (index, property)) in liveness.enumerate() {
                if let Some(violation) = liveness::violation(graph, classes, property, nth) {
                    let lasso = lasso(graph, &at.tree, classes, &violation);
                    runs[index] = Some(rebuild.lasso(&lasso)?);
                }
            }
        }
        let mut report = judge::report(search, counts, limit, runs);
        report.reductions = Reductions {
            symmetry: search.uses_symmetry(),
            partial_order: search.uses_partial_order(),
        };
        let budget = !matches!(report.limit, None | Some(Limit::Violation(_) | Limit::Decided));
        report.paused = budget.then_some(at);
        Ok(report)
    }
}
