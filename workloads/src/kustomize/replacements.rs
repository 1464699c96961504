//! `replacements`: a value of one object, written into fields of others (kustomize's `filters/replacement`, 5.5).

use std::path::Path;

use serde_json::{Map, Value};

use super::{Item, entries, fields, list, patch::Target, text};
use crate::{
    manifest,
    node::{self, Content, Entry, Node},
    place::LoadError,
};

/// The field that is meant where none is named.
const DEFAULT: &str = "metadata.name";

/// Part of a text that is cut at a delimiter.
#[derive(Default)]
struct Options {
    delimiter: String,
    index: i64,
    create: bool,
}

/// Carries out all entries, in order. An entry may name a file with more of them.
pub(super) fn replace(folder: &Path, said: &[Node], items: &mut [Item]) -> Result<(), LoadError> {
    for one in said {
        match one.at(&["path"]) {
            None => replacement(one, items)?,
            Some(path) => {
                let file = folder.join(text(path, "path")?);
                let read =
                    manifest::read(&file).map_err(|error| path.place.error(error.message))?;
                for document in node::parse(&file, &read)? {
                    match &document.content {
                        Content::List(all) => {
                            all.iter().try_for_each(|one| replacement(one, items))?;
                        }
                        _ => replacement(&document, items)?,
                    }
                }
            }
        }
    }
    Ok(())
}

fn replacement(said: &Node, items: &mut [Item]) -> Result<(), LoadError> {
    let (mut value, mut targets) = (None, &[][..]);
    for entry in entries(said, "a replacement")? {
        match &*entry.key {
            "source" => value = Some(source(&entry.value, items)?),
            "targets" => targets = list(entry)?,
            other => return Err(fields::refused(entry, &format!("`{other}` of replacements"))),
        }
    }
    let Some(value) = value else {
        return Err(said.place.error("a replacement wants a `source`"));
    };
    targets.iter().try_for_each(|target| into(target, &value, items))
}

/// The value of the one object that is meant.
fn source(said: &Node, items: &[Item]) -> Result<Value, LoadError> {
    let (mut meant, mut path, mut options) = (Target::default(), DEFAULT, Options::default());
    for entry in entries(said, "a source")? {
        match &*entry.key {
            "fieldPath" => path = text(&entry.value, "fieldPath")?,
            "options" => options = Options::read(&entry.value)?,
            _ => meant.set(entry)?,
        }
    }
    let mut found = items.iter().filter(|item| meant.means_by_any_name(item));
    let item = match (found.next(), found.next()) {
        (Some(item), None) => item,
        (None, _) => return Err(said.place.error("the source is no object of this kustomization")),
        _ => return Err(said.place.error("the source may be any of several objects")),
    };
    let mut value = None;
    let mut object = item.manifest.object.clone();
    visit(&mut object, &split(path), false, &mut |found| {
        value.get_or_insert_with(|| found.clone());
        Ok(())
    })
    .map_err(|why| said.place.error(why))?;
    let Some(value) = value else {
        let message = format!("the source, {} {}, has no {path}", item.kind(), item.name());
        return Err(said.place.error(message));
    };
    if options.delimiter.is_empty() {
        return Ok(value);
    }
    let whole = scalar(&value).ok_or_else(|| said.place.error(format!("{path} is no text")))?;
    let part = usize::try_from(options.index).ok();
    match part.and_then(|part| whole.split(&options.delimiter).nth(part)) {
        Some(part) => Ok(part.into()),
        None => Err(said.place.error(format!("{whole:?} has no part {}", options.index))),
    }
}

/// Writes the value into all objects that one entry of `targets` means.
fn into(said: &Node, value: &Value, items: &mut [Item]) -> Result<(), LoadError> {
    let (mut select, mut reject, mut paths) = (None, vec![], vec![]);
    let mut options = Options::default();
    for entry in entries(said, "a target")? {
        match &*entry.key {
            "select" => select = Some(Target::read(&entry.value)?),
            "reject" => {
                reject = list(entry)?.iter().map(Target::read).collect::<Result<_, _>>()?;
            }
            "fieldPaths" => paths = texts(entry)?,
            "options" => options = Options::read(&entry.value)?,
            other => return Err(fields::refused(entry, &format!("`{other}` of a target"))),
        }
    }
    let Some(select) = select else { return Err(said.place.error("a target wants a `select`")) };
    if paths.is_empty() {
        paths.push(DEFAULT);
    }
    let meant = |item: &Item| {
        select.means_by_any_name(item) && !reject.iter().any(|one| one.means_by_any_name(item))
    };
    for item in items.iter_mut().filter(|item| meant(item)) {
        let called = format!("{} {}", item.kind(), item.name());
        for path in &paths {
            let mut found = false;
            let mut set = |field: &mut Value| {
                found = true;
                options.set(field, value)
            };
            visit(&mut item.manifest.object, &split(path), options.create, &mut set)
                .map_err(|why| said.place.error(format!("{path} of {called}: {why}")))?;
            if !found {
                return Err(said.place.error(format!("{called} has no {path}")));
            }
        }
    }
    Ok(())
}

