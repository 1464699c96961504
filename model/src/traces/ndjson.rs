//! Our own form of traces and of recorded runs: one event a line, as JSON.
//!
//! ```text
//! {"state":{"created":false,"fooObjs":[]}}
//! {"action":{"name":"Take","params":[{"name":"p","value":"a"}]},"state":{"created":false,"fooObjs":[]}}
//! {"action":{"name":"Back"},"loop":0}
//! ```
//!
//! An event is a step: what was done, if that is known, and the values of variables after it. The first is where the run
//! begins. The last may say which event follows it for ever, counted from 0. Values are in the form of ITF
//! (`itf/value.rs`).
//!
//! In a *trace* every event has every variable. In a *record* of a real run an event has those that were observed, and
//! the others may have any value ([`super::accept`]). What this form can't carry: nothing of either.

use serde_json::{Map, Value as Json, json};

use super::{
    Action, Param, State, Trace,
    error::{Problem, ReadError},
    itf, pc,
};

/// What one line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The line, from 1.
    pub line: usize,
    /// What was done; none if it was not observed, and on the first line.
    pub action: Option<Action>,
    /// The variables whose values after it are known.
    pub state: State,
}

/// Reads a record of a real run, whose events may leave out variables.
///
/// # Errors
///
/// A line is no event: its number, and what was expected.
pub fn read_record(text: &str, file_name: &str) -> Result<Vec<Event>, ReadError> {
    let (events, loop_) = read_lines(text).map_err(|problem| problem.of(file_name))?;
    match loop_ {
        None => Ok(events),
        Some((line, ..)) => {
            Err(Problem::at(line, 1, "a record of a run has no `loop`").of(file_name))
        }
    }
}

/// Reads a trace.
pub(super) fn read(text: &str) -> Result<Trace, Problem> {
    let (events, loop_) = read_lines(text)?;
    let lines: Vec<usize> = events.iter().map(|event| event.line).collect();
    let mut actions: Vec<_> = events.iter().skip(1).map(|event| event.action.clone()).collect();
    let states = events.into_iter().map(|event| event.state).collect();
    let loop_line = loop_.as_ref().map_or(0, |(line, ..)| *line);
    let loop_ = loop_.map(|(_, target, action)| {
        actions.push(action);
        target
    });
    let mut trace = Trace::new(states, actions, loop_).map_err(|error| match error {
        super::ShapeError::OtherVariables { state, .. } => {
            Problem::at(lines[state], 1, error.to_string())
        }
        super::ShapeError::Loop { .. } => Problem::at(loop_line, 1, error.to_string()),
        other => Problem::whole(other.to_string()),
    })?;
    pc::name_steps(&mut trace);
    Ok(trace)
}

/// The line, the target and the action of what closes a loop.
type Loop = (usize, usize, Option<Action>);

fn read_lines(text: &str) -> Result<(Vec<Event>, Option<Loop>), Problem> {
    let mut events = Vec::new();
    let mut loop_: Option<Loop> = None;
    for (text, line) in text.lines().zip(1..).filter(|(text, _)| !text.trim().is_empty()) {
        if let Some((closed, ..)) = loop_ {
            return Err(Problem::at(line, 1, format!("line {closed} closed the loop")));
        }
        let json: Json = serde_json::from_str(text).map_err(|error| Problem {
            place: super::error::Place::At { line, column: error.column() },
            ..Problem::json(&error)
        })?;
        let located = |problem: Problem| match problem.place {
            super::error::Place::Path(path) => {
                Problem::at(line, 1, format!("{path}: {}", problem.what))
            }
            _ => problem,
        };
        let action = json.get("action").map(read_action).transpose().map_err(located)?;
        if let Some(target) = json.get("loop") {
            let index = target.as_u64().and_then(|index| usize::try_from(index).ok());
            let what = || format!("loop: expected the number of an event, found {target}");
            loop_ = Some((line, index.ok_or_else(|| Problem::at(line, 1, what()))?, action));
            continue;
        }
        let Some(Json::Object(vars)) = json.get("state") else {
            return Err(Problem::at(line, 1, "expected an object with `state`"));
        };
        let state = vars.iter().map(|(name, value)| {
            Ok((name.clone(), itf::value::read(value, &format!("state.{name}"))?))
        });
        let state = state.collect::<Result<State, _>>().map_err(located)?;
        events.push(Event { line, action, state });
    }
    Ok((events, loop_))
}

fn read_action(json: &Json) -> Result<Action, Problem> {
    let Some(name) = json.get("name").and_then(Json::as_str) else {
        return Err(Problem::path(
            "action",
            format!("expected an object with `name`, found {json}"),
        ));
    };
    let params = match json.get("params") {
        None => &[],
        Some(Json::Array(params)) => params.as_slice(),
        Some(other) => {
            return Err(Problem::path(
                "action.params",
                format!("expected an array, found {other}"),
            ));
        }
    };
    let param = |(at, param): (usize, &Json)| {
        let path = format!("action.params[{at}]");
        let Some(value) = param.get("value") else {
            return Err(Problem::path(path, "expected an object with `value`"));
        };
        let name = param.get("name").and_then(Json::as_str).map(str::to_owned);
        Ok(Param { name, value: itf::value::read(value, &format!("{path}.value"))? })
    };
    let params = params.iter().enumerate().map(param).collect::<Result<_, _>>()?;
    Ok(Action { name: name.to_owned(), params })
}

/// `trace`, one event a line.
pub fn write(trace: &Trace) -> String {
    let mut lines = String::new();
    let led_here = [None].into_iter().chain(trace.actions.iter().map(Option::as_ref));
    for (state, action) in trace.states.iter().zip(led_here) {
        lines.push_str(&write_event(action, state));
    }
    if let Some(loop_) = trace.loop_ {
        let mut line = write_head(trace.actions.last().and_then(Option::as_ref));
        line.insert("loop".to_owned(), json!(loop_));
        lines.push_str(&format!("{}\n", Json::Object(line)));
    }
    lines
}

/// One event, with its line break.
pub fn write_event(action: Option<&Action>, state: &State) -> String {
    let mut line = write_head(action);
    let state: Map<String, Json> =
        state.iter().map(|(name, value)| (name.clone(), itf::value::write(value))).collect();
    line.insert("state".to_owned(), Json::Object(state));
    format!("{}\n", Json::Object(line))
}

fn write_head(action: Option<&Action>) -> Map<String, Json> {
    let Some(action) = action else { return Map::new() };
    let param = |param: &Param| {
        let mut json = json!({ "value": itf::value::write(&param.value) });
        if let Some(name) = &param.name {
            json["name"] = json!(name);
        }
        json
    };
    let mut json = json!({ "name": action.name });
    if !action.params.is_empty() {
        json["params"] = action.params.iter().map(param).collect();
    }
    [("action".to_owned(), json)].into_iter().collect()
}

#[cfg(test)]
mod tests;
