//! Expressions about requests: match conditions of webhooks, and all of admission policies. Their variables are of
//! JSON whose type is looked at when they are run; so is which variables a policy makes (`variables.x`), which
//! upstream knows when the policy is written.

use std::sync::{Arc, LazyLock};

use kube_cel::cel::{
    IdedExpr, Value as Cel,
    common::ast::Expr,
    objects::{Key, Map},
};
use serde_json::Value;

use super::{
    authorizer::{self, Asker},
    check::Checker,
    macros, made, place, run,
    types::Ty,
    value,
};
use crate::{rbac::Attributes, schema::Schema};

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Question {
    source: String,
    tree: IdedExpr,
    ty: Ty,
}

/// What expressions can name.
#[derive(Debug, Clone)]
pub(crate) struct Variables {
    named: Vec<(&'static str, Cel)>,
    /// What a policy's own variables came to, if it has any.
    composed: Vec<(String, Result<Cel, String>)>,
}

/// Names that expressions may use, whether or not they have a value.
const NAMES: [&str; 4] = ["object", "oldObject", "request", "namespaceObject"];
/// Under this name stand a policy's own variables.
const COMPOSED: &str = "variables";
/// The object that configures a policy.
const PARAMS: &str = "params";
/// Names by which most expressions can ask for permissions.
const AUTHORIZER: &str = "authorizer";
const REQUEST_RESOURCE: &str = "authorizer.requestResource";

fn type_of(name: &str) -> Ty {
    if name == AUTHORIZER { Ty::plain(authorizer::TYPE) } else { Ty::Dyn }
}

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
        Variables { named: NAMES.into_iter().zip(values).collect(), composed: Vec::new() }
    }

    /// Gives a name a value, or another one.
    pub(crate) fn set(&mut self, name: &'static str, value: &Value) {
        self.named.retain(|(known, _)| *known != name);
        self.named.push((name, value::plain(value)));
    }

    /// Lets expressions ask what the sender of a request may do, of which `resource` says what it is about.
    pub(crate) fn authorize(&mut self, asker: &Asker, resource: Attributes) {
        self.named.push((AUTHORIZER, asker.value()));
        self.named.push((REQUEST_RESOURCE, asker.resource(resource)));
    }

    /// Adds a variable of a policy, which may refer to those before it. One that can't be evaluated is an error
    /// where it is used, and only there (`composited variable … fails to evaluate`).
    pub(crate) fn compose(&mut self, name: &str, question: Result<Question, String>) {
        let value = match question {
            Err(why) => Err(format!("composited variable {name:?} fails to compile: {why}")),
            Ok(question) => question
                .run(self)
                .map_err(|why| format!("composited variable {name:?} fails to evaluate: {why}")),
        };
        self.composed.push((name.to_owned(), value));
    }

    fn composed(&self) -> Cel {
        let values = self.composed.iter().filter_map(|(name, value)| {
            let value = value.as_ref().ok()?;
            Some((Key::from(name.clone()), value.clone()))
        });
        Cel::Map(Map { map: Arc::new(values.collect()) })
    }

    /// What an expression's error comes from, if that is a variable without a value.
    fn cause(&self, why: String) -> String {
        let missing = why.strip_prefix("no such key: ");
        let failed = self.composed.iter().find_map(|(name, value)| {
            let error = value.as_ref().err()?;
            (missing == Some(name)).then(|| error.clone())
        });
        failed.unwrap_or(why)
    }
}

impl Question {
    /// Compiles a webhook's condition. Errors: why cel-go refuses it.
    pub(crate) fn compile(source: &str) -> Result<Question, String> {
        Question::naming(source, &[AUTHORIZER])
    }

    /// Compiles a condition of a policy that is being written, with or without a `paramKind`; it can't name the policy's
    /// own variables then (`getStrictStatelessCELCompiler`). Errors: why cel-go refuses it.
    pub(crate) fn of_condition(source: &str, has_params: bool) -> Result<Question, String> {
        Question::naming(source, if has_params { &[AUTHORIZER, PARAMS] } else { &[AUTHORIZER] })
    }

    /// Compiles an expression of a policy, with or without a `paramKind`. Errors: why cel-go refuses it.
    pub(crate) fn of_policy(source: &str, has_params: bool) -> Result<Question, String> {
        let all = [AUTHORIZER, COMPOSED, PARAMS];
        Question::naming(source, if has_params { &all } else { &all[..2] })
    }

    /// Compiles what makes a policy's message, which can't ask for permissions. Errors: why cel-go refuses it.
    pub(crate) fn of_message(source: &str, has_params: bool) -> Result<Question, String> {
        Question::naming(source, if has_params { &[COMPOSED, PARAMS] } else { &[COMPOSED] })
    }

    /// Compiles what a mutating policy changes an object by, which can make objects and patches. Errors: why cel-go
    /// refuses it.
    pub(crate) fn of_mutation(source: &str, has_params: bool) -> Result<Question, String> {
        let all = [AUTHORIZER, COMPOSED, PARAMS];
        let names = if has_params { &all[..] } else { &all[..2] };
        Question::compiled(source, names, true)
    }

