//! ITF, the JSON of Apalache (ADR-015) and Quint: `{vars, states, loop?}`, the values as `itf/value.rs` says.
//!
//! Names of actions stand in variables. Quint's `mbt::actionTaken` and `mbt::nondetPicks` in state `i` are about the
//! step that led there; they are no part of the model and are taken out of the states. Those of state 0 are not looked
//! at: it is what Quint's `init` did, or, before 0.33.0, possibly something else (quint#2012). Apalache has no such
//! variables, but specifications are written with one; `action_taken` and `actionTaken` are known, and stay in the
//! states. Steps without a name are named by `pc`.
//!
//! Written is what Quint writes, so its tools read it: a name is `mbt::actionTaken` (empty if there is none), each
//! parameter a variant `Some` of `mbt::nondetPicks`. A parameter without a name is called by its number. The action that
//! closes a loop leads to no further state and stands in `#meta.closing`. What ITF can't carry: nothing of a trace.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::{Action, Param, ShapeError, State, Trace, Value, error::Problem, label, pc};

pub(crate) mod value;

const ACTION_TAKEN: &str = "mbt::actionTaken";
const PICKS: &str = "mbt::nondetPicks";

/// Variables of specifications that say the name of the action, which Apalache's users agree on.
const BY_CONVENTION: [&str; 2] = ["action_taken", "actionTaken"];

/// Reads a document.
pub(super) fn read(document: &Map<String, Json>) -> Result<Trace, Problem> {
    let Some(Json::Array(states)) = document.get("states") else {
        return Err(Problem::path("states", "expected an array of states"));
    };
    let vars = vars(document)?;
    let read = states.iter().enumerate().map(|(at, state)| read_state(state, at, vars.as_deref()));
    let mut states = read.collect::<Result<Vec<State>, _>>()?;
    let loop_ = read_loop(document, states.len())?;
    let mut actions = Vec::new();
    for (at, state) in states.iter_mut().enumerate() {
        let action = take_action(state, &format!("states[{at}]"))?;
        if at > 0 {
            actions.push(action);
        }
    }
    if loop_.is_some() {
        actions.push(closing(document)?);
    }
    let mut trace = Trace::new(states, actions, loop_).map_err(|error| shape(&error, "states"))?;
    pc::name_steps(&mut trace);
    Ok(trace)
}

/// Where in a document a wrong shape is; its states are the array `states`.
pub(super) fn shape(error: &ShapeError, states: &str) -> Problem {
    let path = match error {
        ShapeError::OtherVariables { state, .. } => format!("{states}[{state}]"),
        ShapeError::Loop { .. } => "loop".to_owned(),
        _ => states.to_owned(),
    };
    Problem::path(path, error.to_string())
}

fn vars(document: &Map<String, Json>) -> Result<Option<Vec<&str>>, Problem> {
    let wrong = || Problem::path("vars", "expected an array of names");
    let Some(vars) = document.get("vars") else { return Ok(None) };
    let names = vars.as_array().ok_or_else(wrong)?.iter();
    names.map(|name| name.as_str().ok_or_else(wrong)).collect::<Result<_, _>>().map(Some)
}

fn read_state(state: &Json, at: usize, vars: Option<&[&str]>) -> Result<State, Problem> {
    let path = format!("states[{at}]");
    let Json::Object(state) = state else {
        return Err(Problem::path(path, format!("expected a state, found {state}")));
    };
    let named = state.iter().filter(|(name, _)| *name != "#meta");
    let read =
        named.map(|(name, json)| Ok((name.clone(), value::read(json, &format!("{path}.{name}"))?)));
    let state: State = read.collect::<Result<_, _>>()?;
    match vars.into_iter().flatten().find(|name| !state.contains_key(**name)) {
        Some(missing) => Err(Problem::path(
            path,
            format!("expected the variable `{missing}`, which `vars` names"),
        )),
        None => Ok(state),
    }
}

fn read_loop(document: &Map<String, Json>, states: usize) -> Result<Option<usize>, Problem> {
    let Some(json) = document.get("loop").filter(|json| !json.is_null()) else { return Ok(None) };
    let index = json.as_u64().and_then(|index| usize::try_from(index).ok());
    match index.filter(|index| *index < states) {
        Some(index) => Ok(Some(index)),
        None => {
            let what = format!("expected the index of one of {states} states, found {json}");
            Err(Problem::path("loop", what))
        }
    }
}

