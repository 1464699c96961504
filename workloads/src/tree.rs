//! Assertion trees, as kyverno-json defines them and chainsaw uses them.
//!
//! A map asserts each of its keys and ignores the rest of the object; a list asserts the same length and
//! item by item; a scalar asserts equality (numbers by value). Keys may be
//! `(expression)`, evaluated on the value at hand; `~.key` or `~name.(expression)`, which asserts
//! every item of a list or value of a map, its index or key bound to `$name`; `key->name`, which binds what
//! the key gave to `$name` for the keys written after it (chainsaw's order is random here) and below. `\key\`
//! takes `key` literally. We also read `~(expression)`, the form before the dot was introduced.
//!
//! Where kyverno-json stops with an internal error (a list where a map is expected, types that can't be
//! compared), we report a mismatch at that path: an object of another shape does not match.

use std::fmt;

use serde_json::Value;

use crate::{
    expression::{Bindings, EvaluationError, Expression},
    node::{Content, Entry, Node},
    place::{LoadError, Place},
    template::{Source, expression_of},
};

/// A compiled assertion tree.
#[derive(Debug, Clone)]
pub(crate) enum Tree {
    Constant(Value),
    Expression(Expression),
    List(Vec<Tree>),
    Map(Vec<Key>),
}

/// One key of a map in a tree.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    /// As it is written, for paths.
    shown: String,
    projection: Projection,
    each: Option<Each>,
    bind: Option<String>,
    tree: Tree,
}

#[derive(Debug, Clone)]
enum Projection {
    Field(String),
    Expression(Expression),
}

#[derive(Debug, Clone)]
struct Each {
    name: Option<String>,
}

/// One place at which an object does not match.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// Path within the object, `.status.replicas`.
    pub path: String,
    /// What was expected, in words.
    pub expected: String,
    /// What was found, in words.
    pub found: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "." } else { &self.path };
        write!(f, "{path}: expected {}, found {}", self.expected, self.found)
    }
}

impl Tree {
    /// Compiles a node.
    pub fn compile(node: &Node) -> Result<Tree, LoadError> {
        Ok(match &node.content {
            Content::Text(text) => {
                if text.starts_with('~') && text[1..].contains('.') && text.ends_with(')') {
                    return Err(node.place.error("`~` iterates in keys, not in values"));
                }
                match expression_of(text, &node.place)? {
                    Source::Text(text) => Tree::Constant(Value::String(text)),
                    Source::Expression(expression) => Tree::Expression(expression),
                }
            }
            Content::List(items) => {
                Tree::List(items.iter().map(Tree::compile).collect::<Result<_, _>>()?)
            }
            Content::Map(entries) => {
                Tree::Map(entries.iter().map(Key::compile).collect::<Result<_, _>>()?)
            }
            _ => Tree::Constant(node.to_json()),
        })
    }

    /// All places at which `value` does not match; empty if it matches.
    pub fn mismatches(
        &self,
        value: &Value,
        bindings: &Bindings,
    ) -> Result<Vec<Mismatch>, EvaluationError> {
        let mut found = Vec::new();
        self.assert("", value, bindings, &mut found)?;
        Ok(found)
    }

