//! Reads maps whose keys are known: each key is asked for by name, and what was not asked for is an error.

use std::time::Duration;

use crate::{
    node::{Content, Entry, Node},
    place::{LoadError, Place},
};

/// The keys of one map, while they are being asked for.
pub(crate) struct Fields<'a> {
    what: &'static str,
    /// Where the map is.
    pub place: &'a Place,
    entries: &'a [Entry],
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Reads `node` as a map; `what` names it in messages (`a step`).
    pub fn of(node: &'a Node, what: &'static str) -> Result<Fields<'a>, LoadError> {
        match &node.content {
            Content::Map(entries) => {
                Ok(Fields { what, place: &node.place, entries, asked: Vec::new() })
            }
            _ => Err(node.place.error(format!("{what} is a map, and this is {}", node.kind()))),
        }
    }

    /// The entry of a key, if there is one.
    pub fn take(&mut self, key: &'static str) -> Option<&'a Entry> {
        self.asked.push(key);
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The value of a key that must be there.
    pub fn need(&mut self, key: &'static str) -> Result<&'a Node, LoadError> {
        let missing = format!("{} needs `{key}`", self.what);
        self.take(key).map(|entry| &entry.value).ok_or_else(|| self.place.error(missing))
    }

    /// A key of chainsaw's that Trommel does not do. Saying what to do is part of the refusal.
    pub fn refuse(&mut self, key: &'static str, help: &str) -> Result<(), LoadError> {
        match self.entries.iter().find(|entry| entry.key == key) {
            Some(entry) => Err(entry
                .place
                .error(format!("`{key}` in {} is not supported", self.what))
                .help(help)),
            None => Ok(()),
        }
    }

    /// A string.
    pub fn text(&mut self, key: &'static str) -> Result<Option<&'a str>, LoadError> {
        self.take(key).map(|entry| as_text(&entry.value, key)).transpose()
    }

    /// A boolean.
    pub fn flag(&mut self, key: &'static str) -> Result<Option<bool>, LoadError> {
        self.take(key)
            .map(|entry| match entry.value.content {
                Content::Bool(value) => Ok(value),
                _ => Err(wrong(&entry.value, key, "true or false")),
            })
            .transpose()
    }

    /// A duration as Go writes it: `1m30s`.
    pub fn duration(&mut self, key: &'static str) -> Result<Option<Duration>, LoadError> {
        self.take(key)
            .map(|entry| {
                let text = entry.value.text();
                text.and_then(parse_duration)
                    .ok_or_else(|| wrong(&entry.value, key, "a duration such as 30s or 1m30s"))
            })
            .transpose()
    }

    /// A list; an absent one is empty.
    pub fn list(&mut self, key: &'static str) -> Result<&'a [Node], LoadError> {
        match self.take(key) {
            None => Ok(&[]),
            Some(entry) => as_list(&entry.value, key),
        }
    }

    /// A list of strings.
    pub fn texts(&mut self, key: &'static str) -> Result<Vec<String>, LoadError> {
        self.list(key)?.iter().map(|node| as_text(node, key).map(str::to_owned)).collect()
    }

    /// An error for the first key that nobody asked for.
    pub fn finish(self) -> Result<(), LoadError> {
        let Some(entry) = self.entries.iter().find(|e| !self.asked.contains(&e.key.as_str()))
        else {
            return Ok(());
        };
        let error = entry.place.error(format!("unknown key `{}` in {}", entry.key, self.what));
        let mut known = self.asked;
        known.sort_unstable();
        known.dedup();
        Err(match known.is_empty() {
            true => error.help("it takes none"),
            false => error.help(format!("it has {}", known.join(", "))),
        })
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
    let error =
        node.place.error(format!("`{key}` must be {expected}, and this is {}", node.kind()));
    match node.content {
        Content::Bool(_) => error.help("unquoted y, n, yes, no, on, off are booleans; quote it"),
        _ => error,
    }
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
