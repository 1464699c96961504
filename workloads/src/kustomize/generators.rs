//! `configMapGenerator` and `secretGenerator`: objects made of literals, files and files of variables (kustomize's
//! `generators` and `kv` packages, 5.5).

use std::{collections::BTreeMap, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use super::{Affixes, Item, entries, fields, list, pairs, text};
use crate::{
    manifest::Manifest,
    node::{Content, Entry, Node},
    place::{LoadError, Place},
};

/// What is added to what is generated.
#[derive(Debug, Clone, Default)]
pub(super) struct Options {
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    /// The name gets no hash of the content.
    keeps_name: bool,
    immutable: bool,
}

/// What becomes of an object that is there already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Behavior {
    #[default]
    Create,
    Replace,
    Merge,
}

/// One entry of a generator, as it is written.
struct Generator {
    kind: &'static str,
    place: Place,
    name: String,
    namespace: String,
    type_of_secret: String,
    behavior: Behavior,
    options: Options,
    /// By key.
    data: BTreeMap<String, Vec<u8>>,
}

impl Options {
    /// `generatorOptions`, or the `options` of one generator.
    pub fn read(said: &Node) -> Result<Options, LoadError> {
        let mut options = Options::default();
        for entry in entries(said, "options of a generator")? {
            let yes = entry.value.content == Content::Bool(true);
            match &*entry.key {
                "labels" => options.labels.extend(pairs(entry)?),
                "annotations" => options.annotations.extend(pairs(entry)?),
                "disableNameSuffixHash" => options.keeps_name = yes,
                "immutable" => options.immutable = yes,
                other => {
                    return Err(fields::refused(entry, &format!("`{other}` of a generator")));
                }
            }
        }
        Ok(options)
    }

    /// These, over those of all generators.
    fn over(mut self, all: &Options) -> Options {
        for (own, others) in
            [(&mut self.labels, &all.labels), (&mut self.annotations, &all.annotations)]
        {
            for (key, value) in others {
                own.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        self.keeps_name |= all.keeps_name;
        self.immutable |= all.immutable;
        self
    }
}

/// Adds what these entries generate.
pub(super) fn generate(
    folder: &Path,
    entry: &Entry,
    all: &Options,
    items: &mut Vec<Item>,
) -> Result<(), LoadError> {
    let kind = if entry.key == "secretGenerator" { "Secret" } else { "ConfigMap" };
    for said in list(entry)? {
        Generator::read(folder, kind, said, all)?.add_to(items)?;
    }
    Ok(())
}

impl Generator {
    fn read(
        folder: &Path,
        kind: &'static str,
        said: &Node,
        all: &Options,
    ) -> Result<Generator, LoadError> {
        let mut generator = Generator {
            kind,
            place: said.place.clone(),
            name: String::new(),
            namespace: String::new(),
            type_of_secret: "Opaque".to_owned(),
            behavior: Behavior::Create,
            options: all.clone(),
            data: BTreeMap::new(),
        };
        for entry in entries(said, "a generator")? {
            let word = || text(&entry.value, &entry.key).map(str::to_owned);
            match &*entry.key {
                "name" => generator.name = word()?,
                "namespace" => generator.namespace = word()?,
                "type" if kind == "Secret" => generator.type_of_secret = word()?,
                "options" => generator.options = Options::read(&entry.value)?.over(all),
                "behavior" => generator.behavior = behavior(&entry.value)?,
                "literals" => generator.each(entry, |one| Ok(vec![literal(one)?]))?,
                "files" => generator.each(entry, |one| Ok(vec![file(folder, one)?]))?,
                "envs" => generator.each(entry, |one| variables(folder, one))?,
                "env" => generator.put(&entry.value, variables(folder, &entry.value)?)?,
                other => {
                    return Err(fields::refused(entry, &format!("`{other}` of a generator")));
                }
            }
        }
        match generator.name.is_empty() {
            true => Err(said.place.error("a generator wants a `name`")),
            false => Ok(generator),
        }
    }

    fn each(
        &mut self,
        entry: &Entry,
        read: impl Fn(&Node) -> Result<Vec<(String, Vec<u8>)>, LoadError>,
    ) -> Result<(), LoadError> {
        list(entry)?.iter().try_for_each(|one| self.put(one, read(one)?))
    }

    fn put(&mut self, said: &Node, pairs: Vec<(String, Vec<u8>)>) -> Result<(), LoadError> {
        for (key, value) in pairs {
            let error =
                said.place.error(format!("{} {} has the key {key} twice", self.kind, self.name));
            if self.data.insert(key, value).is_some() {
                return Err(error);
            }
        }
        Ok(())
    }

    fn object(&self) -> Value {
        let mut metadata = json!({"name": self.name});
        if !self.namespace.is_empty() {
            metadata["namespace"] = json!(self.namespace);
        }
        for (field, pairs) in
            [("labels", &self.options.labels), ("annotations", &self.options.annotations)]
        {
            if !pairs.is_empty() {
                metadata[field] = json!(pairs);
            }
        }
        let mut object = json!({"apiVersion": "v1", "kind": self.kind, "metadata": metadata});
        if self.kind == "Secret" {
            object["type"] = json!(self.type_of_secret);
        }
        if self.options.immutable {
            object["immutable"] = json!(true);
        }
        for (key, value) in &self.data {
            let (field, value) = match std::str::from_utf8(value) {
                Ok(text) if self.kind == "ConfigMap" => ("data", text.to_owned()),
                Err(_) if self.kind == "ConfigMap" => ("binaryData", in_lines(value)),
                _ => ("data", in_lines(value)),
            };
            object[field][key] = json!(value);
        }
        object
    }

    fn add_to(self, items: &mut Vec<Item>) -> Result<(), LoadError> {
        let mut item = Item {
            manifest: Manifest { place: self.place.clone(), object: self.object() },
            was: vec![],
            affixes: Affixes::default(),
            needs_hash: !self.options.keeps_name,
        };
        let id = item.id();
        let mut same = (0..items.len()).filter(|at| items[*at].ids().any(|one| one == id));
        match (same.next(), same.next(), self.behavior) {
            (None, _, Behavior::Create) => items.push(item),
            (Some(_), ..) if self.behavior == Behavior::Create => {
                let message = format!("{} {} is there already", self.kind, self.name);
                return Err(self.place.error(message).help("say `behavior: merge` or `replace`"));
            }
            (Some(at), None, behavior) => {
                item.take_over(&items[at], behavior == Behavior::Merge);
                items[at] = item;
            }
            (None, ..) => {
                let message = format!("there is no {} {} to merge with", self.kind, self.name);
                return Err(self.place.error(message));
            }
            _ => return Err(self.place.error(format!("several are called {}", self.name))),
        }
        Ok(())
    }
}

impl Item {
    /// Takes the place of an object: its names and metadata; with `merged` its data, too. What is its own stays.
    fn take_over(&mut self, old: &Item, merged: bool) {
        let (new, before) = (&mut self.manifest.object, &old.manifest.object);
        for field in ["name", "namespace"] {
            if let Some(value) = before["metadata"].get(field) {
                new["metadata"][field] = value.clone();
            }
        }
        for field in ["labels", "annotations"] {
            put_below(&mut new["metadata"], &before["metadata"], field);
        }
        for field in ["data", "binaryData"].iter().filter(|_| merged) {
            put_below(new, before, field);
        }
        self.was.clone_from(&old.was);
        self.affixes = old.affixes.clone();
    }
}

/// What a map had in a field before, where it has nothing of its own.
fn put_below(new: &mut Value, before: &Value, field: &str) {
    if let Some(before) = before[field].as_object() {
        let mut all: Map<String, Value> = before.clone();
        all.extend(new[field].as_object().cloned().unwrap_or_default());
        new[field] = Value::Object(all);
    }
}

fn behavior(said: &Node) -> Result<Behavior, LoadError> {
    match text(said, "behavior")? {
        "create" | "" => Ok(Behavior::Create),
        "replace" => Ok(Behavior::Replace),
        "merge" => Ok(Behavior::Merge),
        other => {
            let known = ["create", "merge", "replace"];
            Err(said.place.error(crate::unknown("behavior", other, &known)))
        }
    }
}

/// `KEY=VALUE`, the value perhaps in quotes.
fn literal(said: &Node) -> Result<(String, Vec<u8>), LoadError> {
    let said_text = text(said, "literals")?;
    let Some((key, value)) = said_text.split_once('=').filter(|(key, _)| !key.is_empty()) else {
        return Err(said.place.error(format!("{said_text:?} is no KEY=VALUE")));
    };
    let unquoted = ['"', '\'']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote).and_then(|rest| rest.strip_suffix(*quote)));
    Ok((key.to_owned(), unquoted.unwrap_or(value).as_bytes().to_vec()))
}

