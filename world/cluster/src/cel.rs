//! CEL in the schemas of custom types (`x-kubernetes-validations`): one expression compiled against the type
//! that its schema node declares, and run on values.
//!
//! Parsing, the interpreter and Kubernetes' functions are `kube-cel` and `cel`; they know no types. The type
//! check is ours ([`check`]), because a rule that doesn't compile is refused when its CRD is created, and
//! because optionals need types to be evaluated as upstream does.
//!
//! What a rule could cost is estimated when its CRD is written ([`cost`]). What it does cost is not counted: upstream
//! stops a rule, or an object's rules, at a limit. Who could notice: the author of a rule that the estimate lets pass
//! (nothing is estimated of expressions of policies and webhooks) and that runs for a tenth of a second. A call that no
//! overload fits is told without its name and types, which upstream adds (`check(map, string)`).

mod authorizer;
mod check;
mod cost;
mod macros;
mod made;
mod place;
mod question;
mod run;
mod types;
mod value;

use kube_cel::cel::{IdedExpr, Value as Cel};
use serde_json::Value;

use self::types::Ty;
pub(crate) use self::{
    authorizer::Asker,
    question::{Question, Variables},
};
use crate::schema::{NodeId, Schema};

/// What `self` is in an expression.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) schema: &'a Schema,
    /// The node of its type.
    pub(crate) node: NodeId,
    /// Whether it is the root of a resource.
    pub(crate) root: bool,
    /// Whether `oldSelf` is an optional.
    pub(crate) optional_old: bool,
}

/// An expression that can be run.
#[derive(Debug)]
pub(crate) struct Expression {
    /// `None`: it uses something that is not known here, and is not evaluated.
    tree: Option<IdedExpr>,
    ty: Ty,
    /// Whether it refers to `oldSelf`.
    pub(crate) uses_old: bool,
}

/// The values of one evaluation.
pub(crate) struct Values {
    own: Cel,
    old: Option<Cel>,
}

impl Subject<'_> {
    /// Compiles an expression. Errors: why cel-go refuses it.
    pub(crate) fn compile(&self, source: &str) -> Result<Expression, String> {
        self.compile_and_estimate(source, false).map(|(expression, _)| expression)
    }

    /// Compiles an expression, and says what it costs at most, if that can be told. Errors: why cel-go refuses it.
    pub(crate) fn estimate(&self, source: &str) -> Result<(Expression, Option<u64>), String> {
        self.compile_and_estimate(source, true)
    }

    /// How many values of this sort a request can hold.
    pub(crate) fn count(&self) -> u64 {
        self.sizes().count()
    }

    fn sizes(&self) -> cost::Sizes<'_> {
        cost::Sizes { schema: self.schema, node: self.node, root: self.root }
    }

    fn compile_and_estimate(
        &self,
        source: &str,
        estimates: bool,
    ) -> Result<(Expression, Option<u64>), String> {
        let mut tree = run::parse(source).map_err(|errors| {
            let all = errors.iter().map(|(at, message)| place::describe(source, *at, message));
            all.collect::<Vec<_>>().join("\n")
        })?;
        let places = place::Places::new(source);
        let uses_old = places.has(&place::Part::Ident("oldSelf".to_owned()));
        let unknown = |name: &&str| places.has(&place::Part::Call((*name).to_owned()));
        if macros::UNKNOWN.iter().any(unknown) {
            return Ok((Expression { tree: None, ty: Ty::Dyn, uses_old }, None));
        }
        let own = types::declared(self.schema, self.node, self.root).unwrap_or(Ty::Dyn);
        let old = if self.optional_old { own.clone().optional() } else { own.clone() };
        let variables = vec![("self".to_owned(), own), ("oldSelf".to_owned(), old)];
        let parsed = estimates.then(|| {
            macros::number(&mut tree, &mut 0);
            tree.clone()
        });
        let checker = check::Checker::new(self.schema, source, variables);
        let (ty, types) = checker.run_all(&mut tree)?;
        let cost = parsed.and_then(|parsed| cost::estimate(&parsed, &types, self.sizes()));
        Ok((Expression { tree: Some(tree), ty, uses_old }, cost))
    }

    /// Whether rules see values of this node at all.
    pub(crate) fn is_seen(&self) -> bool {
        types::declared(self.schema, self.node, self.root).is_some()
    }

    /// The values of `self` and `oldSelf`.
    pub(crate) fn values(&self, own: &Value, old: Option<&Value>) -> Values {
        let convert = |value| value::convert(self.schema, self.node, value, self.root);
        Values { own: convert(own), old: old.map(convert) }
    }
}

impl Expression {
    /// Whether its result has this type; what is known at run time only has none.
    pub(crate) fn results_in(&self, ty: &str) -> bool {
        self.tree.is_none() || self.ty.is(ty)
    }

