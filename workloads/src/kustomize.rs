//! Kustomizations: folders with a `kustomization.yaml`, rendered by the user's own program ([`Renderer`]). Where there is
//! none they are rendered here, as `kubectl kustomize` renders them, as far as the layouts of kubebuilder and operator-sdk go
//! (<https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/>).
//!
//! One layer after the other: the resources of the layers below, what is generated, components, then patches, namespace,
//! name prefix and suffix, labels, annotations, replicas, images and replacements, in kustomize's order; at last hashes in
//! names, and names that refer to what was renamed. A field without a value is as if absent; one that is not supported is
//! an error that names it.

mod builtin;
mod configuration;
mod fields;
mod generators;
mod hash;
mod images;
mod patch;
mod references;
mod renderer;
mod replacements;
mod spec;
mod transform;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use configuration::Configuration;
use fields::Reach;
pub use renderer::Renderer;
use spec::{FieldSpec, Type};

use crate::{
    fields::{as_list, as_text, must_be},
    manifest::{self, Manifest},
    node::{self, Content, Entry, Node},
    place::{LoadError, Place},
    scalar::Dialect,
};

/// The names that kustomize looks for.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// How deep kustomizations may lie in each other.
const DEEPEST: u32 = 32;

/// Annotation of objects that are for tools only: they are not rendered.
const FOR_TOOLS: &str = "config.kubernetes.io/local-config";

/// An object, and what it was called in the layers below.
struct Item {
    manifest: Manifest,
    /// What it was before each change of its name or namespace, the first first.
    was: Vec<Id>,
    affixes: Affixes,
    /// Its name is to end in a hash of its content.
    needs_hash: bool,
}

/// What an object is called. Group and version never change.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Id {
    kind: String,
    /// `default` where it is not written, [`NO_NAMESPACE`] where there can be none.
    namespace: String,
    name: String,
}

/// What kustomize says for the namespace of objects that have none.
const NO_NAMESPACE: &str = "_non_namespaceable_";

/// Prefixes and suffixes that an object got, the innermost layer's first.
#[derive(Debug, Clone, Default)]
struct Affixes {
    prefixes: Vec<String>,
    suffixes: Vec<String>,
}

/// The kustomization of a folder, if it has one.
pub(crate) fn file_in(folder: &Path) -> Option<PathBuf> {
    NAMES.iter().map(|name| folder.join(name)).find(|file| file.is_file())
}

/// What the user's program makes of a kustomization.
pub(crate) fn rendered_by(renderer: &Renderer, file: &Path) -> Result<Vec<Manifest>, LoadError> {
    let text = renderer.render(file)?;
    let mut manifests: Vec<Manifest> =
        manifest::objects(file, &text)?.iter().map(Manifest::of).collect::<Result<_, _>>()?;
    for manifest in &mut manifests {
        // Lines are of what was rendered, which nobody sees.
        manifest.place = Place::whole(file);
    }
    Ok(manifests)
}

/// What a kustomization says, rendered: Namespaces and CustomResourceDefinitions first.
pub(crate) fn render(file: &Path) -> Result<Vec<Manifest>, LoadError> {
    let mut configuration = Configuration::built_in();
    let mut items = Vec::new();
    layer(file, fields::KUSTOMIZATION, 0, &mut items, &mut configuration)?;
    hash::add(&mut items);
    references::follow(&mut items, &configuration)?;
    items.retain(|item| {
        let annotations = &item.manifest.object["metadata"]["annotations"];
        annotations.get(FOR_TOOLS).is_none_or(|value| value == "false")
    });
    let late = |item: &Item| match item.kind() {
        "Namespace" => 0,
        "CustomResourceDefinition" => 1,
        _ => 2,
    };
    items.sort_by_key(late);
    Ok(items.into_iter().map(|item| item.manifest).collect())
}