fn texts(entry: &Entry) -> Result<Vec<&str>, LoadError> {
    list(entry)?.iter().map(|path| text(path, &entry.key)).collect()
}

impl Options {
    fn read(said: &Node) -> Result<Options, LoadError> {
        let mut options = Options::default();
        for entry in entries(said, "options of a replacement")? {
            match &*entry.key {
                "delimiter" => options.delimiter = text(&entry.value, "delimiter")?.to_owned(),
                "index" => options.index = entry.value.to_json().as_i64().unwrap_or_default(),
                "create" => options.create = entry.value.content == Content::Bool(true),
                other => {
                    return Err(fields::refused(entry, &format!("`{other}` of a replacement")));
                }
            }
        }
        Ok(options)
    }

    /// A text stays a text and a number a number, as far as the value allows it.
    fn set(&self, field: &mut Value, value: &Value) -> Result<(), String> {
        let Some(old) = scalar(field) else {
            *field = value.clone();
            return Ok(());
        };
        let Some(mut new) = scalar(value) else {
            *field = value.clone();
            return Ok(());
        };
        if !self.delimiter.is_empty() {
            let mut parts: Vec<&str> = old.split(&self.delimiter).collect();
            match usize::try_from(self.index) {
                Err(_) => parts.insert(0, &new),
                Ok(at) if at >= parts.len() => parts.push(&new),
                Ok(at) => parts[at] = &new,
            }
            new = parts.join(&self.delimiter);
        }
        let number = || serde_json::from_str(&new).ok().filter(|new: &Value| scalar(new).is_some());
        *field = match field {
            Value::String(_) => Value::String(new),
            // As kustomize has it, also for a field that was just created.
            _ => number().unwrap_or(Value::String(new)),
        };
        Ok(())
    }
}

/// What is no map and no list, as it is written; a field that was just created is empty.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// A path's parts: names, indices, `*`, and `[field=value]`. A dot in a name is written `\.`, or the name in brackets.
fn split(path: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut brackets, mut letters) = (false, path.chars().peekable());
    while let Some(letter) = letters.next() {
        let Some(part) = parts.last_mut() else { break };
        match letter {
            '\\' if letters.peek() == Some(&'.') => part.extend(letters.next()),
            '.' if !brackets => parts.push(String::new()),
            '[' => {
                brackets = true;
                part.push('[');
            }
            ']' => {
                brackets = false;
                part.push(']');
            }
            other => part.push(other),
        }
    }
    let plain = |part: String| match part.strip_prefix('[').and_then(|part| part.strip_suffix(']'))
    {
        Some(name) if !name.contains('=') => name.to_owned(),
        _ => part,
    };
    parts.into_iter().filter(|part| !part.is_empty()).map(plain).collect()
}

/// Each value at the end of the path.
fn visit(
    value: &mut Value,
    path: &[String],
    create: bool,
    then: &mut dyn FnMut(&mut Value) -> Result<(), String>,
) -> Result<(), String> {
    let Some((part, rest)) = path.split_first() else { return then(value) };
    let matching = part.strip_prefix('[').and_then(|part| part.strip_suffix(']'));
    match value {
        Value::Array(all) if part == "*" => {
            all.iter_mut().try_for_each(|one| visit(one, rest, create, then))
        }
        Value::Object(all) if part == "*" => {
            all.values_mut().try_for_each(|one| visit(one, rest, create, then))
        }
        Value::Array(all) => match matching.and_then(|matching| matching.split_once('=')) {
            Some((field, wanted)) => all
                .iter_mut()
                .filter(|one| one.get(field).and_then(scalar).as_deref() == Some(wanted))
                .try_for_each(|one| visit(one, rest, create, then)),
            None => match part.parse::<usize>().ok().and_then(|at| all.get_mut(at)) {
                Some(one) => visit(one, rest, create, then),
                None => Ok(()),
            },
        },
        Value::Object(all) if create && matching.is_none() => {
            visit(all.entry(part).or_insert(Value::Null), rest, create, then)
        }
        Value::Object(all) => match all.get_mut(part) {
            Some(one) => visit(one, rest, create, then),
            None => Ok(()),
        },
        Value::Null if create && matching.is_none() && part.parse::<usize>().is_err() => {
            *value = Value::Object(Map::new());
            visit(value, path, create, then)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_names_indices_and_matches() {
        let check = |path: &str, expect: &[&str]| assert_eq!(split(path), expect, "{path}");
        check(".spec.dnsNames.0", &["spec", "dnsNames", "0"]);
        check("a.[b.io/c].d", &["a", "b.io/c", "d"]);
        check(r"a.b\.io/c", &["a", "b.io/c"]);
        check("a.[name=x.y].z", &["a", "[name=x.y]", "z"]);
    }
}
