//! The two shapes of JSON that TLC's `-dumpTrace json` writes.
//!
//! - 2.18: an array of states, without names of actions. They are named by `pc`.
//! - later: an object whose `state` is an array of pairs of number and state, and whose `action` is an array of steps:
//!   the pair before, `{name, location, context?, parameters?}`, the pair after. A step to an earlier number closes a
//!   loop, one to the same number is stuttering (TLC's `_JsonTrace.tla`). Since 2026 all this stands in
//!   `counterexample`, with `vars` beside it.
//!
//! What this JSON can't carry: sets, sequences and tuples are arrays alike, and read as sequences; strings and model
//! values are strings alike; keys of functions are strings. So a value read from it may differ from the same read from
//! TLC's text. Nothing is written in this form.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::{
    Action, Param, State, Trace, Value,
    error::Problem,
    itf::{self, shape},
    label, pc,
};

/// Reads the array of states.
pub(super) fn read_array(states: &[Json]) -> Result<Trace, Problem> {
    let states = states.iter().enumerate();
    let states = states
        .map(|(at, json)| state(json, &format!("states[{at}]")))
        .collect::<Result<Vec<State>, _>>()?;
    let actions = vec![None; states.len().saturating_sub(1)];
    let mut trace = Trace::new(states, actions, None).map_err(|error| shape(&error, "states"))?;
    pc::name_steps(&mut trace);
    Ok(trace)
}

/// Reads the object with `state` and `action`.
pub(super) fn read_object(document: &Map<String, Json>) -> Result<Trace, Problem> {
    let list = |name: &str| match document.get(name) {
        Some(Json::Array(list)) => Ok(list.as_slice()),
        Some(other) => Err(Problem::path(name, format!("expected an array, found {other}"))),
        None => Err(Problem::path(name, "expected an array, found nothing")),
    };
    let mut numbers = BTreeMap::new();
    let mut states = Vec::new();
    for (at, json) in list("state")?.iter().enumerate() {
        let path = format!("state[{at}]");
        numbers.insert(number(json, &path)?, at);
        states.push(state(&json[1], &format!("{path}[1]"))?);
    }
    let mut actions = vec![None; states.len().saturating_sub(1)];
    let mut loop_ = None;
    for (at, step) in list("action")?.iter().enumerate() {
        let path = format!("action[{at}]");
        let position = |of: usize| {
            let number = number(&step[of], &format!("{path}[{of}]"))?;
            numbers.get(&number).copied().ok_or_else(|| {
                Problem::path(format!("{path}[{of}]"), format!("there is no state {number}"))
            })
        };
        let (from, to) = (position(0)?, position(2)?);
        let action = action(&step[1], &format!("{path}[1]"))?;
        if to == from + 1 {
            actions[from] = action;
        } else if from + 1 == states.len() && loop_.is_none() {
            loop_ = Some(to);
            actions.push(action);
        } else {
            let what = "expected a step to the next state, or from the last state back";
            return Err(Problem::path(path, what));
        }
    }
    let mut trace = Trace::new(states, actions, loop_).map_err(|error| shape(&error, "state"))?;
    pc::name_steps(&mut trace);
    Ok(trace)
}

/// The number of a pair of number and state.
fn number(pair: &Json, path: &str) -> Result<u64, Problem> {
    let wrong = || Problem::path(path, format!("expected a number and a state, found {pair}"));
    match pair.as_array().map(Vec::as_slice) {
        Some([number, Json::Object(_)]) => number.as_u64().ok_or_else(wrong),
        _ => Err(wrong()),
    }
}

fn action(json: &Json, path: &str) -> Result<Option<Action>, Problem> {
    let Some(name) = json.get("name").and_then(Json::as_str) else {
        return Err(Problem::path(path, format!("expected an action with a name, found {json}")));
    };
    let context = json.get("context").and_then(Json::as_object);
    let order = json.get("parameters").and_then(Json::as_array);
    let names: Vec<&str> = match (order, context) {
        (Some(order), _) => order.iter().filter_map(Json::as_str).collect(),
        (None, Some(context)) => context.keys().map(String::as_str).collect(),
        (None, None) => Vec::new(),
    };
    let param = |name: &str| {
        let value = context.and_then(|context| context.get(name))?;
        let path = format!("{path}.context.{name}");
        Some(value_of(value, &path).map(|value| Param { name: Some(name.to_owned()), value }))
    };
    let params = names.into_iter().filter_map(param).collect::<Result<_, _>>()?;
    Ok(label::named(name, params))
}

fn state(json: &Json, path: &str) -> Result<State, Problem> {
    let Json::Object(vars) = json else {
        return Err(Problem::path(path, format!("expected a state, found {json}")));
    };
    let var = |(name, value): (&String, &Json)| {
        Ok((name.clone(), value_of(value, &format!("{path}.{name}"))?))
    };
    vars.iter().map(var).collect()
}

fn value_of(json: &Json, path: &str) -> Result<Value, Problem> {
    match json {
        Json::Bool(value) => Ok(Value::Bool(*value)),
        Json::String(text) => Ok(Value::text(text)),
        Json::Number(number) => itf::value::integer(number, path),
        Json::Null => Err(Problem::path(path, "expected a value, found null")),
        Json::Array(items) => {
            let items = items.iter().enumerate();
            let items = items.map(|(at, item)| value_of(item, &format!("{path}[{at}]")));
            Ok(Value::Seq(items.collect::<Result<_, _>>()?))
        }
        Json::Object(fields) => {
            let field = |(name, value): (&String, &Json)| {
                Ok((name.clone(), value_of(value, &format!("{path}.{name}"))?))
            };
            Ok(Value::record(fields.iter().map(field).collect::<Result<Vec<_>, _>>()?))
        }
    }
}

#[cfg(test)]
mod tests;
