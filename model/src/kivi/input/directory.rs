//! A configuration directory: `yaml/*.yaml`, `user_input/intents.json`, `user_input/cluster_configs.json`.

use super::{
    File, Growing, Input, InputError, configs,
    document::Document,
    growing::{self, Replicas},
    intents, manifests,
};
use crate::kivi::description::Description;

/// Reads a configuration directory.
///
/// # Errors
/// A file that is missing or no such file, and a field that is not as it should be.
pub fn read(files: &[File<'_>]) -> Result<Input, InputError> {
    let named = |path: &'static str, what: &'static str| {
        let found = files.iter().find(|file| file.path == path);
        found.ok_or(InputError::Missing { directory: "a configuration", file: path, what })
    };
    let is_manifest = |file: &&File<'_>| {
        file.path.starts_with("yaml/")
            && (file.path.ends_with(".yaml") || file.path.ends_with(".yml"))
    };
    let mut yaml: Vec<File<'_>> = files.iter().filter(is_manifest).copied().collect();
    yaml.sort_by_key(|file| file.path);
    let (mut types, mut notes) = (Description::default(), Vec::new());
    manifests::read(&yaml, &mut types, &mut notes)?;
    if types.deployments.is_empty() {
        return Err(InputError::Missing {
            directory: "a configuration",
            file: "yaml/*.yaml",
            what: "manifests with a Deployment",
        });
    }
    let configs =
        named("user_input/cluster_configs.json", "nodes, their numbers, and what may happen")?;
    let asked = named("user_input/intents.json", "what must hold")?;
    let document = Document::read(configs)?;
    let (bounds, described) = configs::read(&document.root(), &mut types, &mut notes)?;
    document.unread(&[], &mut notes);
    intents::of_file(asked, &mut types, &mut notes)?;
    notes.sort();
    let description = growing::described(&types, &described);
    let replicas =
        (0..types.deployments.len()).map(|at| Replicas { place: at, ..Replicas::default() });
    Ok(Input {
        description,
        growing: Some(Growing { bounds, replicas: replicas.collect(), types }),
        notes,
    })
}