/// `KEY=PATH`, or `PATH`, whose last part is the key then.
fn file(folder: &Path, said: &Node) -> Result<(String, Vec<u8>), LoadError> {
    let said_text = text(said, "files")?;
    let (key, path) = match said_text.split_once('=') {
        Some((key, path)) if !key.is_empty() && !path.is_empty() && !path.contains('=') => {
            (key.to_owned(), path)
        }
        Some(_) => return Err(said.place.error(format!("{said_text:?} is no KEY=PATH"))),
        None => {
            let name = Path::new(said_text).file_name().unwrap_or_default();
            (name.to_string_lossy().into_owned(), said_text)
        }
    };
    Ok((key, bytes(folder, path, said)?))
}

/// A file with lines `KEY=VALUE`; empty lines and comments (`#`) are passed over.
fn variables(folder: &Path, said: &Node) -> Result<Vec<(String, Vec<u8>)>, LoadError> {
    let path = text(said, "envs")?;
    let read = String::from_utf8(bytes(folder, path, said)?)
        .map_err(|error| said.place.error(format!("{path}: {error}")))?;
    let lines = read.trim_start_matches('\u{feff}').lines().map(str::trim_start);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| match line.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.as_bytes().to_vec())),
            None => {
                let message = format!("{path}: {line} takes its value from this machine");
                Err(said.place.error(message).help("write it down: KEY=VALUE"))
            }
        })
        .collect()
}

fn bytes(folder: &Path, path: &str, said: &Node) -> Result<Vec<u8>, LoadError> {
    let file = folder.join(path);
    std::fs::read(&file)
        .map_err(|error| said.place.error(format!("can't read {}: {error}", file.display())))
}

/// Base64, in lines of 70 characters where one is not enough: they count in the hash.
fn in_lines(bytes: &[u8]) -> String {
    const LINE: usize = 70;
    let all = STANDARD.encode(bytes);
    if all.len() < LINE {
        return all;
    }
    let mut lines = String::new();
    for line in all.as_bytes().chunks(LINE) {
        lines.push_str(&String::from_utf8_lossy(line));
        lines.push('\n');
    }
    lines
}
