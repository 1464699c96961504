//! Comparison: equal if the difference means nothing to the user (design §5). Used for baselines, verdicts
//! and fingerprints; never for pruning ([`crate::identity`] is for that).
//!
//! Identity minus the masks, and: times and ages become `<time>`, generation counters, revisions and
//! `managedFields` are left out, and the rank of generated siblings does not count. Phases, condition types,
//! statuses and reasons are kept, as is everything else. Lists that are sets have no order (`sets.rs`).
//!
//! **Labels.** A generated name becomes `web-‹1›`, where siblings are numbered by what they are and by what
//! refers to them (colour refinement), not by their names; a uid becomes `‹uid of pods/default/web-‹1››`; an
//! address `‹ip of …›`; a node port that was given to a Service `‹node port http of …›`, also where it is a number; the
//! name of a node among which the scheduler chose `node-‹1›`; a Secret's payload `‹payload›`, numbered if it occurs twice. What names an object that
//! is gone is `web-‹gone›`, `‹uid of nothing›`. In *folded* form all siblings look alike: `web-‹*›`.
//!
//! Siblings that nothing tells apart are numbered by name: any numbering gives the same world.

//! **Cost.** An object in which no token of the world occurs has the same form in every such world, and is reduced once
//! for each of its versions ([`crate::versions`]). Only the others are labelled, and only they are told apart.

mod form;
mod mask;
mod reduce;
mod refine;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Number, Value};

pub(crate) use self::mask::PartMasks;
pub use self::{
    form::{ObjectForm, WorldForm},
    mask::{Accepted, MASKED, Mask, Masks, ParsePathError, Path, Segment},
};
use crate::{
    key::ObjectKey,
    sets,
    tokens::{Token, TokenKind, Tokens, is_node},
    versions::{Version, versions},
};

/// The world of these objects in comparison form: canonical key → object.
///
/// `generated` are names known to be generated, besides those that look it. Bookkeeping, and what the campaign
/// accepts whole, is left out.
pub fn comparison<'a>(
    objects: impl IntoIterator<Item = (&'a ObjectKey, &'a Arc<Value>)>,
    generated: impl IntoIterator<Item = &'a str>,
    masks: &Masks,
) -> WorldForm {
    let mut objects: Vec<(&ObjectKey, &Arc<Value>)> =
        objects.into_iter().filter(|(key, _)| !key.resource.is_bookkeeping()).collect();
    objects.sort_by_key(|(key, _)| *key);
    let versions = versions(&objects);
    let walked =
        versions.iter().zip(&objects).map(|(version, (_, object))| (&**version, &***object));
    let tokens = Tokens::of_versions(walked, generated);
    let mut world = World { tokens: &tokens, masks, members: vec![], plain: vec![] };
    for (index, (version, (key, object))) in versions.iter().zip(&objects).enumerate() {
        world.take_in(index, version, key, object);
    }
    world.labelled()
}

/// A world on its way into comparison form.
struct World<'w> {
    tokens: &'w Tokens,
    masks: &'w Masks,
    /// Objects in which tokens may occur.
    members: Vec<Member>,
    /// The others: position in what the tokens were collected from, key and form.
    plain: Vec<(usize, String, Arc<ObjectForm>)>,
}

impl World<'_> {
    fn take_in(&mut self, index: usize, version: &Version, key: &ObjectKey, object: &Arc<Value>) {
        let text = key.to_string();
        let is_plain = !self.tokens.may_occur_in(version, object);
        let is_node = is_node(key);
        let folded = if is_plain || is_node { text.clone() } else { self.tokens.fold(&text) };
        if self.masks.leave_out(&folded) {
            return;
        }
        let reduced = |masks: &PartMasks| {
            let mut value = reduce::reduce(key, object);
            masks.apply(&mut value);
            value
        };
        let masks = self.masks.about(&folded);
        if is_plain {
            let form = version.form(masks, |masks| relabelled(&reduced(masks), &Unlabelled));
            self.plain.push((index, text, form));
        } else {
            let value = reduced(&masks);
            self.members.push(Member { index, key: text, folded, value, is_node });
        }
    }

    fn labelled(self) -> WorldForm {
        let labels = Labels::new(&self);
        let mut form = WorldForm::default();
        for member in &self.members {
            let object = ObjectForm::new(labels.value(member));
            form.insert(labels.key(member), Arc::new(object));
        }
        self.plain.into_iter().for_each(|(_, key, object)| form.insert(key, object));
        form.number_payloads();
        form
    }
}

/// One object in which tokens may occur, on its way into comparison form: reduced, masked, its strings still as they
/// were.
struct Member {
    /// Position in what the tokens were collected from.
    index: usize,
    key: String,
    folded: String,
    value: Value,
    /// Whether it is a Node.
    is_node: bool,
}

/// Which text stands for which token.
struct Labels<'l> {
    tokens: &'l Tokens,
    texts: Vec<String>,
}

