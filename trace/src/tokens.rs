//! Texts that mean "this object" and nothing else: uids, addresses, generated names, and what else was chosen by the
//! API server, an allocator or the scheduler.
//!
//! Two worlds that differ only in such texts are the same world, so both forms of sameness
//! ([`crate::identity`], [`crate::comparison`]) find them and put labels in their place.
//!
//! What counts as one (a text that is missed stays as it is, which at worst fails to merge two worlds):
//! - `metadata.uid`, the `uid` of owner references, and the `uid` beside `kind` and `name` in any reference;
//! - the name of an object whose `generateName` is followed by five characters of a-z and 0-9, not all of
//!   them digits (a StatefulSet's pod `web-0` also carries `generateName: web-`, and `0` means something),
//!   and every name that the world's generator is known to have issued;
//! - in comparisons, the hash of a pod template at the end of the names of ReplicaSets and ControllerRevisions, and
//!   wherever else it stands: templates are compared, and one that differs only in what is not (a time, the order of a
//!   set) has another hash all the same;
//! - addresses in fields that the cluster fills: `podIP`, `hostIP`, `clusterIP`, `ip` under `podIPs`,
//!   `hostIPs`, `clusterIPs`, the addresses of Endpoints, EndpointSlices and Nodes, and the names of IPAddresses. An
//!   address that a user wrote anywhere else is a value like any other;
//! - node ports of Services that nobody asked for, as their `managedFields` say. One that a user or a controller wrote is a
//!   value. Where nothing says who wrote, all in the allocator's range are tokens;
//! - in comparisons, and at coarse levels, the names of nodes that the scheduler chose (`nodes.rs`).
//!
//! A volume that was provisioned is named by the uid of its claim (`pvc-UID`), and needs no kind of its own. Who holds a
//! Lease counts nowhere, because Leases don't.
//!
//! A port is found as a number as well, whatever field it stands in: that another number is the same by chance would show
//! as a difference, not hide one. Inside longer strings they are found only as whole tokens, bounded by the ends or by characters that are
//! neither letter nor digit. At one place the longest wins.

mod nodes;
mod sources;

use std::{collections::BTreeMap, ops::RangeInclusive};

use serde_json::{Number, Value};

pub(crate) use self::{nodes::is_node, sources::Sources};
use crate::{
    drawn::drawn_part,
    key::ObjectKey,
    versions::{Version, word},
};

/// What a token stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TokenKind {
    Uid,
    Name,
    Address,
    /// The hash of a pod template, by itself.
    Hash,
    /// A port of all nodes that is given to a Service.
    Port,
    /// The name of a node that the scheduler chose.
    Node,
}

impl TokenKind {
    /// What it is in labels.
    pub fn word(self) -> &'static str {
        match self {
            TokenKind::Uid => "uid",
            TokenKind::Name => "name",
            TokenKind::Address => "ip",
            TokenKind::Hash => "hash",
            TokenKind::Port => "node port",
            TokenKind::Node => "node",
        }
    }
}

/// The ports that are given to Services (`--service-node-port-range`, by default).
const NODE_PORTS: RangeInclusive<u64> = 30_000..=32_767;

pub(crate) fn may_be_port(number: &Number) -> bool {
    number.as_u64().is_some_and(|number| NODE_PORTS.contains(&number))
}

/// One token of a world.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub text: String,
    /// For names: what was asked for (`generateName`). For addresses: the family. For ports: which of the Service's. For
    /// nodes: how the names of all begin. Empty for others.
    pub prefix: String,
    /// Index of the object that it names, where that exists.
    pub home: Option<usize>,
}

/// A stretch of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    Text(&'t str),
    Token(usize),
}

