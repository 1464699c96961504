//! Expressions whose value follows from tests of single objects: `objects.filter(o, …).all(p, …)` and the like. A test of
//! an object has the same value in all states, so a checker of many states has to find it once.

use cel::{
    Context, IdedExpr,
    common::ast::{ComprehensionExpr, Expr, LiteralValue, operators},
};

use super::{Expression, OBJECTS, in_cel};

/// Such an expression.
#[derive(Debug)]
pub struct ByObject {
    truth: Truth,
    tests: Vec<Test>,
}

/// A question about one object.
#[derive(Debug)]
struct Test {
    variable: String,
    body: IdedExpr,
}

/// The objects that pass all of these tests.
type Set = Vec<usize>;

#[derive(Debug)]
enum Truth {
    All(Set, usize),
    Exists(Set, usize),
    Counts(Set, Comparison, i64),
    Not(Box<Truth>),
    And(Box<Truth>, Box<Truth>),
    Or(Box<Truth>, Box<Truth>),
}

/// How a number of objects compares with a constant.
#[derive(Debug, Clone, Copy)]
struct Comparison(fn(&i64, &i64) -> bool);

impl ByObject {
    /// The expression in this form; none if it looks at several objects together, or at more than truth and numbers.
    pub fn of(expression: &Expression) -> Option<ByObject> {
        let mut tests = Vec::new();
        let truth = truth(expression.0.expression(), &mut tests)?;
        Some(ByObject { truth, tests })
    }

    /// How many tests it has.
    pub fn tests(&self) -> usize {
        self.tests.len()
    }

    /// Whether an object passes a test; none if that has no value.
    pub fn test(&self, number: usize, object: &serde_json::Value) -> Option<bool> {
        let Test { variable, body } = &self.tests[number];
        let mut context = Context::default();
        context.add_variable_from_value(variable.clone(), in_cel(object));
        match context.resolve(body) {
            Ok(cel::Value::Bool(passes)) => Some(passes),
            _ => None,
        }
    }

    /// Whether it holds of `objects` objects, of which `passes` says whether one passes a test. None if a test that
    /// matters has no value: CEL says then what follows.
    pub fn holds(
        &self,
        objects: usize,
        passes: &dyn Fn(usize, usize) -> Option<bool>,
    ) -> Option<bool> {
        self.truth.holds(objects, passes)
    }
}

impl Truth {
    fn holds(&self, objects: usize, passes: &dyn Fn(usize, usize) -> Option<bool>) -> Option<bool> {
        // How many objects of a set there are for which `wanted` is true.
        let count = |set: &Set, wanted: &dyn Fn(usize) -> Option<bool>| {
            let mut count = 0;
            'objects: for object in 0..objects {
                for test in set {
                    if !passes(*test, object)? {
                        continue 'objects;
                    }
                }
                count += i64::from(wanted(object)?);
            }
            Some(count)
        };
        match self {
            Truth::All(set, test) => {
                let fails = |object| passes(*test, object).map(|passes| !passes);
                count(set, &fails).map(|count| count == 0)
            }
            Truth::Exists(set, test) => {
                count(set, &|object| passes(*test, object)).map(|count| count > 0)
            }
            Truth::Counts(set, Comparison(compare), constant) => {
                count(set, &|_| Some(true)).map(|count| compare(&count, constant))
            }
            Truth::Not(of) => of.holds(objects, passes).map(|holds| !holds),
            Truth::And(one, other) => {
                Some(one.holds(objects, passes)? && other.holds(objects, passes)?)
            }
            Truth::Or(one, other) => {
                Some(one.holds(objects, passes)? || other.holds(objects, passes)?)
            }
        }
    }
}

