//! The part of kubectl's JSONPath that `wait` uses: `{.status.conditions[0].type}`, `{.metadata.labels['a.b']}`,
//! `{.items[*].name}`, filters `{.status.conditions[?(@.type=="Ready")].status}`.

use serde_json::Value;

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path(Vec<Part>);

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Field(String),
    Index(i64),
    All,
    Filter { path: Vec<Part>, equal: bool, value: Value },
}

impl Path {
    /// Reads `{.a.b}`, `.a.b` or `a.b`, as kubectl does (relaxed).
    pub fn parse(text: &str) -> Result<Path, String> {
        let trimmed = text.trim();
        let inner = trimmed.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        let inner = inner.unwrap_or(trimmed);
        let parts = parts(inner.strip_prefix('$').unwrap_or(inner));
        parts.map(Path).map_err(|reason| format!("JSONPath {text}: {reason}"))
    }

    /// All values that it leads to.
    pub fn values<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        follow(&self.0, value)
    }
}

fn parts(text: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let end = closing(after).ok_or("`[` is never closed")?;
            parts.push(bracket(after[..end].trim())?);
            rest = &after[end + 1..];
            continue;
        }
        let field = rest.strip_prefix('.').unwrap_or(rest);
        if field.starts_with('.') {
            return Err("recursive descent is not supported".to_owned());
        }
        let (name, length) = name(field);
        match name.as_str() {
            "" => return Err("a name is missing".to_owned()),
            "*" => parts.push(Part::All),
            _ => parts.push(Part::Field(name)),
        }
        rest = &field[length..];
    }
    if parts.is_empty() {
        return Err("it is empty".to_owned());
    }
    Ok(parts)
}

/// A name up to `.` or `[`; `\.` stands for a dot in it. Also its length in the text.
fn name(text: &str) -> (String, usize) {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '.' | '[' => return (name, at),
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            _ => name.push(character),
        }
    }
    (name, text.len())
}

/// Where the bracket that is open at the start closes, quotes heeded.
fn closing(text: &str) -> Option<usize> {
    let (mut quote, mut depth) = (None, 0);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(text: &str) -> Result<Part, String> {
    if text == "*" {
        return Ok(Part::All);
    }
    if let Some(name) = quoted(text) {
        return Ok(Part::Field(name.to_owned()));
    }
    if let Ok(index) = text.parse() {
        return Ok(Part::Index(index));
    }
    let filter = text.strip_prefix("?(").and_then(|text| text.strip_suffix(')'));
    let filter = filter.ok_or_else(|| format!("[{text}] is not supported"))?;
    let (left, equal, right) = match (filter.split_once("=="), filter.split_once("!=")) {
        (Some((left, right)), _) => (left, true, right),
        (None, Some((left, right))) => (left, false, right),
        _ => return Err(format!("filter {filter} is not supported (== and != are)")),
    };
    let path = left.trim().strip_prefix('@').ok_or("a filter's left side begins with @")?;
    let right = right.trim();
    let value = match quoted(right) {
        Some(text) => Value::from(text),
        None => serde_json::from_str(right).map_err(|_| format!("{right} is no value"))?,
    };
    Ok(Part::Filter { path: parts(path)?, equal, value })
}

fn quoted(text: &str) -> Option<&str> {
    ['\'', '"'].into_iter().find_map(|q| {
        (text.len() >= 2).then(|| text.strip_prefix(q).and_then(|t| t.strip_suffix(q))).flatten()
    })
}

fn follow<'a>(parts: &[Part], value: &'a Value) -> Vec<&'a Value> {
    let Some((part, rest)) = parts.split_first() else { return vec![value] };
    let next: Vec<&Value> = match (part, value) {
        (Part::Field(name), Value::Object(map)) => map.get(name).into_iter().collect(),
        (Part::Index(index), Value::Array(items)) => {
            let index = if *index < 0 { items.len() as i64 + index } else { *index };
            usize::try_from(index).ok().and_then(|index| items.get(index)).into_iter().collect()
        }
        (Part::All, Value::Array(items)) => items.iter().collect(),
        (Part::All, Value::Object(map)) => map.values().collect(),
        (Part::Filter { path, equal, value }, Value::Array(items)) => {
            let holds = |item: &&Value| follow(path, item).contains(&value) == *equal;
            items.iter().filter(holds).collect()
        }
        _ => Vec::new(),
    };
    next.into_iter().flat_map(|value| follow(rest, value)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_values() {
        let object = json!({
            "status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"},
            ]},
            "metadata": {"labels": {"app.io/name": "x"}},
        });
        for (path, expect) in [
            ("{.status.phase}", json!(["Running"])),
            (".status.phase", json!(["Running"])),
            ("status.phase", json!(["Running"])),
            ("{.status.conditions[1].type}", json!(["Other"])),
            ("{.status.conditions[-1].type}", json!(["Other"])),
            ("{.status.conditions[*].status}", json!(["True", "False"])),
            ("{.status.conditions[?(@.type==\"Ready\")].status}", json!(["True"])),
            ("{.status.conditions[?(@.type!='Ready')].status}", json!(["False"])),
            ("{.metadata.labels['app.io/name']}", json!(["x"])),
            ("{.metadata.labels.app\\.io/name}", json!(["x"])),
            ("{.missing}", json!([])),
        ] {
            let values = Path::parse(path).unwrap();
            assert_eq!(json!(values.values(&object)), expect, "{path}");
        }
        for path in ["", "{}", "{..a}", "{.a[}", "{.a[?(@.b>1)]}", "{.a[b]}"] {
            assert!(Path::parse(path).is_err(), "{path}");
        }
    }
}