/// All tokens of a world, and a scanner for them.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    pub list: Vec<Token>,
    by_text: BTreeMap<String, usize>,
    /// First alphanumeric run of the token's text → tokens that begin with it, longest first.
    by_run: BTreeMap<String, Vec<usize>>,
    filter: Filter,
    /// Of each token the word that fewest objects have, by its hash, in order.
    rare_words: Vec<(u32, usize)>,
    /// Bytes of the shortest token.
    shortest: usize,
}

/// What was asked for when this name was issued, as far as the name shows it: all but five characters, or, where a
/// controller draws names by itself, all up to the last separator. An object that has the name knows better.
fn asked_for(name: &str) -> &str {
    let mut cut = name.len().saturating_sub(SUFFIX_LENGTH);
    while !name.is_char_boundary(cut) {
        cut -= 1;
    }
    let drawn = drawn_part(name).filter(|drawn| *drawn > SUFFIX_LENGTH);
    let hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    match drawn.map(|drawn| name.split_at(name.len() - drawn)) {
        Some((prefix, part)) if hex(part) => prefix,
        _ => &name[..cut],
    }
}

/// Suffix that the API server appends to `generateName` (apiserver `names.SimpleNameGenerator`).
const SUFFIX_LENGTH: usize = 5;

impl Tokens {
    /// Finds the tokens of these objects; `issued` are names known to be generated, besides those that look it.
    pub fn collect<'a>(
        objects: impl IntoIterator<Item = (&'a ObjectKey, &'a Value)>,
        issued: impl IntoIterator<Item = &'a str>,
    ) -> Tokens {
        Tokens::find(objects, issued, true)
    }

    /// The same where all generated names are known: what only looks like one means what it says.
    pub fn collect_issued<'a>(
        objects: impl IntoIterator<Item = (&'a ObjectKey, &'a Value)>,
        issued: impl IntoIterator<Item = &'a str>,
    ) -> Tokens {
        Tokens::find(objects, issued, false)
    }

    /// Like [`Tokens::collect`], of versions whose sources are looked for once.
    pub fn of_versions<'a, 'n>(
        objects: impl IntoIterator<Item = (&'a Version, &'a Value)>,
        issued: impl IntoIterator<Item = &'n str>,
    ) -> Tokens {
        let sources =
            |(version, object): (&'a Version, &'a Value)| (&version.key, version.sources(object));
        Tokens::of(&objects.into_iter().map(sources).collect::<Vec<_>>(), issued, true)
    }

    fn find<'a>(
        objects: impl IntoIterator<Item = (&'a ObjectKey, &'a Value)>,
        issued: impl IntoIterator<Item = &'a str>,
        guess: bool,
    ) -> Tokens {
        let sources = |(key, object): (&'a ObjectKey, &'a Value)| (key, Sources::of(key, object));
        let objects: Vec<(&ObjectKey, Sources)> = objects.into_iter().map(sources).collect();
        let objects: Vec<(&ObjectKey, &Sources)> =
            objects.iter().map(|(key, sources)| (*key, sources)).collect();
        Tokens::of(&objects, issued, guess)
    }

    fn of<'a>(
        objects: &[(&ObjectKey, &Sources)],
        issued: impl IntoIterator<Item = &'a str>,
        guess: bool,
    ) -> Tokens {
        let mut tokens = Tokens::default();
        for name in issued {
            tokens.add(TokenKind::Name, name, asked_for(name), None);
        }
        for (index, (key, sources)) in objects.iter().enumerate() {
            tokens.take_in(index, key, sources, guess);
        }
        if guess {
            tokens.add_nodes(objects);
        }
        tokens.index();
        tokens.fold_prefixes();
        tokens
    }

    fn add_nodes(&mut self, objects: &[(&ObjectKey, &Sources)]) {
        let (names, common) = nodes::chosen(objects);
        for name in names {
            let own = |(key, _): &(&ObjectKey, &Sources)| nodes::is_node(key) && *key.name == *name;
            self.add(TokenKind::Node, name, common, objects.iter().position(own));
        }
    }

    /// What was asked for may itself hold what is drawn: `web-5d4f8c7b9-` of a Deployment's pods.
    fn fold_prefixes(&mut self) {
        let folded: Vec<String> = self.list.iter().map(|token| self.fold(&token.prefix)).collect();
        for (token, prefix) in self.list.iter_mut().zip(folded) {
            token.prefix = prefix;
        }
    }

    /// Adds what one object brings. `guess`: its name may look generated.
    fn take_in(&mut self, index: usize, key: &ObjectKey, sources: &Sources, guess: bool) {
        if let Some(uid) = &sources.uid {
            self.add(TokenKind::Uid, uid, "", Some(index));
        }
        let asked = &*sources.asked_for;
        if guess && is_generated(&key.name, asked) {
            self.add(TokenKind::Name, &key.name, asked, Some(index));
        } else if guess && let Some((prefix, hash)) = &sources.template_hash {
            self.add(TokenKind::Name, &key.name, prefix, Some(index));
            self.add(TokenKind::Hash, hash, "", Some(index));
        } else if let Some(known) = self.by_text.get(&*key.name).filter(|_| sources.has_metadata) {
            let token = &mut self.list[*known];
            token.home = Some(index);
            if !asked.is_empty() && key.name.starts_with(asked) {
                token.prefix = asked.to_owned();
            }
        }
        if guess {
            for hash in &sources.hashes {
                self.add(TokenKind::Hash, hash, "", None);
            }
        }
        for field in &sources.fields {
            self.add(field.kind, &field.text, &field.prefix, field.own.then_some(index));
        }
    }

    fn add(&mut self, kind: TokenKind, text: &str, prefix: &str, home: Option<usize>) {
        if !text.as_bytes().first().copied().is_some_and(is_word) {
            return;
        }
        if let Some(known) = self.by_text.get(text) {
            let token = &mut self.list[*known];
            token.home = token.home.or(home);
            if kind == TokenKind::Name && token.kind == kind {
                token.prefix = prefix.to_owned();
            }
            return;
        }
        self.by_text.insert(text.to_owned(), self.list.len());
        self.list.push(Token { kind, text: text.to_owned(), prefix: prefix.to_owned(), home });
    }

    fn index(&mut self) {
        for (at, token) in self.list.iter().enumerate() {
            let run = first_run(&token.text);
            self.filter.insert(run);
            self.by_run.entry(run.to_owned()).or_default().push(at);
        }
        for found in self.by_run.values_mut() {
            found.sort_by_key(|at| std::cmp::Reverse(self.list[*at].text.len()));
        }
        let rare = |(at, token): (usize, &Token)| Some((word(rare_word(token)?), at));
        self.rare_words = self.list.iter().enumerate().filter_map(rare).collect();
        self.rare_words.sort_unstable();
        self.shortest = self.list.iter().map(|token| token.text.len()).min().unwrap_or(usize::MAX);
    }

    /// Whether any of them may occur in the object. "No" is always right.
    pub fn may_occur_in(&self, version: &Version, object: &Value) -> bool {
        let all = version.words(object);
        let has = |token: usize| {
            let text = &self.list[token].text;
            words(text).all(|part| all.has(word(part))) && version.may_hold(object, text)
        };
        all.any_of(&self.rare_words, has)
    }

    /// The token that is exactly this text.
    pub fn exactly(&self, text: &str) -> Option<usize> {
        self.by_text.get(text).copied()
    }

    /// The node port that is this number.
    pub fn port(&self, number: &Number) -> Option<usize> {
        let token = may_be_port(number).then(|| self.exactly(&number.to_string()))??;
        (self.list[token].kind == TokenKind::Port).then_some(token)
    }

    /// Calls `found` for each stretch of `text`, in order.
    pub fn pieces<'t>(&self, text: &'t str, mut found: impl FnMut(Piece<'t>)) {
        let bytes = text.as_bytes();
        let (mut written, mut at) = (0, 0);
        if bytes.len() < self.shortest {
            at = bytes.len();
        }
        while at < bytes.len() {
            if !is_word(bytes[at]) {
                at += 1;
                continue;
            }
            let start = at;
            while at < bytes.len() && is_word(bytes[at]) {
                at += 1;
            }
            if !self.filter.may_contain(&bytes[start..at]) {
                continue;
            }
            if let Some(token) = self.at(text, start, at) {
                if written < start {
                    found(Piece::Text(&text[written..start]));
                }
                found(Piece::Token(token));
                at = start + self.list[token].text.len();
                written = at;
            }
        }
        if written < bytes.len() {
            found(Piece::Text(&text[written..]));
        }
    }

    /// Whether any token occurs in `text`.
    pub fn occur_in(&self, text: &str) -> bool {
        let mut any = false;
        self.pieces(text, |piece| any |= matches!(piece, Piece::Token(_)));
        any
    }

    /// `text` with each token replaced by `label`.
    pub fn replace(&self, text: &str, mut label: impl FnMut(usize) -> String) -> String {
        let mut out = String::with_capacity(text.len());
        self.pieces(text, |piece| match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Token(token) => out.push_str(&label(token)),
        });
        out
    }

    /// `text` with all siblings alike: `web-‹*›`, `‹uid›`, `‹ip›`.
    pub fn fold(&self, text: &str) -> String {
        self.replace(text, |token| self.folded(token))
    }

    /// A token as all its siblings are shown.
    pub fn folded(&self, token: usize) -> String {
        let token = &self.list[token];
        match token.kind {
            TokenKind::Name | TokenKind::Node => format!("{}‹*›", token.prefix),
            kind => format!("‹{}›", kind.word()),
        }
    }

    fn at(&self, text: &str, start: usize, end: usize) -> Option<usize> {
        let candidates = self.by_run.get(&text[start..end])?;
        candidates.iter().copied().find(|token| {
            let token = self.list[*token].text.as_str();
            let after = text.as_bytes().get(start + token.len()).copied();
            text[start..].starts_with(token) && !after.is_some_and(is_word)
        })
    }
}

