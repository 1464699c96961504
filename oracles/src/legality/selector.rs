//! Which objects a list or watch is about, and from where it begins, by its path and query.

use serde_json::Value;
use trace::{Call, GroupResource, ObjectKey, Revision, Verb};

use super::{Store, fields};

/// What a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The type under which its objects are stored.
    pub resource: Option<GroupResource>,
    /// In which version they are asked for, as objects name it.
    pub api_version: String,
    namespace: String,
    name: String,
    labels: Vec<Requirement>,
    fields: Vec<(String, String, bool)>,
    /// What is shown can't be told from what is stored: a selector that is not understood, or a table.
    pub opaque: bool,
    /// `resourceVersion`; none if it is not given.
    pub revision: Option<Revision>,
    /// `resourceVersionMatch`.
    matching: String,
    /// `limit`.
    paged: bool,
    /// `continue`.
    pub token: String,
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
            resource: call.resource.as_ref().map(stored_as),
            api_version: api_version(call),
            namespace: call.namespace.clone(),
            name: call.name.clone(),
            labels: vec![],
            fields: vec![],
            opaque: false,
            revision: None,
            matching: String::new(),
            paged: false,
            token: String::new(),
            streams_list: false,
        };
        let query = call.uri.split_once('?').map_or("", |(_, query)| query);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "labelSelector" => scope.read_labels(&value),
                "fieldSelector" => scope.read_fields(&value),
                "resourceVersion" => scope.revision = Revision::parse(&value),
                "resourceVersionMatch" => scope.matching = value.into_owned(),
                "limit" => scope.paged |= call.verb == Verb::List && !matches!(&*value, "" | "0"),
                "continue" => scope.token = value.into_owned(),
                "sendInitialEvents" => scope.streams_list = value == "true" || value == "1",
                _ => {}
            }
        }
        scope
    }

    /// The object that is named, if one is.
    pub fn object_key(&self) -> Option<ObjectKey> {
        let resource = self.resource.clone()?;
        (!self.name.is_empty()).then(|| ObjectKey::new(resource, &self.namespace, &self.name))
    }

    /// Whether it goes on with a list that began before.
    pub fn continues(&self) -> bool {
        !self.token.is_empty()
    }

    /// Whether a list shows the state of the revision that is named and no other: pages do, unless it is said how the
    /// revision is meant (API concepts, `resourceVersionMatch`).
    pub fn is_exact(&self) -> bool {
        match self.matching.as_str() {
            "" => self.paged && self.revision.is_some_and(|revision| revision.0 > 0),
            matching => matching == "Exact",
        }
    }

    /// Whether it can't be told which objects it selects. Fields of a custom type are those of the version asked for,
    /// which may stand elsewhere in the stored one.
    pub fn is_opaque(&self, store: &Store) -> bool {
        let looks_inside = || self.fields.iter().any(|(field, ..)| !field.starts_with("metadata."));
        self.opaque
            || self.resource.as_ref().is_some_and(|resource| {
                !resource.is_built_in()
                    && looks_inside()
                    && !store.keeps_as(resource, &self.api_version)
            })
    }

    /// Whether an object of the type is asked for, as it stands there.
    pub fn selects(&self, key: &ObjectKey, object: &Value) -> bool {
        (self.namespace.is_empty() || *self.namespace == *key.namespace)
            && (self.name.is_empty() || *self.name == *key.name)
            && self.labels.iter().all(|one| one.holds(&object["metadata"]["labels"]))
            && self.fields.iter().all(|(field, value, equal)| {
                (fields::text(&key.resource, field, object) == *value) == *equal
            })
    }

    fn read_fields(&mut self, text: &str) {
        for part in split_unescaped(text) {
            let (field, value, equal) = match part.split_once("!=") {
                Some((field, value)) => (field, value, false),
                None => match part.split_once('=') {
                    Some((field, value)) => (field, value.strip_prefix('=').unwrap_or(value), true),
                    None => return self.opaque = true,
                },
            };
            self.fields.push((field.to_owned(), unescaped(value), equal));
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

/// Types served in two groups are stored once.
fn stored_as(resource: &GroupResource) -> GroupResource {
    match (&*resource.group, &*resource.resource) {
        ("events.k8s.io", "events") => GroupResource::new("", "events"),
        ("extensions", "ingresses") => GroupResource::new("networking.k8s.io", "ingresses"),
        _ => resource.clone(),
    }
}

fn api_version(call: &Call) -> String {
    match call.resource.as_ref().map_or("", |resource| &*resource.group) {
        "" => call.version.clone(),
        group => format!("{group}/{}", call.version),
    }
}

/// The parts of a field selector: at commas without `\` before them (`splitTerms` of apimachinery's `fields`).
fn split_unescaped(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut escaped) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts.retain(|part| !part.is_empty());
    parts
}

fn unescaped(text: &str) -> String {
    let mut letters = text.chars();
    let mut plain = String::new();
    while let Some(c) = letters.next() {
        plain.extend(if c == '\\' { letters.next() } else { Some(c) });
    }
    plain
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
    // Brackets and space both end a word.
    if let Some(open) = part.find('(') {
        let (head, values) = (part[..open].trim_end(), set(&part[open..])?);
        let (name, operator) = head.rsplit_once(char::is_whitespace)?;
        return match operator {
            "in" => Some(Requirement::In(key(name), values)),
            "notin" => Some(Requirement::NotIn(key(name), values)),
            _ => None,
        };
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
