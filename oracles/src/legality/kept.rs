//! Whether an object says what a write meant.
//!
//! A server fills in, prunes, and writes some values in its own way. So compared are, and nothing else:
//!
//! - labels, annotations but those of Kubernetes itself, finalizers, owner references, and the name;
//! - all other fields but `status` (on its own endpoint: `status` and nothing else). What is shown otherwise was lost,
//!   except texts of built-in types that may be quantities or times, which have many forms, and what is empty there.
//! - A field that is not shown was lost where it is known that servers keep it: of custom types the definition says so. Of
//!   built-in ones: it came as protobuf, which has no unknown fields; the store has it elsewhere, in an object of the type
//!   or, of a template, in a pod; or it is an entry of a map of texts.
//! - A field that was to go and is still there: where the definition has no default for it, and in maps of texts.
//!
//! Lists of custom types are as they were meant; to those of built-in types servers append. Of patches that are merged
//! into lists (apply, strategic), each item that was sent is among those that are shown.
//!
//! Not compared: what definitions and requests for certificates are made of, and what Services and claims of devices lose
//! by their own rules.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value};
use trace::{Call, GroupResource};

use super::{
    Store,
    content::is_empty,
    definition::{Defined, Schema},
};

mod metadata;

/// Maps of texts in built-in types: no entry is filled in, pruned or written otherwise.
const MAPS: [&str; 8] = [
    "annotations",
    "binaryData",
    "data",
    "labels",
    "matchLabels",
    "nodeSelector",
    "parameters",
    "stringData",
];

/// Types of which servers change what was sent: what a request for a certificate asks for is left as it was
/// (`PrepareForUpdate`), definitions are filled in from themselves.
const REWRITTEN: [&str; 2] = ["certificates.k8s.io", "apiextensions.k8s.io"];

/// How a write is compared with what it left.
pub struct Kept<'k> {
    store: &'k Store,
    call: &'k Call,
    resource: &'k GroupResource,
    schema: Schema<'k>,
    /// The store has nothing that says which fields the type has.
    undefined: bool,
    /// A type of Kubernetes itself.
    built_in: bool,
    /// It has its `status` among its other fields.
    with_status: bool,
    /// Nothing was meant but what was sent.
    whole: bool,
}

/// A step from a value to one within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step<'p> {
    Member(&'p str),
    Item(usize),
}

type Path<'p> = Vec<Step<'p>>;

impl<'k> Kept<'k> {
    pub fn new(
        store: &'k Store,
        call: &'k Call,
        resource: &'k GroupResource,
        defined: Defined<'k>,
    ) -> Kept<'k> {
        let (schema, with_status) = match defined {
            Defined::So(definition) => (definition.schema(), !definition.serves("status")),
            _ => (Schema::Unknown, false),
        };
        let undefined = matches!(defined, Defined::Nowhere);
        let built_in = resource.is_built_in();
        Kept { store, call, resource, schema, undefined, built_in, with_status, whole: false }
    }

    /// What is wrong with what is shown: it is to be this, instead of what was there before.
    pub fn whole(mut self, meant: &Value, before: Option<&Value>, shown: &Value) -> Option<String> {
        self.whole = true;
        self.compared(meant, before.unwrap_or(&Value::Null), shown)
    }

    /// What is wrong with what is shown: this is to be among it.
    pub fn part(self, meant: &Value, shown: &Value) -> Option<String> {
        self.compared(meant, &Value::Null, shown)
    }

    fn compared(&self, whole: &Value, before: &Value, shown: &Value) -> Option<String> {
        let meant = whole.as_object()?;
        let stands = |name: &str| meant.get(name).is_none_or(|meant| *meant == shown[name]);
        if REWRITTEN.contains(&&*self.resource.group) || !stands("apiVersion") || !stands("kind") {
            return None;
        }
        let status = self.call.subresource == "status";
        if !status && let Some(wrong) = self.metadata(&whole["metadata"], before, shown) {
            return Some(wrong);
        }
        if !status && let Some(wrong) = self.texts(meant, shown) {
            return Some(wrong);
        }
        let looked_at = |name: &str| match name {
            "apiVersion" | "kind" | "metadata" | "stringData" => false,
            "status" => status || self.with_status,
            // What a namespace waits for is changed on its own endpoint.
            "spec" if *self.resource.resource == *"namespaces" => false,
            "data" => !status && !meant.contains_key("stringData"),
            _ => !status,
        };
        self.members(&mut vec![], (meant, before, shown), self.schema, looked_at)
    }

    /// Secrets take texts, and show them as data (`convertSecretStringData`).
    fn texts(&self, meant: &Map<String, Value>, shown: &Value) -> Option<String> {
        let texts = meant.get("stringData")?.as_object()?;
        let lost = texts.iter().find(|(name, text)| {
            let encoded = text.as_str().map(|text| BASE64_STANDARD.encode(text));
            encoded.is_some_and(|encoded| shown["data"][name.as_str()] != *encoded)
        });
        lost.filter(|_| self.built_in).map(|(name, _)| format!("stringData.{name} is not its data"))
    }
}

