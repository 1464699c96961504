//! Writes the canonical text of a world.

mod revisions;
mod texts;
mod times;

use std::{borrow::Cow, collections::BTreeMap, fmt::Write, sync::Arc};

use serde_json::{Map, Value};

use self::{
    revisions::Revisions,
    texts::{age, escape},
};
use super::{
    Context,
    level::{self, Level},
};
use crate::{
    key::ObjectKey,
    sets,
    time::Time,
    tokens::{Piece, TokenKind, Tokens},
};

/// The canonical text: one JSON document.
pub(super) fn text<'a>(
    objects: impl IntoIterator<Item = (&'a ObjectKey, &'a Arc<Value>)>,
    context: &Context<'_>,
) -> String {
    let mut objects: Vec<(&ObjectKey, &Value)> = objects
        .into_iter()
        .filter(|(key, _)| !key.resource.is_bookkeeping())
        .map(|(key, object)| (key, &**object))
        .collect();
    objects.sort_by_key(|(key, _)| *key);
    let issued = context.generated_names.iter().copied();
    let tokens = match context.level {
        Level::Exact => Tokens::collect_issued(objects.iter().copied(), issued),
        // With the hashes of pod templates.
        _ => Tokens::collect(objects.iter().copied(), issued),
    };
    let reduced: Vec<(&ObjectKey, Cow<'_, Value>)> = objects
        .iter()
        .filter_map(|(key, object)| Some((*key, reduce(context, &tokens, key, object)?)))
        .collect();
    let mut objects: Vec<(&ObjectKey, &Value)> =
        reduced.iter().map(|(key, object)| (*key, &**object)).collect();
    if context.level != Level::Exact {
        Writer::new(&tokens, context, &objects).order_by_looks(&mut objects);
    }
    let mut writer = Writer::new(&tokens, context, &objects);
    writer.world(&objects, context);
    writer.out
}

/// What counts of an object; none if nothing does.
fn reduce<'v>(
    context: &Context<'_>,
    tokens: &Tokens,
    key: &ObjectKey,
    object: &'v Value,
) -> Option<Cow<'v, Value>> {
    let mut reduced = level::reduce(context.level, key, object)?;
    if context.level != Level::Exact
        && let Some(masks) = context.masks
    {
        masks.apply(&tokens.fold(&key.to_string()), reduced.to_mut());
    }
    Some(reduced)
}

struct Writer<'w> {
    tokens: &'w Tokens,
    now: Time,
    level: Level,
    out: String,
    /// Token → its number, 0 while it has none.
    numbers: Vec<u32>,
    order: Vec<usize>,
    payloads: BTreeMap<&'w str, usize>,
    random_payloads: &'w [&'w str],
    /// Those of the Secret that is being written.
    random_fields: Vec<&'w str>,
    revisions: Revisions<'w>,
    /// Looking only: tokens without a number get none.
    dry: bool,
}

/// Where the object that is being written stands.
#[derive(Clone, Copy)]
enum Place {
    Metadata,
    ManagedFields,
    SecretData,
    RandomPayload,
    Elsewhere,
}

