//! Invalid mutations: one place of an object, replaced by something that does not belong there.

use serde_json::{Value, json};

/// The object with its `place`-th value (counted around, metadata left alone) replaced or removed.
pub fn mutated(mut object: Value, place: u8, how: u8) -> Value {
    let mut places = Vec::new();
    collect(&object, "", &mut places);
    if places.is_empty() {
        return object;
    }
    let pointer = &places[usize::from(place) % places.len()];
    match replacement(how) {
        Some(value) => {
            if let Some(at) = object.pointer_mut(pointer) {
                *at = value;
            }
        }
        None => remove(&mut object, pointer),
    }
    object
}

/// How many places of an object there are to mutate.
pub fn places(object: &Value) -> u8 {
    let mut places = Vec::new();
    collect(object, "", &mut places);
    u8::try_from(places.len()).expect("samples are small")
}

/// How many replacements there are.
pub const WAYS: u8 = 10;

/// None removes.
fn replacement(how: u8) -> Option<Value> {
    let all: [Option<Value>; WAYS as usize] = [
        None,
        Some(Value::Null),
        Some(json!("")),
        Some(json!(-1)),
        Some(json!("Not_A-Name!")),
        Some(json!([])),
        Some(json!({})),
        Some(json!(true)),
        Some(json!("x".repeat(300))),
        Some(json!(99999999)),
    ];
    all[usize::from(how) % all.len()].clone()
}

fn collect(value: &Value, at: &str, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in
                fields.iter().filter(|(key, _)| !(at.is_empty() && *key == "metadata"))
            {
                let below = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                places.push(below.clone());
                collect(value, &below, places);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect(value, &format!("{at}/{index}"), places);
            }
        }
        _ => {}
    }
}

fn remove(object: &mut Value, pointer: &str) {
    let Some((parent, key)) = pointer.rsplit_once('/') else { return };
    let key = key.replace("~1", "/").replace("~0", "~");
    match object.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            fields.remove(&key);
        }
        Some(Value::Array(items)) => {
            if let Ok(index) = key.parse::<usize>() {
                items.remove(index);
            }
        }
        _ => {}
    }
}
