//! Whether the defaults in the schema of a custom type are values that it allows
//! (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go`).

use serde_json::Value;

use super::{embedded, rules::Rules};
use crate::schema::{FieldError, FieldErrorKind, NodeId, Schema};

/// What is wrong with defaults; `at` is the path of the schema in its CRD, and `pruned` whether fields that a default's
/// schema does not know are wrong too.
pub(super) fn default_errors(schema: &Schema, at: &str, pruned: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, schema.root_id(), at, &mut |part, default, at| {
        if pruned && is_unknown(part, default) {
            let (kind, detail) = (FieldErrorKind::Invalid, "must not have unknown fields");
            errors.push(FieldError::with_value(at, kind, default, detail));
        }
        let whole = part.root_id() == schema.root_id();
        errors.extend(misfits(part, default, whole, at));
    });
    errors
}

/// Whether any default has fields that its schema does not know.
pub(super) fn has_unknown_fields(schema: &Schema) -> bool {
    let mut any = false;
    walk(schema, schema.root_id(), "", &mut |part, default, _| any |= is_unknown(part, default));
    any
}

/// Goes to each default with the schema that it is of and its path. Below `additionalProperties` there are none.
fn walk(schema: &Schema, node: NodeId, at: &str, visit: &mut impl FnMut(&Schema, &Value, &str)) {
    let own = schema.node(node);
    if let Some(default) = own.default.as_ref().filter(|default| !default.is_null()) {
        visit(&schema.part(node), default, &format!("{at}.default"));
    }
    if let Some(items) = own.items {
        walk(schema, items, &format!("{at}.items"), visit);
    }
    // Those of every object have none of their own.
    let shared =
        |name: &str| node == schema.root_id() && matches!(name, "apiVersion" | "kind" | "metadata");
    for (name, &id) in own.properties.iter().filter(|(name, _)| !shared(name)) {
        walk(schema, id, &format!("{at}.properties[{name}]"), visit);
    }
}

fn is_unknown(part: &Schema, default: &Value) -> bool {
    !part.prune(&mut default.clone()).is_empty()
}

/// What is wrong with the resources that a default is (of the `whole` schema) or has; if that is nothing, what its schema says of it; and then,
/// what rules do: those of a new value and of a change.
fn misfits(part: &Schema, default: &Value, whole: bool, at: &str) -> Vec<FieldError> {
    let mut errors = embedded::errors(part, default, whole);
    errors.iter_mut().for_each(|error| error.field = below(at, &error.field));
    if errors.is_empty() {
        errors = part.validate(default, None);
        // Their structural form says nothing of the type of `x-kubernetes-int-or-string` (`Structural.ToKubeOpenAPI`).
        errors.retain(|error| !error.detail.contains(" must be of type integer,string: "));
        for error in &mut errors {
            error.field = match error.field.as_str() {
                "" | "<nil>" => at.to_owned(),
                // Also of an item.
                field => format!("{at}.{field}"),
            };
        }
    }
    let rules = Rules::of(part);
    for old in [None, Some(default)] {
        if errors.is_empty() {
            errors = rules.judge(part, default, old).errors;
            errors.iter_mut().for_each(|error| error.field = below(at, &error.field));
        }
    }
    errors
}

/// The path of a value's part, at the path of that value.
fn below(at: &str, field: &str) -> String {
    match field {
        "" | "<nil>" => at.to_owned(),
        field if field.starts_with('[') => format!("{at}{field}"),
        field => format!("{at}.{field}"),
    }
}
