//! The fork graph: what a campaign explored, as the state graph of a model. Written by `trommel run --graph FILE`.
//!
//! **States.** A world as it is identified at `exact`, the position of the workload, whether the controller runs, and what of
//! the properties has passed. So every commit of a trial leads to a state, equal worlds are one, and a controller that goes
//! back leads to a cycle.
//!
//! **Edges.** Commits, starts, exits and steps of the user in trials, and `settle` from an end to itself. `crash` leads from a
//! state with the controller up to its world with the controller down, where exploring has met that; `step` and `rest` lead
//! on from there while it stays down.
//!
//! **Not in it.** What a running controller remembers: a way that changes from one trial to another where they meet may be
//! none that the controller takes. Crash points behind violated trials, and those at what the controller does not read.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
};

use model::traces::{Action, Edge, Graph, Param, State as ModelState, Value, dot, itf, ndjson};
use trace::{Cursor, Revision, identity::Identity};

use crate::{
    campaign::{
        lens::Lens,
        node::Node,
        properties::{Ending, Passed, Properties, State, Step},
        reached::{Harvest, Then},
        setup::Setup,
    },
    trial::{Start, TrialRun},
};

/// A file of the graph, its format by its name.
#[derive(Debug, Clone)]
pub struct GraphFile {
    path: PathBuf,
    format: Format,
}

#[derive(Debug, Clone, Copy)]
enum Format {
    Dot,
    Itf,
    Ndjson,
}

impl std::str::FromStr for GraphFile {
    type Err = String;
    fn from_str(text: &str) -> Result<GraphFile, String> {
        let ends = [(".dot", Format::Dot), (".itf.json", Format::Itf), (".ndjson", Format::Ndjson)];
        let format = ends.iter().find(|(end, _)| text.ends_with(end)).map(|(_, format)| *format);
        let format = format.ok_or("its name ends with .dot, .itf.json or .ndjson")?;
        Ok(GraphFile { path: text.into(), format })
    }
}

/// All that was explored so far.
#[derive(Default)]
pub struct ForkGraph {
    numbers: HashMap<Key, usize>,
    states: Vec<ModelState>,
    initial: BTreeSet<usize>,
    edges: BTreeSet<(usize, usize, Step)>,
}

/// What a state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    world: Identity,
    cursor: Cursor,
    up: u32,
    passed: Passed,
}

/// What one trial adds, or one world while the controller is down.
#[derive(Default)]
pub struct Piece {
    /// With the values of all expressions.
    states: Vec<(Key, Vec<bool>)>,
    /// Between positions in `states`.
    edges: Vec<(usize, usize, Step)>,
    /// The first state is one in which a campaign begins.
    begins: bool,
}

impl Piece {
    /// The way of a trial, and the places in it at which the controller could have been killed. `leaf`: nothing is
    /// explored behind it.
    pub fn of_trial(
        setup: &Setup,
        lens: &Lens,
        run: &TrialRun,
        harvest: &Harvest,
        leaf: bool,
    ) -> Option<Piece> {
        let (server, course) = (run.server.as_ref()?, setup.properties.course(run).ok()?);
        let identities = lens.identities(setup);
        let mut worlds: HashMap<(Revision, Cursor), Identity> = HashMap::new();
        let mut piece =
            Piece { begins: matches!(run.spec.start, Start::Beginning), ..Piece::default() };
        let mut at = Vec::new();
        for state in &course.states {
            let State { revision, cursor, up, passed, .. } = *state;
            let world = match worlds.get(&(revision, cursor)) {
                Some(known) => *known,
                None => {
                    let identity = identities.of(&server.world_at(revision)?, cursor, None);
                    worlds.insert((revision, cursor), identity);
                    identity
                }
            };
            at.push(piece.state(Key { world, cursor, up, passed }, state.truths.clone()));
        }
        for (positions, step) in at.windows(2).zip(&course.steps) {
            if positions[0] != positions[1] {
                piece.edges.push((positions[0], positions[1], step.clone()));
            }
        }
        let last = *at.last()?;
        if course.ending == Ending::Settled {
            piece.edges.push((last, last, Step::of("trommel", "settle")));
        }
        for (node, revision) in harvest.crashes().filter(|_| !leaf) {
            let before = |state: &State| state.revision <= revision && state.cursor <= node.cursor;
            let from = course.states.iter().rposition(|state| before(state) && state.up > 0);
            if let (Some(from), Some(down)) = (from, piece.down(setup, lens, node)) {
                piece.edges.push((at[from], down, Step::of("trommel", "crash")));
            }
        }
        Some(piece)
    }

