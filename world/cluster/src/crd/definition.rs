//! What is wrong with the rules of a CRD (`ValidateCustomResourceDefinitionOpenAPISchema`): they must be whole,
//! compile against their schema, use `oldSelf` only where there is one, and not cost too much.

mod budget;

use serde_json::Value;

use self::budget::Budget;
use super::{field_path, go_schema::html_safe, text};
use crate::{
    cel::Subject,
    schema::{Additional, FieldError, FieldErrorKind, ListType, Node, NodeId, Schema, Type},
};

const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Errors of all rules of a schema; `at` is its path in the CRD. `other` is what else is wrong with it, and `compiled`
/// whether expressions are looked at.
pub(crate) fn rule_errors(
    schema: &Schema,
    at: &str,
    other: &[FieldError],
    compiled: bool,
) -> Vec<FieldError> {
    let (shape, expressions, budget) = (Vec::new(), Vec::new(), Budget::default());
    let mut walk = Walk { schema, other, compiled, shape, expressions, budget };
    let place = Place { root: true, uncorrelated: None, count: Some(1) };
    walk.visit(schema.root_id(), at, place);
    let mut errors = walk.shape;
    errors.extend(walk.expressions);
    errors.extend(walk.budget.errors(at));
    errors
}

struct Walk<'a> {
    schema: &'a Schema,
    /// What is wrong with the schema but for its rules.
    other: &'a [FieldError],
    compiled: bool,
    /// Rules that are not whole.
    shape: Vec<FieldError>,
    expressions: Vec<FieldError>,
    budget: Budget,
}

/// Where a node stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// Whether it is the root of a resource.
    root: bool,
    /// The list above whose items have no old value.
    uncorrelated: Option<&'a str>,
    /// How many values it can have at most; none if nothing above says so.
    count: Option<u64>,
}