/// Takes what Quint says of the step that led to `state`, or looks at what a specification says by convention.
fn take_action(state: &mut State, path: &str) -> Result<Option<Action>, Problem> {
    let picks = state.remove(PICKS);
    let name = match state.remove(ACTION_TAKEN) {
        Some(name) => Some(name),
        None => BY_CONVENTION.iter().find_map(|name| state.get(*name)).cloned(),
    };
    match name {
        Some(Value::Text(name)) => {
            Ok(label::named(&name, picks.map(|picks| params(&picks)).unwrap_or_default()))
        }
        Some(other) if picks.is_some() => Err(Problem::path(
            format!("{path}.{ACTION_TAKEN}"),
            format!("expected a string, found {other}"),
        )),
        _ => Ok(None),
    }
}

/// The picks that were made: those that are `Some`. A pick that was not made is `None`, and Quint before variants had
/// the bare value.
fn params(picks: &Value) -> Vec<Param> {
    let made = |(key, pick): (Value, &Value)| {
        let value = match pick.get(&"tag".into()) {
            Some(Value::Text(tag)) if tag == "None" => return None,
            Some(Value::Text(tag)) if tag == "Some" => pick.get(&"value".into())?.clone(),
            _ => pick.clone(),
        };
        let name = match key {
            Value::Text(name) if name.parse::<usize>().is_ok() => None,
            Value::Text(name) => Some(name),
            _ => None,
        };
        Some(Param { name, value })
    };
    let mut params: Vec<(Option<usize>, Param)> = Vec::new();
    for (key, pick) in picks.pairs().unwrap_or_default() {
        let number = match &key {
            Value::Text(name) => name.parse().ok(),
            _ => None,
        };
        params.extend(made((key, pick)).map(|param| (number, param)));
    }
    params.sort_by_key(|(number, _)| *number);
    params.into_iter().map(|(_, param)| param).collect()
}

fn closing(document: &Map<String, Json>) -> Result<Option<Action>, Problem> {
    let Some(json) = document.get("#meta").and_then(|meta| meta.get("closing")) else {
        return Ok(None);
    };
    let path = "#meta.closing";
    let Value::Record(mut state) = value::read(json, path)? else {
        return Err(Problem::path(path, format!("expected a record, found {json}")));
    };
    take_action(&mut state, path)
}

/// `trace` as an ITF document.
///
/// `operations` says for a state, by its position, what is done at the API to come to the next one, as JSON; it stands
/// in the state's `#meta.operation`, where readers of ITF do not look.
pub fn write(trace: &Trace, operations: impl Fn(usize) -> Option<Json>) -> String {
    let with_actions = trace.actions.iter().any(Option::is_some);
    let mut vars: Vec<&str> = trace.vars.iter().map(String::as_str).collect();
    if with_actions {
        vars.extend([ACTION_TAKEN, PICKS]);
    }
    let states: Vec<Json> = (0..trace.states.len())
        .map(|at| {
            let mut state: BTreeMap<String, Json> = trace.states[at]
                .iter()
                .map(|(name, of)| (name.clone(), value::write(of)))
                .collect();
            let mut meta = json!({ "index": at });
            if let Some(operation) = operations(at) {
                meta["operation"] = operation;
            }
            state.insert("#meta".to_owned(), meta);
            if with_actions {
                let led_here = at.checked_sub(1).and_then(|before| trace.actions[before].as_ref());
                let first = Action::named("init");
                state.extend(action(if at == 0 { Some(&first) } else { led_here }));
            }
            json!(state)
        })
        .collect();
    let mut meta = json!({
        "format": "ITF",
        "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
    });
    let mut document = json!({ "vars": vars, "states": states });
    if let Some(loop_) = trace.loop_ {
        document["loop"] = json!(loop_);
        if let Some(Some(last)) = trace.actions.last() {
            meta["closing"] = json!(action(Some(last)));
        }
    }
    document["#meta"] = meta;
    format!("{document:#}\n")
}

/// What Quint's variables say of a step.
fn action(action: Option<&Action>) -> BTreeMap<String, Json> {
    let params = action.map(|action| action.params.as_slice()).unwrap_or_default();
    let pick = |(at, param): (usize, &Param)| {
        let name = param.name.clone().unwrap_or_else(|| (at + 1).to_string());
        (name, json!({ "tag": "Some", "value": value::write(&param.value) }))
    };
    let picks: Map<String, Json> = params.iter().enumerate().map(pick).collect();
    let name = action.map(|action| action.name.as_str()).unwrap_or_default();
    BTreeMap::from([(ACTION_TAKEN.to_owned(), json!(name)), (PICKS.to_owned(), json!(picks))])
}

#[cfg(test)]
mod tests;
