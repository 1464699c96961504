//! Carries a template out.

use serde_json::Value;

use super::{Node, Operand, Pipeline, TemplateError, functions, print, truth};
use crate::steps::Surroundings;

/// How a piece ended.
#[derive(PartialEq)]
enum Flow {
    On,
    Break,
    Continue,
}

struct Run<'a> {
    out: String,
    variables: Vec<(String, Value)>,
    object: &'a Value,
    around: &'a mut dyn Surroundings,
}

/// What a template makes of an object.
pub(super) fn run(
    nodes: &[Node],
    object: &Value,
    around: &mut dyn Surroundings,
) -> Result<String, TemplateError> {
    let variables = vec![(String::new(), object.clone())];
    let mut run = Run { out: String::new(), variables, object, around };
    run.all(nodes, object)?;
    Ok(run.out)
}

impl Run<'_> {
    fn all(&mut self, nodes: &[Node], dot: &Value) -> Result<Flow, TemplateError> {
        let known = self.variables.len();
        let mut flow = Flow::On;
        for node in nodes {
            flow = self.node(node, dot)?;
            if flow != Flow::On {
                break;
            }
        }
        self.variables.truncate(known);
        Ok(flow)
    }

    fn node(&mut self, node: &Node, dot: &Value) -> Result<Flow, TemplateError> {
        match node {
            Node::Text(text) => self.out.push_str(text),
            Node::Action(pipeline) => {
                let value = self.pipeline(pipeline, dot)?;
                if pipeline.variables.is_empty() {
                    self.out.push_str(&print::text(&value));
                }
            }
            Node::If(pipeline, then, otherwise) | Node::With(pipeline, then, otherwise) => {
                let known = self.variables.len();
                let value = self.pipeline(pipeline, dot)?;
                let inner = if matches!(node, Node::With(..)) { &value } else { dot };
                let flow = match truth(&value) {
                    true => self.all(then, inner)?,
                    false => self.all(otherwise, dot)?,
                };
                self.variables.truncate(known);
                return Ok(flow);
            }
            Node::Range(pipeline, then, otherwise) => {
                let known = self.variables.len();
                let flow = self.range(pipeline, then, otherwise, dot)?;
                self.variables.truncate(known);
                return Ok(flow);
            }
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::On)
    }

    fn range(
        &mut self,
        pipeline: &Pipeline,
        then: &[Node],
        otherwise: &[Node],
        dot: &Value,
    ) -> Result<Flow, TemplateError> {
        let over = self.commands(pipeline, dot)?;
        let pairs: Vec<(Value, Value)> = match over {
            Value::Null => vec![],
            Value::Array(list) => {
                list.into_iter().enumerate().map(|(i, value)| (Value::from(i), value)).collect()
            }
            Value::Object(fields) => {
                fields.into_iter().map(|(key, value)| (Value::from(key), value)).collect()
            }
            Value::Number(n) if n.is_i64() => {
                (0..n.as_i64().unwrap_or(0)).map(|i| (Value::from(i), Value::from(i))).collect()
            }
            other => {
                let message = format!("range can't iterate over {}", print::text(&other));
                return Err(TemplateError { line: pipeline.line, message });
            }
        };
        if pairs.is_empty() {
            return self.all(otherwise, dot);
        }
        for (key, value) in pairs {
            let known = self.variables.len();
            match &pipeline.variables[..] {
                [] => {}
                [one] => self.set(one, value.clone(), pipeline.assigns),
                [first, second, ..] => {
                    self.set(first, key, pipeline.assigns);
                    self.set(second, value.clone(), pipeline.assigns);
                }
            }
            let flow = self.all(then, &value)?;
            self.variables.truncate(known);
            if flow == Flow::Break {
                break;
            }
        }
        Ok(Flow::On)
    }

    fn set(&mut self, name: &str, value: Value, assigns: bool) {
        let known = self.variables.iter_mut().rev().find(|(known, _)| known == name);
        match known.filter(|_| assigns) {
            Some(variable) => variable.1 = value,
            None => self.variables.push((name.to_owned(), value)),
        }
    }

    /// The result of a pipeline, its variables set.
    fn pipeline(&mut self, pipeline: &Pipeline, dot: &Value) -> Result<Value, TemplateError> {
        let value = self.commands(pipeline, dot)?;
        for name in &pipeline.variables {
            self.set(name, value.clone(), pipeline.assigns);
        }
        Ok(value)
    }

    fn commands(&mut self, pipeline: &Pipeline, dot: &Value) -> Result<Value, TemplateError> {
        let mut last = None;
        for command in &pipeline.commands {
            last = Some(self.command(command, dot, last.take(), pipeline.line)?);
        }
        Ok(last.unwrap_or(Value::Null))
    }

    fn command(
        &mut self,
        command: &[Operand],
        dot: &Value,
        last: Option<Value>,
        line: u64,
    ) -> Result<Value, TemplateError> {
        let Some(Operand::Function(name)) = command.first() else {
            return command.first().map_or(Ok(Value::Null), |only| self.operand(only, dot, line));
        };
        let mut arguments = vec![];
        for operand in &command[1..] {
            let value = self.operand(operand, dot, line)?;
            // They look no further once they know.
            let decided = match *name {
                "or" => truth(&value),
                "and" => !truth(&value),
                _ => false,
            };
            if decided {
                return Ok(value);
            }
            arguments.push(value);
        }
        arguments.extend(last);
        let wrong = |message| TemplateError { line, message: format!("{name}: {message}") };
        functions::call(name, &arguments, self.object, self.around).map_err(wrong)
    }

    fn operand(
        &mut self,
        operand: &Operand,
        dot: &Value,
        line: u64,
    ) -> Result<Value, TemplateError> {
        let wrong = |message| TemplateError { line, message };
        match operand {
            Operand::Dot => Ok(dot.clone()),
            Operand::Nil => Ok(Value::Null),
            Operand::Literal(value) => Ok(value.clone()),
            Operand::Field(path) => field(dot, path).map_err(wrong),
            Operand::Variable(name, path) => {
                let known = self.variables.iter().rev().find(|(known, _)| known == name);
                known.map_or(Ok(Value::Null), |(_, value)| field(value, path)).map_err(wrong)
            }
            Operand::Pipeline(inner, path) => {
                let value = self.commands(inner, dot)?;
                field(&value, path).map_err(wrong)
            }
            Operand::Function(name) => {
                let wrong = |message| TemplateError { line, message: format!("{name}: {message}") };
                functions::call(name, &[], self.object, self.around).map_err(wrong)
            }
        }
    }
}

/// A field of a field; nil where there is none. Errors: what can't have fields.
fn field(mut value: &Value, path: &[String]) -> Result<Value, String> {
    for name in path {
        value = match value {
            Value::Null => return Ok(Value::Null),
            Value::Object(fields) => fields.get(name).unwrap_or(&Value::Null),
            other => return Err(format!("can't evaluate field {name} in {}", print::text(other))),
        };
    }
    Ok(value.clone())
}
