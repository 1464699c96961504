//! apply, create, patch, update, delete.

use super::{Context, Loader, ONE_CLUSTER};
use crate::{
    fields::{Fields, must_be},
    node::{Content, Node},
    operation::{Act, ActVerb, Check, Document, Expected, OperationKind, Selector, Target},
    place::LoadError,
    template::Template,
};

/// Keys of a write, whatever it does.
const WRITE: &[&str] =
    &["bindings", "template", "timeout", "dryRun", "expect", "outputs", "file", "resource"];

const DELETE: &[&str] = &[
    "bindings",
    "deletionPropagationPolicy",
    "template",
    "timeout",
    "expect",
    "ref",
    "file",
    "resource",
];

const REFERENCE: &[&str] = &["apiVersion", "kind", "namespace", "name", "labels"];

impl Loader {
    pub(super) fn write(
        &mut self,
        node: &Node,
        context: &Context,
        verb: ActVerb,
    ) -> Result<(), LoadError> {
        let known: &[&[&str]] = match verb {
            ActVerb::Patch => &[WRITE, &["subresource"]],
            _ => &[WRITE],
        };
        let fields = Fields::of(node, "a write", known, ONE_CLUSTER)?;
        let mut context = context.clone();
        context.bindings(&fields)?;
        let template = fields.flag("template")?.unwrap_or(context.template);
        let timeout = fields.duration("timeout")?.unwrap_or(context.timeouts.apply);
        let dry_run = fields.flag("dryRun")?.unwrap_or(false);
        let subresource = match verb {
            ActVerb::Patch => fields.text("subresource")?.unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        let expect = context.expectations(&fields)?;
        let outputs = context.outputs(&fields, &["error"])?;
        let (nodes, file) = self.sources(&fields, &context)?;
        let mut documents = Vec::new();
        for node in &nodes {
            need_identity(node, verb)?;
            let template = context.compile(node, template)?;
            documents.push(Document { place: node.place.clone(), template });
        }
        let mut what = match (&documents[..], file) {
            ([only], _) => context.object_title(&only.template),
            (many, file) => format!("{} ({} documents)", file.unwrap_or_default(), many.len()),
        };
        if !subresource.is_empty() {
            what.push_str(&format!(" ({subresource})"));
        }
        let propagation = context.propagation;
        let act = Act { verb, documents, expect, outputs, subresource, dry_run, propagation };
        self.push(&context, verb.name(), &what, OperationKind::Act(act), timeout);
        Ok(())
    }

    pub(super) fn delete(&mut self, node: &Node, context: &Context) -> Result<(), LoadError> {
        let fields = Fields::of(node, "a delete", &[DELETE], ONE_CLUSTER)?;
        let mut context = context.clone();
        context.bindings(&fields)?;
        context.propagation(&fields)?;
        let template = fields.flag("template")?.unwrap_or(context.template);
        let timeout = fields.duration("timeout")?.unwrap_or(context.timeouts.delete);
        let expect = context.expectations(&fields)?;
        let nodes = match fields.take("ref") {
            Some(entry) if fields.take("file").is_none() => vec![reference(&entry.value)?],
            Some(entry) => return Err(entry.place.error("`file` and `ref` in one operation")),
            None => self.sources(&fields, &context)?.0,
        };
        for node in &nodes {
            need_identity(node, ActVerb::Delete)?;
            let template = context.compile(node, template)?;
            let what = context.object_title(&template);
            let target = target_of(&template);
            let act = Act {
                verb: ActVerb::Delete,
                documents: vec![Document { place: node.place.clone(), template }],
                expect: expect.clone(),
                outputs: Vec::new(),
                subresource: String::new(),
                dry_run: false,
                propagation: context.propagation,
            };
            self.push(&context, "delete", &what, OperationKind::Act(act), timeout);
            let gone = Check { expected: Expected::Gone, target: Some(Box::new(target)) };
            let what = format!("until deleted: {what}");
            self.push(&context, "wait", &what, OperationKind::Check(gone), timeout);
        }
        Ok(())
    }
}

/// `ref: {apiVersion, kind, namespace, name, labels}` as the object that it stands for.
fn reference(node: &Node) -> Result<Node, LoadError> {
    let fields = Fields::of(node, "a reference", &[REFERENCE], &[])?;
    let mut object = Vec::new();
    for key in ["apiVersion", "kind"] {
        fields.need(key)?;
        object.extend(fields.take(key).cloned());
    }
    let mut metadata = Vec::new();
    for key in ["namespace", "name"] {
        if fields.text(key)?.is_some() {
            metadata.extend(fields.take(key).cloned());
        }
    }
    if let Some(entry) = fields.take("labels") {
        if !matches!(entry.value.content, Content::Map(_)) {
            return Err(must_be(&entry.value, "`labels`", "a map"));
        }
        metadata.push(entry.clone());
    }
    object.push(crate::node::Entry {
        key: "metadata".to_owned(),
        place: node.place.clone(),
        value: Node { place: node.place.clone(), content: Content::Map(metadata) },
    });
    Ok(Node { place: node.place.clone(), content: Content::Map(object) })
}

/// A write needs to say what it writes.
fn need_identity(node: &Node, verb: ActVerb) -> Result<(), LoadError> {
    let has = |path: &[&str]| node.at(path).and_then(Node::text).is_some_and(|t| !t.is_empty());
    for key in ["apiVersion", "kind"] {
        if !has(&[key]) {
            return Err(node.place.error(format!("the object has no {key}")));
        }
    }
    let named = has(&["metadata", "name"]);
    match verb {
        ActVerb::Delete => Ok(()),
        _ if named => Ok(()),
        ActVerb::Create if has(&["metadata", "generateName"]) => Ok(()),
        ActVerb::Apply if has(&["metadata", "generateName"]) => {
            let error = node.place.error("an object with generateName can't be applied");
            Err(error.help("create it"))
        }
        _ => Err(node.place.error("the object has no metadata.name")),
    }
}

/// Which objects a document means: its name, or its labels, or all of its kind.
pub(super) fn target_of(template: &Template) -> Target {
    let at = |path: &[&str]| {
        let found = path.iter().try_fold(template.clone(), |template, key| match template {
            Template::Map(entries) => {
                entries.into_iter().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            Template::Constant(value) => value.get(*key).cloned().map(Template::Constant),
            _ => None,
        });
        found.unwrap_or(Template::Constant(serde_json::Value::Null))
    };
    Target {
        api_version: at(&["apiVersion"]),
        kind: at(&["kind"]),
        namespace: at(&["metadata", "namespace"]),
        name: at(&["metadata", "name"]),
        selector: Selector::Labels(at(&["metadata", "labels"])),
    }
}
