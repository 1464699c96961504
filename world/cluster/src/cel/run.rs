//! Parsing and evaluation, by the crate; and its errors in the words of cel-go.

use std::sync::{Arc, LazyLock};

use kube_cel::{
    KubeCelExt as _,
    cel::{
        Context, ExecutionError, FunctionContext, IdedExpr, ResolveResult, Value,
        extractors::This,
        functions,
        objects::{Key, Opaque, OptionalValue},
        parser::Parser,
    },
};

/// Names of types that expressions may write, `type(self.port) == int`.
pub(super) const TYPES: [&str; 10] =
    ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// The function behind fields of values of unknown type; no expression can call it.
pub(super) const SELECT: &str = "@select";

fn select(value: Value, field: Arc<String>) -> ResolveResult {
    let found = match &value {
        Value::Map(map) => map.get(&Key::String(field.clone())).cloned(),
        Value::Null => None,
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    found.ok_or(ExecutionError::NoSuchKey(field))
}

/// A type as a value.
#[derive(Debug, PartialEq, Eq)]
struct TypeValue(String);

impl Opaque for TypeValue {
    fn runtime_type_name(&self) -> &str {
        "type"
    }
}

fn type_value(name: &str) -> Value {
    Value::Opaque(Arc::new(TypeValue(name.to_owned())))
}

/// All functions; made once, because registering them costs more than a rule.
static FUNCTIONS: LazyLock<Context<'static>> = LazyLock::new(|| {
    let mut context = Context::default().with_all();
    context.add_function("type", type_of);
    context.add_function("dyn", |value: Value| -> ResolveResult { Ok(value) });
    context.add_function("bool", to_bool);
    context.add_function("string", to_string);
    context.add_function(SELECT, select);
    super::authorizer::register(&mut context);
    super::made::register(&mut context);
    for name in TYPES {
        context.add_variable_from_value(name, type_value(name));
    }
    context
});

fn type_of(value: Value) -> ResolveResult {
    Ok(type_value(match &value {
        Value::Bool(_) => "bool",
        Value::Bytes(_) => "bytes",
        Value::Float(_) => "double",
        Value::Int(_) => "int",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Null => "null_type",
        Value::String(_) => "string",
        Value::UInt(_) => "uint",
        Value::Duration(_) => "google.protobuf.Duration",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Opaque(opaque) => opaque.runtime_type_name(),
        _ => "dyn",
    }))
}

fn to_bool(This(value): This<Value>) -> ResolveResult {
    match &value {
        Value::Bool(_) => Ok(value),
        Value::String(text) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            other => Err(ExecutionError::function_error(
                "bool",
                format!("strconv.ParseBool: parsing {other:?}: invalid syntax"),
            )),
        },
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// The crate's function knows no truth values.
fn to_string(function: &FunctionContext<'_, '_>, This(value): This<Value>) -> ResolveResult {
    match value {
        Value::Bool(value) => Ok(Value::from(value.to_string())),
        value => functions::string(function, This(value)),
    }
}

/// A context for one evaluation: functions, no variables.
pub(super) fn scope() -> Context<'static> {
    FUNCTIONS.new_inner_scope()
}

/// A syntax tree. Errors: what is wrong and where, as `(offset, message)` with offsets in characters.
pub(super) fn parse(source: &str) -> Result<IdedExpr, Vec<(usize, String)>> {
    let parser = Parser::new().enable_optional_syntax(true);
    parser.parse(source).map_err(|found| {
        let place = |(line, column): (isize, isize)| {
            let before: usize = source
                .split_inclusive('\n')
                .take(usize::try_from(line - 1).unwrap_or(0))
                .map(|line| line.chars().count())
                .sum();
            before + usize::try_from(column - 1).unwrap_or(0)
        };
        found.errors.iter().map(|error| (place(error.pos), error.msg.clone())).collect()
    })
}

/// A function of one text, such as `duration`; `None` if it can't read it.
pub(super) fn call(function: &str, text: &str) -> Option<Value> {
    let mut context = scope();
    context.add_variable_from_value("text", text.to_owned());
    Value::resolve(&parse(&format!("{function}(text)")).ok()?, &context).ok()
}

/// A value as text, `string(value)`; `None` if it has none.
pub(super) fn string(value: &Value) -> Option<String> {
    let mut context = scope();
    context.add_variable_from_value("value", value.clone());
    match Value::resolve(&parse("string(value)").ok()?, &context) {
        Ok(Value::String(text)) => Some((*text).clone()),
        _ => None,
    }
}

/// Whether the function can read the text.
pub(super) fn reads(function: &str, text: &str) -> bool {
    call(function, text).is_some()
}

/// The value of `oldSelf`.
pub(super) fn old(value: Option<Value>, optional: bool) -> Value {
    match (value, optional) {
        (Some(value), false) => value,
        (None, false) => Value::Null,
        (value, true) => {
            let optional = value.map_or_else(OptionalValue::none, OptionalValue::of);
            Value::Opaque(Arc::new(optional))
        }
    }
}

/// An error of an evaluation as cel-go says it.
pub(super) fn text(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::IndexOutOfBounds(index) => format!("index out of bounds: {}", shown(index)),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        ExecutionError::NoSuchOverload
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::UnsupportedUnaryOperator(..)
        | ExecutionError::ValuesNotComparable(..)
        | ExecutionError::UnsupportedTargetType { .. }
        | ExecutionError::NotSupportedAsMethod { .. }
        | ExecutionError::UnexpectedType { .. } => "no such overload".to_owned(),
        other => other.to_string(),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}