/// Letters and digits; every byte of a character outside ASCII counts as a letter.
fn is_word(byte: u8) -> bool {
    WORD[byte as usize]
}

const WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte >= 0x80 || (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    table
};

/// The longest stretches of letters and digits, in order.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    // Bytes outside ASCII count as letters, so no stretch ends within a character.
    text.split(|character: char| character.is_ascii() && !is_word(character as u8))
        .filter(|word| !word.is_empty())
}

/// The word of a token that tells it best from other texts: what is drawn of a name stands at its end.
fn rare_word(token: &Token) -> Option<&str> {
    match token.kind {
        TokenKind::Name => words(&token.text).last(),
        _ => words(&token.text).max_by_key(|word| word.len()),
    }
}

fn first_run(text: &str) -> &str {
    let end = text.bytes().position(|byte| !is_word(byte)).unwrap_or(text.len());
    &text[..end]
}

fn is_generated(name: &str, asked: &str) -> bool {
    let Some(suffix) = name.strip_prefix(asked).filter(|_| !asked.is_empty()) else { return false };
    suffix.len() == SUFFIX_LENGTH
        && suffix.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && !suffix.bytes().all(|byte| byte.is_ascii_digit())
}

/// Says "no" to nearly every run of letters that begins no token, for the price of one bit test.
#[derive(Debug)]
struct Filter(Box<[u64; 64]>);

