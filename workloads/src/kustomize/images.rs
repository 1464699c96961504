//! `images` of a kustomization: names, tags and digests of what containers run.

use serde_json::Value;

use super::{Item, configuration::Configuration, entries, fields, text};
use crate::{
    node::{Content, Node},
    place::LoadError,
};

/// What an image is replaced by.
#[derive(Default)]
struct Image {
    name: String,
    new_name: Option<String>,
    new_tag: Option<String>,
    digest: Option<String>,
}

pub(super) fn images(
    said: &[Node],
    items: &mut [Item],
    configuration: &Configuration,
) -> Result<(), LoadError> {
    for one in said {
        let mut image = Image::default();
        for entry in entries(one, "an image")? {
            let value = match &entry.value.content {
                Content::Number(number) => number.to_string(),
                _ => text(&entry.value, &entry.key)?.to_owned(),
            };
            match &*entry.key {
                "name" => image.name = value,
                "newName" => image.new_name = Some(value),
                "newTag" => image.new_tag = Some(value),
                "digest" => image.digest = Some(value),
                other => return Err(fields::refused(entry, &format!("`{other}` of images"))),
            }
        }
        for item in items.iter_mut().filter(|item| item.kind() != "CustomResourceDefinition") {
            let fields = item.own(&configuration.images);
            let object = &mut item.manifest.object;
            image.replace(object);
            for field in fields {
                field.each(object, &Value::Null, &mut |used| image.set(used));
            }
        }
    }
    Ok(())
}

impl Image {
    /// In all containers below, wherever they are.
    fn replace(&self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                for (key, below) in map.iter_mut() {
                    self.replace(below);
                    if matches!(&**key, "containers" | "initContainers") {
                        let containers = below.as_array_mut().into_iter().flatten();
                        containers.filter_map(|one| one.get_mut("image")).for_each(|i| self.set(i));
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.replace(item)),
            _ => {}
        }
    }

    fn set(&self, used: &mut Value) {
        if let Some(new) = used.as_str().and_then(|used| self.instead_of(used)) {
            *used = Value::String(new);
        }
    }

    fn instead_of(&self, used: &str) -> Option<String> {
        let end_of_path = used.rfind('/').map_or(0, |slash| slash + 1);
        let ends = used[end_of_path..].find([':', '@']).map_or(used.len(), |at| end_of_path + at);
        let (name, rest) = used.split_at(ends);
        (name == self.name).then(|| {
            let name = self.new_name.as_deref().unwrap_or(name);
            match (&self.new_tag, &self.digest) {
                (Some(tag), Some(digest)) => format!("{name}:{tag}@{digest}"),
                (None, Some(digest)) => format!("{name}@{digest}"),
                (Some(tag), None) => format!("{name}:{tag}"),
                (None, None) => format!("{name}{rest}"),
            }
        })
    }
}
