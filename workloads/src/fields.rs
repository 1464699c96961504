//! Reads maps whose keys are known: a key that is not known is an error, before any that is missing.

use std::time::Duration;

use crate::{
    node::{Content, Entry, Node},
    place::{LoadError, Place},
};

/// A key of chainsaw's that Trommel does not do, and what to do about it.
pub(crate) type Refused = (&'static str, &'static str);

/// The entries of one map, to be asked for by key.
pub(crate) struct Fields<'a> {
    what: &'static str,
    /// Where the map is.
    pub place: &'a Place,
    entries: &'a [Entry],
    known: &'static [&'static [&'static str]],
}

impl<'a> Fields<'a> {
    /// Reads `node` as a map with these keys; `what` names it in messages (`a step`).
    pub fn of(
        node: &'a Node,
        what: &'static str,
        known: &'static [&'static [&'static str]],
        refused: &[Refused],
    ) -> Result<Fields<'a>, LoadError> {
        let Content::Map(entries) = &node.content else {
            return Err(must_be(node, what, "a map"));
        };
        for entry in entries {
            let key = entry.key.as_str();
            if let Some((_, help)) = refused.iter().find(|(refused, _)| *refused == key) {
                let message = format!("`{key}` in {what} is not supported");
                return Err(entry.place.error(message).help(*help));
            }
            if !known.iter().any(|keys| keys.contains(&key)) {
                return Err(entry.place.error(crate::unknown("field", key, &known.concat())));
            }
        }
        Ok(Fields { what, place: &node.place, entries, known })
    }

    /// The entry of a key, if there is one.
    pub fn take(&self, key: &str) -> Option<&'a Entry> {
        debug_assert!(self.known.iter().any(|keys| keys.contains(&key)), "{key} is not listed");
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The value of a key that must be there.
    pub fn need(&self, key: &str) -> Result<&'a Node, LoadError> {
        let missing = format!("{} needs `{key}`", self.what);
        self.take(key).map(|entry| &entry.value).ok_or_else(|| self.place.error(missing))
    }

    /// A string.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>, LoadError> {
        self.take(key).map(|entry| as_text(&entry.value, key)).transpose()
    }

    /// A boolean.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, LoadError> {
        self.take(key)
            .map(|entry| match entry.value.content {
                Content::Bool(value) => Ok(value),
                _ => Err(wrong(&entry.value, key, "true or false")),
            })
            .transpose()
    }

    /// A duration as Go writes it: `1m30s`.
    pub fn duration(&self, key: &str) -> Result<Option<Duration>, LoadError> {
        self.take(key)
            .map(|entry| {
                let text = entry.value.text();
                text.and_then(parse_duration)
                    .ok_or_else(|| wrong(&entry.value, key, "a duration such as 30s or 1m30s"))
            })
            .transpose()
    }

    /// A list; an absent one is empty.
    pub fn list(&self, key: &str) -> Result<&'a [Node], LoadError> {
        match self.take(key) {
            None => Ok(&[]),
            Some(entry) => as_list(&entry.value, key),
        }
    }

    /// A list of strings.
    pub fn texts(&self, key: &str) -> Result<Vec<String>, LoadError> {
        self.list(key)?.iter().map(|node| as_text(node, key).map(str::to_owned)).collect()
    }
}

/// A node that must be a string.
pub(crate) fn as_text<'a>(node: &'a Node, key: &str) -> Result<&'a str, LoadError> {
    node.text().ok_or_else(|| wrong(node, key, "a string"))
}

/// A node that must be a list.
pub(crate) fn as_list<'a>(node: &'a Node, key: &str) -> Result<&'a [Node], LoadError> {
    match &node.content {
        Content::List(items) => Ok(items),
        _ => Err(wrong(node, key, "a list")),
    }
}

fn wrong(node: &Node, key: &str, expected: &str) -> LoadError {
    let error = must_be(node, &format!("`{key}`"), expected);
    match node.content {
        Content::Bool(_) => error.help("unquoted y, n, yes, no, on, off are booleans; quote it"),
        _ => error,
    }
}

/// An error: it should be something else.
pub(crate) fn must_be(node: &Node, what: &str, expected: &str) -> LoadError {
    node.place.error(format!("{what} must be {expected}; it is {}", node.kind()))
}

/// Go's `time.ParseDuration`, without signs: `300ms`, `1.5h`, `2h45m`; `0` needs no unit.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0.0_f64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let value: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit_length = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        seconds += value
            * match &rest[..unit_length] {
                "ns" => 1e-9,
                "us" | "µs" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return None,
            };
        rest = &rest[unit_length..];
    }
    (!text.is_empty()).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_go_durations() {
        for (text, milliseconds) in [
            ("0", Some(0)),
            ("300ms", Some(300)),
            ("1.5h", Some(5_400_000)),
            ("2h45m", Some(9_900_000)),
            ("1m30s", Some(90_000)),
            ("", None),
            ("5", None),
            ("5 s", None),
            ("-5s", None),
            ("5d", None),
            ("1e400s", None),
        ] {
            let expect = milliseconds.map(Duration::from_millis);
            assert_eq!(parse_duration(text), expect, "{text:?}");
        }
    }
}