impl Default for Filter {
    fn default() -> Filter {
        Filter(Box::new([0; 64]))
    }
}

impl Filter {
    fn slot(run: &[u8]) -> usize {
        let (first, last) = (run[0] as usize, run[run.len() - 1] as usize);
        let middle = run[run.len() / 2] as usize;
        (first.wrapping_mul(131)
            ^ last.wrapping_mul(31)
            ^ middle.wrapping_mul(7)
            ^ (run.len() << 5))
            & 4095
    }
    fn insert(&mut self, run: &str) {
        let slot = Filter::slot(run.as_bytes());
        self.0[slot / 64] |= 1 << (slot % 64);
    }
    fn may_contain(&self, run: &[u8]) -> bool {
        let slot = Filter::slot(run);
        self.0[slot / 64] & (1 << (slot % 64)) != 0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(object: Value, text: &str, expect: &str) {
        let key = ObjectKey::new(
            crate::GroupResource::new("", "pods"),
            "default",
            object["metadata"]["name"].as_str().unwrap_or(""),
        );
        let tokens = Tokens::collect([(&key, &object)], ["issued-00001"]);
        let replaced = tokens.replace(text, |token| format!("<{:?}>", tokens.list[token].kind));
        assert_eq!(replaced, expect, "{text:?}");
    }

    #[test]
    fn whole_tokens_only() {
        let pod = json!({
            "metadata": {"name": "web-ab12c", "generateName": "web-", "uid": "u-1"},
            "status": {"podIP": "10.0.0.1", "hostIP": "127.0.0.1"},
            "spec": {"external": "9.9.9.9"},
        });
        check(pod.clone(), "web-ab12c", "<Name>");
        check(pod.clone(), "a/web-ab12c-config.x", "a/<Name>-config.x");
        check(pod.clone(), "web-ab12cd xweb-ab12c", "web-ab12cd xweb-ab12c");
        check(pod.clone(), "10.0.0.1:80,10.0.0.12,110.0.0.1", "<Address>:80,10.0.0.12,110.0.0.1");
        check(pod.clone(), "127.0.0.1 9.9.9.9", "127.0.0.1 9.9.9.9");
        check(pod.clone(), "é10.0.0.1 (u-1)", "é10.0.0.1 (<Uid>)");
        check(pod, "issued-00001", "<Name>");
    }

    #[test]
    fn hashes_of_templates_are_drawn() {
        let of = |resource: &str, name: &str, meta: Value| {
            let mut object = json!({"metadata": meta});
            object["metadata"]["name"] = json!(name);
            let resource = resource.parse::<crate::GroupResource>().unwrap();
            (ObjectKey::new(resource, "default", name), object)
        };
        let label = |name: &str, value: &str| json!({"labels": {name: value}});
        let objects = [
            of("replicasets.apps", "web-5d4f8c7b9", label("pod-template-hash", "5d4f8c7b9")),
            of("pods", "web-5d4f8c7b9-x7k2p", json!({"generateName": "web-5d4f8c7b9-"})),
            of("controllerrevisions.apps", "db-58b", label("controller.kubernetes.io/hash", "58b")),
            of("replicasets.apps", "by-hand", label("pod-template-hash", "5d4f8c7b9")),
        ];
        let objects = || objects.iter().map(|(key, object)| (key, object));
        let tokens = Tokens::collect(objects(), []);
        let text = "web-5d4f8c7b9 5d4f8c7b9 web-5d4f8c7b9-x7k2p db-58b by-hand";
        assert_eq!(tokens.fold(text), "web-‹*› ‹hash› web-‹*›-‹*› db-‹*› by-hand");
        let exact = Tokens::collect_issued(objects(), []);
        assert_eq!(exact.fold(text), text);
    }

    #[test]
    fn ordinals_are_no_generated_names() {
        let pod = json!({"metadata": {"name": "web-0", "generateName": "web-"}});
        check(pod, "web-0", "web-0");
    }

    #[test]
    fn the_longest_token_wins() {
        let pod =
            json!({"metadata": {"name": "issued-00001-x2x2x", "generateName": "issued-00001-"}});
        check(pod, "issued-00001-x2x2x issued-00001-y", "<Name> <Name>-y");
    }
}
