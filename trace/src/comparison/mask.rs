//! What a comparison overlooks: learnt masks, and what the campaign accepts.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::key::{GroupResource, serde_as_text};

/// A place in an object: map keys, and `*` for any list index or any key.
///
/// Written `.status.conditions[*].message`, keys with other characters in quotes:
/// `.metadata.annotations["example.com/a.b"]`. Generated names in keys are folded: `web-‹*›`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Path(pub Vec<Segment>);

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A map key.
    Key(String),
    /// A list index.
    Index(usize),
    /// Any index or key.
    Any,
}

impl Path {
    /// This path, one key deeper.
    pub fn key(&self, key: &str) -> Path {
        self.with(Segment::Key(key.to_owned()))
    }

    /// This path, one list element deeper.
    pub fn index(&self, index: usize) -> Path {
        self.with(Segment::Index(index))
    }

    fn with(&self, segment: Segment) -> Path {
        let mut path = self.clone();
        path.0.push(segment);
        path
    }

    /// The same place in any element of each list.
    pub fn any_index(&self) -> Path {
        let any = |segment: &Segment| match segment {
            Segment::Index(_) => Segment::Any,
            other => other.clone(),
        };
        Path(self.0.iter().map(any).collect())
    }

    /// What an object has at this place; none where it has nothing, or the path means several places.
    pub fn value<'v>(&self, object: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(object, |at, segment| match segment {
            Segment::Key(key) => at.get(key),
            Segment::Index(index) => at.get(index),
            Segment::Any => None,
        })
    }

    /// The last map key on the way, if any.
    pub fn last_key(&self) -> Option<&str> {
        self.0.iter().rev().find_map(|segment| match segment {
            Segment::Key(key) => Some(key.as_str()),
            _ => None,
        })
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty()
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.0 {
            match segment {
                Segment::Key(key) if is_plain(key) => write!(f, ".{key}")?,
                Segment::Key(key) => write!(f, "[{}]", Value::String(key.clone()))?,
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Any => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

/// A text that is no path or pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a path like .status.conditions[*].message: {0:?}")]
pub struct ParsePathError(String);

impl FromStr for Path {
    type Err = ParsePathError;
    fn from_str(text: &str) -> Result<Path, ParsePathError> {
        let wrong = || ParsePathError(text.to_owned());
        let (mut segments, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(['.', '[']).unwrap_or(after.len());
                let (key, left) = after.split_at(end);
                if key.is_empty() {
                    return Err(wrong());
                }
                segments.push(if key == "*" { Segment::Any } else { Segment::Key(key.to_owned()) });
                rest = left;
            } else if let Some(after) = rest.strip_prefix("[\"") {
                let mut keys = serde_json::Deserializer::from_str(&rest[1..]).into_iter::<String>();
                let key = keys.next().and_then(Result::ok).ok_or_else(wrong)?;
                rest = after[keys.byte_offset() - 1..].strip_prefix(']').ok_or_else(wrong)?;
                segments.push(Segment::Key(key));
            } else if let Some(after) = rest.strip_prefix('[') {
                let (inside, left) = after.split_once(']').ok_or_else(wrong)?;
                segments.push(match inside {
                    "*" => Segment::Any,
                    index => Segment::Index(index.parse().map_err(|_| wrong())?),
                });
                rest = left;
            } else {
                return Err(wrong());
            }
        }
        Ok(Path(segments))
    }
}
serde_as_text!(Path);

/// One leaf that is known to differ between undisturbed runs. Never more than a leaf: a list or a map at
/// this place is compared as ever, and so is the leaf's absence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mask {
    /// Canonical key with generated names folded: `pods/default/web-‹*›`.
    pub object: String,
    /// Where in it.
    pub path: Path,
}

impl fmt::Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.object, self.path)
    }
}

/// What a campaign accepts by path: `pods/default/web-* .status.phase` leaves out that part of those objects;
/// without a path the objects themselves. `*` in the object stands for any characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Accepted {
    /// Pattern over canonical keys with generated names folded.
    pub object: String,
    /// The part left out; empty for the object itself.
    pub path: Path,
}

impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.object)?;
        if self.path.0.is_empty() { Ok(()) } else { write!(f, " {}", self.path) }
    }
}

impl FromStr for Accepted {
    type Err = ParsePathError;
    fn from_str(text: &str) -> Result<Accepted, ParsePathError> {
        let (object, path) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if object.is_empty() {
            return Err(ParsePathError(text.to_owned()));
        }
        Ok(Accepted { object: object.to_owned(), path: path.trim().parse()? })
    }
}
serde_as_text!(Accepted);

impl Accepted {
    /// Whether it is about the object with this canonical key.
    pub fn is_about(&self, key: &str) -> bool {
        pattern_matches(&self.object, key)
    }

    /// Whether it may be about objects of this type: told without an object's whole key.
    pub fn may_be_about(&self, resource: &GroupResource) -> bool {
        match self.object.split_once('/') {
            Some((named, _)) if !named.contains('*') => {
                let group = named.strip_prefix(&*resource.resource);
                group.is_some_and(|group| {
                    group.strip_prefix('.').unwrap_or(group) == &*resource.group
                })
            }
            _ => true,
        }
    }

    /// Cuts the part out of such an object; nothing, if it names the object itself.
    pub fn cut(&self, object: &mut Value) {
        if !self.path.0.is_empty() {
            at_path(object, &self.path.0, &mut |_| true);
        }
    }
}

