//! Columns: a definition and how the cell is read.

use serde_json::{Value, json};
use trace::Time;

use super::{duration, path::JsonPath};

/// How a cell is read.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    /// The value at a path as it is; null where there is none.
    Value(JsonPath),
    /// The time since the moment at a path.
    Age(JsonPath),
    /// The same of a custom type; null where there is no text (`cellForJSONValue`).
    Date(JsonPath),
    /// Computed.
    Computed(fn(&Value, Time) -> Value),
}

#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) format: String,
    pub(super) description: String,
    /// Above 0: only with `-o wide`.
    pub(super) priority: i64,
    pub(super) cell: Cell,
}

/// The columns of one resource.
#[derive(Debug, Clone)]
pub struct Columns(pub(super) Vec<Column>);

impl Columns {
    /// The cells of one object.
    pub fn cells(&self, object: &Value, now: Time) -> Vec<Value> {
        self.0.iter().map(|column| column.cell(object, now)).collect()
    }

    /// `columnDefinitions`.
    pub fn definitions(&self) -> Value {
        let definition = |column: &Column| {
            json!({
                "name": column.name,
                "type": column.kind,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
            })
        };
        Value::Array(self.0.iter().map(definition).collect())
    }
}

impl Column {
    fn cell(&self, object: &Value, now: Time) -> Value {
        match &self.cell {
            Cell::Value(path) => fit(path.find(object), &self.kind),
            Cell::Age(path) => match path.find(object).first().and_then(|value| value.as_str()) {
                Some(time) => Value::from(duration::age(time, now)),
                None => Value::from("<unknown>"),
            },
            Cell::Date(path) => match path.find(object).first().and_then(|value| value.as_str()) {
                Some(time) => Value::from(duration::date(time, now)),
                None => Value::Null,
            },
            Cell::Computed(compute) => compute(object, now),
        }
    }
}

/// Values as a column of this type shows them: several are joined, wrong types are null.
fn fit(found: Vec<&Value>, kind: &str) -> Value {
    let Some(first) = found.first() else { return Value::Null };
    match kind {
        "integer" => first.as_i64().map_or(Value::Null, Value::from),
        "number" => first.as_f64().map_or(Value::Null, Value::from),
        "boolean" => first.as_bool().map_or(Value::Null, Value::from),
        _ => {
            let text =
                |value: &&Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            Value::from(found.iter().map(text).collect::<Vec<_>>().join(","))
        }
    }
}

/// The name column, which every table begins with.
pub(super) fn name() -> Column {
    let path = JsonPath::parse(".metadata.name").unwrap_or_default();
    Column { format: "name".to_owned(), ..column("Name", "string", Cell::Value(path)) }
}

/// The age column.
pub(super) fn age() -> Column {
    let path = JsonPath::parse(".metadata.creationTimestamp").unwrap_or_default();
    column("Age", "string", Cell::Age(path))
}

/// A column without format and description.
pub(super) fn column(name: &str, kind: &str, cell: Cell) -> Column {
    Column {
        name: name.to_owned(),
        kind: kind.to_owned(),
        format: String::new(),
        description: String::new(),
        priority: 0,
        cell,
    }
}

/// The columns of a custom resource: its name, then its `additionalPrinterColumns`, by default the age.
/// A column whose path can't be read is empty, as upstream leaves it.
pub fn custom(additional: &[Value]) -> Columns {
    let mut columns = vec![name()];
    for definition in additional {
        let text =
            |name: &str| definition.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
        let path = JsonPath::parse(&text("jsonPath")).unwrap_or_default();
        let kind = text("type");
        let cell = if kind == "date" { Cell::Date(path) } else { Cell::Value(path) };
        columns.push(Column {
            name: text("name"),
            kind,
            format: text("format"),
            description: text("description"),
            priority: definition.get("priority").and_then(Value::as_i64).unwrap_or(0),
            cell,
        });
    }
    if additional.is_empty() {
        columns.push(Column { kind: "date".to_owned(), ..age() });
    }
    Columns(columns)
}
