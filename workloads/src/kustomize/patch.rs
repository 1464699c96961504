//! Patches of a kustomization: strategic merge patches and JSON patches (RFC 6902), in files or in line.

use std::path::Path;

use regex::Regex;
use serde_json::{Map, Value};

use super::{Item, entries, fields, text};
use crate::{
    manifest,
    node::{self, Content, Node},
    place::LoadError,
};

/// Lists of built-in types whose items have a name, by the field that holds the list: they are merged, other lists are
/// replaced (`patchMergeKey` of the API's types).
const MERGED_BY: [(&str, &str); 13] = [
    ("containers", "name"),
    ("initContainers", "name"),
    ("ephemeralContainers", "name"),
    ("volumes", "name"),
    ("env", "name"),
    ("imagePullSecrets", "name"),
    ("secrets", "name"),
    ("webhooks", "name"),
    ("volumeMounts", "mountPath"),
    ("volumeDevices", "devicePath"),
    ("hostAliases", "ip"),
    ("conditions", "type"),
    ("ownerReferences", "uid"),
];

/// What a patch is for.
#[derive(Default)]
struct Target {
    group: Option<String>,
    version: Option<String>,
    kind: Option<String>,
    name: Option<String>,
    namespace: Option<String>,
    labels: Vec<(String, String)>,
}

/// `patches`, and `patchesJson6902`, which is the same with fewer fields.
pub(super) fn patches(
    folder: &Path,
    said: &[Node],
    items: &mut Vec<Item>,
) -> Result<(), LoadError> {
    for one in said {
        let (mut parsed, mut target) = (None, None);
        for entry in entries(one)? {
            match &*entry.key {
                "path" => parsed = Some(of_file(folder, &entry.value)?),
                "patch" => parsed = Some(of_text(&entry.value)?),
                "target" => target = Some(Target::read(&entry.value)?),
                other => {
                    let message = format!("`{other}` of patches is not supported");
                    return Err(entry.place.error(message).help(fields::HELP));
                }
            }
        }
        let Some(parsed) = parsed else {
            return Err(one.place.error("a patch wants a `path` or a `patch`"));
        };
        for patch in parsed {
            apply(&patch, target.as_ref(), items)?;
        }
    }
    Ok(())
}

/// `patchesStrategicMerge`: files, or patches in line.
pub(super) fn strategic(
    folder: &Path,
    said: &[Node],
    items: &mut Vec<Item>,
) -> Result<(), LoadError> {
    for one in said {
        let parsed = match text(one)?.contains('\n') {
            true => of_text(one)?,
            false => of_file(folder, one)?,
        };
        for patch in parsed {
            apply(&patch, None, items)?;
        }
    }
    Ok(())
}

fn of_file(folder: &Path, path: &Node) -> Result<Vec<Node>, LoadError> {
    let file = folder.join(text(path)?);
    let read = manifest::read(&file).map_err(|error| path.place.error(error.message))?;
    node::parse(&file, &read)
}

fn of_text(patch: &Node) -> Result<Vec<Node>, LoadError> {
    let parsed = node::parse(Path::new(&*patch.place.file), text(patch)?);
    parsed.map_err(|error| {
        let line = error.place.line;
        patch.place.error(format!("line {line} of the patch: {}", error.message))
    })
}

fn apply(patch: &Node, target: Option<&Target>, items: &mut Vec<Item>) -> Result<(), LoadError> {
    let json = patch.to_json();
    let by_itself;
    let target = match (target, &patch.content) {
        (Some(target), _) => target,
        (None, Content::Map(_)) => {
            by_itself = Target::of(&json);
            &by_itself
        }
        (None, _) => return Err(patch.place.error("a JSON patch wants a `target`")),
    };
    let mut found = false;
    let mut gone = Vec::new();
    for (at, item) in items.iter_mut().enumerate() {
        if !target.is_meant(item, patch)? {
            continue;
        }
        found = true;
        let object = &mut item.manifest.object;
        if matches!(patch.content, Content::List(_)) {
            let operations: json_patch::Patch = serde_json::from_value(json.clone())
                .map_err(|error| patch.place.error(format!("no JSON patch: {error}")))?;
            json_patch::patch(object, &operations)
                .map_err(|error| patch.place.error(format!("the patch does not fit: {error}")))?;
        } else if json["$patch"] == "delete" {
            gone.push(at);
        } else {
            let identity = (object["kind"].clone(), object["metadata"].clone());
            let built_in = is_built_in(&object["apiVersion"]);
            merge(object, &json, built_in);
            object["kind"] = identity.0;
            for field in ["name", "namespace"] {
                match identity.1.get(field) {
                    Some(value) => object["metadata"][field] = value.clone(),
                    None => drop(object["metadata"].as_object_mut().map(|meta| meta.remove(field))),
                }
            }
        }
    }
    for at in gone.into_iter().rev() {
        items.remove(at);
    }
    match found {
        true => Ok(()),
        false => Err(patch.place.error("the patch is for no object of this kustomization")),
    }
}

