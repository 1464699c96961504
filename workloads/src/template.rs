//! Templates: a document in which strings of the form `(…)` are expressions.
//!
//! `\(…)\` stands for the text `(…)`. Keys are not templates (nor are they in chainsaw).

use serde_json::Value;

use crate::{
    expression::{Bindings, EvaluationError, Expression},
    node::{Content, Node},
    place::LoadError,
};

/// A value that may hold expressions.
#[derive(Debug, Clone)]
pub(crate) enum Template {
    /// Nothing to evaluate within.
    Constant(Value),
    /// An expression, evaluated on the value that stands in its place.
    Expression(Expression),
    /// Evaluated one by one.
    List(Vec<Template>),
    /// Values are evaluated, keys stand as they are.
    Map(Vec<(String, Template)>),
}

impl Template {
    /// Compiles a node; with `evaluate` false, everything stands as written (`template: false`).
    pub fn compile(node: &Node, evaluate: bool) -> Result<Template, LoadError> {
        if !evaluate {
            return Ok(Template::Constant(node.to_json()));
        }
        let template = match &node.content {
            Content::Text(text) => match expression_of(text, &node.place)? {
                Source::Text(text) => Template::Constant(Value::String(text)),
                Source::Expression(expression) => Template::Expression(expression),
            },
            Content::List(items) => Template::List(
                items.iter().map(|item| Template::compile(item, true)).collect::<Result<_, _>>()?,
            ),
            Content::Map(entries) => {
                let compile = |e: &crate::node::Entry| {
                    Template::compile(&e.value, true).map(|value| (e.key.clone(), value))
                };
                Template::Map(entries.iter().map(compile).collect::<Result<_, _>>()?)
            }
            _ => Template::Constant(node.to_json()),
        };
        Ok(template.folded())
    }

    /// The value, given what stands in its place in the input (null for documents and bindings).
    pub fn evaluate(&self, input: &Value, bindings: &Bindings) -> Result<Value, EvaluationError> {
        Ok(match self {
            Template::Constant(value) => value.clone(),
            Template::Expression(expression) => expression.evaluate(input, bindings)?,
            Template::List(items) => {
                let values = items.iter().enumerate();
                let values = values.map(|(index, item)| {
                    item.evaluate(input.get(index).unwrap_or(&Value::Null), bindings)
                });
                Value::Array(values.collect::<Result<_, _>>()?)
            }
            Template::Map(entries) => {
                let values = entries.iter().map(|(key, template)| {
                    let input = input.get(key.as_str()).unwrap_or(&Value::Null);
                    template.evaluate(input, bindings).map(|value| (key.clone(), value))
                });
                Value::Object(values.collect::<Result<_, _>>()?)
            }
        })
    }

    /// Calls `see` on every expression within.
    pub fn expressions<'a>(&'a self, see: &mut dyn FnMut(&'a Expression)) {
        match self {
            Template::Constant(_) => {}
            Template::Expression(expression) => see(expression),
            Template::List(items) => items.iter().for_each(|item| item.expressions(see)),
            Template::Map(entries) => entries.iter().for_each(|(_, value)| value.expressions(see)),
        }
    }

    /// Turns a list or map of constants into one constant.
    fn folded(self) -> Template {
        let constant = match &self {
            Template::List(items) => items.iter().all(|i| matches!(i, Template::Constant(_))),
            Template::Map(entries) => {
                entries.iter().all(|(_, v)| matches!(v, Template::Constant(_)))
            }
            _ => false,
        };
        if !constant {
            return self;
        }
        match self.evaluate(&Value::Null, &Bindings::new()) {
            Ok(value) => Template::Constant(value),
            Err(_) => self,
        }
    }
}

/// What a string turned out to be.
pub(crate) enum Source {
    /// Plain text, unescaped.
    Text(String),
    /// An expression.
    Expression(Expression),
}

/// Reads a string as chainsaw does: `\…\` escapes, `(…)` and `(jp; …)` are expressions.
pub(crate) fn expression_of(text: &str, place: &crate::place::Place) -> Result<Source, LoadError> {
    if text.len() > 2
        && let Some(escaped) = text.strip_prefix('\\').and_then(|text| text.strip_suffix('\\'))
    {
        return Ok(Source::Text(escaped.to_owned()));
    }
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    // The form is one line long, as in chainsaw: a script in parentheses is no expression.
    let Some(inner) = inner.filter(|inner| !inner.is_empty() && !inner.contains('\n')) else {
        return Ok(Source::Text(text.to_owned()));
    };
    let statement = match inner.split_once(';') {
        Some((engine, statement)) if is_word(engine) => match engine {
            "jp" => statement,
            "cel" => {
                let error = place.error("CEL expressions are not supported");
                return Err(error.help("write it in JMESPath"));
            }
            _ => return Err(place.error(format!("unknown expression engine `{engine}`"))),
        },
        _ => inner,
    };
    Expression::compile(statement, place).map(Source::Expression)
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}
