//! Sets of field paths.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::Value;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathElement {
    /// A field of a struct or map.
    Field(String),
    /// An item of a map list, by its keys: a JSON object with sorted names.
    Key(String),
    /// An item of a set: its JSON.
    Value(String),
    /// An item by place.
    Index(u64),
}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathElement::Field(name) => write!(f, ".{name}"),
            PathElement::Key(keys) => {
                let keys: BTreeMap<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                let pairs = keys.iter().map(|(name, value)| format!("{name}={value}"));
                write!(f, "[{}]", pairs.collect::<Vec<_>>().join(","))
            }
            PathElement::Value(value) => write!(f, "[={value}]"),
            PathElement::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A set of paths: those that end here, and the sets below.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldSet {
    /// Paths of one element.
    pub members: BTreeSet<PathElement>,
    /// Longer paths, by their first element. No empty sets.
    pub children: BTreeMap<PathElement, FieldSet>,
}

impl FieldSet {
    /// Whether there is no path.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.is_empty()
    }

    /// Adds a path; the empty path is no member of any set.
    pub fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Puts a set below an element; empty sets are not kept.
    pub fn put_child(&mut self, element: PathElement, child: FieldSet) {
        if !child.is_empty() {
            self.children.insert(element, child);
        }
    }

    /// Paths in either.
    pub fn union(&self, other: &FieldSet) -> FieldSet {
        let mut result = self.clone();
        result.members.extend(other.members.iter().cloned());
        for (element, child) in &other.children {
            let own = result.children.entry(element.clone()).or_default();
            *own = own.union(child);
        }
        result
    }

    /// Paths in both.
    pub fn intersection(&self, other: &FieldSet) -> FieldSet {
        let mut result = FieldSet {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: BTreeMap::new(),
        };
        for (element, child) in &self.children {
            if let Some(other) = other.children.get(element) {
                result.put_child(element.clone(), child.intersection(other));
            }
        }
        result
    }

    /// Paths here that are not in the other.
    pub fn difference(&self, other: &FieldSet) -> FieldSet {
        let mut result = FieldSet {
            members: self.members.difference(&other.members).cloned().collect(),
            children: BTreeMap::new(),
        };
        for (element, child) in &self.children {
            let kept = match other.children.get(element) {
                Some(other) => child.difference(other),
                None => child.clone(),
            };
            result.put_child(element.clone(), kept);
        }
        result
    }

    /// All paths as text, shortest first among equals: `.spec.replicas`.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect("", &mut paths);
        paths
    }

    fn collect(&self, prefix: &str, paths: &mut Vec<String>) {
        let all: BTreeSet<&PathElement> = self.members.iter().chain(self.children.keys()).collect();
        for element in all {
            let path = format!("{prefix}{element}");
            if self.members.contains(element) {
                paths.push(path.clone());
            }
            if let Some(child) = self.children.get(element) {
                child.collect(&path, paths);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> FieldSet {
        let mut set = FieldSet::default();
        for path in paths {
            let path: Vec<_> =
                path.split('.').map(|name| PathElement::Field(name.to_owned())).collect();
            set.insert(&path);
        }
        set
    }

    #[test]
    fn sets_obey_their_algebra() {
        let left = set(&["a", "a.b", "c.d"]);
        let right = set(&["a.b", "c.d", "e"]);
        assert_eq!(left.intersection(&right), set(&["a.b", "c.d"]));
        assert_eq!(left.difference(&right), set(&["a"]));
        assert_eq!(left.union(&right), set(&["a", "a.b", "c.d", "e"]));
        assert_eq!(left.union(&right).paths(), [".a", ".a.b", ".c.d", ".e"]);
        assert!(left.difference(&left).is_empty());
        let key = PathElement::Key(r#"{"name":"x","port":80}"#.to_owned());
        assert_eq!(key.to_string(), r#"[name="x",port=80]"#);
        assert_eq!(PathElement::Value("\"f\"".to_owned()).to_string(), "[=\"f\"]");
    }
}
