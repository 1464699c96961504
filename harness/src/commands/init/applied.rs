//! What of the author's files the campaign applies, and the types among them.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde_json::Value;
use workloads::manifest::{self, Manifest};

use super::{Options, sample, tried::Trial};
use crate::exit::{Exit, Expected};

/// What of the author's files the campaign applies: all of them; where an object is refused, as in `install/` of an
/// operator of OpenShift that has objects of types from elsewhere, the files without such objects. And what is left out,
/// and why.
pub(super) fn applied(
    options: &Options,
    read: &[Manifest],
    trial: &mut Trial,
) -> (Vec<PathBuf>, Vec<String>) {
    let is_type = |one: &Manifest| one.object["kind"] == "CustomResourceDefinition";
    let refused: Vec<(&Manifest, String)> = read
        .iter()
        .filter(|one| !is_type(one))
        .filter_map(|one| Some((one, trial.could_create(&one.object).err()?)))
        .collect();
    let left_out: BTreeSet<&str> = refused.iter().map(|(one, _)| &*one.place.file).collect();
    let mut files = vec![options.crds.clone()];
    // A kustomization is one thing.
    if !refused.is_empty() && manifest::kustomization(&options.crds).is_none() {
        // A file with types is needed, whatever else it has.
        let kept = |one: &&Manifest| is_type(one) || !left_out.contains(&*one.place.file);
        files = read.iter().filter(kept).map(|one| PathBuf::from(&*one.place.file)).collect();
        files.dedup();
    }
    let told = |(one, why): &(&Manifest, String)| {
        let file = &one.place.file;
        let is_kept = files.iter().any(|kept| *kept == options.crds || *kept == Path::new(&**file));
        let left_out = if is_kept { "" } else { "left out of manifests: " };
        format!("{left_out}{file}: {}", sample::refusal(&one.object, why))
    };
    let told = refused.iter().map(told).collect();
    (files, told)
}

/// The author's types, the last definition of each, with what a sample of it begins with.
///
/// # Errors
/// There is none: exit 64.
pub(super) fn types<'m>(
    options: &Options,
    manifests: &'m [Value],
) -> anyhow::Result<Vec<(&'m Value, Value)>> {
    let mut types: Vec<(&Value, Value)> = Vec::new();
    for (crd, beginning) in manifests.iter().filter_map(|crd| Some((crd, sample::beginning(crd)?)))
    {
        types.retain(|(other, _)| other["metadata"]["name"] != crd["metadata"]["name"]);
        types.push((crd, beginning));
    }
    if types.is_empty() {
        let crds = options.crds.display();
        let subfolders = if options.crds.is_dir() { " (subfolders are not read)" } else { "" };
        let message = format!("{crds}: no CustomResourceDefinition there{subfolders}");
        return Err(Expected::error(Exit::Usage, message));
    }
    Ok(types)
}
