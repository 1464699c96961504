//! Values and states of the crate as ours.

use std::sync::Arc;

use tla_checker::ast;

use crate::traces::{Action, State, Value};

/// Sets that are not enumerated, as `Nat`, are model values: names.
pub(super) fn value(value: &ast::Value) -> Value {
    let elements = |items: &mut dyn Iterator<Item = &ast::Value>| items.map(self::value).collect();
    match value {
        ast::Value::Bool(value) => Value::Bool(*value),
        ast::Value::Int(number) => Value::Int((*number).into()),
        ast::Value::Str(text) => Value::text(&**text),
        ast::Value::Model(name) => Value::Model(name.to_string()),
        ast::Value::IntSet(domain) => Value::Model(domain.name().to_owned()),
        ast::Value::Set(set) => Value::set(set.iter().map(self::value)),
        ast::Value::Tuple(tuple) => Value::Seq(elements(&mut tuple.iter())),
        ast::Value::Record(fields) => {
            Value::record(fields.iter().map(|(name, of)| (&**name, self::value(of))))
        }
        ast::Value::Fn(pairs) => {
            Value::function(pairs.iter().map(|(key, of)| (self::value(key), self::value(of))))
        }
    }
}

/// A state, whose values are in the order of `vars`.
pub(super) fn state(vars: &[Arc<str>], state: &ast::State) -> State {
    vars.iter().map(ToString::to_string).zip(state.values.iter().map(value)).collect()
}

pub(super) fn action(name: Option<&Arc<str>>) -> Option<Action> {
    name.map(|name| Action::named(&**name))
}

/// What a state takes, in bytes: its values, and what they point to.
pub(super) fn bytes(state: &ast::State) -> usize {
    size_of::<ast::State>() + state.values.iter().map(bytes_of).sum::<usize>()
}

fn bytes_of(value: &ast::Value) -> usize {
    let inside = match value {
        ast::Value::Bool(_) | ast::Value::Int(_) | ast::Value::IntSet(_) => 0,
        ast::Value::Str(text) | ast::Value::Model(text) => text.len(),
        ast::Value::Set(set) => set.iter().map(bytes_of).sum(),
        ast::Value::Tuple(tuple) => tuple.iter().map(bytes_of).sum(),
        ast::Value::Record(fields) => {
            fields.iter().map(|(name, of)| size_of_val(name) + bytes_of(of)).sum()
        }
        ast::Value::Fn(pairs) => pairs.iter().map(|(key, of)| bytes_of(key) + bytes_of(of)).sum(),
    };
    size_of::<ast::Value>() + inside
}
