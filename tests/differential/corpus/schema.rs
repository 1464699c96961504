//! Values made from the schema of a custom type: the least that satisfies it, and what does not belong at a place of it.
//!
//! What a schema asks for in CEL, or by several alternatives at once, is not solved: the server then refuses what was
//! meant to be good, and the refusals are compared.

use regex::Regex;
use serde_json::{Map, Value, json};

/// Deeper places are not looked at: a pod template's have their own turn in another type.
const DEPTH_MAX: usize = 7;

/// Texts tried for a pattern, in this order.
const TEXTS: &[&str] = &[
    "a",
    "abc",
    "1",
    "10s",
    "1h",
    "1Gi",
    "v1",
    "v1.0.0",
    "A",
    "abcdefghij",
    "a.example.com",
    "example.com/a",
    "https://example.com",
    "oci://example.com/a",
    "10.0.0.1",
    "10.0.0.0/24",
    "2026-01-01T00:00:00Z",
    "A_B",
    "* * * * *",
    "a=b",
    "/a",
    "100%",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "",
];

/// A step from a value into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Field(String),
    /// The first item.
    Item,
    /// The entry `key`, of a map.
    Entry,
}

/// The key that maps get.
const ENTRY: &str = "key";

/// A place in a type, and what its schema says of it.
#[derive(Debug, Clone)]
pub struct Place<'a> {
    pub path: Vec<Step>,
    pub schema: &'a Value,
}

/// The least value that a schema allows, as far as it is simple.
pub fn least(schema: &Value) -> Value {
    if let Some(value) = schema.get("default") {
        return value.clone();
    }
    if let Some(value) = schema["enum"].as_array().and_then(|values| values.first()) {
        return value.clone();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return json!(1);
    }
    match schema["type"].as_str() {
        Some("string") => text(schema).into(),
        Some("integer") => json!(number(schema) as i64),
        Some("number") => json!(number(schema)),
        Some("boolean") => json!(true),
        Some("array") => {
            let count = schema["minItems"].as_u64().unwrap_or(0);
            (0..count).map(|_| least(&schema["items"])).collect()
        }
        _ => least_object(schema),
    }
}

fn least_object(schema: &Value) -> Value {
    let mut fields = Map::new();
    for name in required(schema) {
        let value = schema["properties"].get(name).map_or(json!({}), least);
        fields.insert(name.to_owned(), value);
    }
    let least_count = schema["minProperties"].as_u64().unwrap_or(0) as usize;
    if fields.len() < least_count {
        let missing = least_count - fields.len();
        if let Some(entry) = schema.get("additionalProperties").filter(|entry| entry.is_object()) {
            fields.extend((0..missing).map(|n| (format!("{ENTRY}{n}"), least(entry))));
        } else {
            let optional: Vec<_> = properties(schema)
                .filter(|(name, _)| !fields.contains_key(*name))
                .take(missing)
                .map(|(name, schema)| (name.clone(), least(schema)))
                .collect();
            fields.extend(optional);
        }
    }
    Value::Object(fields)
}

/// What must be there: by itself, and by the first of each list of alternatives.
fn required(schema: &Value) -> Vec<&str> {
    let mut names = named(schema);
    for several in ["oneOf", "anyOf"] {
        if let Some(first) = schema[several].as_array().and_then(|list| list.first()) {
            names.extend(named(first));
        }
    }
    for every in schema["allOf"].as_array().into_iter().flatten() {
        names.extend(named(every));
    }
    names.dedup();
    names
}

fn named(schema: &Value) -> Vec<&str> {
    let names = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    names.iter().filter_map(Value::as_str).collect()
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

/// A text of the right length, form and pattern, if one of [`TEXTS`] is.
fn text(schema: &Value) -> String {
    match schema["format"].as_str() {
        Some("date-time") => return "2020-01-01T00:00:00Z".to_owned(),
        Some("date") => return "2020-01-01".to_owned(),
        Some("duration") => return "1m0s".to_owned(),
        Some("byte") => return "YQ==".to_owned(),
        Some("uri") => return "https://example.com".to_owned(),
        Some("ipv4") => return "10.0.0.1".to_owned(),
        _ => {}
    }
    let least = schema["minLength"].as_u64().unwrap_or(0) as usize;
    let most = schema["maxLength"].as_u64().unwrap_or(u64::MAX) as usize;
    let pattern = schema["pattern"].as_str().and_then(|pattern| Regex::new(pattern).ok());
    let fits = |text: &str| {
        (least..=most).contains(&text.len())
            && pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
    };
    let known = TEXTS.iter().find(|text| fits(text));
    known.map_or_else(|| "a".repeat(least.max(1)), |text| (*text).to_owned())
}

fn number(schema: &Value) -> f64 {
    let least = schema["minimum"].as_f64();
    let most = schema["maximum"].as_f64();
    let above = if schema["exclusiveMinimum"] == true { 1.0 } else { 0.0 };
    let value = least.map_or(1.0, |least| (least + above).max(1.0));
    most.map_or(value, |most| value.min(most))
}

/// All places of a type, each after the one that it is in.
pub fn places(schema: &Value) -> Vec<Place<'_>> {
    let mut all = Vec::new();
    below(schema, &mut Vec::new(), &mut all);
    all
}

