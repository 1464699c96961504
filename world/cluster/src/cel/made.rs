//! Objects that expressions of mutating policies make: `Object{…}`, `Object.spec{…}` and `JSONPatch{…}`
//! (`k8s.io/apiserver/pkg/cel/mutation`).
//!
//! The interpreter has no such values: each is a map of its fields, and under a key that is no text the name of its type.
//! A field of `Object` has the type that its place in the object asks for, which is looked at once the whole is made, as
//! upstream does.
//!
//! Other than upstream: `type(Object{})` is `map`; a map that stands in a list of an `Object` becomes JSON (upstream's
//! becomes a Go map that nothing can merge).

use std::{collections::BTreeMap, sync::Arc};

use base64::Engine as _;
use kube_cel::cel::{
    Context, ExecutionError, IdedExpr, ResolveResult, Value as Cel,
    common::ast::{
        CallExpr, EntryExpr, Expr, IdedEntryExpr, LiteralValue, MapEntryExpr, MapExpr, StructExpr,
    },
    objects::{Key, Map},
};
use serde_json::{Map as Fields, Value, json};

use super::{check::made, run, types::Ty};

/// The type of an operation of a JSON patch.
pub(super) const PATCH: &str = "JSONPatch";
/// The type of an object; those of its parts have its name before their path.
pub(super) const OBJECT: &str = "Object";
/// The function that makes values of both; no expression can call it.
const MAKE: &str = "@make";
/// Under it stands the name of the type. A map of an expression that has such a key is no JSON.
const TYPE: Key = Key::Bool(true);
/// Whole numbers beyond it are no numbers of JSON (`isJSONSafe`).
const SAFE: i64 = (1 << 53) - 1;

