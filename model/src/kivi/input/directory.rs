//! A configuration directory: `yaml/*.yaml`, `user_input/intents.json`, `user_input/cluster_configs.json`.

use super::{File, Input, InputError, configs, field, intents, manifests};
use crate::kivi::{description::Description, intent::Intent};

/// Reads a configuration directory.
///
/// # Errors
/// A file that is missing or no such file, and a field that is not as it should be.
pub fn read(files: &[File<'_>]) -> Result<Input, InputError> {
    let named = |name: &'static str| {
        let found = files.iter().find(|file| file.path == format!("user_input/{name}"));
        found.ok_or(InputError::Missing { directory: "a configuration", file: name })
    };
    let is_manifest = |file: &&File<'_>| {
        file.path.starts_with("yaml/")
            && (file.path.ends_with(".yaml") || file.path.ends_with(".yml"))
    };
    let mut yaml: Vec<File<'_>> = files.iter().filter(is_manifest).copied().collect();
    yaml.sort_by_key(|file| file.path);
    let (mut description, mut notes) = (Description::default(), Vec::new());
    manifests::read(&yaml, &mut description, &mut notes)?;
    if description.deployments.is_empty() {
        return Err(InputError::Missing {
            directory: "a configuration",
            file: "yaml/*.yaml with a Deployment",
        });
    }
    let (file, asked) = (named("cluster_configs.json")?, named("intents.json")?);
    let value = field::json(file)?;
    let mut growing =
        configs::read(&field::Field::root(file.path, &value), &mut description, &mut notes)?;
    let value = field::json(asked)?;
    let root = field::Field::root(asked.path, &value);
    description.intents.push(Intent::AlwaysSchedulable);
    let list = if value.is_object() { root.get("intents") } else { root };
    intents::read(&list, &mut description, &mut notes)?;
    growing.types = description;
    notes.sort();
    let least = growing.bounds.sizes(crate::kivi::options::Faster::No);
    let description =
        least.first().map_or_else(|| growing.types.clone(), |size| growing.of_size(size));
    Ok(Input { description, growing: Some(growing), notes })
}