    /// What follows a world while the controller stays down.
    pub fn while_down(setup: &Setup, lens: &Lens, node: &Node, then: &Then) -> Option<Piece> {
        let next = then.next.as_ref()?;
        let mut piece = Piece::default();
        let (from, to) = (piece.down(setup, lens, node)?, piece.down(setup, lens, next)?);
        let step = match next.cursor == node.cursor {
            true => Step::of("environment", "rest"),
            false => Step::of("user", "step"),
        };
        piece.edges.push((from, to, step));
        Some(piece)
    }

    /// A world with the controller down.
    fn down(&mut self, setup: &Setup, lens: &Lens, node: &Node) -> Option<usize> {
        let world = node.world.as_ref()?;
        let (passed, truths) = setup.properties.in_world(node.passed, world);
        let world = lens.identities(setup).of(world, node.cursor, None);
        Some(self.state(Key { world, cursor: node.cursor, up: 0, passed }, truths?))
    }

    fn state(&mut self, key: Key, truths: Vec<bool>) -> usize {
        let known = self.states.iter().position(|(known, _)| *known == key);
        known.unwrap_or_else(|| {
            self.states.push((key, truths));
            self.states.len() - 1
        })
    }
}

impl ForkGraph {
    /// Takes in a piece.
    pub fn add(&mut self, piece: Piece, properties: &Properties) {
        let names = variables(&properties.names());
        let state = |(key, truths): &(Key, Vec<bool>)| self.state(key, truths, &names, properties);
        let numbers: Vec<usize> = piece.states.iter().map(state).collect();
        if piece.begins {
            self.initial.extend(numbers.first());
        }
        let edges = piece.edges.into_iter();
        self.edges.extend(edges.map(|(from, to, step)| (numbers[from], numbers[to], step)));
    }

    fn state(
        &mut self,
        key: &Key,
        truths: &[bool],
        names: &[String],
        properties: &Properties,
    ) -> usize {
        *self.numbers.entry(*key).or_insert_with(|| {
            let controller = match key.up {
                0 => "down".to_owned(),
                1 => "up".to_owned(),
                replicas => format!("{replicas} up"),
            };
            let passed = Value::set(properties.having_passed(key.passed).map(Value::text));
            let told = [key.world.short(), key.cursor.to_string(), controller].map(Value::text);
            let told = TOLD.map(str::to_owned).into_iter().zip(told.into_iter().chain([passed]));
            let asked = names.iter().cloned().zip(truths.iter().map(|truth| Value::Bool(*truth)));
            self.states.push(told.chain(asked).collect());
            self.states.len() - 1
        })
    }

    /// Writes it. The formats of single runs get a file for each run of a set that goes along every edge:
    /// `graph-1.itf.json`, `graph-2.itf.json`, …; those that an earlier, longer set had beyond it are removed.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write(&self, file: &GraphFile) -> std::io::Result<()> {
        let edges = self.edges.iter().map(|(from, to, step)| Edge {
            from: *from,
            to: *to,
            action: Some(action(step)),
        });
        let initial = self.initial.iter().copied().collect();
        let graph = Graph::new(self.states.clone(), initial, edges.collect())
            .map_err(std::io::Error::other)?;
        let GraphFile { path, format } = file;
        let text = match format {
            Format::Dot => return std::fs::write(path, dot::write(&graph)),
            Format::Itf => |trace: &_| itf::write(trace, |_| None),
            Format::Ndjson => ndjson::write,
        };
        let runs = graph.edge_cover();
        for (run, number) in runs.iter().zip(1..) {
            std::fs::write(numbered(path, number), text(&graph.trace(run)))?;
        }
        let earlier = (runs.len() + 1..).map(|number| numbered(path, number));
        for file in earlier.take_while(|file| file.exists()) {
            std::fs::remove_file(file)?;
        }
        Ok(())
    }
}

/// The variables of every state.
const TOLD: [&str; 4] = ["world", "workload", "controller", "passed"];

/// The names of expressions as TLA+ may have them, each of another variable than all others.
fn variables(names: &[String]) -> Vec<String> {
    let mut taken: BTreeSet<String> = TOLD.map(str::to_owned).into();
    let mut variable = |name: &String| {
        let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut variable: String = name.chars().map(letter).collect();
        while !taken.insert(variable.clone()) {
            variable.push('_');
        }
        variable
    };
    names.iter().map(&mut variable).collect()
}

fn action(step: &Step) -> Action {
    let params = [&step.actor, &step.object].into_iter().filter(|text| !text.is_empty());
    let params = params.map(|text| Param { name: None, value: Value::text(text.clone()) });
    Action { name: step.verb.to_owned(), params: params.collect() }
}

/// `graph-3.itf.json`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, end) = name.split_once('.').unwrap_or((&name, ""));
    path.with_file_name(format!("{stem}-{number}.{end}"))
}

#[cfg(test)]
mod tests;
