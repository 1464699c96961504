//! Validation against a schema, with the wording of upstream's OpenAPI validator.

mod combinations;
mod lists;
mod numbers;

use serde_json::{Map, Value};

pub(crate) use self::lists::keys_of;
use self::numbers::is_whole;
use super::{FieldError, FieldErrorKind, Node, Path, Schema, Type, formats, old_item, unchanged};

/// See [`Schema::validate`].
pub(super) fn validate(schema: &Schema, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut check = Check::new(schema);
    if schema.is_builtin() {
        check.builtin(schema.root(), object, &Path::Root);
    } else {
        check.walk(schema.root(), object, old, &Path::Root);
        let repeats = |error: &FieldError| error.kind == FieldErrorKind::Duplicate;
        // What had repeated items may go on having them.
        if check.errors.iter().any(repeats)
            && old.is_some_and(|old| validate(schema, old, None).iter().any(repeats))
        {
            check.errors.retain(|error| !repeats(error));
        }
    }
    check.errors.sort_by(|left, right| left.field.cmp(&right.field));
    check.errors
}

struct Check<'a> {
    schema: &'a Schema,
    errors: Vec<FieldError>,
    /// What fitted, as upstream counts it.
    matches: usize,
}

impl Check<'_> {
    fn invalid(&mut self, at: &Path<'_>, value: &Value, detail: String) {
        let field = at.to_string();
        self.errors.push(FieldError::with_value(&field, FieldErrorKind::Invalid, value, detail));
    }

    /// Everything about a value of a custom resource; nothing, if it is what it was.
    fn walk(&mut self, node: &Node, value: &Value, old: Option<&Value>, at: &Path<'_>) {
        let is_part = !matches!(at, Path::Root | Path::Field(Path::Root, "apiVersion" | "kind"));
        if is_part && old.is_some_and(|old| unchanged(self.schema, node, value, old)) {
            return;
        }
        self.count(node, value);
        if value.is_null() && node.nullable {
            return;
        }
        if !type_fits(node, value) {
            // What is said of values of its type is said all the same.
            self.wrong_type(node, value, at);
        }
        match value {
            Value::Object(fields) => self.object(node, fields, old, at),
            Value::Array(items) => self.list(node, items, old, at),
            Value::String(text) => self.text(node, text, at),
            Value::Number(_) => self.number(node, value, at),
            _ => {}
        }
        self.limits(node, value, at);
    }

    /// Where a format is asked for, it and the value's own are told instead of types, but of texts and lists.
    fn wrong_type(&mut self, node: &Node, value: &Value, at: &Path<'_>) {
        let field = at.to_string();
        let format = node.format.as_deref().filter(|_| !value.is_null() && !node.int_or_string);
        let (wanted, given) = match (format, value) {
            (Some(format), Value::Number(number)) => {
                (format, if number.is_i64() { "int64" } else { "float64" })
            }
            (Some(format), Value::Bool(_) | Value::Object(_)) => (format, ""),
            _ => (wanted(node), type_name(value)),
        };
        self.errors.push(FieldError::with_value(
            &field,
            FieldErrorKind::TypeInvalid,
            &Value::from(given),
            format!("{field} in body must be of type {wanted}: \"{given}\""),
        ));
    }

    fn object(
        &mut self,
        node: &Node,
        fields: &Map<String, Value>,
        old: Option<&Value>,
        at: &Path<'_>,
    ) {
        for name in node.required.iter().filter(|name| !fields.contains_key(*name)) {
            self.errors.push(FieldError::required(&Path::Field(at, name).to_string()));
        }
        for (name, value) in fields {
            if let Some(field) = self.schema.field(node, name) {
                let old = old.and_then(|old| old.get(name));
                self.walk(field, value, old, &Path::Field(at, name));
            }
        }
    }

    fn list(&mut self, node: &Node, items: &[Value], old: Option<&Value>, at: &Path<'_>) {
        if let Some(item_node) = self.schema.items(node) {
            for (index, item) in items.iter().enumerate() {
                let old = old_item(self.schema, node, item, old);
                self.walk(item_node, item, old, &Path::Index(at, index));
            }
        }
        self.list_type(node, items, at);
    }

    fn text(&mut self, node: &Node, text: &str, at: &Path<'_>) {
        if let Some(format) = &node.format
            && !node.int_or_string
            && !formats::holds(format, text)
        {
            self.errors.push(FieldError::with_value(
                &at.to_string(),
                FieldErrorKind::TypeInvalid,
                &Value::from(text),
                format!("{at} in body must be of type {format}: {text:?}"),
            ));
        }
        let Some(limits) = &node.limits else { return };
        let length = text.chars().count() as u64;
        // Only the first is told.
        if let Some(limit) = limits.max_length.filter(|limit| length > *limit) {
            let unit = if limit == 1 { "byte" } else { "bytes" };
            let detail = format!("may not be more than {limit} {unit}");
            let field = at.to_string();
            self.errors.push(FieldError::bare(&field, FieldErrorKind::TooLong, detail));
            return;
        }
        if let Some(limit) = limits.min_length.filter(|limit| length < *limit) {
            let detail = format!("{at} in body should be at least {limit} chars long");
            self.invalid(at, &Value::from(text), detail);
            return;
        }
        if let Some(pattern) = limits.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
            let detail = format!("{at} in body should match '{pattern}'");
            self.invalid(at, &Value::from(text), detail);
        }
    }

    /// What may be said about values of any type, and sizes.
    fn limits(&mut self, node: &Node, value: &Value, at: &Path<'_>) {
        let Some(limits) = &node.limits else { return };
        if !limits.allowed.is_empty() && !limits.allowed.iter().any(|one| same(one, value)) {
            self.not_supported(&limits.allowed, value, at);
        }
        match value {
            Value::Array(items) => {
                let count = items.len() as u64;
                self.size(count, limits.min_items, limits.max_items, "items", at);
                let repeated = |index: usize| items[..index].contains(&items[index]);
                if limits.unique_items && (0..items.len()).any(repeated) {
                    self.invalid(at, value, format!("{at} in body shouldn't contain duplicates"));
                }
            }
            Value::Object(fields) => {
                let count = fields.len() as u64;
                self.size(count, limits.min_properties, limits.max_properties, "properties", at);
            }
            _ => {}
        }
        self.combinations(node, value, at);
    }

    fn size(&mut self, count: u64, min: Option<u64>, max: Option<u64>, what: &str, at: &Path<'_>) {
        if let Some(limit) = min.filter(|limit| count < *limit) {
            let detail = format!("{at} in body should have at least {limit} {what}");
            self.invalid(at, &Value::from(count), detail);
        }
        if let Some(limit) = max.filter(|limit| count > *limit) {
            let field = at.to_string();
            let detail = format!("must have at most {limit} items");
            let kind = FieldErrorKind::TooMany;
            self.errors.push(FieldError::with_value(&field, kind, &Value::from(count), detail));
        }
    }

    fn not_supported(&mut self, allowed: &[Value], value: &Value, at: &Path<'_>) {
        let mut names: Vec<String> = allowed
            .iter()
            .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned))
            .map(|name| format!("{name:?}"))
            .collect();
        // Built-in enumerations are sets in Go, those of custom types lists.
        if self.schema.is_builtin() {
            names.sort();
        }
        let detail = format!("supported values: {}", names.join(", "));
        let field = at.to_string();
        let kind = FieldErrorKind::NotSupported;
        self.errors.push(FieldError::with_value(&field, kind, value, detail));
    }

    /// What the documents say safely about built-in types. `required` there means "no pointer and no
    /// omitempty": only lists, pointers and the names of list items are required in truth.
    fn builtin(&mut self, node: &Node, value: &Value, at: &Path<'_>) {
        // Schemas of custom types are judged with their CRD.
        if node.name.as_deref().is_some_and(|name| name.ends_with(".JSONSchemaProps")) {
            return;
        }
        match value {
            Value::Object(fields) => {
                for name in &node.required {
                    let missing = fields.get(name).is_none_or(is_empty);
                    if missing && is_truly_required(node, name) {
                        let field = Path::Field(at, name).to_string();
                        self.errors.push(FieldError::required(&field));
                    }
                }
                for (name, value) in fields.iter().filter(|(name, _)| !skips(at, name)) {
                    let Some(field) = self.schema.field(node, name) else { continue };
                    let below = Path::Field(at, name);
                    match value {
                        Value::Array(items) if has_loose_items(node, name) => {
                            let Some(field) = self.schema.items(field) else { continue };
                            for (index, item) in items.iter().enumerate() {
                                self.builtin(field, item, &Path::Index(&below, index));
                            }
                        }
                        value => self.builtin(field, value, &below),
                    }
                }
            }
            Value::Array(items) => {
                let Some(item_node) = self.schema.items(node) else { return };
                for (index, item) in items.iter().enumerate() {
                    let below = Path::Index(at, index);
                    for key in node.map_keys.iter().filter(|key| *key == "name") {
                        if item.get(key).is_none_or(is_empty) {
                            let field = Path::Field(&below, key).to_string();
                            self.errors.push(FieldError::required(&field));
                        }
                    }
                    self.builtin(item_node, item, &below);
                }
                self.list_type(node, items, at);
            }
            Value::String(text) => {
                let allowed = node.limits.as_deref().map_or(&[][..], |limits| &limits.allowed);
                if !text.is_empty() && !allowed.is_empty() && !allowed.contains(value) {
                    self.not_supported(allowed, value, at);
                }
            }
            _ => {}
        }
    }
}

