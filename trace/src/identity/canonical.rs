//! Writes the canonical text of a world.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    sync::Arc,
};

use serde_json::{Map, Value};

use super::Context;
use crate::{
    key::ObjectKey,
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
    let tokens = Tokens::collect(objects.iter().copied(), context.generated_names.iter().copied());
    let mut writer = Writer::new(&tokens, context.now, &objects);
    writer.world(&objects, context);
    writer.out
}

struct Writer<'w> {
    tokens: &'w Tokens,
    now: Time,
    out: String,
    /// Token → its number, 0 while it has none.
    numbers: Vec<u32>,
    order: Vec<usize>,
    payloads: BTreeMap<&'w str, usize>,
    revisions: Revisions<'w>,
    /// Looking only: tokens without a number get none.
    dry: bool,
    /// Position of the object that is being written.
    position: usize,
}

/// Where the object that is being written stands.
#[derive(Clone, Copy)]
enum Place {
    Metadata,
    ManagedFields,
    Payload,
    Elsewhere,
}

/// What is known of the object that is being written.
#[derive(Clone, Copy)]
struct Current<'w> {
    generation: Option<i64>,
    revision: Option<&'w str>,
}

impl<'w> Writer<'w> {
    fn new(tokens: &'w Tokens, now: Time, objects: &[(&'w ObjectKey, &'w Value)]) -> Writer<'w> {
        Writer {
            tokens,
            now,
            out: String::with_capacity(4096),
            numbers: vec![0; tokens.list.len()],
            order: Vec::new(),
            payloads: BTreeMap::new(),
            revisions: Revisions::of(objects),
            dry: false,
            position: 0,
        }
    }

    fn world(&mut self, objects: &[(&'w ObjectKey, &'w Value)], context: &Context<'_>) {
        let _ = write!(self.out, "{{\"cursor\":\"{}\",\"extra\":", context.cursor);
        let extra = context.extra.to_string();
        self.out.push_str(&extra);
        self.out.push_str(",\"objects\":[");
        for (at, (key, object)) in objects.iter().enumerate() {
            self.out.push_str(if at == 0 { "\n[" } else { ",\n[" });
            self.position = at;
            self.string(&key.to_string());
            self.out.push(',');
            self.object(key, object);
            self.out.push(']');
        }
        self.out.push_str("],\n\"tokens\":[");
        for (at, token) in std::mem::take(&mut self.order).into_iter().enumerate() {
            let token = &self.tokens.list[token];
            let kind = match token.kind {
                TokenKind::Uid => "uid",
                TokenKind::Name => "name",
                TokenKind::Address => "ip",
            };
            self.out.push_str(if at == 0 { "" } else { "," });
            self.literal(&format!("{kind} {}", token.prefix));
        }
        self.out.push_str("]}\n");
    }

    fn object(&mut self, key: &ObjectKey, object: &'w Value) {
        let metadata = object.get("metadata");
        let current = Current {
            generation: metadata.and_then(|metadata| metadata.get("generation")?.as_i64()),
            revision: metadata.and_then(|metadata| metadata.get("resourceVersion")?.as_str()),
        };
        let secret = &*key.resource.resource == "secrets" && key.resource.group.is_empty();
        let Some(root) = object.as_object() else {
            return self.value(object, Place::Elsewhere, current);
        };
        self.map(root, current, |key| match key {
            "metadata" => Some(Place::Metadata),
            "data" | "stringData" if secret => Some(Place::Payload),
            _ => Some(Place::Elsewhere),
        });
    }

    fn value(&mut self, value: &'w Value, place: Place, current: Current<'w>) {
        match (value, place) {
            (Value::String(text), Place::Payload) => self.payload(text),
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
                    self.value(item, place, current);
                }
                self.out.push(']');
            }
            (Value::Object(map), Place::Metadata) => self.metadata(map, current),
            (Value::Object(map), Place::ManagedFields) => {
                self.map(map, current, |key| (key != "time").then_some(Place::Elsewhere));
            }
            (Value::Object(map), _) => self.map(map, current, |_| Some(place)),
            (scalar, _) => {
                let _ = write!(self.out, "{scalar}");
            }
        }
    }

    fn metadata(&mut self, map: &'w Map<String, Value>, current: Current<'w>) {
        let revision = current.revision.is_some_and(|text| self.revisions.mentioned.contains(text));
        let generation =
            self.revisions.generations_matter || !self.revisions.observed.contains(&self.position);
        self.map(map, current, |key| match key {
            "resourceVersion" if !revision => None,
            "generation" if !generation => None,
            "managedFields" => Some(Place::ManagedFields),
            _ => Some(Place::Elsewhere),
        });
    }

    /// A map: keys without tokens in order, then those with tokens. `place` says how a key's value is
    /// written; `None` leaves it out.
    fn map(
        &mut self,
        map: &'w Map<String, Value>,
        current: Current<'w>,
        place: impl Fn(&str) -> Option<Place>,
    ) {
        let mut token_keys = Vec::new();
        let mut first = true;
        self.out.push('{');
        for (key, value) in map {
            let Some(place) = place(key) else { continue };
            if self.tokens.occur_in(key) {
                token_keys.push((key, value, place));
            } else {
                self.entry(&mut first, key, value, place, current);
            }
        }
        // What an entry looks like changes as its neighbours get numbers, so the next is chosen anew.
        while !token_keys.is_empty() {
            let next = (0..token_keys.len())
                .min_by_key(|at| {
                    let (key, value, place) = token_keys[*at];
                    (self.look(key, value, place, current), key)
                })
                .unwrap_or(0);
            let (key, value, place) = token_keys.remove(next);
            self.entry(&mut first, key, value, place, current);
        }
        self.out.push('}');
    }

    fn entry(
        &mut self,
        first: &mut bool,
        key: &'w str,
        value: &'w Value,
        place: Place,
        current: Current<'w>,
    ) {
        if !std::mem::take(first) {
            self.out.push(',');
        }
        self.string(key);
        self.out.push(':');
        match (value, key) {
            (Value::Number(number), _) if observes_generation(key) => {
                match (number.as_i64(), current.generation) {
                    (Some(observed), Some(generation)) if !self.revisions.generations_matter => {
                        let behind = i128::from(generation) - i128::from(observed);
                        let _ = write!(self.out, "\"‹generation - {behind}›\"");
                    }
                    _ => {
                        let _ = write!(self.out, "{number}");
                    }
                }
            }
            (Value::String(text), "resourceVersion") => match self.revisions.holders.get(&**text) {
                Some(holder) if !self.revisions.mentioned.contains(&**text) => {
                    let _ = write!(self.out, "\"‹revision of object {holder}›\"");
                }
                _ => self.string(text),
            },
            _ => self.value(value, place, current),
        }
    }

    /// What an entry would look like now.
    fn look(
        &mut self,
        key: &'w str,
        value: &'w Value,
        place: Place,
        current: Current<'w>,
    ) -> String {
        let (before, was) = (std::mem::take(&mut self.out), std::mem::replace(&mut self.dry, true));
        self.entry(&mut true, key, value, place, current);
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
        let tokens = self.tokens;
        self.out.push('"');
        tokens.pieces(text, |piece| match piece {
            Piece::Text(text) => escape(&mut self.out, text),
            Piece::Token(token) => self.token(token),
        });
        self.out.push('"');
    }

    fn token(&mut self, token: usize) {
        if self.numbers[token] == 0 && !self.dry {
            self.order.push(token);
            self.numbers[token] = self.order.len() as u32;
        }
        let known = &self.tokens.list[token];
        if known.kind == TokenKind::Name {
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

/// Which revisions and generations other fields speak of.
struct Revisions<'w> {
    /// `metadata.resourceVersion` → position of the first object that has it.
    holders: BTreeMap<&'w str, usize>,
    /// Those that some field other than a `resourceVersion` repeats: a subject can compare the two.
    mentioned: BTreeSet<&'w str>,
    /// Some field other than `*observedGeneration` speaks of a generation.
    generations_matter: bool,
    /// Positions of the objects with an `*observedGeneration`.
    observed: BTreeSet<usize>,
}

impl<'w> Revisions<'w> {
    fn of(objects: &[(&'w ObjectKey, &'w Value)]) -> Revisions<'w> {
        let mut revisions = Revisions {
            holders: BTreeMap::new(),
            mentioned: BTreeSet::new(),
            generations_matter: false,
            observed: BTreeSet::new(),
        };
        for (at, (_, object)) in objects.iter().enumerate() {
            let revision = object.get("metadata").and_then(|meta| meta.get("resourceVersion"));
            if let Some(revision) = revision.and_then(Value::as_str) {
                revisions.holders.entry(revision).or_insert(at);
            }
        }
        for (at, (_, object)) in objects.iter().enumerate() {
            for (name, value) in object.as_object().into_iter().flatten() {
                match value {
                    Value::Object(metadata) if name == "metadata" => {
                        for (name, value) in metadata {
                            if !matches!(
                                &**name,
                                "generation" | "resourceVersion" | "managedFields"
                            ) {
                                revisions.look(at, name, value);
                            }
                        }
                    }
                    _ => revisions.look(at, name, value),
                }
            }
        }
        revisions
    }

    fn look(&mut self, at: usize, name: &str, value: &'w Value) {
        match value {
            Value::Object(map) => map.iter().for_each(|(name, value)| self.look(at, name, value)),
            Value::Array(items) => items.iter().for_each(|item| self.look(at, name, item)),
            Value::String(text) => {
                let number = text.as_bytes().first().is_some_and(u8::is_ascii_digit);
                if number
                    && name != "resourceVersion"
                    && let Some((held, _)) = self.holders.get_key_value(&**text)
                {
                    self.mentioned.insert(held);
                }
                self.generations_matter |= number && speaks_of_generation(name);
            }
            Value::Number(number) => {
                if observes_generation(name) {
                    self.observed.insert(at);
                }
                self.generations_matter |= speaks_of_generation(name);
                if contains_ignoring_case(name, "version")
                    || contains_ignoring_case(name, "revision")
                {
                    let text = number.to_string();
                    if let Some((held, _)) = self.holders.get_key_value(&*text) {
                        self.mentioned.insert(held);
                    }
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

fn speaks_of_generation(name: &str) -> bool {
    contains_ignoring_case(name, "generation") && !observes_generation(name)
}

fn observes_generation(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("observedgeneration")
}

fn contains_ignoring_case(text: &str, word: &str) -> bool {
    text.len() >= word.len()
        && text
            .as_bytes()
            .windows(word.len())
            .any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

/// The age of an RFC 3339 text in nanoseconds, and how it was written: decimals and offset.
fn age(text: &str, now: Time) -> Option<String> {
    let shaped = text.len() >= 20 && text.as_bytes()[10] == b'T' && text.is_ascii();
    // Leap seconds read as the second before: two texts, one time.
    if !shaped || &text[17..19] == "60" {
        return None;
    }
    let time = Time::parse_rfc3339(text)?;
    let tail = &text[19..];
    let fraction = tail.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    let (decimals, offset) = match tail.as_bytes()[0] {
        b'.' => (fraction, &tail[1 + fraction..]),
        _ => (0, tail),
    };
    let plain = offset.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-:".contains(&byte));
    let age = i128::from(now.0) - i128::from(time.0);
    plain.then(|| format!("{age}ns, {decimals} decimals, {offset}"))
}

/// Appends `text` as the inside of a JSON string, with `‹` doubled.
fn escape(out: &mut String, text: &str) {
    // 0xE2 begins `‹` (U+2039, E2 80 B9) among others.
    let special = |byte: u8| byte < 0x20 || matches!(byte, b'"' | b'\\' | 0xE2);
    if !text.bytes().any(special) {
        return out.push_str(text);
    }
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !special(byte) {
            continue;
        }
        out.push_str(&text[written..at]);
        written = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0xE2 => {
                if text[at..].starts_with('‹') {
                    out.push('‹');
                }
                written = at;
            }
            control => {
                let _ = write!(out, "\\u{control:04x}");
            }
        }
    }
    out.push_str(&text[written..]);
}
