//! Expressions about requests: match conditions of webhooks. Their variables are of JSON whose type is
//! looked at when they are run.
//!
//! `authorizer` is not known: an expression that uses it can't be evaluated, which is an error as any other. Who could
//! notice: a webhook or a policy that asks for permissions, whose `failurePolicy` decides.

use std::sync::LazyLock;

use kube_cel::cel::{IdedExpr, Value as Cel};
use serde_json::Value;

use super::{check::Checker, macros, place, run, types::Ty, value};
use crate::schema::Schema;

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Question {
    tree: IdedExpr,
    ty: Ty,
}

/// What expressions can name.
#[derive(Debug, Clone)]
pub(crate) struct Variables(Vec<(&'static str, Cel)>);

/// Names that expressions may use, whether or not they have a value.
const NAMES: [&str; 4] = ["object", "oldObject", "request", "namespaceObject"];

/// The checker wants one; nothing here is of its type.
static NO_TYPES: LazyLock<Schema> =
    LazyLock::new(|| Schema::builtin("", "v1", "ConfigMap").expect("config maps are built in"));

impl Variables {
    /// Of an AdmissionReview's `request`.
    pub(crate) fn of(request: &Value) -> Variables {
        let mut own = request.clone();
        if let Some(fields) = own.as_object_mut() {
            for field in ["object", "oldObject", "uid"] {
                fields.remove(field);
            }
        }
        let values =
            [&request["object"], &request["oldObject"], &own, &Value::Null].map(value::plain);
        Variables(NAMES.into_iter().zip(values).collect())
    }
}

impl Question {
    /// Compiles an expression. Errors: why cel-go refuses it.
    pub(crate) fn compile(source: &str) -> Result<Question, String> {
        let mut tree = run::parse(source).map_err(|errors| {
            let all = errors.iter().map(|(at, message)| place::describe(source, *at, message));
            all.collect::<Vec<_>>().join("\n")
        })?;
        let places = place::Places::new(source);
        let calls = |name: &&&str| places.has(&place::Part::Call((**name).to_owned()));
        if let Some(name) = macros::UNKNOWN.iter().find(calls) {
            return Err(format!("{name} is not known to this server"));
        }
        let variables = NAMES.map(|name| (name.to_owned(), Ty::Dyn)).into_iter().collect();
        let ty = Checker::new(&NO_TYPES, source, variables).run(&mut tree)?;
        Ok(Question { tree, ty })
    }

    /// Whether its result has this type, or one that is known at run time only.
    pub(crate) fn results_in(&self, ty: &str) -> bool {
        self.ty.is(ty) || self.ty == Ty::Dyn
    }

    /// What it results in, as cel-go calls it.
    pub(crate) fn result(&self) -> String {
        self.ty.to_string()
    }

    /// Evaluates it. Errors: in cel-go's words.
    pub(crate) fn run(&self, variables: &Variables) -> Result<Cel, String> {
        let mut context = run::scope();
        for (name, value) in &variables.0 {
            context.add_variable_from_value(*name, value.clone());
        }
        Cel::resolve(&self.tree, &context).map_err(|error| run::text(&error))
    }

    /// Whether it holds. Errors: it can't be evaluated, or is no truth value.
    pub(crate) fn holds(&self, variables: &Variables) -> Result<bool, String> {
        match self.run(variables)? {
            Cel::Bool(holds) => Ok(holds),
            _ => Err("no such overload".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_can_be_asked_about() {
        let request = json!({"operation": "UPDATE", "userInfo": {"username": "u"},
            "object": {"metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"n": 2}}, "oldObject": null});
        let variables = Variables::of(&request);
        let check = |source: &str, expect: Result<bool, &str>| {
            let held = Question::compile(source).and_then(|question| question.holds(&variables));
            assert_eq!(held, expect.map_err(str::to_owned), "{source}");
        };
        check("object.metadata.labels['x'] == 'y' && object.spec.n > 1", Ok(true));
        check("oldObject == null && request.operation in ['CREATE', 'UPDATE']", Ok(true));
        check("has(object.spec.m)", Ok(false));
        check("request.userInfo.username.startsWith('system:')", Ok(false));
        check("object.spec.m == 1", Err("no such key: m"));
    }
}
