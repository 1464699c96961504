//! What several operations have in common: their documents, expectations, outputs, titles.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Context, Loader, context::BINDING};
use crate::{
    expression::{Bindings, Expression},
    fields::{Fields, as_text},
    manifest,
    node::{Content, Node},
    operation::Expectation,
    place::LoadError,
    scope::Output,
    template::Template,
    tree::{Tree, compile_map},
};

/// `metadata.name` of a test. The rest of its metadata is free (`$test.metadata`).
pub(super) fn metadata_name(metadata: &Node) -> Result<String, LoadError> {
    if !matches!(metadata.content, Content::Map(_)) {
        return Err(metadata.place.error("`metadata` must be a map"));
    }
    let name =
        metadata.entry("name").ok_or_else(|| metadata.place.error("metadata needs `name`"))?;
    as_text(&name.value, "name").map(str::to_owned)
}

impl Loader {
    /// The objects of `file` or `resource`, exactly one of which must be given; with the file's name as written.
    pub(super) fn sources(
        &mut self,
        fields: &Fields,
        context: &Context,
    ) -> Result<(Vec<Node>, Option<String>), LoadError> {
        let (file, resource) = (fields.take("file"), fields.take("resource"));
        match (file, resource) {
            (Some(_), Some(resource)) => {
                Err(resource.place.error("`file` and `resource` in one operation"))
            }
            (None, None) => Err(fields.place.error("it needs `file` or `resource`")),
            (None, Some(resource)) => {
                if !matches!(resource.value.content, Content::Map(_)) {
                    let error = resource.value.place.error("`resource` is one object, a map");
                    return Err(error.help("write one operation for each object"));
                }
                Ok((vec![resource.value.clone()], None))
            }
            (Some(file), None) => {
                let name = context.known_text(&file.value, "file")?;
                Ok((self.read_files(&name, &file.value)?, Some(name)))
            }
        }
    }

    fn read_files(&mut self, pattern: &str, node: &Node) -> Result<Vec<Node>, LoadError> {
        if pattern.contains("://") {
            let error = node.place.error("a URL is not supported");
            return Err(error.help("download the file and commit it"));
        }
        let mut objects = Vec::new();
        for file in self.matching_files(pattern, node)? {
            let text =
                manifest::read(&file).map_err(|error| node.place.error(error.to_string()))?;
            let name = file.strip_prefix(&self.dir).unwrap_or(&file).to_owned();
            self.hash_file(&name, &text);
            self.files.insert(name.to_string_lossy().into_owned(), text.clone());
            objects.extend(manifest::objects(&file, &text)?);
        }
        if objects.is_empty() {
            return Err(node.place.error(format!("there is no object in {pattern}")));
        }
        Ok(objects)
    }

    fn matching_files(&self, pattern: &str, node: &Node) -> Result<Vec<PathBuf>, LoadError> {
        let folder = glob::Pattern::escape(&self.dir.display().to_string());
        let whole = Path::new(&folder).join(pattern);
        let paths = glob::glob(&whole.display().to_string())
            .map_err(|error| node.place.error(format!("not a pattern: {error}")))?;
        let mut files = Vec::new();
        for path in paths {
            files.push(path.map_err(|error| node.place.error(error.to_string()))?);
        }
        files.sort();
        if files.is_empty() {
            let message = format!("no file matches {pattern}");
            return Err(node.place.error(message).help("paths are relative to the test's folder"));
        }
        Ok(files)
    }
}

impl Context {
    /// `expect: [{match, check}]`.
    pub(super) fn expectations(&self, fields: &Fields) -> Result<Vec<Expectation>, LoadError> {
        let mut expectations = Vec::new();
        for node in fields.list("expect")? {
            let fields = Fields::of(node, "an expectation", &[&["match", "check"]], &[])?;
            // chainsaw evaluates `match` without any binding.
            let matching =
                fields.take("match").map(|e| compile_map(&e.value, "match")).transpose()?;
            let check = compile_map(fields.need("check")?, "check")?;
            self.tree_knows(&check, &["error"])?;
            expectations.push(Expectation { matching, check });
        }
        Ok(expectations)
    }