impl<'l> Labels<'l> {
    fn new(world: &World<'l>) -> Labels<'l> {
        let World { tokens, members, plain, .. } = world;
        let ranks = refine::ranks(tokens, members);
        let mut labels = Labels { tokens, texts: vec![String::new(); tokens.list.len()] };
        for (at, token) in tokens.list.iter().enumerate() {
            labels.texts[at] = match (token.kind, ranks.get(&at)) {
                (TokenKind::Name, Some(rank)) => format!("{}‹{rank}›", token.prefix),
                (TokenKind::Name, None) => format!("{}‹gone›", token.prefix),
                (TokenKind::Node, _) => "‹node›".to_owned(),
                _ => continue,
            };
        }
        let labelled = members.iter().map(|member| (member.index, labels.key(member)));
        let mut keys: BTreeMap<usize, String> = labelled.collect();
        keys.extend(plain.iter().map(|(index, key, _)| (*index, key.clone())));
        for (at, token) in tokens.list.iter().enumerate() {
            let what = token.kind.word();
            let home =
                token.home.and_then(|home| keys.get(&home)).map_or("nothing", String::as_str);
            labels.texts[at] = match token.kind {
                TokenKind::Name | TokenKind::Node => continue,
                TokenKind::Port => format!("‹{what} {} of {home}›", token.prefix),
                _ => format!("‹{what} of {home}›"),
            };
        }
        labels
    }

    fn value(&self, member: &Member) -> Value {
        match member.is_node {
            true => relabelled(&member.value, &OfNode(self)),
            false => relabelled(&member.value, self),
        }
    }

    fn key(&self, member: &Member) -> String {
        if member.is_node { OfNode(self).text(&member.key) } else { self.text(&member.key) }
    }
}

/// Within a Node, its name is what tells it from others.
struct OfNode<'l>(&'l Labels<'l>);

impl Relabel for OfNode<'_> {
    fn text(&self, text: &str) -> String {
        let Labels { tokens, texts } = self.0;
        tokens.replace(text, |token| match &tokens.list[token] {
            Token { kind: TokenKind::Node, text, .. } => text.clone(),
            _ => texts[token].clone(),
        })
    }

    fn number(&self, number: &Number) -> Value {
        self.0.number(number)
    }
}

impl Relabel for Labels<'_> {
    fn text(&self, text: &str) -> String {
        self.tokens.replace(text, |token| self.texts[token].clone())
    }

    fn number(&self, number: &Number) -> Value {
        self.tokens
            .port(number)
            .map_or_else(|| number.clone().into(), |token| self.texts[token].clone().into())
    }
}

/// Objects one by one in *folded* form, for what has no world around it: commits, calls, life summaries.
///
/// Made from all objects of a run, so that it knows their uids, addresses and generated names.
pub struct Folder {
    tokens: Tokens,
}

impl Folder {
    /// Knows the tokens of these objects, and these names as generated.
    pub fn new<'a>(
        objects: impl IntoIterator<Item = (&'a ObjectKey, &'a Arc<Value>)>,
        generated: impl IntoIterator<Item = &'a str>,
    ) -> Folder {
        let objects: Vec<(&ObjectKey, &Arc<Value>)> = objects.into_iter().collect();
        let versions = versions(&objects);
        let walked =
            versions.iter().zip(&objects).map(|(version, (_, object))| (&**version, &***object));
        Folder { tokens: Tokens::of_versions(walked, generated) }
    }

    /// `pods/default/web-‹*›`.
    pub fn key(&self, key: &ObjectKey) -> String {
        self.tokens.fold(&key.to_string())
    }

    /// Any text with its tokens folded.
    pub fn text(&self, text: &str) -> String {
        self.tokens.fold(text)
    }

    /// Whether the object's own name is a generated one.
    pub fn is_generated(&self, key: &ObjectKey) -> bool {
        let token = self.tokens.exactly(&key.name);
        token.is_some_and(|token| self.tokens.list[token].kind == TokenKind::Name)
    }

    /// The object, reduced, masked and folded.
    pub fn object(&self, key: &ObjectKey, object: &Value, masks: &Masks) -> Value {
        let mut value = reduce::reduce(key, object);
        masks.apply(&self.key(key), &mut value);
        reduce::plain_payloads(&mut value);
        relabelled(&value, &self.tokens)
    }
}

/// A canonical key with its siblings folded: `foos/default/foo-‹2›` → `foos/default/foo-‹*›`.
pub fn fold_key(canonical: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(canonical.len()), canonical);
    while let Some((before, after)) = rest.split_once('‹') {
        let Some((inside, left)) = after.split_once('›') else { break };
        out.push_str(before);
        out.push_str(if inside.parse::<u32>().is_ok() { "‹*›" } else { "‹" });
        rest = if inside.parse::<u32>().is_ok() { left } else { after };
    }
    out.push_str(rest);
    out
}

/// What is put in the place of texts and numbers.
trait Relabel {
    fn text(&self, text: &str) -> String;
    fn number(&self, number: &Number) -> Value;
}

/// Everything as it is.
struct Unlabelled;

impl Relabel for Unlabelled {
    fn text(&self, text: &str) -> String {
        text.to_owned()
    }

    fn number(&self, number: &Number) -> Value {
        number.clone().into()
    }
}

/// All siblings alike.
impl Relabel for Tokens {
    fn text(&self, text: &str) -> String {
        self.fold(text)
    }

    fn number(&self, number: &Number) -> Value {
        self.port(number).map_or_else(|| number.clone().into(), |token| self.folded(token).into())
    }
}

fn relabelled(value: &Value, labels: &dyn Relabel) -> Value {
    match value {
        Value::String(text) => labels.text(text).into(),
        Value::Number(number) => labels.number(number),
        Value::Array(items) => items.iter().map(|item| relabelled(item, labels)).collect(),
        Value::Object(map) => {
            let mut out = Map::new();
            for (key, value) in map {
                let mut mapped = relabelled(value, labels);
                if let (Value::Array(items), Value::Array(mapped)) = (value, &mut mapped)
                    && sets::is_set(key, items)
                {
                    mapped.sort_by_cached_key(Value::to_string);
                }
                insert_new(&mut out, labels.text(key), mapped);
            }
            Value::Object(out)
        }
        scalar => scalar.clone(),
    }
}

/// Two keys may get one label (names of things that are gone): none of their values may vanish.
fn insert_new(map: &mut Map<String, Value>, key: String, value: Value) {
    let mut free = key;
    while map.contains_key(&free) {
        free.push_str("‹again›");
    }
    map.insert(free, value);
}

#[cfg(test)]
mod tests;
