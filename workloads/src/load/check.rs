//! assert, error, wait.

use serde_json::Value;

use super::{Context, Loader, ONE_CLUSTER, act::target_of, shared::title_of};
use crate::{
    fields::Fields,
    node::{Content, Entry, Node},
    operation::{Check, Expected, OperationKind, Selector, Target},
    place::LoadError,
    template::Template,
    tree::Tree,
};

const ASSERTION: &[&str] = &["bindings", "template", "timeout", "file", "resource"];

const WAIT: &[&str] =
    &["format", "timeout", "apiVersion", "kind", "namespace", "name", "selector", "for"];

const FOR: &[&str] = &["deletion", "creation", "condition", "jsonPath"];

impl Loader {
    pub(super) fn assert(
        &mut self,
        node: &Node,
        context: &Context,
        negated: bool,
    ) -> Result<(), LoadError> {
        let verb = if negated { "error" } else { "assert" };
        let fields = Fields::of(node, "an assertion", &[ASSERTION], ONE_CLUSTER)?;
        let mut context = context.clone();
        context.bindings(&fields)?;
        let template = fields.flag("template")?.unwrap_or(context.template);
        let default = if negated { context.timeouts.error } else { context.timeouts.assert };
        let timeout = fields.duration("timeout")?.unwrap_or(default);
        let (nodes, _) = self.sources(&fields, &context)?;
        for node in &nodes {
            let tree = Tree::compile(node)?;
            context.tree_knows(&tree, &[])?;
            let (target, what) = match identity(node)? {
                Some(identity) => {
                    let identity = context.compile(&identity, template)?;
                    let what = context.object_title(&identity);
                    (Some(Box::new(target_of(&identity))), what)
                }
                None => (None, "bindings".to_owned()),
            };
            let expected = if negated { Expected::NoMatch(tree) } else { Expected::Match(tree) };
            let kind = OperationKind::Check(Check { expected, target });
            self.push(&context, verb, &what, kind, timeout);
        }
        Ok(())
    }

    pub(super) fn wait(&mut self, node: &Node, context: &Context) -> Result<(), LoadError> {
        let fields = Fields::of(node, "a wait", &[WAIT], ONE_CLUSTER)?;
        // How kubectl prints what it waited for: nothing is printed here.
        fields.text("format")?;
        // chainsaw gives kubectl no limit of its own, and stops it after the `exec` timeout.
        let timeout = fields.duration("timeout")?.unwrap_or(context.timeouts.exec);
        let null = || Template::Constant(Value::Null);
        let template = |key: &str| -> Result<Template, LoadError> {
            let Some(entry) = fields.take(key) else { return Ok(null()) };
            crate::fields::as_text(&entry.value, key)?;
            context.compile(&entry.value, true)
        };
        let (api_version, kind) = (template("apiVersion")?, template("kind")?);
        let (namespace, name) = (template("namespace")?, template("name")?);
        let selector = template("selector")?;
        fields.need("apiVersion")?;
        fields.need("kind")?;
        if let (Some(_), Some(selector)) = (fields.take("name"), fields.take("selector")) {
            return Err(selector.place.error("`name` and `selector` in one wait"));
        }
        let (expected, what) = condition(fields.need("for")?, context)?;
        let target =
            Target { api_version, kind, namespace, name, selector: Selector::Text(selector) };
        let what = format!("for {what}: {}", context.target_title(&target));
        let kind = OperationKind::Check(Check { expected, target: Some(Box::new(target)) });
        self.push(context, "wait", &what, kind, timeout);
        Ok(())
    }
}

/// `for: {deletion | creation | condition | jsonPath}`.
fn condition(node: &Node, context: &Context) -> Result<(Expected, String), LoadError> {
    let fields = Fields::of(node, "`for`", &[FOR], &[])?;
    let given: Vec<&Entry> = FOR.iter().filter_map(|key| fields.take(key)).collect();
    let [entry] = given[..] else {
        let error = node.place.error("`for` needs exactly one thing to wait for");
        return Err(error.help("deletion, creation, condition or jsonPath"));
    };
    let known: &[&[&str]] = match entry.key.as_str() {
        "condition" => &[&["name", "value"]],
        "jsonPath" => &[&["path", "value"]],
        _ => &[],
    };
    let fields = Fields::of(&entry.value, "what to wait for", known, &[])?;
    let text = |node: &Node, key| {
        crate::fields::as_text(node, key)?;
        context.compile(node, true)
    };
    let shown = |node: &Node| node.text().unwrap_or_default().to_owned();
    let found = match entry.key.as_str() {
        "deletion" => (Expected::Absent, "deletion".to_owned()),
        "creation" => (Expected::Present, "creation".to_owned()),
        "condition" => {
            let written = fields.need("name")?;
            let name = text(written, "name")?;
            let (value, status) = match fields.take("value") {
                Some(entry) => (text(&entry.value, "value")?, shown(&entry.value)),
                None => (Template::Constant(Value::from("True")), "True".to_owned()),
            };
            let what = format!("condition {}={status}", shown(written));
            (Expected::Condition { name, value }, what)
        }
        _ => {
            let written = fields.need("path")?;
            if let Some(path) = written.text().filter(|text| !text.starts_with('('))
                && let Err(reason) = crate::jsonpath::Path::parse(path)
            {
                return Err(written.place.error(reason));
            }
            let path = text(written, "path")?;
            let value = fields.take("value").map(|e| text(&e.value, "value")).transpose()?;
            let equals = fields.take("value").map(|entry| format!("={}", shown(&entry.value)));
            let what = format!("{}{}", shown(written), equals.unwrap_or_default());
            (Expected::JsonPath { path, value }, what)
        }
    };
    Ok(found)
}

/// The part of an assertion that says which objects it is about, as a template: apiVersion, kind, name,
/// namespace and those labels that are plain strings. `None` for an assertion without a kind.
fn identity(node: &Node) -> Result<Option<Node>, LoadError> {
    let (Some(version), Some(kind)) = (node.entry("apiVersion"), node.entry("kind")) else {
        return Ok(None);
    };
    let mut object = vec![version.clone(), kind.clone()];
    if let Some(metadata) = node.entry("metadata") {
        let mut kept = Vec::new();
        for key in ["name", "namespace"] {
            kept.extend(metadata.value.entry(key).filter(|e| e.value.text().is_some()).cloned());
        }
        if let Some(labels) = metadata.value.entry("labels")
            && let Content::Map(entries) = &labels.value.content
        {
            let plain = entries.iter().filter(|entry| {
                entry.value.text().is_some() && !entry.key.starts_with(['(', '~', '\\'])
            });
            let content = Content::Map(plain.cloned().collect());
            let value = Node { place: labels.value.place.clone(), content };
            kept.push(Entry { value, ..labels.clone() });
        }
        let value = Node { place: metadata.value.place.clone(), content: Content::Map(kept) };
        object.push(Entry { value, ..metadata.clone() });
    }
    Ok(Some(Node { place: node.place.clone(), content: Content::Map(object) }))
}

impl Context {
    fn target_title(&self, target: &Target) -> String {
        let known = self.scope.known_bindings();
        let value = |template: &Template| super::shared::known_value(template, &known);
        let object = serde_json::json!({
            "apiVersion": value(&target.api_version),
            "kind": value(&target.kind),
            "metadata": {"name": value(&target.name), "namespace": value(&target.namespace)},
        });
        title_of(&object, &self.namespace)
    }
}

impl Check {
    /// Whether this is the wait that a `delete` ends with.
    pub(super) fn is_after_delete(&self) -> bool {
        matches!(self.expected, Expected::Gone)
    }
}