    /// `outputs: [{name, value, match}]`.
    pub(super) fn outputs(
        &self,
        fields: &Fields,
        extra: &[&str],
    ) -> Result<Vec<Output>, LoadError> {
        let mut outputs: Vec<Output> = Vec::new();
        for node in fields.list("outputs")? {
            let fields = Fields::of(node, "an output", &[BINDING, &["match"]], &[])?;
            self.clone().compiler(&fields)?;
            let name = self.binding_name(&fields)?;
            let value = Template::compile(fields.need("value")?, true)?;
            let matching =
                fields.take("match").map(|e| compile_map(&e.value, "match")).transpose()?;
            let earlier = outputs.iter().map(|output| output.name.as_str());
            let extra: Vec<&str> = extra.iter().copied().chain(earlier).collect();
            let mut result = Ok(());
            value.expressions(&mut |expression: &Expression| {
                if result.is_ok() {
                    result = self.scope.knows(expression, &extra);
                }
            });
            result?;
            if let Some(tree) = &matching {
                self.tree_knows(tree, &extra)?;
            }
            outputs.push(Output { name, value, matching });
        }
        Ok(outputs)
    }

    /// An error if the tree uses a binding that is neither in scope, nor bound in it, nor among `extra`.
    pub(super) fn tree_knows(&self, tree: &Tree, extra: &[&str]) -> Result<(), LoadError> {
        let mut result = Ok(());
        tree.expressions(&mut Vec::new(), &mut |expression, bound| {
            if result.is_ok() {
                let names: Vec<&str> = extra.iter().chain(bound).copied().collect();
                result = self.scope.knows(expression, &names);
            }
        });
        result
    }

    /// Names an object in a title, as far as it is known before the run.
    pub(super) fn object_title(&self, template: &Template) -> String {
        let known = self.scope.known_bindings();
        title_of(&known_value(template, &known), &self.namespace)
    }
}

/// The value of a template, with expressions that are not known yet left as they are written.
pub(super) fn known_value(template: &Template, known: &Bindings) -> Value {
    match template {
        Template::Constant(value) => value.clone(),
        Template::Expression(expression) => expression
            .evaluate(&Value::Null, known)
            .unwrap_or_else(|_| Value::String(format!("({})", expression.text))),
        Template::List(items) => items.iter().map(|item| known_value(item, known)).collect(),
        Template::Map(entries) => Value::Object(
            entries.iter().map(|(key, v)| (key.clone(), known_value(v, known))).collect(),
        ),
    }
}

/// `bars.example.com/default/bar`. The plural is guessed from the kind: there is no API to ask yet.
pub(super) fn title_of(object: &Value, namespace: &str) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let kind = text("/kind");
    let mut title = guess_plural(kind);
    if let Some((group, _)) = text("/apiVersion").split_once('/') {
        title.push('.');
        title.push_str(group);
    }
    if !CLUSTER_SCOPED.contains(&kind) {
        let own = text("/metadata/namespace");
        title.push('/');
        title.push_str(if own.is_empty() { namespace } else { own });
    }
    let (name, prefix) = (text("/metadata/name"), text("/metadata/generateName"));
    if !name.is_empty() {
        title.push_str(&format!("/{name}"));
    } else if !prefix.is_empty() {
        title.push_str(&format!("/{prefix}*"));
    } else if let Some(labels) = object.pointer("/metadata/labels").and_then(Value::as_object)
        && !labels.is_empty()
    {
        let pairs = labels.iter().map(|(key, v)| format!("{key}={}", v.as_str().unwrap_or("?")));
        title.push_str(&format!(" with {}", pairs.collect::<Vec<_>>().join(",")));
    }
    title
}

/// As apimachinery guesses (`UnsafeGuessKindToResource`).
fn guess_plural(kind: &str) -> String {
    let lower = kind.to_lowercase();
    if lower == "endpoints" || lower.is_empty() {
        lower
    } else if lower.ends_with('s') || lower.ends_with('x') {
        format!("{lower}es")
    } else if let Some(stem) = lower.strip_suffix('y') {
        format!("{stem}ies")
    } else {
        format!("{lower}s")
    }
}

/// Kinds that are known to have no namespace. Only titles use it: requests go by discovery.
const CLUSTER_SCOPED: &[&str] = &[
    "APIService",
    "ClusterIssuer",
    "ClusterRole",
    "ClusterRoleBinding",
    "CSIDriver",
    "CSINode",
    "CustomResourceDefinition",
    "IngressClass",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
    "VolumeAttachment",
];
