//! Expressions: `(…)` in a value or key, in JMESPath with chainsaw's bindings (`$name`).
//!
//! Parsing and evaluation are the `jmespath` crate's; it knows the language's standard, not the community
//! edition's additions that chainsaw's engine has. Of these we add the variables: each `$name` is read as
//! a call of a function that no text can name, and is put in as a literal before evaluation; and the arithmetic
//! operators, read as calls of `add` and its sisters. Not there: `let`, the root reference `$`. Each is an error at
//! load time, as is an unknown function; never a wrong answer.

use std::{collections::BTreeMap, sync::LazyLock};

use jmespath::{Rcvar, Runtime, Variable, ast::Ast};
use serde_json::Value;

use crate::{
    functions,
    place::{LoadError, Place},
};

mod arithmetic;

/// Values by binding name, without the `$`.
pub(crate) type Bindings = BTreeMap<String, Value>;

/// Why an expression gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: ({text}): {message}")]
pub struct EvaluationError {
    /// Where the expression is written.
    pub place: Place,
    /// The expression.
    pub text: String,
    /// What went wrong.
    pub message: String,
}

/// A compiled expression.
#[derive(Debug, Clone)]
pub(crate) struct Expression {
    pub place: Place,
    pub text: String,
    ast: Ast,
    /// Whether it has `[a, b]` or `{k: a}` in it.
    selects: bool,
    /// Names of the bindings that it uses.
    pub variables: Vec<String>,
    /// Names of the variables of the environment that it names as they are.
    pub env: Vec<String>,
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(functions::runtime);

/// Not an identifier in JMESPath unless quoted, and functions can't be called by quoted names.
const VARIABLE: &str = "__binding";

/// The binding with the variables that `env` knows. No text can name it.
pub(crate) const ENV: &str = "env()";

impl Expression {
    /// Compiles the text between the parentheses.
    pub fn compile(text: &str, place: &Place) -> Result<Expression, LoadError> {
        let text = text.trim();
        let fail = |message: String| place.error(format!("expression ({text}): {message}"));
        if text.contains(VARIABLE) {
            return Err(fail(format!("{VARIABLE} is reserved")));
        }
        let (rewritten, mut variables) =
            rewrite_variables(&arithmetic::rewrite(text)).map_err(fail)?;
        let mut ast = jmespath::parse(&rewritten).map_err(|error| {
            let reason = error.reason.to_string();
            let reason = reason.strip_prefix("Parse error: ").unwrap_or(&reason);
            fail(reason.trim().to_owned()).help("standard JMESPath with $bindings and arithmetic")
        })?;
        check_functions(&ast).map_err(|name| {
            let help = format!("near it are {}", functions::nearest(&name).join(", "));
            fail(format!("unknown function {name}")).help(help)
        })?;
        let env = give_env(&mut ast, &mut variables).map_err(fail)?;
        let (selects, place) = (selects(&ast), place.clone());
        Ok(Expression { place, text: text.to_owned(), ast, selects, variables, env })
    }

    /// Evaluates on `data`.
    pub fn evaluate(&self, data: &Value, bindings: &Bindings) -> Result<Value, EvaluationError> {
        let fail = |message: String| EvaluationError {
            place: self.place.clone(),
            text: self.text.clone(),
            message,
        };
        let mut ast = self.ast.clone();
        substitute(&mut ast, bindings).map_err(&fail)?;
        // The standard makes null of `[a, b]` on null; chainsaw's engine makes a list, and bindings, which are
        // evaluated on null, rely on it: `(join('-', [$a, 'b']))`.
        let empty = Value::Object(serde_json::Map::new());
        let data = to_variable(if data.is_null() && self.selects { &empty } else { data });
        let result = jmespath::Expression::new(self.text.as_str(), ast, &RUNTIME).search(data);
        let result = result.map_err(|error| {
            let reason = error.reason.to_string();
            // Our own functions report by the parse variant, the only one that takes any text.
            let known = ["Runtime error: ", "Parse error: "];
            let text = known.iter().find_map(|prefix| reason.strip_prefix(prefix));
            fail(text.unwrap_or(&reason).trim().to_owned())
        })?;
        Ok(to_value(&result))
    }
}

/// Replaces `$name` outside of quotes by a call of [`VARIABLE`].
fn rewrite_variables(text: &str) -> Result<(String, Vec<String>), String> {
    let mut out = String::with_capacity(text.len());
    let mut variables = Vec::new();
    let mut quote = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => {
                out.push(character);
                out.extend(characters.next());
            }
            (Some(open), _) if character == open => {
                quote = None;
                out.push(character);
            }
            (None, '\'' | '"' | '`') => {
                quote = Some(character);
                out.push(character);
            }
            (None, '$') => {
                let mut name = String::new();
                while let Some(next) = characters.next_if(|c| c.is_alphanumeric() || *c == '_') {
                    name.push(next);
                }
                if name.is_empty() {
                    return Err("the root reference `$` is not supported".to_owned());
                }
                out.push_str(&format!("{VARIABLE}('{name}')"));
                variables.push(name);
            }
            _ => out.push(character),
        }
    }
    Ok((out, variables))
}

