//! Numbers generated siblings by what they are and by what refers to them (colour refinement).

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Member, fold_text};
use crate::tokens::{Piece, TokenKind, Tokens};

/// Rounds of refinement: each carries knowledge one reference further. Siblings that differ only further
/// away than this are numbered by name.
const ROUNDS: usize = 8;

type Colour = [u8; 32];

/// Name tokens that name present objects → number among their siblings (same folded key), from 1.
pub(super) fn ranks(tokens: &Tokens, members: &[Member]) -> BTreeMap<usize, usize> {
    let mut families: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, member) in members.iter().enumerate() {
        if member.folded.contains("‹*›") {
            families.entry(&member.folded).or_default().push(at);
        }
    }
    let colours = if families.values().any(|family| family.len() > 1) {
        refine(tokens, members)
    } else {
        vec![Default::default(); members.len()]
    };
    let referrers = referrers(tokens, members);
    let mut ranks = BTreeMap::new();
    for (_, mut family) in families {
        family.sort_by_key(|at| {
            (std::cmp::Reverse(referrers[*at]), colours[*at], members[*at].key.as_str())
        });
        for (rank, at) in family.into_iter().enumerate() {
            for token in names_in(tokens, &members[at].key) {
                let homed = tokens.list[token].home == Some(members[at].index);
                if homed {
                    ranks.insert(token, rank + 1);
                }
            }
        }
    }
    ranks
}

fn names_in(tokens: &Tokens, text: &str) -> Vec<usize> {
    let mut names = Vec::new();
    tokens.pieces(text, |piece| {
        if let Piece::Token(token) = piece {
            if tokens.list[token].kind == TokenKind::Name {
                names.push(token);
            }
        }
    });
    names
}

/// What a member looks like with all tokens folded, and the tokens in it in order of occurrence.
struct Skeleton {
    text: Colour,
    tokens: Vec<usize>,
}

fn skeleton(tokens: &Tokens, member: &Member) -> Skeleton {
    let (mut text, mut found) = (fold_text(tokens, &member.key), Vec::new());
    occurrences(tokens, &member.key, &mut found);
    walk(tokens, &member.value, &mut text, &mut found);
    Skeleton { text: *blake3::hash(text.as_bytes()).as_bytes(), tokens: found }
}

fn occurrences(tokens: &Tokens, text: &str, found: &mut Vec<usize>) {
    tokens.pieces(text, |piece| {
        if let Piece::Token(token) = piece {
            found.push(token);
        }
    });
}

fn walk(tokens: &Tokens, value: &Value, text: &mut String, found: &mut Vec<usize>) {
    match value {
        Value::String(string) => {
            text.push('"');
            text.push_str(&fold_text(tokens, string));
            text.push('"');
            occurrences(tokens, string, found);
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                walk(tokens, item, text, found);
                text.push(',');
            }
            text.push(']');
        }
        Value::Object(map) => {
            text.push('{');
            // Keys that hold tokens are ordered by their folded text, never by the token's.
            let mut entries: Vec<(String, &String, &Value)> =
                map.iter().map(|(key, value)| (fold_text(tokens, key), key, value)).collect();
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            for (folded, key, value) in entries {
                text.push_str(&folded);
                text.push(':');
                occurrences(tokens, key, found);
                walk(tokens, value, text, found);
                text.push(',');
            }
            text.push('}');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

fn refine(tokens: &Tokens, members: &[Member]) -> Vec<Colour> {
    let skeletons: Vec<Skeleton> = members.iter().map(|member| skeleton(tokens, member)).collect();
    let mut colours: Vec<Colour> = skeletons.iter().map(|skeleton| skeleton.text).collect();
    let mut token_colours: Vec<Colour> = vec![Default::default(); tokens.list.len()];
    let mut classes = 0;
    for _ in 0..ROUNDS {
        let mut seen: Vec<Vec<(Colour, usize)>> = vec![Vec::new(); tokens.list.len()];
        for (skeleton, colour) in skeletons.iter().zip(&colours) {
            for (at, token) in skeleton.tokens.iter().enumerate() {
                seen[*token].push((*colour, at));
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
        for (skeleton, colour) in skeletons.iter().zip(&mut colours) {
            let mut hasher = blake3::Hasher::new();
            hasher.update(colour);
            for token in &skeleton.tokens {
                hasher.update(&token_colours[*token]);
            }
            *colour = *hasher.finalize().as_bytes();
        }
        let mut distinct = colours.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() == classes || distinct.len() == members.len() {
            break;
        }
        classes = distinct.len();
    }
    colours
}

/// For each member, how many other members mention it by name, uid or address. The most mentioned sibling
/// comes first, so that "the one that its owner knows" keeps its number when a surplus one appears.
fn referrers(tokens: &Tokens, members: &[Member]) -> Vec<usize> {
    let position: BTreeMap<usize, usize> =
        members.iter().enumerate().map(|(at, member)| (member.index, at)).collect();
    let mut counts = vec![0; members.len()];
    for (at, member) in members.iter().enumerate() {
        let mut found = skeleton(tokens, member).tokens;
        found.sort_unstable();
        found.dedup();
        let mut mentioned: Vec<usize> = found
            .into_iter()
            .filter_map(|token| position.get(&tokens.list[token].home?).copied())
            .filter(|other| *other != at)
            .collect();
        mentioned.sort_unstable();
        mentioned.dedup();
        mentioned.into_iter().for_each(|other| counts[other] += 1);
    }
    counts
}