impl Kept<'_> {
    fn members<'p>(
        &self,
        path: &mut Path<'p>,
        (meant, before, shown): (&'p Map<String, Value>, &'p Value, &Value),
        schema: Schema<'_>,
        looked_at: impl Fn(&str) -> bool,
    ) -> Option<String> {
        for (name, meant) in meant.iter().filter(|(name, _)| looked_at(name)) {
            path.push(Step::Member(name));
            let (was, is) = (&before[name.as_str()], &shown[name.as_str()]);
            let wrong = self.value(path, (meant, was, is), schema.member(name));
            path.pop();
            if wrong.is_some() {
                return wrong;
            }
        }
        let gone = |name: &&String| {
            self.whole && looked_at(name) && meant.get(*name).is_none_or(Value::is_null)
        };
        for name in before.as_object().into_iter().flat_map(Map::keys).filter(gone) {
            path.push(Step::Member(name));
            let same = shown[name.as_str()] == before[name.as_str()];
            let stays = same && self.would_go(path, schema.member(name));
            let said = stays.then(|| format!("{} stays", said(path)));
            path.pop();
            if said.is_some() {
                return said;
            }
        }
        None
    }

    /// Nothing that is shown is null.
    fn value<'p>(
        &self,
        path: &mut Path<'p>,
        (meant, before, shown): (&'p Value, &'p Value, &Value),
        schema: Schema<'_>,
    ) -> Option<String> {
        match (meant, shown) {
            (Value::Null, _) => None,
            (_, Value::Null) => {
                self.is_kept(path, meant, schema).then(|| format!("{} is lost", said(path)))
            }
            (Value::Object(meant), Value::Object(_)) => {
                // How strategic patches say what to do.
                let directs = |name: &str| !self.whole && self.built_in && name.starts_with('$');
                match directs("$patch") && meant.contains_key("$patch") {
                    true => None,
                    false => {
                        let fields = (meant, before, shown);
                        self.members(path, fields, schema, |name| !directs(name))
                    }
                }
            }
            (Value::Array(meant), Value::Array(shown)) => self.items(path, meant, shown, schema),
            _ if self.is_same(path, meant, shown) => None,
            _ => Some(format!("{} is not what was sent", said(path))),
        }
    }

    fn items<'p>(
        &self,
        path: &mut Path<'p>,
        meant: &'p [Value],
        shown: &[Value],
        schema: Schema<'_>,
    ) -> Option<String> {
        if self.whole
            && (shown.len() < meant.len() || (shown.len() > meant.len() && !self.built_in))
        {
            return Some(format!("{} has {} items", said(path), shown.len()));
        }
        let directs = |item: &Value| !self.whole && self.built_in && item.get("$patch").is_some();
        for (at, meant) in meant.iter().enumerate().filter(|(_, meant)| !directs(meant)) {
            path.push(Step::Item(at));
            let mut unlike =
                |shown: &Value| self.value(path, (meant, &Value::Null, shown), schema.item());
            let wrong = match (self.whole, shown.get(at)) {
                (true, there) => unlike(there.unwrap_or(&Value::Null)),
                (false, there) => {
                    let mut others = there.into_iter().chain(shown);
                    let found = others.any(|one| unlike(one).is_none());
                    (!found).then(|| format!("{} is lost", said(path)))
                }
            };
            path.pop();
            if wrong.is_some() {
                return wrong;
            }
        }
        None
    }

    fn is_same(&self, path: &Path<'_>, meant: &Value, shown: &Value) -> bool {
        let same = match (meant, shown) {
            (Value::Number(meant), Value::Number(shown)) => meant.as_f64() == shown.as_f64(),
            _ => meant == shown,
        };
        if same || !self.built_in {
            return same;
        }
        match (meant, shown) {
            // Bytes may be written with line ends.
            (Value::String(meant), Value::String(shown)) if is_in_map(path) => {
                let bytes = |text: &str| text.replace(['\r', '\n'], "");
                *self.resource.resource == *"secrets" && bytes(meant) == bytes(shown)
            }
            (Value::String(meant), Value::String(_)) => {
                meant.is_empty() || may_be_quantity(meant) || is_double(path)
            }
            // What is empty is filled in; negative times of grace are made one second.
            (Value::Bool(meant), Value::Bool(_)) => !meant,
            (Value::Number(meant), Value::Number(_)) => meant.as_f64() <= Some(0.0),
            _ => true,
        }
    }

    /// Whether it is known that servers keep what is not shown.
    fn is_kept(&self, path: &Path<'_>, meant: &Value, schema: Schema<'_>) -> bool {
        if !self.built_in {
            return schema.keeps() || (self.undefined && self.is_elsewhere(path));
        }
        let drops_fields =
            *self.resource.resource == *"services" || *self.resource.group == *"resource.k8s.io";
        !is_empty(meant)
            && !drops_fields
            && (is_in_map(path)
                || self.call.content_type.contains("protobuf")
                || self.is_elsewhere(path))
    }

    /// Whether the store has such a field in an object of the type, or in a pod if it is one of a template.
    fn is_elsewhere(&self, path: &Path<'_>) -> bool {
        let in_any = |resource: &GroupResource, path: &[Step<'_>]| {
            self.store.versions(resource).any(|object| has(object, path))
        };
        let template = path.iter().rposition(|step| *step == Step::Member("template"));
        in_any(self.resource, path)
            || template.is_some_and(|at| in_any(&GroupResource::new("", "pods"), &path[at + 1..]))
    }

    /// Whether it is known that servers leave out what was not meant to be there.
    fn would_go(&self, path: &Path<'_>, schema: Schema<'_>) -> bool {
        match self.built_in {
            true => is_in_map(path) || is_map(path.last()),
            false => schema.keeps() && !schema.has_default(),
        }
    }
}

fn is_map(step: Option<&Step<'_>>) -> bool {
    matches!(step, Some(Step::Member(name)) if MAPS.contains(name))
}

fn is_in_map(path: &Path<'_>) -> bool {
    path.len() > 1 && is_map(path.get(path.len() - 2))
}

/// Quantities and times begin with a digit, a sign or a point.
fn may_be_quantity(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'))
}

/// The older name of `serviceAccountName`, which servers write after that (conversions of pods).
fn is_double(path: &Path<'_>) -> bool {
    matches!(path.last(), Some(Step::Member("serviceAccount")))
}

/// Whether an object has something at such a place, in any item of a list.
fn has(value: &Value, path: &[Step<'_>]) -> bool {
    match path {
        [] => !value.is_null(),
        [Step::Member(name), below @ ..] => has(&value[*name], below),
        [Step::Item(_), below @ ..] => {
            value.as_array().is_some_and(|items| items.iter().any(|item| has(item, below)))
        }
    }
}

/// `spec.containers[0].image`.
fn said(path: &Path<'_>) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Member(name) => {
                text.push_str(if text.is_empty() { "" } else { "." });
                text.push_str(name);
            }
            Step::Item(at) => text.push_str(&format!("[{at}]")),
        }
    }
    text
}