impl Target {
    fn read(said: &Node) -> Result<Target, LoadError> {
        let mut target = Target::default();
        for entry in entries(said)? {
            let value = || text(&entry.value).map(|text| Some(text.to_owned()));
            match &*entry.key {
                "group" => target.group = value()?,
                "version" => target.version = value()?,
                "kind" => target.kind = value()?,
                "name" => target.name = value()?,
                "namespace" => target.namespace = value()?,
                "labelSelector" => {
                    for term in text(&entry.value)?.split(',') {
                        let Some((key, value)) =
                            term.split_once('=').filter(|_| !term.contains('!'))
                        else {
                            let message =
                                format!("a label selector like {term:?} is not supported");
                            return Err(entry.place.error(message).help(fields::HELP));
                        };
                        let value = value.trim_start_matches('=').trim().to_owned();
                        target.labels.push((key.trim().to_owned(), value));
                    }
                }
                other => {
                    let message = format!("`{other}` of a target is not supported");
                    return Err(entry.place.error(message).help(fields::HELP));
                }
            }
        }
        Ok(target)
    }

    /// What a strategic merge patch says of itself.
    fn of(patch: &Value) -> Target {
        let text = |path: &str| {
            let text = patch.pointer(path).and_then(Value::as_str);
            text.map(regex::escape)
        };
        let api = patch["apiVersion"].as_str().unwrap_or_default();
        let (group, version) = api.split_once('/').unwrap_or(("", api));
        Target {
            group: Some(group.to_owned()),
            version: Some(version.to_owned()),
            kind: text("/kind"),
            name: text("/metadata/name"),
            namespace: text("/metadata/namespace"),
            labels: vec![],
        }
    }

    /// Whether the object is meant, by what it is or was called. Kind, name and namespace are regular expressions of the
    /// whole text, as in kustomize.
    fn is_meant(&self, item: &Item, patch: &Node) -> Result<bool, LoadError> {
        let whole = |pattern: &Option<String>, text: &str| match pattern {
            None => Ok(true),
            Some(pattern) => match Regex::new(&format!("^(?:{pattern})$")) {
                Ok(regex) => Ok(regex.is_match(text)),
                Err(error) => Err(patch.place.error(format!("its target: {error}"))),
            },
        };
        let version = item.text("/apiVersion").rsplit('/').next().unwrap_or_default();
        if self.group.as_deref().is_some_and(|group| group != item.group())
            || self.version.as_deref().is_some_and(|wanted| wanted != version)
            || !whole(&self.kind, item.kind())?
        {
            return Ok(false);
        }
        let labels = &item.manifest.object["metadata"]["labels"];
        if self.labels.iter().any(|(key, value)| labels[key.as_str()] != value.as_str()) {
            return Ok(false);
        }
        for (namespace, name) in item.names() {
            if whole(&self.name, name)? && whole(&self.namespace, namespace)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a type's lists are known here.
fn is_built_in(api_version: &Value) -> bool {
    let group =
        api_version.as_str().and_then(|api| api.split_once('/')).map_or("", |(group, _)| group);
    !group.contains('.') || group.ends_with(".k8s.io")
}

/// A strategic merge patch. `built_in`: lists with names are merged.
fn merge(value: &mut Value, patch: &Value, built_in: bool) {
    let Value::Object(patch) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() || patch.get("$patch") == Some(&Value::from("replace")) {
        *value = Value::Object(Map::new());
    }
    let Some(object) = value.as_object_mut() else { return };
    for (field, new) in patch.iter().filter(|(field, _)| *field != "$patch") {
        match (new, key_of(field, new).filter(|_| built_in)) {
            (Value::Null, _) => drop(object.remove(field)),
            (Value::Array(new), Some(key)) => {
                let old = object.entry(field.clone()).or_insert_with(|| Value::Array(vec![]));
                merge_list(old, new, key);
            }
            _ => merge(object.entry(field.clone()).or_insert(Value::Null), new, built_in),
        }
    }
}

fn key_of(field: &str, items: &Value) -> Option<&'static str> {
    if field == "ports" {
        // Of containers, and of services.
        let first = items.as_array()?.first()?;
        return ["containerPort", "port"].into_iter().find(|key| first.get(key).is_some());
    }
    MERGED_BY.iter().find(|(name, _)| *name == field).map(|(_, key)| *key)
}

/// The patch's items come first, in its order, as kustomize has it.
fn merge_list(old: &mut Value, patch: &[Value], key: &str) {
    let Some(old) = old.as_array_mut() else { return };
    let mut merged = Vec::new();
    for item in patch {
        let at = old.iter().position(|one| one.get(key).is_some() && one.get(key) == item.get(key));
        let mut found = at.map_or(Value::Null, |at| old.remove(at));
        if item["$patch"] != "delete" {
            merge(&mut found, item, true);
            merged.push(found);
        }
    }
    old.splice(0..0, merged);
}