    /// Calls `see` on every expression with the names that the tree itself binds above it.
    pub fn expressions<'a>(
        &'a self,
        bound: &mut Vec<&'a str>,
        see: &mut dyn FnMut(&'a Expression, &[&'a str]),
    ) {
        match self {
            Tree::Constant(_) => {}
            Tree::Expression(expression) => see(expression, bound),
            Tree::List(items) => items.iter().for_each(|item| item.expressions(bound, see)),
            Tree::Map(keys) => {
                let outside = bound.len();
                for key in keys {
                    if let Projection::Expression(expression) = &key.projection {
                        see(expression, bound);
                    }
                    bound.extend(key.bind.as_deref());
                    let before = bound.len();
                    bound.extend(key.each.as_ref().and_then(|each| each.name.as_deref()));
                    key.tree.expressions(bound, see);
                    bound.truncate(before);
                }
                bound.truncate(outside);
            }
        }
    }

    fn assert(
        &self,
        path: &str,
        value: &Value,
        bindings: &Bindings,
        out: &mut Vec<Mismatch>,
    ) -> Result<(), EvaluationError> {
        match self {
            Tree::Constant(expected) => compare(path, expected, value, out),
            Tree::Expression(expression) => {
                let expected = expression.evaluate(value, bindings)?;
                compare(path, &expected, value, out);
            }
            Tree::List(items) => {
                let Value::Array(values) = value else {
                    out.push(mismatch(path, &format!("a list of {}", items.len()), value));
                    return Ok(());
                };
                if items.len() != values.len() {
                    out.push(lengths(path, items.len(), values.len()));
                    return Ok(());
                }
                for (index, (item, value)) in items.iter().zip(values).enumerate() {
                    item.assert(&format!("{path}[{index}]"), value, bindings, out)?;
                }
            }
            Tree::Map(keys) if keys.is_empty() => {
                if value.is_null() {
                    out.push(mismatch(path, "anything but null", value));
                }
            }
            Tree::Map(keys) => {
                let mut bindings = bindings.clone();
                for key in keys {
                    key.assert(path, value, &mut bindings, out)?;
                }
            }
        }
        Ok(())
    }
}

impl Key {
    fn compile(entry: &Entry) -> Result<Key, LoadError> {
        let (each, rest) = split_each(&entry.key);
        let (rest, bind) = split_binding(rest);
        let projection = match expression_of(rest, &entry.place)? {
            Source::Text(text) => Projection::Field(text),
            Source::Expression(expression) => Projection::Expression(expression),
        };
        let tree = Tree::compile(&entry.value)?;
        let bind = bind.map(str::to_owned);
        Ok(Key { shown: entry.key.clone(), projection, each, bind, tree })
    }

    fn assert(
        &self,
        path: &str,
        value: &Value,
        bindings: &mut Bindings,
        out: &mut Vec<Mismatch>,
    ) -> Result<(), EvaluationError> {
        let path = match &self.projection {
            Projection::Field(name) if is_plain(name) => format!("{path}.{name}"),
            Projection::Field(name) => format!("{path}[{name:?}]"),
            Projection::Expression(_) => format!("{path}.{}", self.shown),
        };
        let owned;
        let projected = match &self.projection {
            Projection::Field(name) => match value {
                Value::Object(map) if map.contains_key(name) => &map[name],
                Value::Object(_) | Value::Null if self.tree.names_fields() => {
                    // The fields that are missing say more than that their map is.
                    return self.tree.assert(&path, &Value::Null, bindings, out);
                }
                Value::Object(_) | Value::Null => {
                    let found = "nothing".to_owned();
                    out.push(Mismatch { path, expected: self.tree.shown(), found });
                    return Ok(());
                }
                _ => {
                    out.push(mismatch(&path, "a field of a map", value));
                    return Ok(());
                }
            },
            Projection::Expression(expression) => {
                owned = expression.evaluate(value, bindings)?;
                &owned
            }
        };
        if let Some(name) = &self.bind {
            bindings.insert(name.clone(), projected.clone());
        }
        let Some(each) = &self.each else {
            return self.tree.assert(&path, projected, bindings, out);
        };
        let items: Vec<(String, Value, &Value)> = match projected {
            Value::Array(items) => {
                let indexed = items.iter().enumerate();
                indexed.map(|(i, v)| (format!("{path}[{i}]"), Value::from(i), v)).collect()
            }
            Value::Object(map) => map
                .iter()
                .map(|(k, v)| (format!("{path}.{k}"), Value::from(k.as_str()), v))
                .collect(),
            _ => {
                out.push(mismatch(&path, "a list or a map to iterate over", projected));
                return Ok(());
            }
        };
        for (path, key, item) in items {
            let mut inner = bindings.clone();
            if let Some(name) = &each.name {
                inner.insert(name.clone(), key);
            }
            self.tree.assert(&path, item, &inner, out)?;
        }
        Ok(())
    }
}

