//! Numbers generated siblings by what they are and by what refers to them (colour refinement).
//!
//! Siblings that no refinement tells apart are symmetric, or look it. Where they refer to each other (two pods,
//! each with its volume claim), numbering each family by name would tie the wrong pairs together: one of them
//! is made special and refinement carries that to its partners, until no symmetric ones refer to each other.

use std::{cmp::Reverse, collections::BTreeMap};

use serde_json::Value;

use super::Member;
use crate::{
    sets,
    tokens::{Piece, TokenKind, Tokens},
};

type Colour = [u8; 32];

/// Name tokens that name present objects → number among their siblings (same folded key), from 1.
///
/// The most mentioned sibling comes first, so that "the one that its owner knows" keeps its number when a
/// surplus one appears; then order of content, so that a small difference moves few numbers; then colour.
pub(super) fn ranks(tokens: &Tokens, members: &[Member]) -> BTreeMap<usize, usize> {
    let mut families: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, member) in members.iter().enumerate() {
        if member.folded.contains("‹*›") {
            families.entry(&member.folded).or_default().push(at);
        }
    }
    if families.values().any(|family| family.len() > 1) {
        let skeletons: Vec<Skeleton> =
            members.iter().map(|member| skeleton(tokens, member)).collect();
        let edges = edges(tokens, members, &skeletons);
        let colours = tell_apart(tokens, members, &skeletons, &edges);
        let mut mentions = vec![0; members.len()];
        edges.iter().for_each(|(_, mentioned)| mentions[*mentioned] += 1);
        for family in families.values_mut() {
            family.sort_by_key(|at| {
                let (member, skeleton) = (&members[*at], &skeletons[*at]);
                // What a node is, is more than what stands on it.
                let node = member.key.starts_with("nodes/").then_some(&skeleton.text);
                (node, Reverse(mentions[*at]), &skeleton.text, colours[*at], &member.key)
            });
        }
    }
    let mut ranks = BTreeMap::new();
    for family in families.into_values() {
        for (rank, at) in family.into_iter().enumerate() {
            for token in own_names(tokens, &members[at]) {
                ranks.insert(token, rank + 1);
            }
        }
    }
    ranks
}

/// The generated name of the member itself.
fn own_names(tokens: &Tokens, member: &Member) -> Vec<usize> {
    let mut found = Vec::new();
    occurrences(tokens, &member.key, &mut found);
    let own = |token: &usize| {
        let token = &tokens.list[*token];
        token.kind == TokenKind::Name && token.home == Some(member.index)
    };
    found.retain(own);
    found
}

/// What a member looks like with all tokens folded, and the tokens in it with their places.
#[derive(Default)]
struct Skeleton {
    text: String,
    /// Place and token, in order of places. The items of a list without order share their places.
    tokens: Vec<(usize, usize)>,
    /// The next place.
    place: usize,
}

fn skeleton(tokens: &Tokens, member: &Member) -> Skeleton {
    let mut skeleton = Skeleton::default();
    skeleton.string(tokens, &member.key);
    skeleton.value(tokens, &member.value);
    skeleton.tokens.sort_by_key(|(place, _)| *place);
    skeleton
}

fn occurrences(tokens: &Tokens, text: &str, found: &mut Vec<usize>) {
    tokens.pieces(text, |piece| {
        if let Piece::Token(token) = piece {
            found.push(token);
        }
    });
}

impl Skeleton {
    fn string(&mut self, tokens: &Tokens, string: &str) {
        self.text.push_str(&tokens.fold(string));
        self.places(tokens, string);
    }

    fn places(&mut self, tokens: &Tokens, string: &str) {
        let mut found = Vec::new();
        occurrences(tokens, string, &mut found);
        for token in found {
            // On which node a sibling stands does not tell it from others.
            if tokens.list[token].kind != TokenKind::Node {
                self.tokens.push((self.place, token));
            }
            self.place += 1;
        }
    }

    fn value(&mut self, tokens: &Tokens, value: &Value) {
        match value {
            Value::String(string) => {
                self.text.push('"');
                self.string(tokens, string);
                self.text.push('"');
            }
            Value::Array(items) => {
                self.text.push('[');
                for item in items {
                    self.value(tokens, item);
                    self.text.push(',');
                }
                self.text.push(']');
            }
            Value::Object(map) => {
                self.text.push('{');
                // Keys that hold tokens are ordered by their folded text, never by the token's.
                let mut entries: Vec<(String, &String, &Value)> =
                    map.iter().map(|(key, value)| (tokens.fold(key), key, value)).collect();
                entries.sort_by(|left, right| left.0.cmp(&right.0));
                for (folded, key, value) in entries {
                    self.text.push_str(&folded);
                    self.text.push(':');
                    self.places(tokens, key);
                    match value {
                        Value::Array(items) if sets::is_set(key, items) => self.set(tokens, items),
                        _ => self.value(tokens, value),
                    }
                    self.text.push(',');
                }
                self.text.push('}');
            }
            Value::Number(number) => match tokens.port(number) {
                Some(token) => {
                    self.text.push_str(&tokens.folded(token));
                    self.tokens.push((self.place, token));
                    self.place += 1;
                }
                None => self.text.push_str(&number.to_string()),
            },
            scalar => self.text.push_str(&scalar.to_string()),
        }
    }

