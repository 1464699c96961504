//! Runs of models, in the formats of the checkers that find them.
//!
//! All formats are read into one form ([`Trace`], or [`Graph`] where there is more than one run), so what is done with a
//! trace does not depend on where it comes from. [`read`] tells the format by the content of a text, never by its name.
//!
//! | format | read | written | by |
//! |---|---|---|---|
//! | ITF of Apalache and Quint | [`Trace`] | [`itf::write`] | `itf.rs` |
//! | JSON of TLC, two shapes | [`Trace`] | | `tlc_json.rs` |
//! | text of TLC | [`Trace`] | | `tlc_text.rs` |
//! | DOT of TLC | [`Graph`] | [`dot::write`], [`dot::write_trace`] | `dot.rs` |
//! | text of a trace panel | [`Trace`] | | `panel.rs` |
//! | our own ndjson | [`Trace`] | [`ndjson::write`] | `ndjson.rs` |
//!
//! What a format can't carry stands at the head of its file. [`accept`] holds a record of a real run against a model. No IO
//! here.

use serde_json::Value as Json;

pub mod accept;
#[cfg(test)]
mod arbitrary;
mod assignments;
pub mod dot;
mod error;
mod graph;
pub mod itf;
mod label;
pub mod literal;
pub mod ndjson;
mod panel;
mod pc;
mod tlc_json;
mod tlc_text;
mod trace;
mod value;

pub use error::{Place, ReadError};
pub use graph::{Edge, Graph, GraphSystem, Path};
pub use trace::{Action, Param, ShapeError, State, Trace};
pub use value::{Value, is_identifier};

use error::Problem;

/// What a text holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// One run.
    Trace(Trace),
    /// A state graph.
    Graph(Graph),
}

impl Read {
    /// The one run that this is, also if it is a graph that never branches.
    pub fn into_trace(self) -> Option<Trace> {
        match self {
            Self::Trace(trace) => Some(trace),
            Self::Graph(graph) => graph.only_trace(),
        }
    }

    /// The graph that this is, also if it has but one run.
    pub fn into_graph(self) -> Graph {
        match self {
            Self::Trace(trace) => Graph::of_trace(&trace),
            Self::Graph(graph) => graph,
        }
    }
}

/// Reads a text in any of the formats; `file_name` is for errors only.
///
/// # Errors
///
/// The text is in none of the formats, or not right in the one that it seems to be in: where, and what was expected.
pub fn read(text: &str, file_name: &str) -> Result<Read, ReadError> {
    let text = text.trim_start_matches('\u{feff}');
    let read = match text.trim_start().as_bytes().first() {
        Some(b'{' | b'[') => read_json(text).map(Read::Trace),
        _ if dot::is_this(text) => dot::read(text).map(Read::Graph),
        _ if tlc_text::is_this(text) => tlc_text::read(text).map(Read::Trace),
        _ if panel::is_this(text) => panel::read(text).map(Read::Trace),
        _ => Err(Problem::whole(
            "expected a trace: ITF or TLC's JSON, a DOT graph, TLC's output, or the text of a trace panel",
        )),
    };
    read.map_err(|problem| problem.of(file_name))
}

fn read_json(text: &str) -> Result<Trace, Problem> {
    let json = match serde_json::from_str::<Json>(text) {
        Ok(json) => json,
        Err(error) => {
            let first = text.trim_start().lines().next().unwrap_or_default();
            let is_event = serde_json::from_str::<Json>(first).is_ok_and(|json| is_event(&json));
            return if is_event { ndjson::read(text) } else { Err(Problem::json(&error)) };
        }
    };
    match &json {
        Json::Array(states) => tlc_json::read_array(states),
        Json::Object(_) if is_event(&json) => ndjson::read(text),
        Json::Object(document) if document.contains_key("states") => itf::read(document),
        Json::Object(document) => match document.get("counterexample").unwrap_or(&json) {
            Json::Object(inner) if inner.contains_key("state") => tlc_json::read_object(inner),
            _ => {
                let what = "expected `states` (ITF), `state` (TLC) or one event a line (ndjson)";
                Err(Problem::path("the document", what))
            }
        },
        _ => unreachable!("a text that begins with a bracket is an array or an object"),
    }
}

/// Whether this is an event of our ndjson: an object whose `state` is one.
fn is_event(json: &Json) -> bool {
    json.get("state").is_some_and(Json::is_object)
}

#[cfg(test)]
pub(crate) mod tests;

/// The trace of a text whose states begin at these lines, with the names of its steps.
fn of_lines(
    states: Vec<State>,
    actions: Vec<Option<Action>>,
    loop_: Option<usize>,
    places: &[usize],
) -> Result<Trace, Problem> {
    let mut trace = Trace::new(states, actions, loop_).map_err(|error| match error {
        ShapeError::OtherVariables { state, .. } => {
            Problem::at(places[state], 1, error.to_string())
        }
        other => Problem::whole(other.to_string()),
    })?;
    pc::name_steps(&mut trace);
    Ok(trace)
}