impl<'w> Writer<'w> {
    fn new(
        tokens: &'w Tokens,
        context: &'w Context<'w>,
        objects: &[(&'w ObjectKey, &'w Value)],
    ) -> Writer<'w> {
        Writer {
            tokens,
            now: context.now,
            level: context.level,
            out: String::with_capacity(4096),
            numbers: vec![0; tokens.list.len()],
            order: Vec::new(),
            payloads: BTreeMap::new(),
            random_payloads: &context.random_payloads,
            random_fields: vec![],
            revisions: Revisions::of(objects),
            dry: false,
        }
    }

    fn world(&mut self, objects: &[(&'w ObjectKey, &'w Value)], context: &Context<'_>) {
        let _ = write!(self.out, "{{\"cursor\":\"{}\",\"extra\":", context.cursor);
        let extra = context.extra.to_string();
        self.out.push_str(&extra);
        self.out.push_str(",\"objects\":[");
        for (at, (key, object)) in objects.iter().enumerate() {
            self.out.push_str(if at == 0 { "\n[" } else { ",\n[" });
            self.string(&key.to_string());
            self.out.push(',');
            self.object(key, object);
            self.out.push(']');
        }
        self.out.push_str("],\n\"tokens\":[");
        for (at, token) in std::mem::take(&mut self.order).into_iter().enumerate() {
            let token = &self.tokens.list[token];
            let kind = token.kind.word();
            self.out.push_str(if at == 0 { "" } else { "," });
            self.literal(&format!("{kind} {}", token.prefix));
        }
        self.out.push_str("]}\n");
    }

    /// Objects that differ in the drawn part of their names come in the order of what they look like, not of those names.
    fn order_by_looks(&mut self, objects: &mut [(&'w ObjectKey, &'w Value)]) {
        let folded = |(key, _): &(&ObjectKey, &Value)| self.tokens.fold(&key.to_string());
        objects.sort_by_cached_key(folded);
        let tokens = self.tokens;
        let alike = |one: &(&ObjectKey, _), other: &(&ObjectKey, _)| {
            tokens.fold(&one.0.to_string()) == tokens.fold(&other.0.to_string())
        };
        for siblings in objects.chunk_by_mut(alike).filter(|siblings| siblings.len() > 1) {
            siblings.sort_by_cached_key(|(key, object)| {
                self.look_with(|writer| writer.object(key, object))
            });
        }
    }

    fn object(&mut self, key: &ObjectKey, object: &'w Value) {
        let secret = &*key.resource.resource == "secrets" && key.resource.group.is_empty();
        let Some(root) = object.as_object() else {
            return self.value(object, Place::Elsewhere);
        };
        self.random_fields = if secret { self.random_fields_of(key) } else { vec![] };
        self.map(root, |key| match key {
            "metadata" => Some(Place::Metadata),
            "data" if secret => Some(Place::SecretData),
            _ => Some(Place::Elsewhere),
        });
    }

    fn random_fields_of(&self, key: &ObjectKey) -> Vec<&'w str> {
        let folded = self.tokens.fold(&key.to_string());
        let field = |known: &&'w str| known.strip_prefix(&*folded)?.strip_prefix(' ');
        self.random_payloads.iter().filter_map(field).collect()
    }

    fn value(&mut self, value: &'w Value, place: Place) {
        match (value, place) {
            (Value::String(text), Place::RandomPayload) => self.payload(text),
            (Value::String(text), _) if self.level != Level::Exact => self.roughly(text),
            (Value::String(text), _) => match age(text, self.now) {
                Some(age) => {
                    let _ = write!(self.out, "\"‹age {age}›\"");
                }
                None => self.string(text),
            },
            (Value::Array(items), _) => {
                self.out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        self.out.push(',');
                    }
                    self.value(item, place);
                }
                self.out.push(']');
            }
            (Value::Object(map), Place::Metadata) => self.metadata(map),
            (Value::Object(map), Place::ManagedFields) => {
                self.map(map, |key| (key != "time").then_some(Place::Elsewhere));
            }
            (Value::Object(map), Place::SecretData) => {
                let random = self.random_fields.clone();
                self.map(map, |field| {
                    let is_random = random.contains(&field);
                    Some(if is_random { Place::RandomPayload } else { Place::Elsewhere })
                });
            }
            (Value::Object(map), _) => self.map(map, |_| Some(place)),
            (Value::Number(number), _) if let Some(port) = self.tokens.port(number) => {
                self.out.push_str("\"‹number ");
                self.token(port);
                self.out.push_str("›\"");
            }
            (scalar, _) => {
                let _ = write!(self.out, "{scalar}");
            }
        }
    }

    /// A text with the times in it as ages by scale, or only as times.
    fn roughly(&mut self, text: &'w str) {
        let mut rest = text;
        self.out.push('"');
        while let Some(found) = times::first(rest) {
            self.pieces(&rest[..found.begin]);
            match self.level {
                Level::Age => {
                    let _ = write!(self.out, "‹age {}›", level::age(found.time, self.now));
                }
                _ => self.out.push_str("‹time›"),
            }
            rest = &rest[found.end..];
        }
        self.pieces(rest);
        self.out.push('"');
    }

    fn metadata(&mut self, map: &'w Map<String, Value>) {
        let text = map.get("resourceVersion").and_then(Value::as_str);
        let revision = text.is_some_and(|text| self.revisions.mentioned.contains(text));
        self.map(map, |key| match key {
            "resourceVersion" if !revision => None,
            "managedFields" => Some(Place::ManagedFields),
            _ => Some(Place::Elsewhere),
        });
    }

    /// A map: keys without tokens in order, then those with tokens. `place` says how a key's value is
    /// written; `None` leaves it out.
    fn map(&mut self, map: &'w Map<String, Value>, place: impl Fn(&str) -> Option<Place>) {
        let mut token_keys = Vec::new();
        let mut first = true;
        self.out.push('{');
        for (key, value) in map {
            let Some(place) = place(key) else { continue };
            if self.tokens.occur_in(key) {
                token_keys.push((key, value, place));
            } else {
                self.entry(&mut first, key, value, place);
            }
        }
        // What an entry looks like changes as its neighbours get numbers, so the next is chosen anew.
        while !token_keys.is_empty() {
            let next = (0..token_keys.len())
                .min_by_key(|at| {
                    let (key, value, place) = token_keys[*at];
                    (self.look(key, value, place), key)
                })
                .unwrap_or(0);
            let (key, value, place) = token_keys.remove(next);
            self.entry(&mut first, key, value, place);
        }
        self.out.push('}');
    }

    fn entry(&mut self, first: &mut bool, key: &'w str, value: &'w Value, place: Place) {
        if !std::mem::take(first) {
            self.out.push(',');
        }
        self.string(key);
        self.out.push(':');
        match (value, key) {
            (Value::String(text), "resourceVersion") => match self.revisions.holders.get(&**text) {
                Some(holder) if !self.revisions.mentioned.contains(&**text) => {
                    let _ = write!(self.out, "\"‹revision of object {holder}›\"");
                }
                _ => self.string(text),
            },
            (Value::Array(items), _)
                if self.level != Level::Exact && sets::is_set_or_template(key, items) =>
            {
                self.set(items, place);
            }
            _ => self.value(value, place),
        }
    }

    /// A list without order: what looks least comes first, as of keys in [`Writer::map`].
    fn set(&mut self, items: &'w [Value], place: Place) {
        let mut left: Vec<&Value> = items.iter().collect();
        self.out.push('[');
        while !left.is_empty() {
            let looks: Vec<String> = left.iter().map(|item| self.look_at(item, place)).collect();
            let next = (0..left.len()).min_by_key(|at| &looks[*at]).unwrap_or(0);
            if left.len() < items.len() {
                self.out.push(',');
            }
            self.value(left.remove(next), place);
        }
        self.out.push(']');
    }

    /// What an entry would look like now.
    fn look(&mut self, key: &'w str, value: &'w Value, place: Place) -> String {
        self.look_with(|writer| writer.entry(&mut true, key, value, place))
    }

    fn look_at(&mut self, value: &'w Value, place: Place) -> String {
        self.look_with(|writer| writer.value(value, place))
    }

    fn look_with(&mut self, write: impl FnOnce(&mut Self)) -> String {
        let (before, was) = (std::mem::take(&mut self.out), std::mem::replace(&mut self.dry, true));
        write(self);
        self.dry = was;
        std::mem::replace(&mut self.out, before)
    }

    fn payload(&mut self, text: &'w str) {
        let next = self.payloads.len() + 1;
        let class = match self.payloads.get(text) {
            Some(class) => *class,
            None if self.dry => 0,
            None => {
                self.payloads.insert(text, next);
                next
            }
        };
        let _ = write!(self.out, "\"‹payload {class}›\"");
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        self.pieces(text);
        self.out.push('"');
    }

    fn pieces(&mut self, text: &str) {
        let tokens = self.tokens;
        tokens.pieces(text, |piece| match piece {
            Piece::Text(text) => escape(&mut self.out, text),
            Piece::Token(token) => self.token(token),
        });
    }

    fn token(&mut self, token: usize) {
        let tokens = self.tokens;
        let known = &tokens.list[token];
        // Which pods share a node is nothing to who sees no Nodes.
        if known.kind == TokenKind::Node && known.home.is_none() {
            return self.out.push_str("‹node›");
        }
        if self.numbers[token] == 0 && !self.dry {
            self.order.push(token);
            self.numbers[token] = self.order.len() as u32;
        }
        if matches!(known.kind, TokenKind::Name | TokenKind::Node) {
            escape(&mut self.out, &known.prefix);
        }
        let _ = match self.numbers[token] {
            0 => write!(self.out, "‹? {:?}›", known.kind),
            number => write!(self.out, "‹{number}›"),
        };
    }

    fn literal(&mut self, text: &str) {
        self.out.push('"');
        escape(&mut self.out, text);
        self.out.push('"');
    }
}
