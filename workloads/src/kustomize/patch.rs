//! Patches of a kustomization: strategic merge patches and JSON patches (RFC 6902), in files or in line.

use std::path::Path;

use regex::Regex;
use serde_json::{Map, Value};

use super::{Id, Item, NO_NAMESPACE, builtin, entries, fields, spec::Type, text};
use crate::{
    manifest,
    node::{self, Content, Entry, Node},
    place::LoadError,
    scalar::Dialect,
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

/// What a patch is for. All but the labels are regular expressions of the whole text, as in kustomize.
#[derive(Default)]
pub(super) struct Target {
    group: Option<Regex>,
    version: Option<Regex>,
    kind: Option<Regex>,
    name: Option<Regex>,
    namespace: Option<Regex>,
    labels: Vec<(String, String)>,
    annotations: Vec<(String, String)>,
}

/// `patches`, and `patchesJson6902`, which is the same with fewer fields.
pub(super) fn patches(
    folder: &Path,
    said: &[Node],
    items: &mut Vec<Item>,
) -> Result<(), LoadError> {
    for one in said {
        let (mut parsed, mut target) = (None, None);
        for entry in entries(one, "a patch")? {
            match &*entry.key {
                "path" => parsed = Some(of_file(folder, &entry.value)?),
                "patch" => parsed = Some(of_text(&entry.value)?),
                "target" => target = Some(Target::read(&entry.value)?),
                other => return Err(fields::refused(entry, &format!("`{other}` of patches"))),
            }
        }
        let Some(parsed) = parsed else {
            return Err(one.place.error("a patch wants a `path` or a `patch`"));
        };
        if parsed.len() > 1 && target.is_some() {
            let error = one.place.error("several patches with one `target`");
            return Err(error.help("write one entry of `patches` for each"));
        }
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
        let parsed = match text(one, "patchesStrategicMerge")?.contains('\n') {
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
    let file = folder.join(text(path, "path")?);
    let read = manifest::read(&file).map_err(|error| path.place.error(error.message))?;
    parse(&file, &read)
}

fn of_text(patch: &Node) -> Result<Vec<Node>, LoadError> {
    let parsed = parse(Path::new(&*patch.place.file), text(patch, "patch")?);
    parsed.map_err(|error| {
        let line = error.place.line;
        patch.place.error(format!("line {line} of the patch: {}", error.message))
    })
}

/// Merge patches are read as objects are, JSON patches as kubectl reads.
fn parse(file: &Path, read: &str) -> Result<Vec<Node>, LoadError> {
    let parsed = node::parse_in(Dialect::Kustomize, file, read)?;
    match parsed.first().map(|node| &node.content) {
        Some(Content::List(_)) => node::parse(file, read),
        _ => Ok(parsed),
    }
}

/// A target may mean many objects, or none. Without one a patch is for the object that it names, which must be there.
fn apply(patch: &Node, target: Option<&Target>, items: &mut Vec<Item>) -> Result<(), LoadError> {
    let json = patch.to_json();
    let meant: Vec<usize> = match (target, &patch.content) {
        (Some(target), _) => (0..items.len()).filter(|at| target.means(&items[*at])).collect(),
        (None, Content::Map(_)) => vec![named(patch, &json, items)?],
        (None, _) => return Err(patch.place.error("a JSON patch wants a `target`")),
    };
    let mut gone = Vec::new();
    for at in meant {
        let item = &mut items[at];
        if matches!(patch.content, Content::List(_)) {
            item.note_id();
            let operations: json_patch::Patch = serde_json::from_value(json.clone())
                .map_err(|error| patch.place.error(format!("no JSON patch: {error}")))?;
            json_patch::patch(&mut item.manifest.object, &operations)
                .map_err(|error| patch.place.error(format!("the patch does not fit: {error}")))?;
        } else if json["$patch"] == "delete" {
            gone.push(at);
        } else {
            let object = &mut item.manifest.object;
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
    Ok(())
}

/// The object that a strategic merge patch names, by what it is or was called.
fn named(patch: &Node, json: &Value, items: &[Item]) -> Result<usize, LoadError> {
    let text = |path: &str| json.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let of = Type::of(text("/apiVersion"), text("/kind"));
    let namespace = match text("/metadata/namespace") {
        _ if builtin::is_cluster_scoped(&of) => NO_NAMESPACE,
        "" => "default",
        namespace => namespace,
    };
    let name = text("/metadata/name").to_owned();
    let id = Id { kind: of.kind.clone(), namespace: namespace.to_owned(), name };
    let is_meant = |item: &Item| {
        let found = item.type_of();
        found.group == of.group && found.version == of.version && item.ids().any(|one| one == id)
    };
    let mut meant = (0..items.len()).filter(|at| is_meant(&items[*at]));
    let (name, kind) = (&id.name, &id.kind);
    match (meant.next(), meant.next()) {
        (Some(at), None) => Ok(at),
        (None, _) => {
            let near = items.iter().find(|item| item.kind() == kind && item.name() == name);
            let what = match near.map(|item| (item.text("/apiVersion"), item.namespace())) {
                Some((version, _)) if version != text("/apiVersion") => {
                    format!("{kind} {name} has apiVersion {version}")
                }
                Some((_, there)) => format!("{kind} {name} is in namespace {there:?}"),
                None => format!("there is no {kind} {name}"),
            };
            let message = format!("the patch is for no object of this kustomization: {what}");
            Err(patch.place.error(message))
        }
        _ => {
            let message = format!("the patch may be for several objects: {kind} {name}");
            Err(patch.place.error(message).help("give it a `target`"))
        }
    }
}

impl Target {
    pub fn read(said: &Node) -> Result<Target, LoadError> {
        let mut target = Target::default();
        entries(said, "a target")?.into_iter().try_for_each(|entry| target.set(entry))?;
        Ok(target)
    }

    /// Takes one field of it.
    pub fn set(&mut self, entry: &Entry) -> Result<(), LoadError> {
        let pattern = || {
            let pattern = text(&entry.value, &entry.key)?;
            let regex = Regex::new(&format!("^(?:{pattern})$"));
            let regex = regex.map_err(|error| entry.value.place.error(error.to_string()))?;
            Ok(Some(regex).filter(|_| !pattern.is_empty()))
        };
        match &*entry.key {
            "group" => self.group = pattern()?,
            "version" => self.version = pattern()?,
            "kind" => self.kind = pattern()?,
            "name" => self.name = pattern()?,
            "namespace" => self.namespace = pattern()?,
            "labelSelector" => self.labels = terms(&entry.value, "label")?,
            "annotationSelector" => self.annotations = terms(&entry.value, "annotation")?,
            other => return Err(fields::refused(entry, &format!("`{other}` of a target"))),
        }
        Ok(())
    }

    /// Whether the object is meant, by what it is called, or was called at first.
    fn means(&self, item: &Item) -> bool {
        let (first, now) = (item.original(), item.id());
        self.is_of_type(item)
            && (fits(&self.namespace, &first.namespace) || fits(&self.namespace, &now.namespace))
            && (fits(&self.name, &first.name) || fits(&self.name, &now.name))
    }

    /// Whether the object is meant, by anything that it is or was called.
    pub fn means_by_any_name(&self, item: &Item) -> bool {
        let is_meant = |id: Id| fits(&self.namespace, &id.namespace) && fits(&self.name, &id.name);
        self.is_of_type(item) && item.ids().any(is_meant)
    }

    /// Whether type, labels and annotations are those that are meant.
    fn is_of_type(&self, item: &Item) -> bool {
        let of = item.type_of();
        let metadata = &item.manifest.object["metadata"];
        let has = |wanted: &[(String, String)], field: &str| {
            wanted.iter().all(|(key, value)| metadata[field][key.as_str()] == value.as_str())
        };
        fits(&self.group, &of.group)
            && fits(&self.version, &of.version)
            && fits(&self.kind, &of.kind)
            && has(&self.labels, "labels")
            && has(&self.annotations, "annotations")
    }
}

fn fits(pattern: &Option<Regex>, text: &str) -> bool {
    pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
}

/// `a=b,c=d`.
fn terms(selector: &Node, what: &str) -> Result<Vec<(String, String)>, LoadError> {
    let mut terms = Vec::new();
    let all = text(selector, what)?.split(',').filter(|term| !term.trim().is_empty());
    for term in all {
        let Some((key, value)) = term.split_once('=').filter(|_| !term.contains('!')) else {
            let message = format!("a {what} selector like {term:?} is not supported");
            return Err(selector.place.error(message).help(fields::HELP));
        };
        let value = value.trim_start_matches('=').trim().to_owned();
        terms.push((key.trim().to_owned(), value));
    }
    Ok(terms)
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
