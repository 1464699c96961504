//! What a kustomization may say.

use super::{entries, pairs, transform::Reach};
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
    "commonLabels",
    "labels",
    "commonAnnotations",
    "patchesJson6902",
    "replicas",
    "images",
];

/// They say nothing of what comes out: what it is, and where names and namespaces are referred to, which is known here.
const SILENT: [&str; 5] = ["apiVersion", "kind", "metadata", "configurations", "sortOptions"];

/// What to do about what is not supported.
pub(super) const HELP: &str = "render it with `kubectl kustomize` and name the result";

/// The fields; an error at one that is not supported.
pub(super) fn check(said: &Node) -> Result<&[Entry], LoadError> {
    let fields = entries(said)?;
    for field in fields {
        let key = &*field.key;
        let known = ORDER.contains(&key) || SILENT.contains(&key);
        if !known && !matches!(key, "resources" | "bases") {
            let message = format!("a kustomization's `{key}` is not supported");
            return Err(field.place.error(message).help(HELP));
        }
    }
    match said.at(&["kind"]).and_then(Node::text) {
        None | Some("Kustomization") => Ok(fields),
        Some(kind) => {
            Err(said.place.error(format!("a kustomization of kind {kind} is not supported")))
        }
    }
}

/// One entry of `labels`: the labels, and where they go.
pub(super) fn labels(said: &Node) -> Result<(Vec<(String, String)>, Reach), LoadError> {
    let (mut all, mut reach) = (vec![], Reach::Objects);
    for entry in entries(said)? {
        let yes = entry.value.content == Content::Bool(true);
        match &*entry.key {
            "pairs" => all = pairs(&entry.value)?,
            "includeSelectors" if yes => reach = Reach::Selectors,
            "includeTemplates" if yes && reach == Reach::Objects => reach = Reach::Templates,
            "includeSelectors" | "includeTemplates" => {}
            other => {
                let message = format!("`{other}` of labels is not supported");
                return Err(entry.place.error(message).help(HELP));
            }
        }
    }
    Ok((all, reach))
}
