//! The rules of a custom type (`x-kubernetes-validations`), compiled, and what they say of an object: with
//! transition rules, and ratcheting for what an update leaves as it was (KEP-4008).

use std::collections::{BTreeMap, BTreeSet};

use kube_cel::cel::Value as Cel;
use serde_json::Value;

use super::{field_path, text};
use crate::{
    cel::{Expression, Subject, Values},
    schema::{Additional, FieldError, FieldErrorKind, NodeId, Path, Schema, old_item, unchanged},
};

/// The longest message that a `messageExpression` may give.
const MESSAGE_BYTES_MAX: usize = 5 * 1024;

/// One rule.
#[derive(Debug)]
struct Rule {
    expression: Expression,
    message_expression: Option<Expression>,
    message: String,
    text: String,
    reason: String,
    /// `fieldPath`, as upstream prints it.
    path: String,
    optional_old: bool,
}

/// All rules of a schema.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    by_node: BTreeMap<NodeId, Vec<Rule>>,
    /// Nodes with rules below.
    above: BTreeSet<NodeId>,
}

/// What rules say of an object.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    pub(crate) errors: Vec<FieldError>,
    /// What they say of unchanged values.
    pub(crate) warnings: Vec<String>,
}

impl Rules {
    /// Compiles the rules of a schema. A rule that does not compile was refused with its CRD, and is left out.
    pub(crate) fn of(schema: &Schema) -> Rules {
        let mut rules = Rules::default();
        rules.compile(schema, schema.root_id(), schema.root_id(), true);
        rules
    }

    /// `node` has the rules, `typed` the type that they see: they differ inside of `allOf`.
    fn compile(&mut self, schema: &Schema, node: NodeId, typed: NodeId, root: bool) -> bool {
        let (own, types) = (schema.node(node), schema.node(typed));
        let seen = |optional_old| Subject { schema, node: typed, root, optional_old };
        let mut any = false;
        if !own.rules.is_empty() && seen(false).is_seen() {
            let rules = own.rules.iter().filter_map(|rule| {
                let subject = seen(rule["optionalOldSelf"] == true);
                Rule::compile(&subject, rule)
            });
            self.by_node.insert(node, rules.collect());
            any = true;
        }
        for (name, &id) in &own.properties {
            if let Some(&typed) = types.properties.get(name) {
                any |= self.compile(schema, id, typed, schema.node(typed).embedded_resource);
            }
        }
        if let (Additional::Values(id), Additional::Values(typed)) =
            (own.additional, types.additional)
        {
            any |= self.compile(schema, id, typed, schema.node(typed).embedded_resource);
        }
        if let (Some(id), Some(typed)) = (own.items, types.items) {
            any |= self.compile(schema, id, typed, schema.node(typed).embedded_resource);
        }
        for &id in own.limits.iter().flat_map(|limits| &limits.all_of) {
            any |= self.compile(schema, id, typed, root);
        }
        if any {
            self.above.insert(node);
        }
        any
    }

    /// What the rules say of an object, or of its update.
    pub(crate) fn judge(&self, schema: &Schema, object: &Value, old: Option<&Value>) -> Judgement {
        let mut walk = Walk { rules: self, schema, found: Judgement::default() };
        let root = schema.root_id();
        // An update of a resource always changes its metadata: as a whole it is never unchanged.
        let place = Place { node: root, typed: root, root: true, unchanged: false };
        walk.visit(place, object, old, &Path::Root);
        walk.found
    }
}

impl Rule {
    fn compile(subject: &Subject<'_>, rule: &Value) -> Option<Rule> {
        let source = text(rule, "rule");
        let expression = subject.compile(source).ok()?;
        let message = text(rule, "messageExpression");
        Some(Rule {
            expression,
            message_expression: (!message.is_empty())
                .then(|| subject.compile(message).ok())
                .flatten(),
            message: text(rule, "message").trim().to_owned(),
            text: source.trim().to_owned(),
            reason: text(rule, "reason").to_owned(),
            path: field_path::read(subject.schema, subject.node, text(rule, "fieldPath"))
                .unwrap_or_default(),
            optional_old: subject.optional_old,
        })
    }

    /// What stands for the rule in messages.
    fn name(&self) -> &str {
        if self.message.is_empty() { &self.text } else { &self.message }
    }

    fn complaint(&self, values: &Values) -> String {
        let made = self.message_expression.as_ref().and_then(|expression| {
            match expression.run(values, self.optional_old)? {
                Ok(Cel::String(made)) => Some(made.trim().to_owned()),
                _ => None,
            }
        });
        let fits = |made: &String| {
            !made.is_empty() && made.len() <= MESSAGE_BYTES_MAX && !made.contains('\n')
        };
        made.filter(fits).unwrap_or_else(|| match self.message.is_empty() {
            true => format!("failed rule: {}", self.text),
            false => self.message.clone(),
        })
    }

