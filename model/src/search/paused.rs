//! A breadth first search between two blocks of states: what it has seen and what it has still to look at.
//!
//! It can be written and read by whoever has a place for it. The layout is of this version and not for exchange: words
//! in little endian, lists with their length before them, states as the caller encodes them.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
};

use crate::search::{graph::Graph, judge::Spot, table::Table, tree::Tree};

const MAGIC: u64 = u64::from_le_bytes(*b"trommel1");

/// A search that can go on.
#[derive(Debug)]
pub struct Paused<State> {
    /// The number of each state seen.
    pub(crate) table: Table<u32>,
    pub(crate) tree: Tree,
    pub(crate) graph: Option<Graph>,
    /// States found and not expanded. Their numbers are the last ones.
    pub(crate) queue: VecDeque<State>,
    /// How many states were found.
    pub(crate) found: u32,
    /// The number of the first state of the next level.
    pub(crate) next_level: u32,
    /// The depth of the queue's first state.
    pub(crate) depth: u64,
    pub(crate) generated: u64,
    /// Whether one state stood for all its renamings.
    pub(crate) symmetry: bool,
    /// Where something was found, for each property.
    pub(crate) spots: Vec<Option<Spot>>,
}

impl<State> Paused<State> {
    /// Writes it. `encode` appends all of a state.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write(
        &self,
        to: &mut dyn Write,
        encode: impl Fn(&State, &mut Vec<u8>),
    ) -> io::Result<()> {
        let (found, next_level) = (u64::from(self.found), u64::from(self.next_level));
        words(to, &[MAGIC, found, next_level, self.depth, self.generated, self.symmetry.into()])?;
        self.table.for_each(|fingerprint, number| {
            to.write_all(&fingerprint.to_le_bytes()[..13])?;
            to.write_all(&number.to_le_bytes())
        })?;
        let (bits, tree) = self.tree.parts();
        words(to, &[bits])?;
        list(to, tree)?;
        let spots = self.spots.iter().flat_map(|spot| match spot {
            Some(Spot { state, step }) => {
                [1, u64::from(*state), step.map_or(0, |step| u64::from(step) + 1)]
            }
            None => [0, 0, 0],
        });
        list(to, &spots.collect::<Vec<_>>())?;
        words(to, &[u64::from(self.graph.is_some())])?;
        if let Some(graph) = &self.graph {
            list(to, &graph.ends)?;
            list(to, &graph.enabled)?;
            list(to, &graph.truths)?;
            list(to, &graph.classes)?;
            list(to, &graph.targets.iter().map(|target| u64::from(*target)).collect::<Vec<_>>())?;
        }
        words(to, &[self.queue.len() as u64])?;
        let mut bytes = Vec::new();
        for state in &self.queue {
            bytes.clear();
            encode(state, &mut bytes);
            words(to, &[bytes.len() as u64])?;
            to.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Reads what [`Paused::write`] wrote. `decode` makes a state of what was encoded.
    ///
    /// # Errors
    /// What the reader says, and [`io::ErrorKind::InvalidData`] for what was not written so.
    pub fn read(from: &mut dyn Read, decode: impl Fn(&[u8]) -> Option<State>) -> io::Result<Self> {
        if word(from)? != MAGIC {
            return Err(invalid("it does not begin like a paused search"));
        }
        let (found, next_level) = (number(from)?, number(from)?);
        let (depth, generated, symmetry) = (word(from)?, word(from)?, word(from)? != 0);
        let table = Table::new();
        for _ in 0..found {
            let (mut fingerprint, mut number) = ([0; 16], [0; 4]);
            from.read_exact(&mut fingerprint[..13])?;
            from.read_exact(&mut number)?;
            let number = u32::from_le_bytes(number);
            table.insert(u128::from_le_bytes(fingerprint), number, |known| known);
        }
        let bits = word(from)?;
        let tree = Tree::from_parts(bits, read_list(from)?);
        let spots = read_list(from)?;
        let spots = spots.chunks_exact(3).map(|spot| {
            let step = spot[2].checked_sub(1).map(|step| step as u32);
            (spot[0] == 1).then_some(Spot { state: spot[1] as u32, step })
        });
        let spots = spots.collect();
        let graph = match word(from)? {
            0 => None,
            _ => Some(read_graph(from)?),
        };
        let mut queue = VecDeque::new();
        for _ in 0..word(from)? {
            let mut bytes = Vec::new();
            let length = word(from)?;
            from.take(length).read_to_end(&mut bytes)?;
            let state = (bytes.len() as u64 == length).then(|| decode(&bytes)).flatten();
            queue.push_back(state.ok_or_else(|| invalid("a state can't be decoded"))?);
        }
        Ok(Paused {
            table,
            tree,
            graph,
            queue,
            found,
            next_level,
            depth,
            generated,
            symmetry,
            spots,
        })
    }
}

fn read_graph(from: &mut dyn Read) -> io::Result<Graph> {
    let (ends, enabled) = (read_list(from)?, read_list(from)?);
    let (truths, classes) = (read_list(from)?, read_list(from)?);
    let targets = read_list(from)?.into_iter().map(|target| target as u32).collect();
    Ok(Graph { ends, enabled, truths, targets, classes })
}

fn words(to: &mut dyn Write, words: &[u64]) -> io::Result<()> {
    words.iter().try_for_each(|word| to.write_all(&word.to_le_bytes()))
}

fn list(to: &mut dyn Write, list: &[u64]) -> io::Result<()> {
    words(to, &[list.len() as u64])?;
    words(to, list)
}

fn word(from: &mut dyn Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn number(from: &mut dyn Read) -> io::Result<u32> {
    u32::try_from(word(from)?).map_err(|_| invalid("a number is too large"))
}

fn read_list(from: &mut dyn Read) -> io::Result<Vec<u64>> {
    (0..word(from)?).map(|_| word(from)).collect()
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
