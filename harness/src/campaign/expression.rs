//! Expressions over the objects of a cluster, in CEL (cel-spec).

mod by_object;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use cel::{Context, ExecutionError, Program};
use serde_json::Value;
use trace::ObjectKey;

pub use by_object::ByObject;

/// What expressions call the objects.
const OBJECTS: &str = "objects";

/// An expression that was read.
#[derive(Debug)]
pub struct Expression(Program);

/// A world as expressions see it: each version of an object is converted once.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    /// With the number of its creation, in whose order they are listed.
    of: BTreeMap<ObjectKey, (usize, cel::Value)>,
    created: usize,
}

impl Objects {
    /// What stands there from the beginning, in the order of the keys.
    pub fn of<'a>(objects: impl IntoIterator<Item = &'a (ObjectKey, Arc<Value>)>) -> Objects {
        let mut all = Objects::default();
        for (key, object) in objects {
            all.set(key, object);
        }
        all
    }

    /// It is created or changed. Definitions of types are left out: they are large, and no state of a controller.
    pub fn set(&mut self, key: &ObjectKey, object: &Value) {
        if *key.resource.resource == *"customresourcedefinitions" {
            return;
        }
        self.created += 1;
        let number = self.of.get(key).map_or(self.created, |(number, _)| *number);
        self.of.insert(key.clone(), (number, in_cel(object)));
    }

    /// It is gone.
    pub fn remove(&mut self, key: &ObjectKey) {
        self.of.remove(key);
    }

    /// For any number of expressions.
    pub fn context(&self) -> Context<'static> {
        let mut objects: Vec<&(usize, cel::Value)> = self.of.values().collect();
        objects.sort_by_key(|(number, _)| *number);
        let objects = objects.into_iter().map(|(_, object)| object.clone()).collect();
        over(objects)
    }
}

impl Expression {
    /// Reads an expression that knows all it names; what it says of single objects shows when there are some.
    ///
    /// # Errors
    /// Why not, for people.
    pub fn read(text: &str) -> Result<Expression, String> {
        let program = Program::compile(text).map_err(|errors| {
            let first = errors.errors.first();
            first.map_or_else(|| errors.to_string(), |error| error.to_string())
        })?;
        if let Some(name) =
            program.references().variables().iter().find(|name| !is_known(name, text))
        {
            return Err(unknown(name));
        }
        match program.execute(&over(vec![])) {
            Err(error @ ExecutionError::UndeclaredReference(_)) => Err(told(&error)),
            _ => Ok(Expression(program)),
        }
    }

    /// Whether it holds there.
    ///
    /// # Errors
    /// It has no value, or one that is neither true nor false: why, for people.
    pub fn holds(&self, context: &Context<'_>) -> Result<bool, String> {
        match self.0.execute(context).map_err(|error| told(&error))? {
            cel::Value::Bool(holds) => Ok(holds),
            other => Err(format!("it is neither true nor false, but {}", other.type_of())),
        }
    }
}

/// Whether this text is an expression: see [`Expression::read`].
///
/// # Errors
/// Why not, for people.
pub fn check(text: &str) -> Result<(), String> {
    Expression::read(text).map(drop)
}

/// The value of this text over these objects.
///
/// # Errors
/// Why it has none, for people.
pub fn over_objects(text: &str, objects: &[Arc<Value>]) -> Result<Value, String> {
    let read = Expression::read(text)?;
    let context = over(objects.iter().map(|object| in_cel(object)).collect());
    let value = read.0.execute(&context).map_err(|error| told(&error))?;
    value.json().map_err(|error| error.to_string())
}

/// Whether something gives this name a value: what expressions are over, CEL's types, or a macro (`exists(o, …)`), which
/// names it in front of a comma. The crate tells no more of names than that they are there.
fn is_known(name: &str, text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let by_macro = || {
        text.match_indices(name).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + name.len()..]);
            before.trim_end().ends_with(['(', ','])
                && after.trim_start().starts_with(',')
                && !before.ends_with(is_part)
        })
    };
    name == OBJECTS || TYPES.contains(&name) || by_macro()
}

/// Names that CEL has by itself (cel-spec, Values).
const TYPES: [&str; 12] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "timestamp",
    "type",
    "uint",
];

fn unknown(name: &str) -> String {
    format!("{name:?} is not known here: there is {OBJECTS:?}")
}

/// JSON in CEL. Whole numbers are `int`, as the literals of expressions are: the crate finds no `uint` equal to an `int`.
fn in_cel(json: &Value) -> cel::Value {
    match json {
        Value::Null => cel::Value::Null,
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => number.into(),
            (None, Some(number)) => number.into(),
            (None, None) => number.as_f64().unwrap_or(f64::NAN).into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => values.iter().map(in_cel).collect::<Vec<_>>().into(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), in_cel(value)));
            fields.collect::<HashMap<_, _>>().into()
        }
    }
}

fn over(objects: Vec<cel::Value>) -> Context<'static> {
    let mut context = Context::default();
    context.add_variable_from_value(OBJECTS, cel::Value::List(Arc::new(objects)));
    context
}

fn told(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => {
            format!("an object has no {key:?}: ask has(…) before")
        }
        ExecutionError::UndeclaredReference(name) => unknown(name),
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
        check(
            "objects[0].metadata.generation == 1 && objects[0].metadata.generation < 2",
            Ok(json!(true)),
        );
        check("objects[0].metadata == {'generateName': 'foo-', 'generation': 1}", Ok(json!(true)));
        check("objects[1].status", Err("an object has no \"status\": ask has(…) before"));
    }

    #[test]
    fn wrong_ones_are_told() {
        assert_eq!(check("objects.size() == 1"), Ok(()));
        assert_eq!(check("objects.exists(o, o.kind == 'Foo')"), Ok(()));
        assert!(check("objects.size(").is_err());
        assert_eq!(check("size(object)"), Err(unknown("object")));
        assert_eq!(check("objects.exists(o, p.kind == 'Foo')"), Err(unknown("p")));
        assert_eq!(check("objects.exists( o, o.spec.all(name,name == 'a'))"), Ok(()));
        assert_eq!(check("foos"), Err("\"foos\" is not known here: there is \"objects\"".into()));
    }
}