    /// A list without order: its items in the order of their texts, all of them at the same places.
    fn set(&mut self, tokens: &Tokens, items: &[Value]) {
        let alone = |item: &Value| {
            let mut skeleton = Skeleton { place: self.place, ..Skeleton::default() };
            skeleton.value(tokens, item);
            skeleton
        };
        let mut items: Vec<Skeleton> = items.iter().map(alone).collect();
        items.sort_by(|left, right| left.text.cmp(&right.text));
        self.text.push('[');
        for item in items {
            self.text.push_str(&item.text);
            self.text.push(',');
            self.tokens.extend(item.tokens);
            self.place = self.place.max(item.place);
        }
        self.text.push(']');
    }
}

/// A colour each: equal only for members that look alike, and whose order makes no difference.
fn tell_apart(
    tokens: &Tokens,
    members: &[Member],
    skeletons: &[Skeleton],
    edges: &[(usize, usize)],
) -> Vec<Colour> {
    let hash = |skeleton: &Skeleton| *blake3::hash(skeleton.text.as_bytes()).as_bytes();
    let mut colours: Vec<Colour> = skeletons.iter().map(hash).collect();
    refine(tokens, skeletons, &mut colours);
    // Each pass makes one member special for good, so there are fewer passes than members.
    for _ in 0..members.len() {
        let mut classes: BTreeMap<Colour, usize> = BTreeMap::new();
        colours.iter().for_each(|colour| *classes.entry(*colour).or_default() += 1);
        let tied = |at: &usize| classes[&colours[*at]] > 1;
        let entangled = edges.iter().filter(|(from, to)| tied(from) && tied(to));
        let first = entangled
            .flat_map(|(from, to)| [*from, *to])
            .min_by_key(|at| (colours[*at], &members[*at].key));
        let Some(special) = first else { break };
        colours[special] = *blake3::hash(&colours[special]).as_bytes();
        refine(tokens, skeletons, &mut colours);
    }
    colours
}

/// Splits classes of colours until nothing more splits; each round carries knowledge one reference further.
fn refine(tokens: &Tokens, skeletons: &[Skeleton], colours: &mut [Colour]) {
    let mut token_colours: Vec<Colour> = vec![Default::default(); tokens.list.len()];
    let mut classes = 0;
    for _ in 0..skeletons.len() {
        recolour_tokens(skeletons, colours, &mut token_colours);
        for (skeleton, colour) in skeletons.iter().zip(colours.iter_mut()) {
            let mut hasher = blake3::Hasher::new();
            hasher.update(colour);
            let mut placed: Vec<(usize, Colour)> = skeleton
                .tokens
                .iter()
                .map(|(place, token)| (*place, token_colours[*token]))
                .collect();
            placed.sort_unstable();
            for (_, token) in &placed {
                hasher.update(token);
            }
            *colour = *hasher.finalize().as_bytes();
        }
        let mut distinct = colours.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() == classes || distinct.len() == colours.len() {
            break;
        }
        classes = distinct.len();
    }
}

/// A token's colour is where it occurs: in members of which colour, and there at which place.
fn recolour_tokens(skeletons: &[Skeleton], colours: &[Colour], token_colours: &mut [Colour]) {
    let mut seen: Vec<Vec<(Colour, usize)>> = vec![Vec::new(); token_colours.len()];
    for (skeleton, colour) in skeletons.iter().zip(colours) {
        for (place, token) in &skeleton.tokens {
            seen[*token].push((*colour, *place));
        }
    }
    for (token, occurrences) in seen.iter_mut().enumerate() {
        occurrences.sort_unstable();
        let mut hasher = blake3::Hasher::new();
        hasher.update(&token_colours[token]);
        for (colour, at) in occurrences {
            hasher.update(colour).update(&(*at as u64).to_le_bytes());
        }
        token_colours[token] = *hasher.finalize().as_bytes();
    }
}

/// Which member mentions which other by name, uid or address: each pair once.
fn edges(tokens: &Tokens, members: &[Member], skeletons: &[Skeleton]) -> Vec<(usize, usize)> {
    let position: BTreeMap<usize, usize> =
        members.iter().enumerate().map(|(at, member)| (member.index, at)).collect();
    let mut edges = Vec::new();
    for (at, skeleton) in skeletons.iter().enumerate() {
        let homes = skeleton.tokens.iter().filter_map(|(_, token)| tokens.list[*token].home);
        let others = homes.filter_map(|home| position.get(&home).copied());
        edges.extend(others.filter(|other| *other != at).map(|other| (at, other)));
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}
