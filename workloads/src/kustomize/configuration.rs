//! Where names, namespaces, labels, annotations, images and replicas are: what kustomize knows, and what the files of
//! `configurations` add.

use std::path::Path;

use super::{
    builtin, entries, fields, list,
    spec::{FieldSpec, Type},
    text,
};
use crate::{
    manifest,
    node::{self, Content, Entry, Node},
    place::LoadError,
};

/// Where things are.
pub(super) struct Configuration {
    /// Which type is named, and where.
    pub references: Vec<(Type, Vec<FieldSpec>)>,
    pub namespaces: Vec<FieldSpec>,
    pub common_labels: Vec<FieldSpec>,
    pub template_labels: Vec<FieldSpec>,
    /// Where all `labels` go.
    pub labels: Vec<FieldSpec>,
    pub annotations: Vec<FieldSpec>,
    pub images: Vec<FieldSpec>,
    pub replicas: Vec<FieldSpec>,
}

impl Configuration {
    pub fn built_in() -> Configuration {
        Configuration {
            references: builtin::references().collect(),
            namespaces: builtin::namespaces(),
            common_labels: builtin::common_labels(),
            template_labels: builtin::template_labels(),
            labels: vec![],
            annotations: builtin::common_annotations(),
            images: vec![],
            replicas: builtin::replicas(),
        }
    }

    /// Adds what the files of `configurations` say. It holds for the layers above, too, as in kustomize.
    pub fn add(&mut self, folder: &Path, files: &Entry) -> Result<(), LoadError> {
        for path in list(files)? {
            let file = folder.join(text(path, "configurations")?);
            let read = manifest::read(&file).map_err(|error| path.place.error(error.message))?;
            for document in node::parse(&file, &read)? {
                for entry in entries(&document, "a configuration")? {
                    self.add_entry(entry)?;
                }
            }
        }
        Ok(())
    }

    fn add_entry(&mut self, entry: &Entry) -> Result<(), LoadError> {
        let to = match &*entry.key {
            "nameReference" => {
                for one in list(entry)? {
                    self.references.push(reference(one)?);
                }
                return Ok(());
            }
            // It says where `vars` go, and those are refused.
            "varReference" => return Ok(()),
            "namespace" => &mut self.namespaces,
            "commonLabels" => &mut self.common_labels,
            "templateLabels" => &mut self.template_labels,
            "labels" => &mut self.labels,
            "commonAnnotations" => &mut self.annotations,
            "images" => &mut self.images,
            "replicas" => &mut self.replicas,
            other => {
                return Err(fields::refused(entry, &format!("a configuration's `{other}`")));
            }
        };
        for one in list(entry)? {
            let spec = field_spec(one)?;
            if !to.contains(&spec) {
                to.push(spec);
            }
        }
        Ok(())
    }
}

fn reference(said: &Node) -> Result<(Type, Vec<FieldSpec>), LoadError> {
    let (mut named, mut fields) = (Type::default(), vec![]);
    for entry in entries(said, "a name reference")? {
        match &*entry.key {
            "fieldSpecs" => {
                fields = list(entry)?.iter().map(field_spec).collect::<Result<_, _>>()?
            }
            _ => read_type(&mut named, entry)?,
        }
    }
    Ok((named, fields))
}

fn field_spec(said: &Node) -> Result<FieldSpec, LoadError> {
    let (mut of, mut path, mut create) = (Type::default(), "", false);
    for entry in entries(said, "a field spec")? {
        match &*entry.key {
            "path" => path = text(&entry.value, "path")?,
            "create" => create = entry.value.content == Content::Bool(true),
            _ => read_type(&mut of, entry)?,
        }
    }
    Ok(FieldSpec::new(of, path, create))
}

fn read_type(of: &mut Type, entry: &Entry) -> Result<(), LoadError> {
    let to = match &*entry.key {
        "group" => &mut of.group,
        "version" => &mut of.version,
        "kind" => &mut of.kind,
        other => {
            let known = ["group", "version", "kind", "path", "create", "fieldSpecs"];
            return Err(entry.place.error(crate::unknown("field", other, &known)));
        }
    };
    *to = text(&entry.value, &entry.key)?.to_owned();
    Ok(())
}
