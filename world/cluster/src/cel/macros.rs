//! Macros that Kubernetes has and the crate has not: `optMap`, `optFlatMap`, and comprehensions over two
//! variables (`list.all(index, item, …)`, `map.all(key, value, …)`, `transformList`). Each is written with
//! those that the crate has; `[value].map(name, …)[0]` names a value.
//!
//! `transformMap`, `transformMapEntry` and `sortBy` have no such form: a rule with one of them is not
//! evaluated (see [`super::Expression`]).

use std::collections::BTreeMap;

use kube_cel::cel::{
    IdedExpr,
    common::ast::{CallExpr, EntryExpr, Expr, LiteralValue, operators},
};

use super::{check::made, run};

/// Macros without a form in the crate.
pub(super) const UNKNOWN: [&str; 3] = ["transformMap", "transformMapEntry", "sortBy"];

/// `operand[?"field"]`.
pub(super) fn optional_field(operand: IdedExpr, field: &str) -> Expr {
    of_field(operators::OPT_INDEX, operand, field)
}

/// A field of a value of unknown type. The interpreter takes a field of null for `false`; cel-go has no such key.
pub(super) fn selected(operand: IdedExpr, field: &str) -> Expr {
    of_field(run::SELECT, operand, field)
}

fn of_field(function: &str, operand: IdedExpr, field: &str) -> Expr {
    let field = made(Expr::Literal(LiteralValue::String(field.into())));
    Expr::Call(CallExpr {
        func_name: function.to_owned(),
        target: None,
        args: vec![operand, field],
    })
}

/// `target.name()`.
pub(super) fn member(name: &str, target: Expr) -> Expr {
    Expr::Call(CallExpr {
        func_name: name.to_owned(),
        target: Some(Box::new(made(target))),
        args: Vec::new(),
    })
}

/// Functions of one value that the interpreter has as methods, too.
const METHODS: [&str; 6] = ["bool", "double", "int", "size", "string", "uint"];

/// `int(x)` as `x.int()`: called as a function, the interpreter forgets why its argument could not be evaluated.
pub(super) fn as_method(call: &mut CallExpr) {
    if call.target.is_none() && call.args.len() == 1 && METHODS.contains(&&*call.func_name) {
        call.target = call.args.pop().map(Box::new);
    }
}

/// What a call of a macro stands for; `None` for other calls. Errors: a variable that is no name.
pub(super) fn expand(call: &CallExpr) -> Option<Result<IdedExpr, String>> {
    let target = call.target.as_deref()?;
    let (template, names) = match (call.func_name.as_str(), call.args.len()) {
        ("optMap", 2) => {
            ("x_.hasValue() ? optional.of([x_.value()].map(A_, e_)[0]) : optional.none()", 1)
        }
        ("optFlatMap", 2) => ("x_.hasValue() ? [x_.value()].map(A_, e_)[0] : optional.none()", 1),
        ("all", 3) => ("keys_.all(A_, [x_[A_]].map(B_, e_)[0])", 2),
        ("exists", 3) => ("keys_.exists(A_, [x_[A_]].map(B_, e_)[0])", 2),
        ("existsOne" | "exists_one", 3) => ("keys_.exists_one(A_, [x_[A_]].map(B_, e_)[0])", 2),
        ("transformList", 3) => ("keys_.map(A_, [x_[A_]].map(B_, e_)[0])", 2),
        ("transformList", 4) => {
            ("keys_.map(A_, [x_[A_]].map(B_, f_)[0], [x_[A_]].map(B_, e_)[0])", 2)
        }
        _ => return None,
    };
    let mut text = template.to_owned();
    for (argument, place) in call.args.iter().zip(["A_", "B_"]).take(names) {
        let Expr::Ident(name) = &argument.expr else { return Some(Err(call.func_name.clone())) };
        text = text.replace(place, name);
    }
    let mut parts = BTreeMap::from([("x_", target.clone())]);
    parts.insert("keys_", keys(target));
    parts.insert("e_", call.args.last()?.clone());
    if call.args.len() == 4 {
        parts.insert("f_", call.args[2].clone());
    }
    let mut expanded = run::parse(&text).ok()?;
    forget(&mut expanded);
    fill(&mut expanded, &parts);
    Some(Ok(expanded))
}

/// What the first variable runs over: a map's keys, a list's indexes.
fn keys(target: &IdedExpr) -> IdedExpr {
    let text = "type(dyn(x_)) == map ? dyn(x_) : dyn(lists.range(size(x_)))";
    let mut keys = run::parse(text).unwrap_or_default();
    forget(&mut keys);
    fill(&mut keys, &BTreeMap::from([("x_", target.clone())]));
    keys
}

/// Numbers all parts of an expression after `last`, each differently.
pub(super) fn number(expression: &mut IdedExpr, last: &mut u64) {
    *last += 1;
    expression.id = *last;
    for below in children(expression) {
        number(below, last);
    }
}

/// Takes their numbers from the parts of a template, which those of the expression have too.
fn forget(expression: &mut IdedExpr) {
    expression.id = 0;
    children(expression).into_iter().for_each(forget);
}

/// Puts the parts where their names stand.
fn fill(expression: &mut IdedExpr, parts: &BTreeMap<&str, IdedExpr>) {
    if let Expr::Ident(name) = &expression.expr
        && let Some(part) = parts.get(name.as_str())
    {
        *expression = part.clone();
        return;
    }
    for below in children(expression) {
        fill(below, parts);
    }
}

fn children(expression: &mut IdedExpr) -> Vec<&mut IdedExpr> {
    match &mut expression.expr {
        Expr::Call(call) => call.target.as_deref_mut().into_iter().chain(&mut call.args).collect(),
        Expr::Select(select) => vec![&mut select.operand],
        Expr::List(list) => list.elements.iter_mut().collect(),
        Expr::Map(map) => {
            let entries = map.entries.iter_mut().filter_map(|entry| match &mut entry.expr {
                EntryExpr::MapEntry(entry) => Some([&mut entry.key, &mut entry.value]),
                EntryExpr::StructField(_) => None,
            });
            entries.flatten().collect()
        }
        Expr::Comprehension(one) => {
            let one = &mut **one;
            vec![
                &mut one.iter_range,
                &mut one.accu_init,
                &mut one.loop_cond,
                &mut one.loop_step,
                &mut one.result,
            ]
        }
        _ => vec![],
    }
}