fn below<'a>(schema: &'a Value, path: &mut Vec<Step>, all: &mut Vec<Place<'a>>) {
    if path.len() >= DEPTH_MAX {
        return;
    }
    let mut visit = |step: Step, schema: &'a Value| {
        path.push(step);
        all.push(Place { path: path.clone(), schema });
        below(schema, path, all);
        path.pop();
    };
    for (name, schema) in properties(schema) {
        visit(Step::Field(name.clone()), schema);
    }
    if schema["items"].is_object() {
        visit(Step::Item, &schema["items"]);
    }
    if schema["additionalProperties"].is_object() {
        visit(Step::Entry, &schema["additionalProperties"]);
    }
}

/// What to put at a place, with a word on each: good if the schema is simple, and bad for each thing that it asks for.
pub fn values(schema: &Value) -> Vec<(&'static str, Value)> {
    let mut values = vec![("good", least(schema)), ("null", Value::Null)];
    let wrong = match schema["type"].as_str() {
        Some("string") => json!(7),
        Some("object" | "array" | "boolean") => json!("text"),
        Some("integer") => json!(1.5),
        Some("number") => json!("1"),
        _ => json!([true]),
    };
    values.push(("of another type", wrong));
    if schema["enum"].is_array() {
        values.push(("outside of its enum", json!("Unheard-of")));
    }
    if let Some(least) = schema["minimum"].as_f64() {
        values.push(("below its minimum", json!(least as i64 - 1)));
    }
    if let Some(most) = schema["maximum"].as_f64().filter(|most| most.abs() < 1e15) {
        values.push(("above its maximum", json!(most as i64 + 1)));
    }
    if schema["minLength"].as_u64() > Some(0) || schema["pattern"].is_string() {
        values.push(("empty", json!("")));
    }
    if let Some(most) = schema["maxLength"].as_u64().filter(|most| *most < 10_000) {
        values.push(("too long", "a".repeat(most as usize + 1).into()));
    }
    if schema["pattern"].is_string() {
        values.push(("against its pattern", json!("\u{fc} !\n")));
    }
    if schema["format"].is_string() && schema["type"] == "string" {
        values.push(("against its format", json!("no such form")));
    }
    if schema["minItems"].as_u64() > Some(0) {
        values.push(("of too few items", json!([])));
    }
    if let Some(most) = schema["maxItems"].as_u64().filter(|most| *most < 200) {
        let item = least(&schema["items"]);
        values.push(("of too many items", vec![item; most as usize + 1].into()));
    }
    if matches!(schema["x-kubernetes-list-type"].as_str(), Some("map" | "set")) {
        let item = least(&schema["items"]);
        values.push(("with an item twice", json!([item, item])));
    }
    if schema["type"] == "object" {
        let mut more = least(schema);
        if let Some(fields) = more.as_object_mut() {
            fields.insert("unheardOf".to_owned(), json!({"of": 1}));
        }
        values.push(("with a field more", more));
        for name in required(schema).into_iter().take(3) {
            let mut less = least(schema);
            if let Some(fields) = less.as_object_mut() {
                fields.remove(name);
            }
            values.push(("without what is required", less));
        }
    }
    values
}

/// Puts a value at a place of an object of this type, with whatever that place must be in.
pub fn put(object: &mut Value, schema: &Value, path: &[Step], value: Value) {
    let Some((step, rest)) = path.split_first() else {
        *object = value;
        return;
    };
    let (inner, place) = match step {
        Step::Field(name) => {
            let schema = &schema["properties"][name];
            if !object.is_object() {
                *object = json!({});
            }
            (schema, &mut object[name])
        }
        Step::Entry => {
            if !object.is_object() {
                *object = json!({});
            }
            (&schema["additionalProperties"], &mut object[ENTRY])
        }
        Step::Item => {
            if object.as_array().is_none_or(Vec::is_empty) {
                *object = json!([null]);
            }
            (&schema["items"], &mut object[0])
        }
    };
    if place.is_null() {
        *place = least(inner);
    }
    put(place, inner, rest, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Value {
        json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "string", "pattern": "^[0-9]+s$"},
            "b": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["n"],
                "properties": {"n": {"type": "integer", "minimum": 5}}}},
        }})
    }

    #[test]
    fn the_least_has_what_is_required() {
        assert_eq!(least(&sample()), json!({"a": "10s"}));
        assert_eq!(least(&sample()["properties"]["b"]), json!([{"n": 5}]));
    }

    #[test]
    fn a_value_comes_with_what_it_is_in() {
        let (schema, mut object) = (sample(), json!({"a": "10s"}));
        let path = [Step::Field("b".to_owned()), Step::Item, Step::Field("n".to_owned())];
        assert!(places(&schema).iter().any(|place| place.path == path));
        put(&mut object, &schema, &path, json!(4));
        assert_eq!(object, json!({"a": "10s", "b": [{"n": 4}]}));
    }

    #[test]
    fn what_a_schema_asks_for_is_broken_once_each() {
        let words = |schema: &Value| -> Vec<&str> {
            values(schema).into_iter().map(|(word, _)| word).collect()
        };
        let of = |name: &str| sample()["properties"][name].clone();
        assert_eq!(
            words(&of("a")),
            ["good", "null", "of another type", "empty", "against its pattern"]
        );
        assert_eq!(words(&of("b")), ["good", "null", "of another type", "of too few items"]);
    }
}
