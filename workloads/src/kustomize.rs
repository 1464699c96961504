//! Kustomizations: folders with a `kustomization.yaml`, rendered as `kubectl kustomize` renders them, as far as the layouts
//! of kubebuilder and operator-sdk go (<https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/>).
//!
//! One layer after the other: the resources of the layers below, then patches, namespace, name prefix and suffix, labels,
//! annotations, replicas and images, in kustomize's order; then names that refer to what was renamed. A field that is not
//! supported is an error that names it.

mod fields;
mod patch;
mod references;
mod transform;

use std::path::{Path, PathBuf};

use crate::{
    manifest::{self, Manifest},
    node::{self, Content, Entry, Node},
    place::{LoadError, Place},
};

/// The names that kustomize looks for.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// How deep kustomizations may lie in each other.
const DEEPEST: u32 = 32;

/// An object, and what it was called in the layers below.
struct Item {
    manifest: Manifest,
    /// Namespace and name, the first first; without the present ones.
    was: Vec<(String, String)>,
}

/// The kustomization of a folder, if it has one.
pub(crate) fn file_in(folder: &Path) -> Option<PathBuf> {
    NAMES.iter().map(|name| folder.join(name)).find(|file| file.is_file())
}

/// What a kustomization says, rendered: Namespaces and CustomResourceDefinitions first.
pub(crate) fn render(file: &Path) -> Result<Vec<Manifest>, LoadError> {
    let mut items = layer(file, 0)?;
    let late = |item: &Item| match item.kind() {
        "Namespace" => 0,
        "CustomResourceDefinition" => 1,
        _ => 2,
    };
    items.sort_by_key(late);
    Ok(items.into_iter().map(|item| item.manifest).collect())
}

fn layer(file: &Path, depth: u32) -> Result<Vec<Item>, LoadError> {
    if depth > DEEPEST {
        return Err(Place::whole(file).error("kustomizations lie in each other without end"));
    }
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut documents = node::parse(file, &manifest::read(file)?)?;
    let (Some(said), true) = (documents.pop(), documents.is_empty()) else {
        return Err(Place::whole(file).error("a kustomization is one document"));
    };
    let fields = fields::check(&said)?;
    let mut items = Vec::new();
    for entry in fields.iter().filter(|entry| matches!(&*entry.key, "resources" | "bases")) {
        for resource in list(&entry.value)? {
            items.extend(resources(folder, resource, depth)?);
        }
    }
    for name in fields::ORDER {
        for entry in fields.iter().filter(|entry| entry.key == *name) {
            apply(folder, entry, &mut items)?;
        }
    }
    references::follow(&mut items);
    Ok(items)
}

/// One entry of `resources`: a file, or a folder with a kustomization of its own.
fn resources(folder: &Path, resource: &Node, depth: u32) -> Result<Vec<Item>, LoadError> {
    let path = text(resource)?;
    if path.contains("://") || path.contains("?ref=") || path.starts_with("github.com/") {
        let error = resource.place.error(format!("{path} lies elsewhere, and nothing is fetched"));
        return Err(error.help(fields::HELP));
    }
    let path = folder.join(path);
    if path.is_dir() {
        let Some(file) = file_in(&path) else {
            let error = resource.place.error(format!("{} has no kustomization", path.display()));
            return Err(error.help("name its files one by one, as kustomize asks for"));
        };
        return layer(&file, depth + 1);
    }
    if !path.exists() {
        return Err(resource.place.error(format!("there is no {}", path.display())));
    }
    let read = manifest::of_file(&path)?;
    Ok(read.into_iter().map(|manifest| Item { manifest, was: vec![] }).collect())
}

fn apply(folder: &Path, entry: &Entry, items: &mut Vec<Item>) -> Result<(), LoadError> {
    let value = &entry.value;
    match &*entry.key {
        "patches" => patch::patches(folder, list(value)?, items),
        "patchesStrategicMerge" => patch::strategic(folder, list(value)?, items),
        "patchesJson6902" => patch::patches(folder, list(value)?, items),
        "namespace" => transform::namespace(text(value)?, items),
        "namePrefix" => {
            let prefix = text(value)?;
            transform::rename(|name| format!("{prefix}{name}"), items)
        }
        "nameSuffix" => {
            let suffix = text(value)?;
            transform::rename(|name| format!("{name}{suffix}"), items)
        }
        "commonLabels" => transform::labels(&pairs(value)?, transform::Reach::Selectors, items),
        "labels" => {
            for labels in list(value)? {
                let (pairs, reach) = fields::labels(labels)?;
                transform::labels(&pairs, reach, items)?;
            }
            Ok(())
        }
        "commonAnnotations" => transform::annotations(&pairs(value)?, items),
        "replicas" => transform::replicas(list(value)?, items),
        "images" => transform::images(list(value)?, items),
        _ => Ok(()),
    }
}

impl Item {
    fn text(&self, path: &str) -> &str {
        self.manifest.object.pointer(path).and_then(|value| value.as_str()).unwrap_or_default()
    }

    fn kind(&self) -> &str {
        self.text("/kind")
    }

    fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }

    /// Its API group; empty for core.
    fn group(&self) -> &str {
        self.text("/apiVersion").split_once('/').map_or("", |(group, _)| group)
    }

    /// All that it is and was called.
    fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        let before = self.was.iter().map(|(namespace, name)| (namespace.as_str(), name.as_str()));
        before.chain(std::iter::once((self.namespace(), self.name())))
    }

    /// Keeps the present name as a former one.
    fn note_name(&mut self) {
        let present = (self.namespace().to_owned(), self.name().to_owned());
        if self.was.last() != Some(&present) {
            self.was.push(present);
        }
    }
}

fn list(node: &Node) -> Result<&[Node], LoadError> {
    match &node.content {
        Content::List(items) => Ok(items),
        _ => Err(node.place.error(format!("a list is wanted, and this is {}", node.kind()))),
    }
}

fn text(node: &Node) -> Result<&str, LoadError> {
    node.text()
        .ok_or_else(|| node.place.error(format!("a text is wanted, and this is {}", node.kind())))
}

fn entries(node: &Node) -> Result<&[Entry], LoadError> {
    match &node.content {
        Content::Map(entries) => Ok(entries),
        _ => Err(node.place.error(format!("a map is wanted, and this is {}", node.kind()))),
    }
}

fn pairs(node: &Node) -> Result<Vec<(String, String)>, LoadError> {
    let pair = |entry: &Entry| Ok((entry.key.clone(), text(&entry.value)?.to_owned()));
    entries(node)?.iter().map(pair).collect()
}

#[cfg(test)]
mod tests;
