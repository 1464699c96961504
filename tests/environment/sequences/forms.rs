//! The forms that a sequence is told in.

use serde_json::{Value, json};

/// Each value that differs from the one before.
pub fn exact(values: impl Iterator<Item = Value>) -> Value {
    let mut kept: Vec<Value> = values.collect();
    kept.dedup();
    kept.into()
}

/// Where numbers begin, turn round and end.
pub fn turns(values: impl Iterator<Item = i64>) -> Value {
    let mut kept: Vec<i64> = Vec::new();
    for value in values {
        if kept.last() == Some(&value) {
            continue;
        }
        if let [.., before, last] = kept[..]
            && (before < last) == (last < value)
        {
            kept.pop();
        }
        kept.push(value);
    }
    json!(kept)
}

/// Each value once, in the order in which they came.
pub fn firsts(values: impl Iterator<Item = Value>) -> Value {
    let mut kept: Vec<Value> = Vec::new();
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_keep_what_is_no_chance() {
        let texts = |texts: &[&str]| texts.iter().map(|text| json!(text)).collect::<Vec<Value>>();
        let all = texts(&["a", "a", "b", "b", "a"]);
        assert_eq!(exact(all.clone().into_iter()), json!(["a", "b", "a"]));
        assert_eq!(firsts(all.into_iter()), json!(["a", "b"]));
        let check = |numbers: &[i64], expect: Value| {
            assert_eq!(turns(numbers.iter().copied()), expect, "{numbers:?}");
        };
        check(&[], json!([]));
        check(&[3, 3], json!([3]));
        check(&[0, 1, 1, 4], json!([0, 4]));
        check(&[0, 4], json!([0, 4]));
        check(&[5, 3, 4, 4, 6, 0], json!([5, 3, 6, 0]));
    }
}
