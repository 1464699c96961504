//! Go's `text/template` with kwok's functions and those of sprig that stages use (`pkg/utils/gotpl`).
//!
//! A template is read once; what is no template, and functions that are not there, are told then. Not there: `define`,
//! `template` and `block` (kwok gives a template no others), `call`, and methods. Numbers of the object are numbers; in
//! kwok they are texts, which print the same, but are true even if 0, and equal no number.

use std::cmp::Ordering;

use serde_json::Value;

use crate::steps::Surroundings;

mod arithmetic;
mod functions;
mod lex;
mod parse;
mod print;
mod run;

/// A template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template {
    nodes: Vec<Node>,
}

/// It is no template, or it fails on an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of its template: {message}")]
pub(crate) struct TemplateError {
    /// From 1.
    pub(crate) line: u64,
    /// What, and what to do.
    pub(crate) message: String,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq)]
enum Node {
    Text(String),
    Action(Pipeline),
    If(Pipeline, Vec<Node>, Vec<Node>),
    With(Pipeline, Vec<Node>, Vec<Node>),
    Range(Pipeline, Vec<Node>, Vec<Node>),
    Break,
    Continue,
}

/// Commands, each with the result of the one before it as its last argument.
#[derive(Debug, Clone, PartialEq)]
struct Pipeline {
    line: u64,
    /// Variables that get the result.
    variables: Vec<String>,
    /// Whether they are there already.
    assigns: bool,
    commands: Vec<Vec<Operand>>,
}

/// An argument, or the function of a command.
#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Dot,
    Nil,
    Literal(Value),
    /// A field of the dot, and so on.
    Field(Vec<String>),
    /// A field of a variable; the variable itself where there is none.
    Variable(String, Vec<String>),
    /// A field of what a pipeline gives.
    Pipeline(Box<Pipeline>, Vec<String>),
    Function(&'static str),
}

impl Template {
    /// Errors: where and why it is none.
    pub(crate) fn parse(text: &str) -> Result<Template, TemplateError> {
        parse::parse(text).map(|nodes| Template { nodes })
    }

    /// What it makes of an object.
    pub(crate) fn text(
        &self,
        object: &Value,
        around: &mut dyn Surroundings,
    ) -> Result<String, TemplateError> {
        run::run(&self.nodes, object, around)
    }

    /// The same, read as YAML.
    pub(crate) fn yaml(
        &self,
        object: &Value,
        around: &mut dyn Surroundings,
    ) -> Result<Value, TemplateError> {
        let text = self.text(object, around)?;
        serde_saphyr::from_str(&text).map_err(|error| {
            let at = error.location().map_or(0, |at| at.line());
            let line = text.lines().nth(usize::try_from(at).unwrap_or(0).saturating_sub(1));
            let message = format!(
                "what it makes is no YAML: {}, at {:?}",
                error.without_snippet(),
                line.unwrap_or("").trim()
            );
            TemplateError { line: 1, message }
        })
    }
}

/// Whether Go's templates count a value as true.
fn truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// Errors: they can't be compared.
fn compare(left: &Value, right: &Value) -> Result<Ordering, String> {
    let wrong = || "incompatible types for comparison".to_owned();
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => Ok(left.cmp(&right)),
            _ => left.as_f64().partial_cmp(&right.as_f64()).ok_or_else(wrong),
        },
        (Value::String(left), Value::String(right)) => Ok(left.cmp(right)),
        _ => Err(wrong()),
    }
}

/// `eq`: what is nil equals nothing else, and is no error.
fn equal(left: &Value, right: &Value) -> Result<bool, String> {
    match (left, right) {
        (Value::Null, other) | (other, Value::Null) => Ok(other.is_null()),
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        _ => compare(left, right).map(Ordering::is_eq),
    }
}

#[cfg(test)]
mod tests;
