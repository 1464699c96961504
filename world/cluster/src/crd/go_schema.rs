//! A schema as Go prints it in an error: JSON of upstream's own struct (`apiextensions.JSONSchemaProps`), every field
//! with its name and in its place.

use serde_json::{Map, Value, json};

use super::definition::go_rule;

/// How a field is shown.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Flag,
    Plain,
    Schema,
    Schemas,
    Named,
    Items,
    OrBool,
    OrTexts,
    Docs,
    Rules,
}

/// Go's fields, each with its keyword.
const FIELDS: [(&str, &str, Form); 44] = [
    ("ID", "id", Form::Text),
    ("Schema", "$schema", Form::Text),
    ("Ref", "$ref", Form::Plain),
    ("Description", "description", Form::Text),
    ("Type", "type", Form::Text),
    ("Nullable", "nullable", Form::Flag),
    ("Format", "format", Form::Text),
    ("Title", "title", Form::Text),
    ("Default", "default", Form::Plain),
    ("Maximum", "maximum", Form::Plain),
    ("ExclusiveMaximum", "exclusiveMaximum", Form::Flag),
    ("Minimum", "minimum", Form::Plain),
    ("ExclusiveMinimum", "exclusiveMinimum", Form::Flag),
    ("MaxLength", "maxLength", Form::Plain),
    ("MinLength", "minLength", Form::Plain),
    ("Pattern", "pattern", Form::Text),
    ("MaxItems", "maxItems", Form::Plain),
    ("MinItems", "minItems", Form::Plain),
    ("UniqueItems", "uniqueItems", Form::Flag),
    ("MultipleOf", "multipleOf", Form::Plain),
    ("Enum", "enum", Form::Plain),
    ("MaxProperties", "maxProperties", Form::Plain),
    ("MinProperties", "minProperties", Form::Plain),
    ("Required", "required", Form::Plain),
    ("Items", "items", Form::Items),
    ("AllOf", "allOf", Form::Schemas),
    ("OneOf", "oneOf", Form::Schemas),
    ("AnyOf", "anyOf", Form::Schemas),
    ("Not", "not", Form::Schema),
    ("Properties", "properties", Form::Named),
    ("AdditionalProperties", "additionalProperties", Form::OrBool),
    ("PatternProperties", "patternProperties", Form::Named),
    ("Dependencies", "dependencies", Form::OrTexts),
    ("AdditionalItems", "additionalItems", Form::OrBool),
    ("Definitions", "definitions", Form::Named),
    ("ExternalDocs", "externalDocs", Form::Docs),
    ("Example", "example", Form::Plain),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Form::Plain),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Form::Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", Form::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Form::Plain),
    ("XListType", "x-kubernetes-list-type", Form::Plain),
    ("XMapType", "x-kubernetes-map-type", Form::Plain),
    ("XValidations", "x-kubernetes-validations", Form::Rules),
];

/// The text of a schema, HTML-safe.
pub(super) fn shown(schema: &Value) -> String {
    html_safe(&struct_of(schema))
}

/// As Go's encoder writes text that may stand in a page.
pub(super) fn html_safe(text: &str) -> String {
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn struct_of(schema: &Value) -> String {
    let fields =
        FIELDS.map(|(name, keyword, form)| format!("{name:?}:{}", field(&schema[keyword], form)));
    format!("{{{}}}", fields.join(","))
}

fn field(value: &Value, form: Form) -> String {
    match (form, value) {
        (Form::Text, _) => json!(value.as_str().unwrap_or("")).to_string(),
        (Form::Flag, _) => (*value == true).to_string(),
        (Form::Schema, Value::Object(_)) => struct_of(value),
        (Form::Schemas, Value::Array(all)) => list_of(all, struct_of),
        (Form::Named, Value::Object(all)) => map_of(all, struct_of),
        (Form::Items, Value::Array(all)) => {
            format!("{{\"Schema\":null,\"JSONSchemas\":{}}}", list_of(all, struct_of))
        }
        (Form::Items, Value::Object(_)) => {
            format!("{{\"Schema\":{},\"JSONSchemas\":null}}", struct_of(value))
        }
        (Form::OrBool, Value::Object(_)) => {
            format!("{{\"Allows\":true,\"Schema\":{}}}", struct_of(value))
        }
        (Form::OrBool, Value::Bool(allows)) => format!("{{\"Allows\":{allows},\"Schema\":null}}"),
        (Form::OrTexts, Value::Object(all)) => map_of(all, |one| match one {
            Value::Object(_) => format!("{{\"Schema\":{},\"Property\":null}}", struct_of(one)),
            texts => format!("{{\"Schema\":null,\"Property\":{texts}}}"),
        }),
        (Form::Docs, Value::Object(docs)) => {
            let text = |name: &str| json!(docs.get(name).and_then(Value::as_str).unwrap_or(""));
            format!("{{\"Description\":{},\"URL\":{}}}", text("description"), text("url"))
        }
        (Form::Rules, Value::Array(all)) => list_of(all, go_rule),
        (Form::Plain, value) => value.to_string(),
        _ => "null".to_owned(),
    }
}

fn list_of(all: &[Value], shown: impl Fn(&Value) -> String) -> String {
    let all: Vec<String> = all.iter().map(shown).collect();
    format!("[{}]", all.join(","))
}

fn map_of(all: &Map<String, Value>, shown: impl Fn(&Value) -> String) -> String {
    let all: Vec<String> =
        all.iter().map(|(name, one)| format!("{}:{}", json!(name), shown(one))).collect();
    format!("{{{}}}", all.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_in_go_s_order() {
        let text = shown(&json!({"type": "object", "items": {"pattern": "<"}}));
        assert!(text.starts_with(
            r#"{"ID":"","Schema":"","Ref":null,"Description":"","Type":"object","Nullable":false,"#
        ));
        assert!(text.contains(r#""Items":{"Schema":{"ID":"","#), "{text}");
        assert!(text.contains(r#""Pattern":"\u003c","#), "{text}");
        assert!(
            text.ends_with(r#""XListType":null,"XMapType":null,"XValidations":null}"#),
            "{text}"
        );
    }
}
