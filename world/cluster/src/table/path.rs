//! The part of JSONPath that printer columns use: fields, `['quoted']` fields, indexes, `[*]`, and
//! filters `[?(@.type=="Ready")]`.

use serde_json::Value;

/// A parsed path.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct JsonPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    All,
    /// Items whose field (a path of names) equals (or doesn't) a value.
    Filter {
        fields: Vec<String>,
        value: Value,
        equal: bool,
    },
}

impl JsonPath {
    /// Parses `.status.conditions[?(@.type=="Ready")].status`; braces around are tolerated.
    pub(super) fn parse(text: &str) -> Option<JsonPath> {
        let text = text.trim();
        let text = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        let mut rest = text.strip_prefix('$').unwrap_or(text);
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('[') {
                let end = closing(after)?;
                steps.push(bracket(after[..end].trim())?);
                rest = &after[end + 1..];
            } else {
                let (name, after) = field(rest.strip_prefix('.')?);
                if name.is_empty() {
                    return None;
                }
                steps.push(if name == "*" { Step::All } else { Step::Field(name) });
                rest = after;
            }
        }
        Some(JsonPath(steps))
    }

    /// All values that the path leads to. An empty path leads nowhere.
    pub(super) fn find<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let mut found = vec![value];
        for step in &self.0 {
            found = found.into_iter().flat_map(|value| step.take(value)).collect();
        }
        found.retain(|value| !value.is_null());
        found
    }
}

impl Step {
    fn take<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match self {
            Step::Field(name) => value.get(name).into_iter().collect(),
            Step::Index(index) => {
                let items = value.as_array().map_or(&[][..], Vec::as_slice);
                let index = if *index < 0 { items.len() as i64 + index } else { *index };
                usize::try_from(index).ok().and_then(|index| items.get(index)).into_iter().collect()
            }
            Step::All => match value {
                Value::Array(items) => items.iter().collect(),
                Value::Object(fields) => fields.values().collect(),
                _ => Vec::new(),
            },
            Step::Filter { fields, value: wanted, equal } => {
                let items = value.as_array().into_iter().flatten();
                items
                    .filter(|item| {
                        let found = fields.iter().try_fold(*item, |item, name| item.get(name));
                        found.is_some_and(|found| (found == wanted) == *equal)
                    })
                    .collect()
            }
        }
    }
}

/// The place of the bracket that closes, outside quotes.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    for (index, letter) in text.char_indices() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            (None, ']') => return Some(index),
            _ => {}
        }
    }
    None
}

/// A field's name up to the next unescaped `.` or `[`, and the rest.
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut letters = text.char_indices();
    while let Some((index, letter)) = letters.next() {
        match letter {
            '\\' => name.extend(letters.next().map(|(_, letter)| letter)),
            '.' | '[' => return (name, &text[index..]),
            letter => name.push(letter),
        }
    }
    (name, "")
}

fn bracket(inside: &str) -> Option<Step> {
    if inside == "*" {
        return Some(Step::All);
    }
    if let Some(filter) = inside.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        let (operator, equal) = if filter.contains("==") { ("==", true) } else { ("!=", false) };
        let (left, right) = filter.split_once(operator)?;
        let left = JsonPath::parse(left.trim().strip_prefix('@')?)?;
        let fields = left.0.into_iter().map(|step| match step {
            Step::Field(name) => Some(name),
            _ => None,
        });
        let right = right.trim();
        let value = match quoted(right) {
            Some(text) => Value::from(text),
            None => serde_json::from_str(right).ok()?,
        };
        return Some(Step::Filter { fields: fields.collect::<Option<_>>()?, value, equal });
    }
    match quoted(inside) {
        Some(name) => Some(Step::Field(name.to_owned())),
        None => inside.parse().ok().map(Step::Index),
    }
}

fn quoted(text: &str) -> Option<&str> {
    ['\'', '"'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_values() {
        let object = json!({"a": {"b.c": 1, "d": [{"t": "x", "n": {"m": true}}, {"t": "y"}]}});
        let check = |path: &str, expect: Value| {
            let path = JsonPath::parse(path).unwrap_or_else(|| panic!("{path} is a path"));
            assert_eq!(json!(path.find(&object)), expect, "{path:?}");
        };
        check(".a.b\\.c", json!([1]));
        check(".a['b.c']", json!([1]));
        check("{.a.d[0].t}", json!(["x"]));
        check(".a.d[-1].t", json!(["y"]));
        check(".a.d[*].t", json!(["x", "y"]));
        check(".a.d[?(@.t==\"y\")].t", json!(["y"]));
        check(".a.d[?(@.t!='y')].t", json!(["x"]));
        check(".a.d[?(@.n.m==true)].t", json!(["x"]));
        check(".a.nothing.at.all", json!([]));
        for bad in ["a", "..", ".a[", ".a[?(x)]", ".a[b]"] {
            assert_eq!(JsonPath::parse(bad), None, "{bad}");
        }
    }
}
