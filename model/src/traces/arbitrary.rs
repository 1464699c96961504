//! Values, traces and graphs for tests of round trips.

use proptest::{collection::vec, option, prelude::*};

use super::{Action, Edge, Graph, Param, State, Trace, Value};

/// Names of variables; `pc` is none of them, because names of actions are made from it.
const VARS: [&str; 3] = ["x", "items", "mode"];

/// A string, with what is written with escapes here and there.
fn text() -> impl Strategy<Value = String> {
    "[a-c \"\\\\\n\t\r\u{c}#é/@]{0,5}"
}

fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9_]{0,3}"
}

fn integer() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-3i128..4).prop_map(Value::Int),
        any::<i128>().prop_map(Value::Int),
        "-?[1-9][0-9]{40,45}".prop_map(|digits| Value::integer(&digits).unwrap()),
    ]
}

/// Values of every form.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        integer(),
        text().prop_map(Value::Text),
        "[a-z0-9_]{0,2}[a-z]".prop_map(Value::Model),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::set),
            vec(inner.clone(), 0..4).prop_map(Value::seq),
            vec((name(), inner.clone()), 0..4).prop_map(Value::record),
            vec((text(), inner.clone()), 0..3).prop_map(Value::record),
            vec((inner.clone(), inner), 0..4).prop_map(Value::function),
        ]
    })
}

fn action() -> impl Strategy<Value = Action> {
    let params = prop_oneof![
        vec(value(), 0..3).prop_map(|values| values
            .into_iter()
            .map(|value| Param { name: None, value })
            .collect()),
        proptest::collection::btree_map(name(), value(), 0..3).prop_map(|named| named
            .into_iter()
            .map(|(name, value)| Param { name: Some(name), value })
            .collect::<Vec<_>>()),
    ];
    ("[A-Z][a-z]{0,4}", params).prop_map(|(name, params)| Action { name, params })
}

fn state() -> impl Strategy<Value = State> {
    vec(value(), VARS.len())
        .prop_map(|values| VARS.iter().map(|name| (*name).to_owned()).zip(values).collect())
}

/// Traces of every shape: with and without a loop, with names for none, some and all of the steps.
pub(crate) fn trace() -> impl Strategy<Value = Trace> {
    let shape = (vec(state(), 1..5), vec(option::of(action()), 5), option::of(any::<usize>()));
    shape.prop_map(|(states, mut actions, loop_)| {
        let loop_ = loop_.map(|at| at % states.len());
        actions.truncate(states.len() - 1 + usize::from(loop_.is_some()));
        Trace::new(states, actions, loop_).expect("all states have the same variables")
    })
}

/// Graphs with several initial states, self loops, and edges side by side.
pub(crate) fn graph() -> impl Strategy<Value = Graph> {
    let shape =
        (vec(state(), 1..6), vec((any::<usize>(), any::<usize>(), option::of(action())), 0..9));
    (shape, vec(any::<usize>(), 1..3)).prop_map(|((states, edges), initial)| {
        let count = states.len();
        let edges = edges
            .into_iter()
            .map(|(from, to, action)| Edge { from: from % count, to: to % count, action })
            .collect();
        let initial = initial.into_iter().map(|at| at % count).collect();
        Graph::new(states, initial, edges).expect("all states have the same variables")
    })
}
