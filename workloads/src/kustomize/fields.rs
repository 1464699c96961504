//! What a kustomization may say.

use super::{entries, pairs};
use crate::{
    node::{Content, Entry, Node},
    place::LoadError,
};

/// In which order kustomize carries them out (`configureBuiltinTransformers` of its `kusttarget`).
pub(super) const ORDER: &[&str] = &[
    "patchesStrategicMerge",
    "patches",
    "namespace",
    "namePrefix",
    "nameSuffix",
    "labels",
    "commonLabels",
    "commonAnnotations",
    "patchesJson6902",
    "replicas",
    "images",
];

/// Done before these, or without a trace in what comes out.
const OTHERS: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata",
    "resources",
    "bases",
    "configurations",
    "sortOptions",
    "generatorOptions",
];

/// What kustomize has beside all these.
pub(super) const NOT_SUPPORTED: &[&str] = &[
    "buildMetadata",
    "components",
    "configMapGenerator",
    "crds",
    "generators",
    "helmChartInflationGenerator",
    "helmCharts",
    "helmGlobals",
    "imageTags",
    "openapi",
    "replacements",
    "secretGenerator",
    "transformers",
    "validators",
    "vars",
];

/// What to do about what is not supported.
pub(super) const HELP: &str = "render it with `kubectl kustomize` and name the result";

/// What it says that is not empty; an error at what is not supported.
pub(super) fn check(said: &Node) -> Result<Vec<&Entry>, LoadError> {
    let fields = entries(said, "a kustomization")?;
    let not_supported =
        |field: &&&Entry| NOT_SUPPORTED.contains(&&*field.key) && !is_empty(&field.value);
    if let Some(field) = fields.iter().find(not_supported) {
        return Err(refused(field, &format!("a kustomization's `{}`", field.key)));
    }
    let Content::Map(all) = &said.content else { return Ok(fields) };
    let known = [ORDER, OTHERS, NOT_SUPPORTED].concat();
    if let Some(field) = all.iter().find(|field| !known.contains(&&*field.key)) {
        return Err(field.place.error(crate::unknown("field", &field.key, &known)));
    }
    match said.at(&["kind"]).and_then(Node::text) {
        None | Some("Kustomization") => Ok(fields),
        Some(kind) => {
            Err(said.place.error(format!("a kustomization of kind {kind} is not supported")))
        }
    }
}

fn is_empty(value: &Node) -> bool {
    match &value.content {
        Content::List(items) => items.is_empty(),
        Content::Map(entries) => entries.is_empty(),
        _ => false,
    }
}

/// An error at what is not supported.
pub(super) fn refused(entry: &Entry, what: &str) -> LoadError {
    entry.place.error(format!("{what} is not supported")).help(HELP)
}

/// Where labels go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The objects' own metadata.
    Objects,
    /// And templates of pods.
    Templates,
    /// And selectors.
    Selectors,
}

/// One entry of `labels`: the labels, and where they go.
pub(super) fn labels(said: &Node) -> Result<(Vec<(String, String)>, Reach), LoadError> {
    let (mut all, mut reach) = (vec![], Reach::Objects);
    for entry in entries(said, "an entry of `labels`")? {
        let yes = entry.value.content == Content::Bool(true);
        match &*entry.key {
            "pairs" => all = pairs(entry)?,
            "includeSelectors" if yes => reach = Reach::Selectors,
            "includeTemplates" if yes && reach == Reach::Objects => reach = Reach::Templates,
            "includeSelectors" | "includeTemplates" => {}
            other => return Err(refused(entry, &format!("`{other}` of labels"))),
        }
    }
    Ok((all, reach))
}