impl Walk<'_> {
    fn visit(&mut self, id: NodeId, at: &str, place: Place<'_>) {
        let schema = self.schema;
        let node = schema.node(id);
        let count = place.count.zip(factor(node)).map(|(count, more)| count.saturating_mul(more));
        let below = |below: NodeId| {
            let root = schema.node(below).embedded_resource;
            Place { root, count, ..place }
        };
        if let Additional::Values(values) = node.additional {
            self.visit(values, &format!("{at}.additionalProperties"), below(values));
        }
        for (name, &property) in &node.properties {
            self.visit(property, &format!("{at}.properties[{name}]"), below(property));
        }
        if let Some(items) = node.items {
            let lost = (node.list_type != ListType::Map).then_some(at);
            let uncorrelated = place.uncorrelated.or(lost);
            let Place { root, count, .. } = below(items);
            self.visit(items, &format!("{at}.items"), Place { root, uncorrelated, count });
        }
        for (index, rule) in node.rules.iter().enumerate() {
            self.shape(id, rule, &format!("{at}.x-kubernetes-validations[{index}]"));
        }
        if !self.compiled || self.is_wrong(at) {
            return;
        }
        for (index, rule) in node.rules.iter().enumerate() {
            let at = format!("{at}.x-kubernetes-validations[{index}]");
            let optional_old = rule["optionalOldSelf"] == true;
            let subject = Subject { schema, node: id, root: place.root, optional_old };
            if subject.is_seen() {
                self.expressions(&subject, rule, &at, place);
            }
        }
    }

    /// Whether something is wrong with the schema at a path or below it: then its expressions are not looked at.
    fn is_wrong(&self, at: &str) -> bool {
        let behind = |error: &FieldError| error.field.strip_prefix(at).map(str::to_owned);
        let mut all = self.other.iter().chain(&self.shape).filter_map(behind);
        all.any(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }

    fn shape(&mut self, node: NodeId, rule: &Value, at: &str) {
        let source = text(rule, "rule").trim();
        let message = text(rule, "message");
        let invalid = |field: &str, value: &str, detail: &str| {
            let value = Value::from(value);
            FieldError::with_value(
                &format!("{at}.{field}"),
                FieldErrorKind::Invalid,
                &value,
                detail,
            )
        };
        let required = |field: &str, detail: &str| {
            FieldError::bare(&format!("{at}.{field}"), FieldErrorKind::Required, detail)
        };
        let broken = |text: &str| text.contains(['\n', '\r']);
        let mut errors = Vec::new();
        if source.is_empty() {
            errors.push(required("rule", "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            errors.push(invalid("message", message, "must be non-empty if specified"));
        } else if broken(message.trim()) {
            errors.push(invalid("message", message, "must not contain line breaks"));
        } else if broken(source) && message.trim().is_empty() {
            errors.push(required(
                "message",
                "message must be specified if rule contains line breaks",
            ));
        }
        let made = text(rule, "messageExpression");
        if !made.is_empty() && made.trim().is_empty() {
            errors.push(required(
                "messageExpression",
                "messageExpression must be non-empty if specified",
            ));
        }
        let reason = text(rule, "reason");
        if rule.get("reason").is_some() && !REASONS.contains(&reason) {
            let names = REASONS.map(|name| format!("{name:?}")).join(", ");
            errors.push(FieldError::with_value(
                &format!("{at}.reason"),
                FieldErrorKind::NotSupported,
                &Value::from(reason),
                format!("supported values: {names}"),
            ));
        }
        let path = text(rule, "fieldPath");
        if !path.is_empty() {
            if path.trim().is_empty() {
                errors.push(invalid("fieldPath", path, "must be non-empty if specified"));
            }
            if broken(path) {
                errors.push(invalid("fieldPath", path, "must not contain line breaks"));
            }
            if field_path::read(self.schema, node, path).is_none() {
                errors.push(invalid("fieldPath", path, "must be a valid path"));
            }
        }
        self.shape.extend(errors);
    }

    fn expressions(&mut self, subject: &Subject<'_>, rule: &Value, at: &str, place: Place<'_>) {
        let compiled = subject.estimate(text(rule, "rule"));
        let why = match &compiled {
            Ok((expression, _)) if expression.results_in("bool") => None,
            Ok(_) => Some("cel expression must evaluate to a bool".to_owned()),
            Err(why) => Some(format!("compilation failed: {why}")),
        };
        if let Some(detail) = why {
            // Upstream looks no further at a rule that doesn't compile, but at whether it has an old value.
            self.expressions.push(whole(&format!("{at}.rule"), rule, detail));
            if rule.get("optionalOldSelf").is_some_and(Value::is_boolean) {
                self.unused(rule, at);
            }
            return;
        }
        if let Ok((_, Some(cost))) = compiled {
            // Where nothing above limits it, there are as many values as a request can hold.
            let cost = cost.saturating_mul(place.count.unwrap_or_else(|| subject.count()));
            let field = format!("{at}.rule");
            self.expressions.extend(self.budget.spend(&field, "estimated rule cost", cost));
        }
        let made = text(rule, "messageExpression");
        if !made.is_empty() {
            let field = format!("{at}.messageExpression");
            let why = match subject.estimate(made) {
                Ok((expression, cost)) if expression.results_in("string") => {
                    let (what, cost) = ("estimated messageExpression cost", cost.unwrap_or(0));
                    self.expressions.extend(self.budget.spend(&field, what, cost));
                    None
                }
                Ok(_) => Some("messageExpression must evaluate to a string".to_owned()),
                Err(why) => Some(format!("messageExpression compilation failed: {why}")),
            };
            self.expressions.extend(why.map(|detail| whole(&field, rule, detail)));
        }
        if compiled.is_ok_and(|(expression, _)| expression.uses_old) {
            if let Some(list) = place.uncorrelated {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"
                );
                let kind = FieldErrorKind::Invalid;
                self.expressions.push(FieldError::with_value(
                    &format!("{at}.rule"),
                    kind,
                    &rule["rule"],
                    detail,
                ));
            }
        } else if rule.get("optionalOldSelf").is_some_and(Value::is_boolean) {
            self.unused(rule, at);
        }
    }

    fn unused(&mut self, rule: &Value, at: &str) {
        self.expressions.push(FieldError::with_value(
            &format!("{at}.optionalOldSelf"),
            FieldErrorKind::Invalid,
            &rule["optionalOldSelf"],
            "may not be set if oldSelf is not used in rule",
        ));
    }
}

/// How many values a node can have for each that it is in; none if nothing says so (`extractMaxElements`).
fn factor(node: &Node) -> Option<u64> {
    let limits = node.limits.as_deref();
    match (node.kind, node.additional) {
        (Type::Object, Additional::Unsaid) => Some(1),
        (Type::Object, _) => limits.and_then(|limits| limits.max_properties),
        (Type::Array, _) => limits.and_then(|limits| limits.max_items),
        _ => Some(1),
    }
}

/// An error that shows the rule as Go prints its struct: HTML-safe.
fn whole(field: &str, rule: &Value, detail: String) -> FieldError {
    let safe = html_safe(&go_rule(rule));
    FieldError { field: field.to_owned(), kind: FieldErrorKind::Invalid, value: Some(safe), detail }
}

/// A rule as JSON with the names of Go's fields.
pub(super) fn go_rule(rule: &Value) -> String {
    let quoted = |name: &str| Value::from(text(rule, name)).to_string();
    let or_null = |name: &str| rule.get(name).unwrap_or(&Value::Null).to_string();
    format!(
        r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{},"FieldPath":{},"OptionalOldSelf":{}}}"#,
        quoted("rule"),
        quoted("message"),
        quoted("messageExpression"),
        or_null("reason"),
        quoted("fieldPath"),
        or_null("optionalOldSelf"),
    )
}
