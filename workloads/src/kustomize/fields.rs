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
    "replacements",
];

/// What makes objects, in the order in which kustomize carries it out.
pub(super) const GENERATORS: &[&str] = &["configMapGenerator", "secretGenerator"];

/// Done before these, or without a trace in what comes out.
const OTHERS: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata",
    "resources",
    "bases",
    "components",
    "configurations",
    "sortOptions",
    "generatorOptions",
];

/// What kustomize has beside all these.
pub(super) const NOT_SUPPORTED: &[&str] = &[
    "buildMetadata",
    "crds",
    "generators",
    "helmChartInflationGenerator",
    "helmCharts",
    "helmGlobals",
    "imageTags",
    "openapi",
    "transformers",
    "validators",
    "vars",
];

/// The kind of what `resources` name, and of the whole; it need not be written.
pub(super) const KUSTOMIZATION: &str = "Kustomization";

/// The kind of what `components` name.
pub(super) const COMPONENT: &str = "Component";

/// What to do about what is not supported.
pub(super) const HELP: &str = "with kustomize or kubectl in PATH, `kubectl kustomize` renders it";

/// What a kustomization of this kind says that is not empty; an error at what is not supported.
pub(super) fn check<'n>(said: &'n Node, kind: &str) -> Result<Vec<&'n Entry>, LoadError> {
    let fields = entries(said, "a kustomization")?;
    let not_supported =
        |field: &&&Entry| NOT_SUPPORTED.contains(&&*field.key) && !is_empty(&field.value);
    if let Some(field) = fields.iter().find(not_supported) {
        return Err(refused(field, &format!("a kustomization's `{}`", field.key)));
    }
    let Content::Map(all) = &said.content else { return Ok(fields) };
    let known = [ORDER, GENERATORS, OTHERS, NOT_SUPPORTED].concat();
    if let Some(field) = all.iter().find(|field| !known.contains(&&*field.key)) {
        return Err(field.place.error(crate::unknown("field", &field.key, &known)));
    }
    match said.at(&["kind"]).and_then(Node::text).unwrap_or(KUSTOMIZATION) {
        found if found == kind => Ok(fields),
        found => {
            Err(said.place.error(format!("this is of kind {found}, and must be of kind {kind}")))
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
