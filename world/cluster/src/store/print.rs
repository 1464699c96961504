//! Prints of objects: what a world is, at the price of the objects that have changed.
//!
//! Each object is hashed once, when its print is first asked for, and every world that shares it shares that. A world's
//! print is the sum of its objects': in no order, so nothing has to be sorted or numbered.

use serde_json::Value;

/// All that the objects of a world say but their revisions, in sixteen bytes.
///
/// Worlds with the same print have the same objects. Worlds with different ones may still have the same
/// [`trace::identity`], which does not tell one generated name or uid from another: for a search that tells worlds of one
/// origin apart millions of times, where a world that is looked at twice costs time only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Print(pub u128);

/// Kind, namespace and name are in the object.
pub(super) fn print(object: &Value) -> u128 {
    let mut bytes = Vec::with_capacity(4096);
    let fields = object.as_object().into_iter().flatten();
    for (name, field) in fields {
        text(&mut bytes, name);
        match field.as_object().filter(|_| name == "metadata") {
            None => value(&mut bytes, field),
            Some(metadata) => {
                for (name, field) in metadata.iter().filter(|(name, _)| *name != "resourceVersion")
                {
                    text(&mut bytes, name);
                    value(&mut bytes, field);
                }
            }
        }
    }
    let hash = blake3::hash(&bytes);
    u128::from_le_bytes(hash.as_bytes()[..16].try_into().expect("it has 32 bytes"))
}

/// What a value is, in bytes that no other value has: quicker than JSON, which nobody has to read here.
fn value(bytes: &mut Vec<u8>, of: &Value) {
    match of {
        Value::Null => bytes.push(b'n'),
        Value::Bool(is) => bytes.push(if *is { b't' } else { b'f' }),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => {
                bytes.push(b'i');
                bytes.extend(whole.to_le_bytes());
            }
            None => {
                bytes.push(b'd');
                text(bytes, &number.to_string());
            }
        },
        Value::String(of) => {
            bytes.push(b's');
            text(bytes, of);
        }
        Value::Array(items) => {
            bytes.push(b'a');
            bytes.extend(items.len().to_le_bytes());
            items.iter().for_each(|item| value(bytes, item));
        }
        Value::Object(fields) => {
            bytes.push(b'o');
            bytes.extend(fields.len().to_le_bytes());
            for (name, field) in fields {
                text(bytes, name);
                value(bytes, field);
            }
        }
    }
}

fn text(bytes: &mut Vec<u8>, of: &str) {
    bytes.extend(of.len().to_le_bytes());
    bytes.extend(of.as_bytes());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_print_tells_objects_apart_but_not_their_revisions() {
        let of = |revision: &str, more: Value| {
            let metadata = json!({"name": "a", "resourceVersion": revision});
            print(&json!({"kind": "ConfigMap", "metadata": metadata, "data": more}))
        };
        assert_eq!(of("1", json!({"a": "b"})), of("2", json!({"a": "b"})));
        let others = [
            json!({"a": "c"}),
            json!({"ab": ""}),
            json!({"a": ["b"]}),
            json!({"a": {"resourceVersion": "1"}}),
            json!({"a": {"resourceVersion": "2"}}),
            json!({"a": null}),
            json!({"a": 1}),
            json!({"a": "1"}),
            json!({"a": 1.5}),
            json!([]),
        ];
        let mut prints: Vec<u128> = others.into_iter().map(|more| of("1", more)).collect();
        prints.push(of("1", json!({"a": "b"})));
        let count = prints.len();
        prints.sort_unstable();
        prints.dedup();
        assert_eq!(prints.len(), count);
    }
}
