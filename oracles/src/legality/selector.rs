//! Which objects a list or watch is about, and from where it begins, by its path and query.

use serde_json::Value;
use trace::{Call, ObjectKey, Revision};

/// What a list or watch asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    pub resource: Option<trace::GroupResource>,
    namespace: String,
    name: String,
    labels: Vec<Requirement>,
    fields: Vec<(String, String, bool)>,
    /// A selector that is not understood.
    pub opaque: bool,
    /// `resourceVersion`; none if it is not given.
    pub revision: Option<Revision>,
    pub exact: bool,
    /// Part of a list only.
    pub paged: bool,
    pub continues: bool,
    /// `sendInitialEvents`.
    pub streams_list: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

impl Scope {
    pub fn of(call: &Call) -> Scope {
        let mut scope = Scope {
            resource: call.resource.clone(),
            namespace: call.namespace.clone(),
            name: call.name.clone(),
            labels: vec![],
            fields: vec![],
            opaque: false,
            revision: None,
            exact: false,
            paged: false,
            continues: false,
            streams_list: false,
        };
        let query = call.uri.split_once('?').map_or("", |(_, query)| query);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "labelSelector" => scope.read_labels(&value),
                "fieldSelector" => scope.read_fields(&value),
                "resourceVersion" => scope.revision = Revision::parse(&value),
                "resourceVersionMatch" => scope.exact = value == "Exact",
                "limit" => scope.paged |= !value.is_empty() && value != "0",
                "continue" => scope.continues = !value.is_empty(),
                "sendInitialEvents" => scope.streams_list = value == "true" || value == "1",
                _ => {}
            }
        }
        scope
    }

    /// Whether an object of the type is asked for, as it stands there.
    pub fn selects(&self, key: &ObjectKey, object: &Value) -> bool {
        (self.namespace.is_empty() || *self.namespace == *key.namespace)
            && (self.name.is_empty() || *self.name == *key.name)
            && self.labels.iter().all(|one| one.holds(&object["metadata"]["labels"]))
            && self.fields.iter().all(|(path, value, equal)| {
                let path = format!("/{}", path.replace('.', "/"));
                let found = match object.pointer(&path) {
                    Some(Value::String(text)) => text.clone(),
                    None | Some(Value::Null) => String::new(),
                    Some(other) => other.to_string(),
                };
                (found == *value) == *equal
            })
    }

    fn read_fields(&mut self, text: &str) {
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (part, equal) = match part.split_once("!=") {
                Some((path, value)) => ((path, value), false),
                None => match part.split_once('=') {
                    Some((path, value)) => ((path, value.trim_start_matches('=')), true),
                    None => return self.opaque = true,
                },
            };
            self.fields.push((part.0.to_owned(), part.1.to_owned(), equal));
        }
    }

    fn read_labels(&mut self, text: &str) {
        for part in split_outside_brackets(text) {
            match requirement(part.trim()) {
                Some(requirement) => self.labels.push(requirement),
                None => self.opaque = true,
            }
        }
    }
}

/// At commas that are not within `(…)`.
fn split_outside_brackets(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut begin) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

fn requirement(part: &str) -> Option<Requirement> {
    let one = |text: &str| vec![text.trim().to_owned()];
    let key = |text: &str| text.trim().to_owned();
    let set = |text: &str| -> Option<Vec<String>> {
        let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
        Some(inner.split(',').map(|value| value.trim().to_owned()).collect())
    };
    if let Some((name, values)) = part.split_once(" notin ") {
        return Some(Requirement::NotIn(key(name), set(values)?));
    }
    if let Some((name, values)) = part.split_once(" in ") {
        return Some(Requirement::In(key(name), set(values)?));
    }
    if let Some((name, value)) = part.split_once("!=") {
        return Some(Requirement::NotIn(key(name), one(value)));
    }
    if let Some((name, value)) = part.split_once('=') {
        return Some(Requirement::In(key(name), one(value.trim_start_matches('='))));
    }
    if let Some(name) = part.strip_prefix('!') {
        return Some(Requirement::Absent(key(name)));
    }
    (!part.contains([' ', '(', ')', '<', '>'])).then(|| Requirement::Exists(key(part)))
}

impl Requirement {
    fn holds(&self, labels: &Value) -> bool {
        let value = |name: &str| labels.get(name).and_then(Value::as_str);
        match self {
            Requirement::In(name, values) => {
                value(name).is_some_and(|found| values.iter().any(|value| value == found))
            }
            Requirement::NotIn(name, values) => {
                value(name).is_none_or(|found| values.iter().all(|value| value != found))
            }
            Requirement::Exists(name) => value(name).is_some(),
            Requirement::Absent(name) => value(name).is_none(),
        }
    }
}
