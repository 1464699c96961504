//! The trace as a table, states by variables. What does not change is dimmed, a loop is a bracket beside its states.

use model::traces::Trace;

use super::super::text;

/// The table.
pub(super) struct Table<'a> {
    pub vars: &'a [String],
    pub rows: Vec<Row>,
    /// Where a lasso goes on.
    pub again: Option<String>,
}

/// One state.
pub(super) struct Row {
    /// From 1, as in the text.
    pub number: usize,
    pub action: String,
    /// Its number in the graph.
    pub state: Option<usize>,
    pub cells: Vec<Cell>,
    pub gutter: Gutter,
}

/// The value of a variable.
pub(super) struct Cell {
    pub text: String,
    pub is_changed: bool,
}

/// What stands beside a row.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Gutter {
    /// No loop in the trace, or its bracket began above.
    None,
    /// The row is before the loop.
    Before,
    /// The bracket of this many rows begins.
    Loop(usize),
}

impl<'a> Table<'a> {
    /// The table of a trace whose states have these numbers.
    pub fn new(trace: &'a Trace, numbers: &[Option<usize>]) -> Self {
        let row = |at: usize| {
            let state = &trace.states[at];
            let before = at.checked_sub(1).map(|before| &trace.states[before]);
            let cell = |(name, value): (&String, &model::traces::Value)| Cell {
                text: value.to_string(),
                is_changed: before.is_none_or(|before| before.get(name) != Some(value)),
            };
            let action = at.checked_sub(1).map(|before| trace.actions[before].as_ref());
            Row {
                number: at + 1,
                action: action.map_or_else(|| "initial state".to_owned(), text::named),
                state: numbers.get(at).copied().flatten(),
                cells: state.iter().map(cell).collect(),
                gutter: gutter(trace, at),
            }
        };
        Self {
            vars: &trace.vars,
            rows: (0..trace.states.len()).map(row).collect(),
            again: trace.loop_.map(|loop_| text::again(trace, loop_)),
        }
    }
}

fn gutter(trace: &Trace, at: usize) -> Gutter {
    match trace.loop_ {
        Some(loop_) if at < loop_ => Gutter::Before,
        Some(loop_) if at == loop_ => Gutter::Loop(trace.states.len() - loop_),
        _ => Gutter::None,
    }
}