/// All that a comparison overlooks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Masks {
    /// Learnt from references.
    pub learnt: Vec<Mask>,
    /// Accepted by the campaign.
    pub accepted: Vec<Accepted>,
}

/// What stands in the place of a masked leaf.
pub const MASKED: &str = "<masked>";

impl Masks {
    /// Whether the campaign accepts whatever becomes of this object.
    pub fn leave_out(&self, object: &str) -> bool {
        self.accepted
            .iter()
            .any(|accepted| accepted.path.0.is_empty() && pattern_matches(&accepted.object, object))
    }

    /// Masks and cuts one object; `folded` is its canonical key with generated names folded.
    pub(crate) fn apply(&self, folded: &str, object: &mut Value) {
        self.about(folded).apply(object);
    }

    /// What of them is about the object with this canonical key, generated names folded.
    pub(crate) fn about(&self, folded: &str) -> PartMasks {
        let learnt = self.learnt.iter().filter(|mask| mask.object == folded);
        let cut = |accepted: &&Accepted| {
            !accepted.path.0.is_empty() && pattern_matches(&accepted.object, folded)
        };
        PartMasks {
            masked: learnt.map(|mask| mask.path.clone()).collect(),
            cut: self.accepted.iter().filter(cut).map(|accepted| accepted.path.clone()).collect(),
        }
    }
}

/// What a comparison overlooks in one object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PartMasks {
    masked: Vec<Path>,
    cut: Vec<Path>,
}

impl PartMasks {
    /// Masks and cuts the object.
    pub fn apply(&self, object: &mut Value) {
        for path in &self.masked {
            at_path(object, &path.0, &mut |leaf| {
                if !leaf.is_object() && !leaf.is_array() {
                    *leaf = Value::from(MASKED);
                }
                false
            });
        }
        for path in &self.cut {
            at_path(object, &path.0, &mut |_| true);
        }
    }
}

/// Visits what stands at `path`; what `visit` says `true` to is removed.
fn at_path(value: &mut Value, path: &[Segment], visit: &mut dyn FnMut(&mut Value) -> bool) -> bool {
    let Some((segment, rest)) = path.split_first() else { return visit(value) };
    match value {
        Value::Object(map) => {
            let keys: Vec<String> = match segment {
                Segment::Key(key) => vec![key.clone()],
                Segment::Any => map.keys().cloned().collect(),
                Segment::Index(_) => return false,
            };
            for key in keys {
                if map.get_mut(&key).is_some_and(|inner| at_path(inner, rest, visit)) {
                    map.remove(&key);
                }
            }
        }
        Value::Array(items) => {
            let mut at = 0;
            items.retain_mut(|item| {
                let here = match segment {
                    Segment::Any => true,
                    Segment::Index(index) => *index == at,
                    Segment::Key(_) => false,
                };
                at += 1;
                !(here && at_path(item, rest, visit))
            });
        }
        _ => {}
    }
    false
}

/// Glob with `*` for any characters, none included.
pub(super) fn pattern_matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_survive_text() {
        for text in [
            "",
            ".status.conditions[*].message",
            ".metadata.annotations[\"example.com/a.b]\"].x[3]",
            "[\"web-‹*›\"]",
        ] {
            assert_eq!(text.parse::<Path>().unwrap().to_string(), text);
        }
        for text in ["a", ".a..b", ".a[", ".a[x]", ".a[\"x\"", "[\"x]"] {
            assert!(text.parse::<Path>().is_err(), "{text}");
        }
    }

    #[test]
    fn patterns() {
        for (pattern, text, expect) in [
            ("a/b", "a/b", true),
            ("a/b", "a/bc", false),
            ("a/*", "a/", true),
            ("a/*c", "a/bbc", true),
            ("*b*d", "abcd", true),
            ("*b*d", "acbd", true),
            ("*b*d", "abc", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(pattern_matches(pattern, text), expect, "{pattern} {text}");
        }
    }

    #[track_caller]
    fn check(masks: Masks, mut object: Value, expect: Value) {
        masks.apply("foos/default/a", &mut object);
        assert_eq!(object, expect);
    }

    #[test]
    fn only_leaves_are_masked() {
        let mask = |path: &str| Masks {
            learnt: vec![Mask { object: "foos/default/a".into(), path: path.parse().unwrap() }],
            accepted: Vec::new(),
        };
        check(mask(".a.b"), json!({"a": {"b": 1}}), json!({"a": {"b": MASKED}}));
        check(mask(".a"), json!({"a": {"b": 1}}), json!({"a": {"b": 1}}));
        check(
            mask(".a[*].b"),
            json!({"a": [{"b": 1}, {"c": 2}]}),
            json!({"a": [{"b": MASKED}, {"c": 2}]}),
        );
        check(mask(".a"), json!({"b": 1}), json!({"b": 1}));
    }

    #[test]
    fn accepted_parts_are_cut() {
        let accepted =
            |text: &str| Masks { learnt: Vec::new(), accepted: vec![text.parse().unwrap()] };
        check(accepted("foos/* .a"), json!({"a": [1], "b": 2}), json!({"b": 2}));
        check(accepted("bars/* .a"), json!({"a": [1]}), json!({"a": [1]}));
        check(accepted("foos/*"), json!({"a": [1]}), json!({"a": [1]}));
        assert!(accepted("foos/*").leave_out("foos/default/a"));
        assert!(!accepted("foos/* .a").leave_out("foos/default/a"));
    }
}
