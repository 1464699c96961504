//! Expressions over the objects of a cluster, in CEL (cel-spec).

use std::sync::Arc;

use cel::{Context, ExecutionError, Program};
use serde_json::Value;

/// What expressions call the objects.
const OBJECTS: &str = "objects";

/// Whether it is an expression that knows all it names; what it says of single objects shows when there are some.
///
/// # Errors
/// Why not, for people.
pub fn check(expression: &str) -> Result<(), String> {
    match value(expression, &[])? {
        Err(error @ ExecutionError::UndeclaredReference(_)) => Err(told(&error)),
        _ => Ok(()),
    }
}

/// Its value over these objects.
///
/// # Errors
/// Why it has none, for people.
pub fn over_objects(expression: &str, objects: &[Arc<Value>]) -> Result<Value, String> {
    let value = value(expression, objects)?.map_err(|error| told(&error))?;
    value.json().map_err(|error| error.to_string())
}

fn value(
    expression: &str,
    objects: &[Arc<Value>],
) -> Result<Result<cel::Value, ExecutionError>, String> {
    let program = compile(expression)?;
    let mut context = Context::default();
    context.add_variable(OBJECTS, objects).map_err(|error| error.to_string())?;
    Ok(program.execute(&context))
}

fn compile(expression: &str) -> Result<Program, String> {
    Program::compile(expression).map_err(|errors| {
        let first = errors.errors.first();
        first.map_or_else(|| errors.to_string(), |error| error.to_string())
    })
}

fn told(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => {
            format!("an object has no {key:?}: ask has(…) before")
        }
        ExecutionError::UndeclaredReference(name) => {
            format!("{name:?} is not known here: there is {OBJECTS:?}")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_objects() {
        let foo = json!({"kind": "Foo", "metadata": {"generateName": "foo-", "generation": 1}});
        let bar = json!({"kind": "Bar", "metadata": {"name": "bar"}});
        let objects = [Arc::new(foo), Arc::new(bar)];
        let check = |text: &str, expect: Result<Value, &str>| {
            let expect = expect.map_err(str::to_owned);
            assert_eq!(over_objects(text, &objects), expect, "{text}");
        };
        check("objects.filter(o, o.kind == 'Foo').size()", Ok(json!(1)));
        check(
            "objects.filter(o, o.kind == 'Foo').map(o, {'generateName': o.metadata.generateName})",
            Ok(json!([{"generateName": "foo-"}])),
        );
        check(
            "objects.exists(o, o.kind == 'Bar' && has(o.status) && has(o.status.objRef))",
            Ok(json!(false)),
        );
        check("objects[1].status", Err("an object has no \"status\": ask has(…) before"));
    }

    #[test]
    fn wrong_ones_are_told() {
        assert_eq!(check("objects.size() == 1"), Ok(()));
        assert_eq!(check("objects.exists(o, o.kind == 'Foo')"), Ok(()));
        assert!(check("objects.size(").is_err());
        assert_eq!(check("foos"), Err("\"foos\" is not known here: there is \"objects\"".into()));
    }
}