    /// The error at a path (`fieldErrorForReason`).
    fn error(&self, field: &str, value: &Value, detail: String) -> FieldError {
        let kind = match self.reason.as_str() {
            "FieldValueForbidden" => FieldErrorKind::Forbidden,
            "FieldValueRequired" => FieldErrorKind::Required,
            "FieldValueDuplicate" => FieldErrorKind::Duplicate,
            _ => FieldErrorKind::Invalid,
        };
        let shows = matches!(kind, FieldErrorKind::Duplicate | FieldErrorKind::Invalid);
        // What is there twice needs no more words (`field.Duplicate`).
        let detail = if kind == FieldErrorKind::Duplicate { String::new() } else { detail };
        match value {
            Value::Array(_) | Value::Object(_) => FieldError::bare(field, kind, detail),
            _ if shows => FieldError::with_value(field, kind, value, detail),
            _ => FieldError::bare(field, kind, detail),
        }
    }
}

/// Where a walk is.
#[derive(Clone, Copy)]
struct Place {
    node: NodeId,
    typed: NodeId,
    root: bool,
    /// Whether the value, or what it is a part of, is what it was before.
    unchanged: bool,
}

struct Walk<'a> {
    rules: &'a Rules,
    schema: &'a Schema,
    found: Judgement,
}

impl Walk<'_> {
    fn visit(&mut self, place: Place, value: &Value, old: Option<&Value>, at: &Path<'_>) {
        // Null is for the rules of what is around it.
        if value.is_null() || !self.rules.above.contains(&place.node) {
            return;
        }
        let schema = self.schema;
        let old = old.filter(|old| !old.is_null());
        self.apply(place, value, old, at);
        let (own, types) = (schema.node(place.node), schema.node(place.typed));
        for &id in own.limits.iter().flat_map(|limits| &limits.all_of) {
            self.visit(Place { node: id, ..place }, value, old, at);
        }
        match value {
            Value::Array(items) => {
                let (Some(id), Some(typed)) = (own.items, types.items) else { return };
                for (index, item) in items.iter().enumerate() {
                    let old = old_item(schema, types, item, old);
                    let place = self.below(place, id, typed, item, old);
                    self.visit(place, item, old, &Path::Index(at, index));
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    let old = old.and_then(|old| old.get(name));
                    let property = own.properties.get(name).zip(types.properties.get(name));
                    if let Some((&id, &typed)) = property {
                        let place = self.below(place, id, typed, value, old);
                        self.visit(place, value, old, &Path::Field(at, name));
                    } else if let (Additional::Values(id), Additional::Values(typed)) =
                        (own.additional, types.additional)
                    {
                        let place = self.below(place, id, typed, value, old);
                        self.visit(place, value, old, &Path::Key(at, name));
                    }
                }
            }
            _ => {}
        }
    }

    /// The place of a part: one without an old value of its own is unchanged with what it is in.
    fn below(
        &self,
        from: Place,
        node: NodeId,
        typed: NodeId,
        value: &Value,
        old: Option<&Value>,
    ) -> Place {
        let types = self.schema.node(typed);
        let unchanged = match old {
            Some(old) => unchanged(self.schema, types, value, old),
            None => from.unchanged,
        };
        Place { node, typed, root: types.embedded_resource, unchanged }
    }

    /// The rules of one node.
    fn apply(&mut self, place: Place, value: &Value, old: Option<&Value>, at: &Path<'_>) {
        let Some(rules) = self.rules.by_node.get(&place.node) else { return };
        let Place { typed: node, root, .. } = place;
        let subject = Subject { schema: self.schema, node, root, optional_old: false };
        let values = subject.values(value, old);
        for rule in rules {
            // Transition rules need something to compare with.
            if rule.expression.uses_old && old.is_none() && !rule.optional_old {
                continue;
            }
            let path = shown(at);
            match rule.expression.run(&values, rule.optional_old) {
                None | Some(Ok(Cel::Bool(true))) => {}
                Some(Ok(_)) => {
                    let field = match (rule.path.as_str(), at) {
                        ("", _) => path,
                        (below, Path::Root) => below.to_owned(),
                        (below, _) => format!("{path}.{below}"),
                    };
                    let error = rule.error(&field, value, rule.complaint(&values));
                    match place.unchanged && !rule.expression.uses_old {
                        true => self.found.warnings.push(error.to_string()),
                        false => self.found.errors.push(error),
                    }
                }
                Some(Err(why)) => {
                    let name = rule.name();
                    let detail = match why.starts_with("no such overload") {
                        true => format!(
                            "'{why}': call arguments did not match a supported operator, function or macro \
                             signature for rule: {name}"
                        ),
                        false => format!("{why} evaluating rule: {name}"),
                    };
                    let kind = Value::from(type_name(self.schema, node));
                    let invalid = FieldErrorKind::Invalid;
                    self.found.errors.push(FieldError::with_value(&path, invalid, &kind, detail));
                }
            }
        }
    }
}

/// The root has no path upstream.
fn shown(at: &Path<'_>) -> String {
    match at {
        Path::Root => "<nil>".to_owned(),
        path => path.to_string(),
    }
}

/// The `type` of a node, as its schema says it.
fn type_name(schema: &Schema, node: NodeId) -> &'static str {
    use crate::schema::Type;
    match schema.node(node).kind {
        Type::Object => "object",
        Type::Array => "array",
        Type::String => "string",
        Type::Integer => "integer",
        Type::Number => "number",
        Type::Boolean => "boolean",
        Type::Any => "",
    }
}