/// Lists whose keys count for patches and applies only: nobody refuses an object that has one twice, or not at all, if
/// not in other words.
fn has_loose_items(node: &Node, name: &str) -> bool {
    let Some(definition) = &node.name else { return false };
    matches!(
        (definition.strip_prefix("io.k8s.api.core.v1.").unwrap_or(""), name),
        ("Container" | "EphemeralContainer", "env" | "ports" | "volumeMounts")
            | ("PodSpec", "hostAliases" | "imagePullSecrets" | "topologySpreadConstraints")
            | ("ServiceAccount", "secrets")
    )
}

/// Status and metadata of built-in types are not judged here.
fn skips(at: &Path<'_>, name: &str) -> bool {
    matches!(at, Path::Root) && matches!(name, "status" | "metadata")
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Required fields of built-in types whose absence upstream's validation refuses.
fn is_truly_required(node: &Node, name: &str) -> bool {
    let Some(definition) = &node.name else { return false };
    let definition = definition.strip_prefix("io.k8s.api.").unwrap_or(definition);
    matches!(
        (definition, name),
        ("core.v1.PodSpec", "containers")
            | (
                "apps.v1.DeploymentSpec"
                    | "apps.v1.StatefulSetSpec"
                    | "apps.v1.DaemonSetSpec"
                    | "apps.v1.ReplicaSetSpec",
                "selector"
            )
            | ("batch.v1.CronJobSpec", "schedule")
            | ("storage.v1.StorageClass", "provisioner")
            | ("rbac.v1.RoleRef", "name")
    )
}

/// Enumerated numbers are equal by value: `1` and `1.0`.
/// Whether a value is one that is allowed; as upstream compares them, whose type is made the allowed one's before (`Enum`
/// of kube-openapi): a fraction is cut off.
fn same(allowed: &Value, value: &Value) -> bool {
    match (allowed.as_i64(), value.as_f64()) {
        (Some(allowed), Some(number)) if value.is_f64() => number.trunc() == allowed as f64,
        _ => allowed == value || (allowed.is_number() && allowed.as_f64() == value.as_f64()),
    }
}

pub(super) fn type_fits(node: &Node, value: &Value) -> bool {
    if node.int_or_string || node.quantity {
        return value.is_string() || (value.is_number() && (node.quantity || is_whole(value)));
    }
    match node.kind {
        Type::Object => value.is_object(),
        Type::Array => value.is_array(),
        Type::String => value.is_string(),
        Type::Boolean => value.is_boolean(),
        Type::Number => value.is_number(),
        Type::Integer => is_whole(value),
        Type::Any => true,
    }
}

fn wanted(node: &Node) -> &'static str {
    match node.kind {
        _ if node.int_or_string => "integer,string",
        _ if node.quantity => "string",
        Type::Object => "object",
        Type::Array => "array",
        Type::String => "string",
        Type::Boolean => "boolean",
        Type::Number => "number",
        Type::Integer => "integer",
        Type::Any => "any",
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Gvk;

    fn check(property: Value, value: Value, expect: &[&str]) {
        let gvk = Gvk { group: "example.com".into(), version: "v1".into(), kind: "Foo".into() };
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"x": property}}}});
        let schema = Schema::custom(&gvk, Some(&schema)).unwrap();
        let object = json!({"metadata": {"name": "a"}, "spec": {"x": value}});
        let errors = schema.validate(&object, None);
        let texts: Vec<String> = errors.iter().map(FieldError::to_string).collect();
        assert_eq!(texts, expect);
    }

    #[test]
    fn custom_resources_are_judged_like_upstream() {
        check(
            json!({"type": "integer"}),
            json!("string"),
            &[
                "spec.x: Invalid value: \"string\": spec.x in body must be of type integer: \"string\"",
            ],
        );
        check(
            json!({"type": "integer", "format": "int32", "enum": [1, 2]}),
            json!(1.5),
            &[
                "<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in spec.x",
                "spec.x: Invalid value: \"float64\": spec.x in body must be of type int32: \"float64\"",
            ],
        );
        check(
            json!({"type": "integer", "format": "int32"}),
            json!(3_000_000_000_u32),
            &[
                "<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in spec.x",
            ],
        );
        check(json!({"type": "integer"}), json!(3.0), &[]);
        check(
            json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}),
            json!({}),
            &["spec.x.a: Required value"],
        );
        check(
            json!({"type": "string", "enum": ["b", "a"]}),
            json!("c"),
            &["spec.x: Unsupported value: \"c\": supported values: \"b\", \"a\""],
        );
        check(
            json!({"type": "integer", "minimum": 1, "maximum": 3}),
            json!(0),
            &["spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 1"],
        );
        check(
            json!({"type": "string", "pattern": "^a+$", "maxLength": 2}),
            json!("bbb"),
            &["spec.x: Too long: may not be more than 2 bytes"],
        );
        check(
            json!({"type": "string", "pattern": "^a+$", "maxLength": 3}),
            json!("bbb"),
            &["spec.x: Invalid value: \"bbb\": spec.x in body should match '^a+$'"],
        );
        check(
            json!({"type": "array", "maxItems": 1, "items": {"type": "string"},
                "x-kubernetes-list-type": "set"}),
            json!(["a", "a"]),
            &[
                "spec.x: Too many: 2: must have at most 1 items",
                "spec.x[1]: Duplicate value: \"a\"",
            ],
        );
        check(
            json!({"type": "array", "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {
                    "k": {"type": "string", "default": "d"}}}}),
            json!([{}, {"k": "d"}]),
            &["spec.x[1]: Duplicate value: {\"k\":\"d\"}"],
        );
        check(json!({"x-kubernetes-int-or-string": true}), json!("50%"), &[]);
        check(json!({"type": "string", "nullable": true}), Value::Null, &[]);
        check(
            json!({"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 1}]}),
            json!(3),
            &[
                "<nil>: Invalid value: \"\": \"spec.x\" must validate at least one schema (anyOf)",
                "spec.x: Invalid value: 3: spec.x in body should be greater than or equal to 5",
            ],
        );
        check(
            json!({"type": "string", "format": "date-time"}),
            json!("now"),
            &["spec.x: Invalid value: \"now\": spec.x in body must be of type date-time: \"now\""],
        );
    }

    #[test]
    fn builtin_types_are_judged_only_where_it_is_safe() {
        let deployment = Schema::builtin("apps", "v1", "Deployment").unwrap();
        let errors = deployment.validate(&json!({"metadata": {"name": "a"},
            "spec": {"template": {"spec": {"containers": [{"image": "x"}], "restartPolicy": "Maybe"}}}}), None);
        let texts: Vec<String> = errors.iter().map(FieldError::to_string).collect();
        assert_eq!(
            texts,
            [
                "spec.selector: Required value",
                "spec.template.spec.containers[0].name: Required value",
                "spec.template.spec.restartPolicy: Unsupported value: \"Maybe\": supported values: \
                 \"Always\", \"Never\", \"OnFailure\"",
            ]
        );
        let spec = json!({"containers": [{"name": "c", "env": [{"name": "A"}, {"name": "A"}],
            "ports": [{"containerPort": 1}, {"containerPort": 1}]}], "imagePullSecrets": [{"name": "s"}, {}, {"name": "s"}]});
        let pod = Schema::builtin("", "v1", "Pod").unwrap();
        assert_eq!(pod.validate(&json!({"spec": spec}), None), vec![], "keys that may repeat");
    }
}