/// Adds what a kustomization of this kind makes to the items: a component works on those that are there.
fn layer(
    file: &Path,
    kind: &str,
    depth: u32,
    items: &mut Vec<Item>,
    configuration: &mut Configuration,
) -> Result<(), LoadError> {
    if depth > DEEPEST {
        return Err(Place::whole(file).error("kustomizations lie in each other without end"));
    }
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut documents = node::parse(file, &manifest::read(file)?)?;
    let said = match (documents.pop(), documents.is_empty()) {
        (Some(said), true) => said,
        (None, _) => return Err(Place::whole(file).error("the kustomization is empty")),
        _ => return Err(Place::whole(file).error("a kustomization is one document")),
    };
    let fields = fields::check(&said, kind)?;
    let named = |name: &'static str| fields.iter().filter(move |entry| entry.key == name);
    for entry in ["resources", "bases"].into_iter().flat_map(named) {
        for resource in list(entry)? {
            items.extend(resources(folder, resource, depth, configuration)?);
        }
    }
    refuse_twins(items)?;
    for entry in named("configurations") {
        configuration.add(folder, entry)?;
    }
    let options = named("generatorOptions").next();
    let options = options.map(|entry| generators::Options::read(&entry.value)).transpose()?;
    for entry in fields::GENERATORS.iter().copied().flat_map(named) {
        generators::generate(folder, entry, &options.clone().unwrap_or_default(), items)?;
    }
    for entry in named("components") {
        for component in list(entry)? {
            let file = below(folder, component)?;
            layer(&file, fields::COMPONENT, depth + 1, items, configuration)?;
        }
    }
    for entry in fields::ORDER.iter().copied().flat_map(named) {
        apply(folder, entry, items, configuration)?;
    }
    refuse_twins(items)
}

/// An error if two objects are the same one.
fn refuse_twins(items: &[Item]) -> Result<(), LoadError> {
    let mut seen = HashMap::new();
    for item in items {
        let id = item.id();
        let key =
            (item.text("/apiVersion"), id.kind.clone(), id.namespace.clone(), id.name.clone());
        if let Some(first) = seen.insert(key, &item.manifest.place) {
            let message = format!("{} {} is there already, from {first}", id.kind, id.name);
            return Err(item.manifest.place.error(message));
        }
    }
    Ok(())
}

/// One entry of `resources`: a file, or a folder with a kustomization of its own.
fn resources(
    folder: &Path,
    resource: &Node,
    depth: u32,
    configuration: &mut Configuration,
) -> Result<Vec<Item>, LoadError> {
    let path = folder.join(local(resource)?);
    if path.is_dir() {
        let (file, mut items) = (below(folder, resource)?, Vec::new());
        layer(&file, fields::KUSTOMIZATION, depth + 1, &mut items, configuration)?;
        return Ok(items);
    }
    if !path.exists() {
        return Err(resource.place.error(format!("there is no {}", path.display())));
    }
    let read = manifest::of_file(&path, Dialect::Kustomize)?;
    let item =
        |manifest| Item { manifest, was: vec![], affixes: Affixes::default(), needs_hash: false };
    Ok(read.into_iter().map(item).collect())
}

/// The kustomization of a folder that another one names.
fn below(folder: &Path, named: &Node) -> Result<PathBuf, LoadError> {
    let path = folder.join(local(named)?);
    file_in(&path).ok_or_else(|| {
        let error = named.place.error(format!("{} has no kustomization", path.display()));
        error.help("name its files one by one, as kustomize asks for")
    })
}

/// A path that lies on this machine.
fn local(named: &Node) -> Result<&str, LoadError> {
    let path = text(named, "resources")?;
    if path.contains("://") || path.contains("?ref=") || path.starts_with("github.com/") {
        let error = named.place.error(format!("{path} lies elsewhere, and nothing is fetched"));
        return Err(error.help(fields::HELP));
    }
    Ok(path)
}

