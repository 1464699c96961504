//! Functions of lists and maps.

use jmespath::{Rcvar, Runtime, Variable, functions::ArgumentType};

use super::{add, int, string, text, whole};
use crate::expression::to_variable;

pub(super) fn register(runtime: &mut Runtime) {
    use ArgumentType::{Any, Array, Number as Num, Object, String as Text};
    add(runtime, "at", [Array, Num], |a| {
        let items = a[0].as_array().map(Vec::as_slice).unwrap_or_default();
        let index = usize::try_from(whole(&a[1])?).ok();
        let item = index.and_then(|index| items.get(index));
        item.map(|item| (**item).clone()).ok_or_else(|| "the index is out of range".to_owned())
    });
    add(runtime, "items", [ArgumentType::Union(vec![Object, Array]), Text, Text], |a| {
        let pair = |key: Variable, value: &Rcvar| {
            let entries = [
                (string(&a[1]).to_owned(), Rcvar::new(key)),
                (string(&a[2]).to_owned(), value.clone()),
            ];
            Rcvar::new(Variable::Object(entries.into_iter().collect()))
        };
        Ok(Variable::Array(match &*a[0] {
            Variable::Object(map) => map.iter().map(|(key, v)| pair(text(key), v)).collect(),
            Variable::Array(items) => {
                items.iter().enumerate().map(|(index, v)| pair(int(index as i64), v)).collect()
            }
            _ => Vec::new(),
        }))
    });
    for name in ["json_parse", "parse_json"] {
        add(runtime, name, [Text], |a| {
            let value = serde_json::from_str(string(&a[0])).map_err(|error| error.to_string())?;
            Ok((*to_variable(&value)).clone())
        });
    }
    add(runtime, "parse_yaml", [Text], |a| {
        let nodes = crate::node::parse("parse_yaml".as_ref(), string(&a[0]));
        let nodes = nodes.map_err(|error| error.to_string())?;
        Ok(nodes.first().map_or(Variable::Null, |node| (*to_variable(&node.to_json())).clone()))
    });
    add(runtime, "label_match", [Object, Object], |a| {
        let labels = a[1].as_object();
        Ok(Variable::Bool(a[0].as_object().into_iter().flatten().all(|(key, value)| {
            labels.and_then(|labels| labels.get(key)).is_some_and(|found| found == value)
        })))
    });
    // The first argument is put there by `expression`: the variables that there are.
    add(runtime, "env", [Object, Text], |a| {
        let found = a[0].as_object().and_then(|variables| variables.get(string(&a[1])));
        let found = found.map(|value| (**value).clone());
        found.ok_or_else(|| crate::scope::unlisted(string(&a[1])))
    });
    let container = || ArgumentType::Union(vec![Object, Array]);
    add(runtime, "lookup", [container(), ArgumentType::Union(vec![Text, Num])], |a| {
        let found = match (&*a[0], &*a[1]) {
            (Variable::Object(map), Variable::String(key)) => map.get(key),
            (Variable::Array(items), Variable::Number(_)) => {
                usize::try_from(whole(&a[1])?).ok().and_then(|index| items.get(index))
            }
            _ => return Err("an object is looked up by a string, an array by a number".to_owned()),
        };
        Ok(found.map_or(Variable::Null, |value| (**value).clone()))
    });
    let list = || ArgumentType::TypedArray(Box::new(Text));
    add(runtime, "object_from_lists", [list(), ArgumentType::TypedArray(Box::new(Any))], |a| {
        let keys = a[0].as_array().map(Vec::as_slice).unwrap_or_default();
        let values = a[1].as_array().map(Vec::as_slice).unwrap_or_default();
        let null = Rcvar::new(Variable::Null);
        let value = |index| values.get(index).unwrap_or(&null).clone();
        let entries = keys.iter().enumerate();
        Ok(Variable::Object(
            entries.map(|(index, key)| (string(key).to_owned(), value(index))).collect(),
        ))
    });
}