    fn naming(source: &str, more: &[&str]) -> Result<Question, String> {
        Question::compiled(source, more, false)
    }

    fn compiled(source: &str, more: &[&str], makes: bool) -> Result<Question, String> {
        let mut tree = run::parse(source).map_err(|errors| {
            let all = errors.iter().map(|(at, message)| place::describe(source, *at, message));
            all.collect::<Vec<_>>().join("\n")
        })?;
        let places = place::Places::new(source);
        let calls = |name: &&&str| places.has(&place::Part::Call((**name).to_owned()));
        if let Some(name) = macros::UNKNOWN.iter().find(calls) {
            return Err(format!("{name} is not known to this server"));
        }
        let names = NAMES.iter().chain(more);
        let mut variables: Vec<(String, Ty)> =
            names.map(|name| ((*name).to_owned(), type_of(name))).collect();
        if more.contains(&AUTHORIZER) {
            variables.push((REQUEST_RESOURCE.to_owned(), Ty::plain(authorizer::RESOURCE_TYPE)));
        }
        let checker = Checker::new(&NO_TYPES, source, variables);
        let checker = if makes { checker.making() } else { checker };
        let ty = checker.run(&mut tree)?;
        Ok(Question { source: source.to_owned(), tree, ty })
    }

    /// Whether its result has this type, or one that is known at run time only.
    pub(crate) fn results_in(&self, ty: &str) -> bool {
        self.ty.is(ty) || self.ty == Ty::Dyn
    }

    /// Whether it results in exactly this type (`IsExactType`), as far as types of lists are known: a list without items
    /// goes for one of any where it stands beside others.
    pub(crate) fn makes(&self, ty: &str) -> bool {
        let empty = matches!(&self.tree.expr, Expr::List(list) if list.elements.is_empty());
        match ty.strip_prefix("list(").and_then(|rest| rest.strip_suffix(')')) {
            Some(item) => match &self.ty {
                Ty::List(found) => found.is(item) || **found == Ty::Dyn && !empty,
                _ => false,
            },
            None => self.ty.is(ty),
        }
    }

    /// What it results in, as cel-go calls it.
    pub(crate) fn result(&self) -> String {
        self.ty.to_string()
    }

    /// Evaluates it. Errors: in cel-go's words.
    pub(crate) fn run(&self, variables: &Variables) -> Result<Cel, String> {
        let mut context = run::scope();
        for (name, value) in &variables.named {
            context.add_variable_from_value(*name, value.clone());
        }
        context.add_variable_from_value(COMPOSED, variables.composed());
        Cel::resolve(&self.tree, &context).map_err(|error| variables.cause(run::text(&error)))
    }

    /// Whether it results in `true`, and in nothing else. Errors: it can't be evaluated.
    pub(crate) fn is_true(&self, variables: &Variables) -> Result<bool, String> {
        Ok(matches!(self.run(variables)?, Cel::Bool(true)))
    }

    /// The object that it makes, to be applied. Errors: it can't be evaluated, or is no such object.
    pub(crate) fn object(&self, variables: &Variables) -> Result<Value, String> {
        made::object(&self.evaluated(variables)?)
    }

    /// The operations of the JSON patch that it makes. Errors: it can't be evaluated, or is no such patch.
    pub(crate) fn operations(&self, variables: &Variables) -> Result<Value, String> {
        made::patch(&self.evaluated(variables)?)
    }

    fn evaluated(&self, variables: &Variables) -> Result<Cel, String> {
        let source = &self.source;
        self.run(variables).map_err(|why| format!("expression '{source}' resulted in error: {why}"))
    }

    /// The text that it results in, if it does.
    pub(crate) fn text(&self, variables: &Variables) -> Option<String> {
        match self.run(variables) {
            Ok(Cel::String(text)) => Some((*text).clone()),
            _ => None,
        }
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

    #[test]
    fn a_policys_variables_fail_where_they_are_used() {
        let mut variables = Variables::of(&json!({"object": {"spec": {"n": 2}}}));
        variables.set("params", &json!({"most": 3}));
        let compile = |source: &str| Question::of_policy(source, true);
        variables.compose("n", compile("object.spec.n"));
        variables.compose("twice", compile("variables.n * 2"));
        variables.compose("none", compile("object.spec.m"));
        let check = |source: &str, expect: Result<bool, &str>| {
            let held = compile(source).and_then(|question| question.is_true(&variables));
            assert_eq!(held, expect.map_err(str::to_owned), "{source}");
        };
        check("variables.twice > params.most", Ok(true));
        check("variables.n > 5 && variables.none == 1", Ok(false));
        let why = "composited variable \"none\" fails to evaluate: no such key: m";
        check("variables.none == 1", Err(why));
        assert!(Question::of_policy("params.most > 1", false).is_err());
    }
}