fn truth(of: &IdedExpr, tests: &mut Vec<Test>) -> Option<Truth> {
    match &of.expr {
        Expr::Call(call) => match (call.func_name.as_str(), &call.args[..]) {
            (operators::LOGICAL_NOT, [one]) => Some(Truth::Not(Box::new(truth(one, tests)?))),
            (operators::LOGICAL_AND, [one, other]) => {
                Some(Truth::And(Box::new(truth(one, tests)?), Box::new(truth(other, tests)?)))
            }
            (operators::LOGICAL_OR, [one, other]) => {
                Some(Truth::Or(Box::new(truth(one, tests)?), Box::new(truth(other, tests)?)))
            }
            (compares, [counted, constant]) => {
                let comparison = comparison(compares)?;
                let Expr::Literal(LiteralValue::Int(constant)) = &constant.expr else {
                    return None;
                };
                Some(Truth::Counts(counted_set(counted, tests)?, comparison, *constant.inner()))
            }
            _ => None,
        },
        Expr::Comprehension(of) => {
            let (name, body) = step(of)?;
            let set = set(&of.iter_range, tests)?;
            let test = add(&of.iter_var, body, tests)?;
            match name {
                operators::LOGICAL_AND => Some(Truth::All(set, test)),
                operators::LOGICAL_OR => Some(Truth::Exists(set, test)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn comparison(operator: &str) -> Option<Comparison> {
    let compare: fn(&i64, &i64) -> bool = match operator {
        operators::EQUALS => i64::eq,
        operators::NOT_EQUALS => i64::ne,
        operators::GREATER_EQUALS => i64::ge,
        operators::LESS_EQUALS => i64::le,
        operators::GREATER => i64::gt,
        operators::LESS => i64::lt,
        _ => return None,
    };
    Some(Comparison(compare))
}

/// `SET.size()` or `size(SET)`.
fn counted_set(of: &IdedExpr, tests: &mut Vec<Test>) -> Option<Set> {
    let Expr::Call(call) = &of.expr else { return None };
    match (call.func_name.as_str(), &call.target, &call.args[..]) {
        ("size", Some(counted), []) => set(counted, tests),
        ("size", None, [counted]) => set(counted, tests),
        _ => None,
    }
}

/// `objects`, or `SET.filter(…)`.
fn set(of: &IdedExpr, tests: &mut Vec<Test>) -> Option<Set> {
    match &of.expr {
        Expr::Ident(name) if name == OBJECTS => Some(vec![]),
        Expr::Comprehension(of) => {
            let (operators::CONDITIONAL, body) = step(of)? else { return None };
            let mut set = set(&of.iter_range, tests)?;
            set.push(add(&of.iter_var, body, tests)?);
            Some(set)
        }
        _ => None,
    }
}

/// What a macro does with each object, by its operator: `filter` chooses (its test comes first), `all` and `exists` hold
/// the result so far against the test.
fn step(of: &ComprehensionExpr) -> Option<(&str, &IdedExpr)> {
    let is_result =
        |expr: &IdedExpr| matches!(&expr.expr, Expr::Ident(name) if *name == of.accu_var);
    let Expr::Call(step) = &of.loop_step.expr else { return None };
    if !is_result(&of.result) || of.iter_var2.is_some() {
        return None;
    }
    match (step.func_name.as_str(), &step.args[..]) {
        (operators::CONDITIONAL, [test, added, kept]) if is_result(kept) => {
            // `map(o, test, value)` adds something else than the object.
            let Expr::Call(adds) = &added.expr else { return None };
            let [result, IdedExpr { expr: Expr::List(list), .. }] = &adds.args[..] else {
                return None;
            };
            let [IdedExpr { expr: Expr::Ident(name), .. }] = &list.elements[..] else {
                return None;
            };
            let is_list = matches!(of.accu_init.expr, Expr::List(_));
            (is_result(result) && *name == of.iter_var && is_list)
                .then_some((operators::CONDITIONAL, test))
        }
        (name, [result, test])
            if is_result(result) && matches!(of.accu_init.expr, Expr::Literal(_)) =>
        {
            Some((name, test))
        }
        _ => None,
    }
}

/// The number of a test that looks at nothing but its object.
fn add(variable: &str, body: &IdedExpr, tests: &mut Vec<Test>) -> Option<usize> {
    if body.references().has_variable(OBJECTS) {
        return None;
    }
    tests.push(Test { variable: variable.to_owned(), body: body.clone() });
    Some(tests.len() - 1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::campaign::expression::over_objects;

    fn by_object(text: &str, objects: &[Arc<Value>]) -> Option<Option<bool>> {
        let read = Expression::read(text).expect(text);
        let of = ByObject::of(&read)?;
        let test = |test: usize, object: usize| of.test(test, &objects[object]);
        Some(of.holds(objects.len(), &test))
    }

    /// Both ways say the same, wherever this one says something.
    #[test]
    fn it_says_what_the_whole_expression_says() {
        let pod = |name: &str, node: Option<&str>| json!({"kind": "Pod", "metadata": {"name": name}, "spec": {"nodeName": node}});
        let worlds = [
            vec![],
            vec![pod("a", None)],
            vec![
                pod("a", Some("n")),
                pod("b", None),
                json!({"kind": "Node", "spec": {}, "count": 2}),
            ],
            vec![pod("a", Some("n")), pod("b", Some("n"))],
        ];
        let pods = "objects.filter(o, o.kind == 'Pod')";
        let texts = [
            format!("{pods}.all(p, p.spec.nodeName == 'n')"),
            format!("{pods}.exists(p, p.spec.nodeName == 'n')"),
            format!("{pods}.filter(p, p.metadata.name == 'a').size() == 1"),
            format!("size({pods}) > 1 || objects.all(o, o.kind == 'Pod')"),
            format!("!({pods}.size() <= 1) && {pods}.size() != 3"),
            "objects.exists(o, o.kind == 'Node' && o.spec == {})".to_owned(),
            "objects.exists(o, has(o.count) && o.count == 2)".to_owned(),
        ];
        for world in &worlds {
            let world: Vec<Arc<Value>> = world.iter().cloned().map(Arc::new).collect();
            for text in &texts {
                let whole = over_objects(text, &world).expect(text);
                assert_eq!(by_object(text, &world), Some(whole.as_bool()), "{text} {world:?}");
            }
        }
    }

    #[test]
    fn what_looks_at_several_objects_is_left_to_cel() {
        for text in [
            "objects.all(o, objects.exists(p, p.kind == o.kind))",
            "objects.filter(o, o.kind == 'Pod').map(p, p.metadata.name).size() == 1",
            "objects.filter(o, o.kind == 'Pod').exists_one(p, p.kind == 'Pod')",
            "objects.size() == objects.filter(o, o.kind == 'Pod').size()",
            "objects[0].kind == 'Pod'",
        ] {
            assert_eq!(by_object(text, &[]), None, "{text}");
        }
    }

    #[test]
    fn a_test_without_a_value_says_nothing() {
        let world = [Arc::new(json!({"kind": "Pod"}))];
        assert_eq!(by_object("objects.all(o, o.status.ready)", &world), Some(None));
    }
}
