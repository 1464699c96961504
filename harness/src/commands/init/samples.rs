//! The objects that the workload begins with.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    Options, change, folder_near, load,
    sample::{self, Missing, Sample, refusal},
    tried::Trial,
    workload::Samples,
};

/// What the workload works on: the author's objects, and one for each type of which there is none, unless the author has
/// named those to take.
pub(super) fn samples(
    options: &Options,
    types: &[(&Value, Value)],
    trial: &mut Trial,
) -> anyhow::Result<Samples> {
    let mut samples = written(options)?;
    samples.keep_first_of_each();
    for (crd, beginning) in types {
        let of_type: Vec<Value> =
            samples.others.extract_if(.., |object| sample::is_of(object, crd)).collect();
        let mut of_type: Vec<Sample> =
            of_type.iter().filter_map(|object| sample::as_written(object, crd)).collect();
        if of_type.is_empty() {
            match made(options, trial, crd, beginning) {
                Ok(sample) => samples.own.push(sample),
                Err(why) => samples.missing.push(Missing { object: beginning.clone(), why }),
            }
            continue;
        }
        for sample in &mut of_type {
            match trial.create(&sample.object) {
                Ok(created) => {
                    let changes = change::of(crd, &sample.object);
                    sample.change = trial.first_accepted(&created, changes);
                }
                Err(why) => samples.refused.push(refusal(&sample.object, &why)),
            }
        }
        samples.own.append(&mut of_type);
    }
    for other in std::mem::take(&mut samples.others) {
        match trial.create(&other) {
            Ok(_) => samples.others.push(other),
            Err(why) => samples.refused.push(format!("left out: {}", refusal(&other, &why))),
        }
    }
    Ok(samples)
}

/// A sample by the schema of its type, with a change.
///
/// # Errors
/// Why there is none.
fn made(
    options: &Options,
    trial: &mut Trial,
    crd: &Value,
    beginning: &Value,
) -> Result<Sample, String> {
    if let Some(path) = &options.samples {
        return Err(format!("{} has none", path.display()));
    }
    let mut sample = sample::by_schema(crd, beginning).map_err(|fields| {
        format!("its schema does not say what is right for {}", fields.join(", "))
    })?;
    let created = trial
        .create(&sample.object)
        .map_err(|why| format!("what its schema asks for is refused: {why}"))?;
    sample.change = trial.first_accepted(&created, change::of(crd, &sample.object));
    Ok(sample)
}

/// The author's objects: those of the folder that was named, or of the one near the CRDs' if it has any. What of the
/// latter are no objects (a configuration file of the operator) is left out, and told.
fn written(options: &Options) -> anyhow::Result<Samples> {
    if let Some(path) = &options.samples {
        return Ok(Samples { others: load(path)?, ..Samples::default() });
    }
    let mut samples = Samples::default();
    let Some(folder) = folder_near(&options.crds, "samples") else { return Ok(samples) };
    if let Ok(others) = load(&folder) {
        return Ok(Samples { others, ..samples });
    }
    let files = fs::read_dir(&folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = files.collect::<Result<_, _>>()?;
    files.retain(|file| workloads::manifest::is_manifest(file) && !is_kustomization(file));
    files.sort();
    for file in files {
        match load(&file) {
            Ok(objects) => samples.others.extend(objects),
            Err(error) => samples.refused.push(format!("left out: {error}")),
        }
    }
    Ok(samples)
}

fn is_kustomization(file: &Path) -> bool {
    file.file_stem().is_some_and(|stem| stem == "kustomization")
}