fn selects(ast: &Ast) -> bool {
    let found = visit(&mut ast.clone(), &mut |node| match node {
        Ast::MultiList { .. } | Ast::MultiHash { .. } => Err(()),
        _ => Ok(()),
    });
    found.is_err()
}

fn check_functions(ast: &Ast) -> Result<(), String> {
    let mut copy = ast.clone();
    visit(&mut copy, &mut |node| match node {
        Ast::Function { name, .. }
            if name != VARIABLE && RUNTIME.get_function(name.as_str()).is_none() =>
        {
            Err(name.clone())
        }
        _ => Ok(()),
    })
}

/// Calls of `env` get what they look in. The names that are written in them.
fn give_env(ast: &mut Ast, variables: &mut Vec<String>) -> Result<Vec<String>, String> {
    let mut named = Vec::new();
    visit(ast, &mut |node| match node {
        Ast::Function { name, args, offset } if name == "env" => {
            match &args[..] {
                [Ast::Literal { value, .. }] => named.extend(value.as_string().cloned()),
                [Ast::Function { name, .. }, _] if name == VARIABLE => return Ok(()),
                [_] => {}
                _ => return Err("env takes one argument, the name of a variable".to_owned()),
            }
            let offset = *offset;
            let value = Rcvar::new(Variable::String(ENV.to_owned()));
            let all = vec![Ast::Literal { offset, value }];
            args.insert(0, Ast::Function { offset, name: VARIABLE.to_owned(), args: all });
            variables.push(ENV.to_owned());
            Ok(())
        }
        _ => Ok(()),
    })?;
    Ok(named)
}

fn substitute(ast: &mut Ast, bindings: &Bindings) -> Result<(), String> {
    visit(ast, &mut |node| {
        let Ast::Function { name, args, offset } = node else { return Ok(()) };
        if name != VARIABLE {
            return Ok(());
        }
        let Some(Ast::Literal { value, .. }) = args.first() else { return Ok(()) };
        let variable = value.as_string().cloned().unwrap_or_default();
        let bound = bindings.get(&variable);
        let bound = bound.ok_or_else(|| format!("binding ${variable} has no value here"))?;
        *node = Ast::Literal { offset: *offset, value: to_variable(bound) };
        Ok(())
    })
}

/// Calls `change` on every node, parents first.
fn visit<E>(ast: &mut Ast, change: &mut dyn FnMut(&mut Ast) -> Result<(), E>) -> Result<(), E> {
    change(ast)?;
    match ast {
        Ast::Identity { .. }
        | Ast::Field { .. }
        | Ast::Index { .. }
        | Ast::Literal { .. }
        | Ast::Slice { .. } => Ok(()),
        Ast::Expref { ast, .. } => visit(ast, change),
        Ast::Flatten { node, .. } | Ast::Not { node, .. } | Ast::ObjectValues { node, .. } => {
            visit(node, change)
        }
        Ast::Comparison { lhs, rhs, .. }
        | Ast::Projection { lhs, rhs, .. }
        | Ast::And { lhs, rhs, .. }
        | Ast::Or { lhs, rhs, .. }
        | Ast::Subexpr { lhs, rhs, .. } => {
            visit(lhs, change)?;
            visit(rhs, change)
        }
        Ast::Condition { predicate, then, .. } => {
            visit(predicate, change)?;
            visit(then, change)
        }
        Ast::Function { args, .. } => args.iter_mut().try_for_each(|arg| visit(arg, change)),
        Ast::MultiList { elements, .. } => {
            elements.iter_mut().try_for_each(|element| visit(element, change))
        }
        Ast::MultiHash { elements, .. } => {
            elements.iter_mut().try_for_each(|pair| visit(&mut pair.value, change))
        }
    }
}

/// Into the evaluator's own type. Numbers stay numbers of the same kind.
pub(crate) fn to_variable(value: &Value) -> Rcvar {
    Rcvar::new(match value {
        Value::Null => Variable::Null,
        Value::Bool(value) => Variable::Bool(*value),
        Value::Number(value) => Variable::Number(value.clone()),
        Value::String(value) => Variable::String(value.clone()),
        Value::Array(items) => Variable::Array(items.iter().map(to_variable).collect()),
        Value::Object(map) => Variable::Object(
            map.iter().map(|(key, value)| (key.clone(), to_variable(value))).collect(),
        ),
    })
}

/// Back from the evaluator's type; an expression reference has no JSON and becomes null, as in the standard.
pub(crate) fn to_value(variable: &Variable) -> Value {
    match variable {
        Variable::Null | Variable::Expref(_) => Value::Null,
        Variable::Bool(value) => Value::Bool(*value),
        Variable::Number(value) => Value::Number(whole(value)),
        Variable::String(value) => Value::String(value.clone()),
        Variable::Array(items) => items.iter().map(|item| to_value(item)).collect(),
        Variable::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), to_value(value))).collect())
        }
    }
}

/// `length()` and its sisters give floats; a whole one is written as an integer, as Go prints it.
fn whole(number: &serde_json::Number) -> serde_json::Number {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    match number.as_f64() {
        Some(value) if number.is_f64() && value.fract() == 0.0 && value.abs() < EXACT => {
            serde_json::Number::from(value as i64)
        }
        _ => number.clone(),
    }
}
