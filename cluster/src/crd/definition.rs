//! What is wrong with the rules of a CRD (`ValidateCustomResourceDefinitionOpenAPISchema`): they must be whole,
//! compile against their schema, and use `oldSelf` only where there is one.

use serde_json::Value;

use super::{field_path, text};
use crate::{
    cel::Subject,
    schema::{Additional, FieldError, FieldErrorKind, ListType, NodeId, Schema},
};

const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Errors of all rules of a schema; `at` is its path in the CRD.
pub(crate) fn rule_errors(schema: &Schema, at: &str) -> Vec<FieldError> {
    let mut walk = Walk { schema, shape: Vec::new(), expressions: Vec::new() };
    walk.visit(schema.root_id(), at, true, None);
    let mut errors = walk.shape;
    errors.extend(walk.expressions);
    errors
}

struct Walk<'a> {
    schema: &'a Schema,
    /// Rules that are not whole. While there are any, expressions further up are not looked at.
    shape: Vec<FieldError>,
    expressions: Vec<FieldError>,
}

impl Walk<'_> {
    /// `uncorrelated`: the list above whose items have no old value.
    fn visit(&mut self, id: NodeId, at: &str, root: bool, uncorrelated: Option<&str>) {
        let schema = self.schema;
        let node = schema.node(id);
        if let Additional::Values(below) = node.additional {
            let embedded = schema.node(below).embedded_resource;
            self.visit(below, &format!("{at}.additionalProperties"), embedded, uncorrelated);
        }
        for (name, &below) in &node.properties {
            let embedded = schema.node(below).embedded_resource;
            self.visit(below, &format!("{at}.properties[{name}]"), embedded, uncorrelated);
        }
        if let Some(below) = node.items {
            let lost = (node.list_type != ListType::Map).then_some(at);
            let embedded = schema.node(below).embedded_resource;
            self.visit(below, &format!("{at}.items"), embedded, uncorrelated.or(lost));
        }
        for (index, rule) in node.rules.iter().enumerate() {
            self.shape(id, rule, &format!("{at}.x-kubernetes-validations[{index}]"));
        }
        if !self.shape.is_empty() {
            return;
        }
        for (index, rule) in node.rules.iter().enumerate() {
            let place = format!("{at}.x-kubernetes-validations[{index}]");
            let optional_old = rule["optionalOldSelf"] == true;
            let subject = Subject { schema, node: id, root, optional_old };
            if subject.is_seen() {
                self.expressions(&subject, rule, &place, uncorrelated);
            }
        }
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

    fn expressions(
        &mut self,
        subject: &Subject<'_>,
        rule: &Value,
        at: &str,
        uncorrelated: Option<&str>,
    ) {
        let compiled = subject.compile(text(rule, "rule"));
        let why = match &compiled {
            Ok(expression) if expression.results_in("bool") => None,
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
        let made = text(rule, "messageExpression");
        if !made.is_empty() {
            let why = match subject.compile(made) {
                Ok(expression) if expression.results_in("string") => None,
                Ok(_) => Some("messageExpression must evaluate to a string".to_owned()),
                Err(why) => Some(format!("messageExpression compilation failed: {why}")),
            };
            let field = format!("{at}.messageExpression");
            self.expressions.extend(why.map(|detail| whole(&field, rule, detail)));
        }
        if compiled.is_ok_and(|expression| expression.uses_old) {
            if let Some(list) = uncorrelated {
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

/// An error that shows the rule as Go prints its struct: JSON with the names of its fields, HTML-safe.
fn whole(field: &str, rule: &Value, detail: String) -> FieldError {
    let quoted = |name: &str| Value::from(text(rule, name)).to_string();
    let or_null = |name: &str| rule.get(name).unwrap_or(&Value::Null).to_string();
    let shown = format!(
        r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{},"FieldPath":{},"OptionalOldSelf":{}}}"#,
        quoted("rule"),
        quoted("message"),
        quoted("messageExpression"),
        or_null("reason"),
        quoted("fieldPath"),
        or_null("optionalOldSelf"),
    );
    let safe = shown.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    FieldError { field: field.to_owned(), kind: FieldErrorKind::Invalid, value: Some(safe), detail }
}
