//! Sets of field paths.

use std::{
    cmp::Ordering,
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

impl PathElement {
    /// Upstream's order (`PathElement.Compare`), in which keys and values are compared as what they are.
    fn compare(&self, other: &PathElement) -> Ordering {
        match (self, other) {
            (PathElement::Key(left), PathElement::Key(right))
            | (PathElement::Value(left), PathElement::Value(right)) => {
                let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
                compare_values(&read(left), &read(right))
            }
            _ => self.cmp(other),
        }
    }
}

/// Numbers, texts, booleans, lists, maps, nothing, in this order (`value.Compare`).
fn compare_values(left: &Value, right: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    };
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left.cmp(&right),
            _ => left.as_f64().unwrap_or(0.0).total_cmp(&right.as_f64().unwrap_or(0.0)),
        },
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let unequal = left.iter().zip(right).map(|(left, right)| compare_values(left, right));
            unequal
                .reduce(Ordering::then)
                .unwrap_or(Ordering::Equal)
                .then(left.len().cmp(&right.len()))
        }
        (Value::Object(left), Value::Object(right)) => {
            let fields = |fields: &serde_json::Map<String, Value>| -> BTreeMap<String, Value> {
                fields.clone().into_iter().collect()
            };
            let (left, right) = (fields(left), fields(right));
            let each = left.iter().zip(&right).map(|((name, value), (other_name, other))| {
                name.cmp(other_name).then_with(|| compare_values(value, other))
            });
            each.reduce(Ordering::then)
                .unwrap_or(Ordering::Equal)
                .then(left.len().cmp(&right.len()))
        }
        _ => rank(left).cmp(&rank(right)),
    }
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

    /// All paths as text, `.spec.replicas`, in upstream's order (`Set.Iterate`): at each place those that end there
    /// before longer ones.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect("", &mut paths);
        paths
    }

    fn collect(&self, prefix: &str, paths: &mut Vec<String>) {
        let mut members: Vec<&PathElement> = self.members.iter().collect();
        members.sort_by(|left, right| left.compare(right));
        paths.extend(members.iter().map(|element| format!("{prefix}{element}")));
        let mut children: Vec<(&PathElement, &FieldSet)> = self.children.iter().collect();
        children.sort_by(|(left, _), (right, _)| left.compare(right));
        for (element, child) in children {
            child.collect(&format!("{prefix}{element}"), paths);
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
        assert_eq!(left.union(&right).paths(), [".a", ".e", ".a.b", ".c.d"]);
        assert!(left.difference(&left).is_empty());
        let key = PathElement::Key(r#"{"name":"x","port":80}"#.to_owned());
        assert_eq!(key.to_string(), r#"[name="x",port=80]"#);
        assert_eq!(PathElement::Value("\"f\"".to_owned()).to_string(), "[=\"f\"]");
    }

    #[test]
    fn an_object_s_own_fields_come_before_those_of_its_parts() {
        let key = |port: u16| PathElement::Key(format!(r#"{{"port":{port},"protocol":"TCP"}}"#));
        let mut ports = FieldSet::default();
        for path in
            [vec![key(8080)], vec![key(80), PathElement::Field("name".to_owned())], vec![key(443)]]
        {
            ports.insert(&path);
        }
        let mut all = set(&["subsets", "metadata.labels.l", "metadata.name"]);
        all.put_child(PathElement::Field("ports".to_owned()), ports);
        let expected = [
            ".subsets",
            ".metadata.name",
            ".metadata.labels.l",
            r#".ports[port=443,protocol="TCP"]"#,
            r#".ports[port=8080,protocol="TCP"]"#,
            r#".ports[port=80,protocol="TCP"].name"#,
        ];
        assert_eq!(all.paths(), expected);
    }

    #[test]
    fn keys_and_values_are_ordered_as_what_they_are() {
        let value = |text: &str| PathElement::Value(text.to_owned());
        let order = [
            "9", "10.5", "80", "\"a\"", "\"b\"", "false", "true", "[1]", "[1,2]", "[2]", "{}",
            "null",
        ];
        for pair in order.windows(2) {
            assert_eq!(value(pair[0]).compare(&value(pair[1])), Ordering::Less, "{pair:?}");
        }
        assert_eq!(PathElement::Index(0).compare(&value("1")), Ordering::Greater);
    }
}
