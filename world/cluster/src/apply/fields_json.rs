//! `FieldsV1`: `f:NAME`, `k:{KEYS}`, `v:VALUE`, `i:INDEX`, and `.` for the element itself.

use serde_json::{Map, Value};

use super::fields::{FieldSet, PathElement};

impl FieldSet {
    /// Reads `fieldsV1`; `None` for anything else.
    pub fn parse(json: &Value) -> Option<FieldSet> {
        let mut set = FieldSet::default();
        for (name, below) in json.as_object()? {
            if name == "." {
                continue;
            }
            let element = parse_element(name)?;
            let child = FieldSet::parse(below)?;
            // An element with nothing below is a member; so is one with a dot.
            if child.is_empty() || below.get(".").is_some() {
                set.members.insert(element.clone());
            }
            set.put_child(element, child);
        }
        Some(set)
    }

    /// Prints `fieldsV1`.
    pub fn print(&self) -> Value {
        let mut fields = Map::new();
        for element in self.members.iter().filter(|member| !self.children.contains_key(member)) {
            fields.insert(print_element(element), Value::Object(Map::new()));
        }
        for (element, child) in &self.children {
            let mut below = child.print();
            if self.members.contains(element)
                && let Value::Object(below) = &mut below
            {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            fields.insert(print_element(element), below);
        }
        Value::Object(fields)
    }
}

fn print_element(element: &PathElement) -> String {
    match element {
        PathElement::Field(name) => format!("f:{name}"),
        PathElement::Key(keys) => format!("k:{keys}"),
        PathElement::Value(value) => format!("v:{value}"),
        PathElement::Index(index) => format!("i:{index}"),
    }
}

fn parse_element(text: &str) -> Option<PathElement> {
    let (kind, rest) = text.split_once(':')?;
    // Keys and values are read and printed again, so that equal ones have equal text.
    let json = || serde_json::from_str::<Value>(rest).ok();
    Some(match kind {
        "f" => PathElement::Field(rest.to_owned()),
        "k" => PathElement::Key(json().filter(Value::is_object)?.to_string()),
        "v" => PathElement::Value(json()?.to_string()),
        "i" => PathElement::Index(rest.parse().ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sets_survive_json() {
        let check = |json: Value| {
            assert_eq!(FieldSet::parse(&json).unwrap().print(), json);
        };
        check(json!({}));
        check(json!({"f:metadata": {"f:labels": {".": {}, "f:app": {}},
            "f:finalizers": {".": {}, "v:\"a\"": {}}},
            "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}}));
        let keys = json!({"k:{\"b\": 1, \"a\": 2}": {}});
        assert_eq!(
            FieldSet::parse(&keys).unwrap().print(),
            json!({"k:{\"a\":2,\"b\":1}": {}}),
            "keys are sorted"
        );
        for bad in [json!([]), json!({"x:y": {}}), json!({"f:a": 1}), json!({"k:1": {}})] {
            assert_eq!(FieldSet::parse(&bad), None, "{bad}");
        }
    }
}