impl Tree {
    /// Whether it is a map of plain fields.
    fn names_fields(&self) -> bool {
        let plain = |key: &Key| {
            matches!(key.projection, Projection::Field(_))
                && key.each.is_none()
                && key.bind.is_none()
        };
        matches!(self, Tree::Map(keys) if !keys.is_empty() && keys.iter().all(plain))
    }

    fn shown(&self) -> String {
        match self {
            Tree::Constant(value) => show(value),
            Tree::Expression(expression) => format!("({})", expression.text),
            Tree::List(items) => format!("a list of {}", items.len()),
            Tree::Map(_) => "a map".to_owned(),
        }
    }
}

/// `~.rest`, `~name.rest`, and the older `~(rest)`.
fn split_each(key: &str) -> (Option<Each>, &str) {
    let Some(rest) = key.strip_prefix('~') else { return (None, key) };
    if rest.starts_with('(') {
        return (Some(Each { name: None }), rest);
    }
    match rest.split_once('.') {
        Some((name, rest)) if is_word(name) => {
            (Some(Each { name: (!name.is_empty()).then(|| name.to_owned()) }), rest)
        }
        _ => (None, key),
    }
}

/// `rest->name`, spaces allowed before the arrow.
fn split_binding(key: &str) -> (&str, Option<&str>) {
    match key.rsplit_once("->") {
        Some((rest, name)) => match name.trim_start() {
            name if !name.is_empty() && is_word(name) => (rest.trim_end(), Some(name)),
            _ => (key, None),
        },
        None => (key, None),
    }
}

fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// Constants within: maps as subsets, lists whole, numbers by value (what an expression gave is matched so too).
fn compare(path: &str, expected: &Value, found: &Value, out: &mut Vec<Mismatch>) {
    match (expected, found) {
        (Value::Array(items), Value::Array(values)) if items.len() != values.len() => {
            out.push(lengths(path, items.len(), values.len()));
        }
        (Value::Array(items), Value::Array(values)) => {
            for (index, (item, value)) in items.iter().zip(values).enumerate() {
                compare(&format!("{path}[{index}]"), item, value, out);
            }
        }
        (Value::Object(map), Value::Object(values)) => {
            for (key, item) in map {
                let path = format!("{path}.{key}");
                match values.get(key) {
                    Some(value) => compare(&path, item, value, out),
                    None => out.push(Mismatch {
                        path,
                        expected: show(item),
                        found: "nothing".to_owned(),
                    }),
                }
            }
        }
        (Value::Number(a), Value::Number(b)) if same_number(a, b) => {}
        _ if expected == found => {}
        _ => out.push(mismatch(path, &show(expected), found)),
    }
}

/// By value: `1` is `1.0`. Two integers are compared as integers, which floats can't do beyond 2^53.
fn same_number(a: &serde_json::Number, b: &serde_json::Number) -> bool {
    a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
}

fn mismatch(path: &str, expected: &str, found: &Value) -> Mismatch {
    Mismatch { path: path.to_owned(), expected: expected.to_owned(), found: show(found) }
}

fn lengths(path: &str, expected: usize, found: usize) -> Mismatch {
    Mismatch {
        path: path.to_owned(),
        expected: format!("a list of {expected}"),
        found: format!("one of {found}"),
    }
}

/// A value in a message: short, on one line.
fn show(value: &Value) -> String {
    const CHARACTERS_MAX: usize = 120;
    let text = value.to_string();
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Compiles a tree that must be a map, such as a `check`.
pub(crate) fn compile_map(node: &Node, what: &str) -> Result<Tree, LoadError> {
    match node.content {
        Content::Map(_) => Tree::compile(node),
        _ => Err(unexpected(&node.place, what, node)),
    }
}

fn unexpected(place: &Place, what: &str, node: &Node) -> LoadError {
    place.error(format!("{what} must be a map; it is {}", node.kind()))
}

#[cfg(test)]
mod tests;