fn apply(
    folder: &Path,
    entry: &Entry,
    items: &mut Vec<Item>,
    configuration: &Configuration,
) -> Result<(), LoadError> {
    let value = || text(&entry.value, &entry.key).map(|text| (text, !text.is_empty()));
    match &*entry.key {
        "patches" | "patchesJson6902" => patch::patches(folder, list(entry)?, items)?,
        "patchesStrategicMerge" => patch::strategic(folder, list(entry)?, items)?,
        "namespace" => {
            if let (namespace, true) = value()? {
                transform::namespace(namespace, items, configuration);
            }
        }
        "namePrefix" => {
            if let (prefix, true) = value()? {
                transform::prefix(prefix, items);
            }
        }
        "nameSuffix" => {
            if let (suffix, true) = value()? {
                transform::suffix(suffix, items);
            }
        }
        "commonLabels" => {
            transform::set_pairs(&pairs(entry)?, &configuration.common_labels, items);
        }
        "labels" => {
            for labels in list(entry)? {
                let (pairs, reach) = fields::labels(labels)?;
                let own = [FieldSpec::new(Type::default(), "metadata/labels", true)];
                let where_to = match reach {
                    Reach::Objects => &own[..],
                    Reach::Templates => &configuration.template_labels,
                    Reach::Selectors => &configuration.common_labels,
                };
                transform::set_pairs(&pairs, where_to, items);
                transform::set_pairs(&pairs, &configuration.labels, items);
            }
        }
        "commonAnnotations" => {
            transform::set_pairs(&pairs(entry)?, &configuration.annotations, items);
        }
        "replicas" => transform::replicas(list(entry)?, items, configuration)?,
        "images" => images::images(list(entry)?, items, configuration)?,
        "replacements" => replacements::replace(folder, list(entry)?, items)?,
        _ => {}
    }
    Ok(())
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

    /// As it is written.
    fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }

    fn type_of(&self) -> Type {
        Type::of(self.text("/apiVersion"), self.kind())
    }

    /// Those of these fields that objects of its type have.
    fn own<'f>(&self, fields: &'f [FieldSpec]) -> impl Iterator<Item = &'f FieldSpec> + use<'f> {
        let of = self.type_of();
        fields.iter().filter(move |field| field.of.selects(&of))
    }

    /// What it is called now.
    fn id(&self) -> Id {
        let of = self.type_of();
        let namespace = match self.namespace() {
            _ if builtin::is_cluster_scoped(&of) => NO_NAMESPACE,
            "" => "default",
            namespace => namespace,
        };
        Id { kind: of.kind, namespace: namespace.to_owned(), name: self.name().to_owned() }
    }

    /// What it was called, then what it is called.
    fn ids(&self) -> impl Iterator<Item = Id> {
        self.was.iter().cloned().chain(std::iter::once(self.id()))
    }

    /// What it was called at first.
    fn original(&self) -> Id {
        self.was.first().cloned().unwrap_or_else(|| self.id())
    }

    /// Keeps what it is called as a former name.
    fn note_id(&mut self) {
        self.was.push(self.id());
    }

    fn rename(&mut self, name: String) {
        self.note_id();
        self.manifest.object["metadata"]["name"] = name.into();
    }
}

impl Id {
    /// Its type, of an object whose group and version these are.
    fn type_of(&self, of: &Type) -> Type {
        Type { kind: self.kind.clone(), ..of.clone() }
    }
}

impl Affixes {
    /// Whether both may be of one layer. `or_none`: none at all go with any.
    fn fit(&self, other: &Affixes, or_none: bool) -> bool {
        let fit = |some: &[String], other: &[String]| {
            let (short, long) =
                if some.len() < other.len() { (some, other) } else { (other, some) };
            match short.is_empty() {
                true => or_none || long.is_empty(),
                false => long.ends_with(short),
            }
        };
        fit(&self.prefixes, &other.prefixes) && fit(&self.suffixes, &other.suffixes)
    }
}

fn list(entry: &Entry) -> Result<&[Node], LoadError> {
    as_list(&entry.value, &entry.key)
}

fn text<'a>(node: &'a Node, what: &str) -> Result<&'a str, LoadError> {
    as_text(node, what)
}

/// The entries of a map that have a value: what is empty is as if absent.
fn entries<'a>(node: &'a Node, what: &str) -> Result<Vec<&'a Entry>, LoadError> {
    match &node.content {
        Content::Map(entries) => {
            Ok(entries.iter().filter(|entry| entry.value.content != Content::Null).collect())
        }
        _ => Err(must_be(node, what, "a map")),
    }
}

fn pairs(entry: &Entry) -> Result<Vec<(String, String)>, LoadError> {
    let all = entries(&entry.value, &format!("`{}`", entry.key))?;
    all.into_iter()
        .map(|pair| Ok((pair.key.clone(), text(&pair.value, &pair.key)?.to_owned())))
        .collect()
}

#[cfg(test)]
mod tests;