    /// Evaluates it; `None` where it can't be. Errors: in cel-go's words.
    pub(crate) fn run(&self, values: &Values, optional_old: bool) -> Option<Result<Cel, String>> {
        let tree = self.tree.as_ref()?;
        let mut context = run::scope();
        context.add_variable_from_value("self", values.own.clone());
        if self.uses_old {
            context.add_variable_from_value("oldSelf", run::old(values.old.clone(), optional_old));
        }
        Some(Cel::resolve(tree, &context).map_err(|error| run::text(&error)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Gvk;

    fn schema() -> Schema {
        let gvk = Gvk { group: "g".into(), version: "v1".into(), kind: "K".into() };
        let schema = json!({"type": "object", "properties": {
            "n": {"type": "integer"},
            "s": {"type": "string"},
            "o": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
            "l": {"type": "array", "items": {"type": "integer"}},
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
            "port": {"x-kubernetes-int-or-string": true},
            "when": {"type": "string", "format": "date-time"},
            "namespace": {"type": "string"},
            "ref": {"type": "object", "properties": {"namespace": {"type": "string"}}},
        }});
        Schema::custom(&gvk, Some(&schema)).unwrap()
    }

    fn run(source: &str) -> Result<bool, String> {
        let schema = schema();
        let subject =
            Subject { schema: &schema, node: schema.root_id(), root: true, optional_old: false };
        let object = json!({"kind": "K", "metadata": {"name": "x", "labels": {"a": "b"}}, "n": 5, "s": "abc",
            "o": {"a": "x"}, "l": [3, 1], "m": {"k": "v"}, "port": "5%", "when": "2024-02-03T04:05:06Z",
            "namespace": "here", "ref": {"namespace": "there"}});
        let expression = subject.compile(source)?;
        match expression.run(&subject.values(&object, None), false) {
            Some(Ok(Cel::Bool(holds))) => Ok(holds),
            Some(Err(why)) => Err(why),
            other => panic!("{source}: {other:?}"),
        }
    }

    #[test]
    fn rules_hold_or_not() {
        let check = |source: &str, expect: bool| assert_eq!(run(source), Ok(expect), "{source}");
        check("self.metadata.name == 'x' && self.kind == 'K'", true);
        check("self.n > 4.5 && self.n / 2 == 2", true);
        check("has(self.o.b) || !has(self.o.a)", false);
        check("self.?o.?b.orValue('none') == 'none'", true);
        check("self.?o.b.hasValue()", false);
        check("self.o.?a.optMap(v, v + 'y').orValue('') == 'xy'", true);
        check("self.l.all(i, v, v > 0 && i < 2)", true);
        check("self.m.exists(k, v, k == 'k' && v == 'w')", false);
        check("type(self.port) == int ? self.port > 0 : self.port.endsWith('%')", true);
        check("self.when.getFullYear() == 2024", true);
        check("quantity('1Gi').isGreaterThan(quantity('1000Mi'))", true);
        check("self.l.exists(x, x == 1) && self.l[0] == 3", true);
        check("self.namespace == 'here' && self.__namespace__ == 'here'", true);
        check("has(self.ref.namespace) && self.ref.namespace != self.namespace", true);
    }

    #[test]
    fn errors_are_cel_go_s() {
        let check = |source: &str, expect: &str| {
            assert_eq!(run(source).expect_err(source), expect, "{source}");
        };
        check("self.m['no'] == ''", "no such key: no");
        check("self.l[9] == 0", "index out of bounds: 9");
        check("1 / (self.n - 5) == 0", "division by zero");
        check("dyn(self.s) > 1", "no such overload");
        check(
            "self.zz == 1",
            "ERROR: <input>:1:5: undefined field 'zz'\n | self.zz == 1\n | ....^",
        );
        check(
            "true &&\n  self.s > 1",
            "ERROR: <input>:2:10: found no matching overload for '_>_' applied to '(string, int)'\n |   self.s > \
             1\n | .........^",
        );
        check(
            "self.n && true",
            "ERROR: <input>:1:5: expected type 'bool' but found 'int'\n | self.n && true\n | ....^",
        );
        check(
            "[1, 'a'].size() == 2",
            "ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, 'a'].size() == 2\n | ....^",
        );
        check(
            "self.metadata.labels.size() == 0",
            "ERROR: <input>:1:14: undefined field 'labels'\n | self.metadata.labels.size() == 0\n | .............^",
        );
        check(
            "self.metadata.namespace == 'x'",
            "ERROR: <input>:1:14: undefined field 'namespace'\n | self.metadata.namespace == 'x'\n | .............^",
        );
    }
}
