//! Of a CustomResourceDefinition: formats that count for nothing (`getUnrecognizedFormatsInCRD`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::text;
use crate::{crd::subschemas, schema::is_recognized};

/// Warnings of a definition: of an update, those only that the old one had no reason for.
pub(super) fn of_definition(old: Option<&Value>, new: &Value) -> Vec<String> {
    let known: BTreeSet<&str> = old.map(formats).unwrap_or_default().into_iter().collect();
    let new = formats(new).into_iter().filter(|format| !known.contains(format));
    new.map(|format| format!("unrecognized format {format:?}")).collect()
}

/// The formats of all its versions that count for nothing.
fn formats(definition: &Value) -> Vec<&str> {
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let mut found = Vec::new();
    versions.for_each(|version| walk(&version["schema"]["openAPIV3Schema"], &mut found));
    found
}

fn walk<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
    let (kind, format) = (text(schema, "type"), text(schema, "format"));
    if !format.is_empty() && !is_recognized(kind, format) {
        found.push(format);
    }
    subschemas(schema).for_each(|below| walk(below, found));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn formats_that_count_for_nothing_are_told_when_they_are_new() {
        let definition = |format: &str, kind: &str| {
            let field = json!({"type": kind, "format": format});
            let list = json!({"type": "array", "items": {"properties": {"format": field}}});
            let schema = json!({"type": "object", "properties": {"x": list}});
            json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}})
        };
        let (known, binary) = (definition("date-time", "string"), definition("binary", "string"));
        let told = ["unrecognized format \"binary\""];
        assert_eq!(of_definition(None, &known), Vec::<String>::new());
        assert_eq!(of_definition(None, &binary), told);
        assert_eq!(of_definition(Some(&known), &binary), told);
        assert_eq!(of_definition(Some(&binary), &binary), Vec::<String>::new());
        assert_eq!(of_definition(None, &definition("int32", "number")).len(), 1);
    }
}