/// Whether an expression of a mutating policy can make values of this type.
pub(super) fn is_made(name: &str) -> bool {
    name == PATCH
        || name.strip_prefix(OBJECT).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The type of a field; none where the type has no such field.
pub(super) fn field(of: &str, name: &str) -> Option<Ty> {
    match (of, name) {
        (PATCH, "op" | "path" | "from") => Some(Ty::plain("string")),
        (PATCH, "value") => Some(Ty::Dyn),
        (PATCH, _) => None,
        _ => Some(Ty::Dyn),
    }
}

/// `Object.spec{a: 1}` as a call of what makes it.
pub(super) fn call(of: StructExpr) -> Expr {
    let text = |text: String| made(Expr::Literal(LiteralValue::String(text.as_str().into())));
    let entries = of.entries.into_iter().filter_map(|entry| {
        let EntryExpr::StructField(field) = entry.expr else { return None };
        let expr = EntryExpr::MapEntry(MapEntryExpr {
            key: text(field.field),
            value: field.value,
            optional: field.optional,
        });
        Some(IdedEntryExpr { id: 0, expr })
    });
    let fields = made(Expr::Map(MapExpr { entries: entries.collect() }));
    let args: Vec<IdedExpr> = vec![text(of.type_name), fields];
    Expr::Call(CallExpr { func_name: MAKE.to_owned(), target: None, args })
}

/// Adds the function.
pub(super) fn register(context: &mut Context<'static>) {
    context.add_function(MAKE, |name: Arc<String>, fields: Cel| -> ResolveResult {
        let Cel::Map(fields) = fields else { return Err(ExecutionError::NoSuchOverload) };
        let mut fields = (*fields.map).clone();
        fields.insert(TYPE, Cel::String(name));
        Ok(Cel::Map(Map { map: Arc::new(fields) }))
    });
}

/// The name of the type of a value that was made.
fn type_of(value: &Cel) -> Option<&str> {
    match value {
        Cel::Map(map) => match map.map.get(&TYPE) {
            Some(Cel::String(name)) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// Fields by name, without the type.
fn fields(map: &Map) -> BTreeMap<String, &Cel> {
    let named = map.map.iter().filter(|(key, _)| **key != TYPE);
    named.map(|(key, value)| (key.to_string(), value)).collect()
}

/// The object that an expression has made. Errors: parts whose types are not those of their places; what is no JSON.
pub(super) fn object(value: &Cel) -> Result<Value, String> {
    check_types(value)?;
    json(value)
}

/// The operations that an expression has made. Errors: their values can't be had.
pub(super) fn patch(value: &Cel) -> Result<Value, String> {
    let Cel::List(items) = value else {
        return Err("type mismatch: JSONPatchType.expression should evaluate to array".to_owned());
    };
    items.iter().map(operation).collect::<Result<_, _>>().map(Value::Array)
}

fn operation(item: &Cel) -> Result<Value, String> {
    let Cel::Map(map) = item else {
        return Err(
            "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch"
                .to_owned(),
        );
    };
    let given = fields(map);
    let mut operation = Fields::new();
    for name in ["op", "path", "from"] {
        let text = match given.get(name) {
            Some(Cel::String(text)) => text.as_str(),
            _ => "",
        };
        if name != "from" || !text.is_empty() {
            operation.insert(name.to_owned(), json!(text));
        }
    }
    if let Some(value) = given.get("value") {
        check_types(value)?;
        let why = |why: String| {
            format!(
                "JSONPath valueExpression evaluated to a type that could not marshal to JSON: {why}"
            )
        };
        operation.insert("value".to_owned(), json(value).map_err(why)?);
    }
    Ok(Value::Object(operation))
}

/// Parts of an object are called after their path (`CheckTypeNamesMatchFieldPathNames`).
fn check_types(value: &Cel) -> Result<(), String> {
    let Some(root) = type_of(value) else { return Ok(()) };
    let mut wrong = Vec::new();
    walk(value, root, &mut wrong);
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("type mismatch: {}", wrong.join("\n"))),
    }
}

fn walk(value: &Cel, expected: &str, wrong: &mut Vec<String>) {
    match (value, type_of(value)) {
        (Cel::Map(map), Some(name)) => {
            if name != expected {
                wrong.push(format!(
                    "unexpected type name {name:?}, expected {expected:?}, which matches field name path from root \
                     Object type"
                ));
            }
            for (field, value) in fields(map) {
                walk(value, &format!("{expected}.{field}"), wrong);
            }
        }
        (Cel::Map(map), None) => map.map.values().for_each(|value| walk(value, expected, wrong)),
        (Cel::List(items), _) => items.iter().for_each(|item| walk(item, expected, wrong)),
        _ => {}
    }
}

/// A value as JSON (`ConvertToNative` to `structpb.Value`). Errors: there is no such form.
fn json(value: &Cel) -> Result<Value, String> {
    Ok(match value {
        Cel::Null => Value::Null,
        Cel::Bool(value) => json!(value),
        Cel::Int(number) if number.abs() > SAFE => json!(number.to_string()),
        Cel::Int(number) => json!(number),
        Cel::UInt(number) if i64::try_from(*number).is_ok_and(|number| number <= SAFE) => {
            json!(number)
        }
        Cel::UInt(number) => json!(number.to_string()),
        Cel::Float(number) => match whole(*number) {
            Some(whole) => json!(whole),
            None => json!(number),
        },
        Cel::String(text) => json!(**text),
        Cel::Bytes(bytes) => json!(base64::engine::general_purpose::STANDARD.encode(&**bytes)),
        Cel::Timestamp(_) | Cel::Duration(_) => json!(run::string(value).unwrap_or_default()),
        Cel::List(items) => Value::Array(items.iter().map(json).collect::<Result<_, _>>()?),
        Cel::Map(map) => {
            let mut made = Fields::new();
            for (key, value) in map.map.iter().filter(|(key, _)| **key != TYPE) {
                let Key::String(name) = key else {
                    return Err(format!("map key {key} is not a string"));
                };
                made.insert((**name).clone(), json(value)?);
            }
            Value::Object(made)
        }
        _ => return Err("unsupported type conversion to JSON".to_owned()),
    })
}

/// A number without a fraction, which Go writes without one.
fn whole(number: f64) -> Option<i64> {
    let fits = number.fract() == 0.0 && number.abs() <= SAFE as f64;
    fits.then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::cel::{Question, Variables};

    type Made = Result<super::Value, String>;

    fn made(source: &str, result: fn(&Question, &Variables) -> Made) -> Made {
        let variables = Variables::of(&json!({"object": {"spec": {"n": 2}}}));
        result(&Question::of_mutation(source, false)?, &variables)
    }

    #[test]
    fn objects_become_what_is_applied() {
        let check = |source: &str, expect: super::Value| {
            assert_eq!(made(source, Question::object), Ok(expect), "{source}");
        };
        check("Object{}", json!({}));
        check("Object{spec: Object.spec{n: object.spec.n + 1}}", json!({"spec": {"n": 3}}));
        check(
            "Object{metadata: Object.metadata{labels: {'a': 'b'}}, ?x: optional.none()}",
            json!({"metadata": {"labels": {"a": "b"}}}),
        );
        let wrong = "type mismatch: unexpected type name \"Object.wrong\", expected \"Object.spec\", which matches field \
                     name path from root Object type";
        let source = "Object{spec: Object.wrong{n: 1}}";
        assert_eq!(made(source, Question::object), Err(wrong.to_owned()));
    }

    #[test]
    fn patches_become_operations() {
        let source = "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: 2.0},
            JSONPatch{op: 'move', from: '/a', path: '/b'}]";
        let expect = json!([{"op": "add", "path": "/metadata/labels/a~1b", "value": 2},
            {"op": "move", "from": "/a", "path": "/b"}]);
        assert_eq!(made(source, Question::operations), Ok(expect));
    }

    #[test]
    fn what_is_not_a_patch_is_refused() {
        let refuse = |source: &str, expect: &str| {
            let why = Question::of_mutation(source, false).expect_err(source);
            assert!(why.contains(expect), "{why}");
        };
        refuse(
            "[JSONPatch{op: 1, path: '/a'}]",
            "expected type of field 'op' is 'string' but provided type is 'int'",
        );
        refuse("[JSONPatch{ops: 'add'}]", "undefined field 'ops'");
        refuse("Wrong{a: 1}", "undeclared reference to 'Wrong'");
        assert!(Question::of_policy("Object{}", false).is_err());
    }
}
