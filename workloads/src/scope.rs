//! Which bindings an operation sees, and what they are worth.
//!
//! Bindings are definitions, evaluated when an operation runs: those of the test, of the step, outputs
//! of earlier operations of the same step, and its own, in this order; later ones hide earlier ones. Only
//! outputs come from a run; all else can be computed again at any time, so a workload can be resumed
//! wherever no output is handed across.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use crate::{
    expression::{Bindings, ENV, EvaluationError, Expression},
    operation::Outputs,
    place::LoadError,
    template::Template,
    tree::Tree,
};

/// The bindings that are visible at one operation.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    /// Where objects go that name no namespace. (`$namespace` says the same, but can be hidden.)
    pub namespace: String,
    /// What `env` knows.
    env: Arc<BTreeMap<String, String>>,
    definitions: Vec<Definition>,
}

#[derive(Debug, Clone)]
enum Definition {
    /// `name: value` with expressions in it.
    Binding { name: String, value: Template },
    /// Given by an earlier operation.
    Output { name: String, from: u32 },
}

/// One entry of `outputs`.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    pub name: String,
    pub value: Template,
    pub matching: Option<Tree>,
}

impl Scope {
    /// Nothing is bound. `env` are the variables that the campaign lists.
    pub fn new(namespace: String, env: Arc<BTreeMap<String, String>>) -> Scope {
        Scope { namespace, env, definitions: Vec::new() }
    }

    /// Adds a binding, after checking that all it uses is known.
    pub fn bind(&mut self, name: String, value: Template) -> Result<(), LoadError> {
        let mut result = Ok(());
        value.expressions(&mut |expression| {
            if result.is_ok() {
                result = self.knows(expression, &[]);
            }
        });
        result?;
        self.definitions.push(Definition::Binding { name, value });
        Ok(())
    }

    /// Adds the outputs of operation `from`.
    pub fn output(&mut self, name: &str, from: u32) {
        self.definitions.push(Definition::Output { name: name.to_owned(), from });
    }

    /// An error if the expression uses a binding that is neither here nor among `extra`, or names a variable of the
    /// environment that is not listed.
    pub fn knows(&self, expression: &Expression, extra: &[&str]) -> Result<(), LoadError> {
        if let Some(name) = expression.env.iter().find(|name| !self.env.contains_key(*name)) {
            let message = format!("expression ({}): {}", expression.text, unlisted(name));
            return Err(expression.place.error(message));
        }
        for variable in expression.variables.iter().filter(|variable| *variable != ENV) {
            if extra.contains(&variable.as_str()) || self.defines(variable) {
                continue;
            }
            let error = expression.place.error(format!("unknown binding ${variable}"));
            let mut names: BTreeSet<&str> = self.definitions.iter().map(Definition::name).collect();
            names.extend(extra);
            let names: Vec<String> = names.iter().map(|name| format!("${name}")).collect();
            return Err(error.help(format!("here are {}", names.join(", "))));
        }
        Ok(())
    }

    fn defines(&self, name: &str) -> bool {
        self.definitions.iter().any(|definition| definition.name() == name)
    }

    /// All values. An output that was not given is left out: using it is an error at its place.
    pub fn bindings(&self, outputs: &Outputs) -> Result<Bindings, EvaluationError> {
        let mut bindings = self.given();
        for definition in &self.definitions {
            match definition {
                Definition::Binding { name, value } => {
                    let value = value.evaluate(&Value::Null, &bindings)?;
                    bindings.insert(name.clone(), value);
                }
                Definition::Output { name, from } => {
                    if let Some(value) = outputs.get(from).and_then(|given| given.get(name)) {
                        bindings.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        Ok(bindings)
    }

    /// What is there before any definition.
    fn given(&self) -> Bindings {
        Bindings::from([(ENV.to_owned(), serde_json::json!(*self.env))])
    }

    /// The values as far as they are known before a run: for titles and file names.
    pub fn known_bindings(&self) -> Bindings {
        let mut bindings = self.given();
        for definition in &self.definitions {
            match definition {
                Definition::Binding { name, value } => {
                    match value.evaluate(&Value::Null, &bindings) {
                        Ok(value) => bindings.insert(name.clone(), value),
                        Err(_) => bindings.remove(name),
                    };
                }
                Definition::Output { name, .. } => {
                    bindings.remove(name);
                }
            }
        }
        bindings
    }

    /// Outputs of which a value can still be seen here: `(name, operation that gives it)`.
    pub fn outputs(&self) -> impl Iterator<Item = (&str, u32)> {
        self.definitions.iter().filter_map(|definition| match definition {
            Definition::Output { name, from } => Some((name.as_str(), *from)),
            Definition::Binding { .. } => None,
        })
    }

    /// The names that the binding definitions use, so that a use through a binding counts as a use.
    pub fn uses(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for definition in &self.definitions {
            if let Definition::Binding { value, .. } = definition {
                value.expressions(&mut |e| names.extend(e.variables.iter().cloned()));
            }
        }
        names
    }
}

/// What is wrong with a variable that the campaign does not list, and what to do.
pub(crate) fn unlisted(name: &str) -> String {
    format!(
        "the campaign lists no variable {name}: write it, with its value, into spec.workload.env"
    )
}

impl Definition {
    fn name(&self) -> &str {
        match self {
            Definition::Binding { name, .. } | Definition::Output { name, .. } => name,
        }
    }
}
