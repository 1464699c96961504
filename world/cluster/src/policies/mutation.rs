//! One mutation of a policy: an expression that makes a JSON patch, or a configuration that is merged as an apply is
//! (`policy/mutating/patch`). It owns nothing of what it sets.

use serde_json::{Value, json};

use super::{atomics, mutating::Failure};
use crate::{
    apply,
    cel::{Question, Variables},
    patch::{PatchType, patch},
    schema::Schema,
    verbs::Work,
    webhooks::Shown,
};

impl Work<'_> {
    /// What a mutation makes of an object. Errors: its expression can't be evaluated, or its patch does not apply.
    pub(super) fn mutated(
        &self,
        mutation: &Value,
        shown: &Shown,
        variables: &Variables,
    ) -> Result<Value, Failure> {
        let object = shown.object.as_ref().unwrap_or(&Value::Null);
        let schema = self.body_schema(shown);
        let is_patch = mutation["patchType"] == "JSONPatch";
        let part = if is_patch { "jsonPatch" } else { "applyConfiguration" };
        let source = mutation[part]["expression"].as_str().unwrap_or("");
        let question = Question::of_mutation(source, true).map_err(Failure::Said)?;
        let made = match is_patch {
            true => {
                let operations = question.operations(variables).map_err(Failure::Said)?;
                match patch(PatchType::Json, object, &operations, schema.as_ref()) {
                    // A test that does not hold keeps the patch from being applied, and nothing else.
                    Err(error) if error.is_failed_test() => return Ok(object.clone()),
                    patched => {
                        patched.map_err(|why| Failure::Said(format!("JSON Patch: {why}")))?
                    }
                }
            }
            false => {
                let configuration = question.object(variables).map_err(Failure::Said)?;
                let merged = schema.as_ref().map_or_else(
                    || Err("type converter must not be nil".to_owned()),
                    |schema| merged(schema, object, configuration),
                );
                merged.map_err(|why| Failure::Said(format!("error applying patch: {why}")))?
            }
        };
        Ok(self.as_decoded(made, shown, is_patch)?)
    }

    /// The schema of what is written: of the object, or of the body that its subresource takes.
    fn body_schema(&self, shown: &Shown) -> Option<Schema> {
        let kind = shown.other.as_ref().unwrap_or(&self.kind);
        match kind.row().subresource(&self.route.subresource) {
            Some(below) if below.kind != kind.row().kind => {
                Schema::builtin(&below.group, &below.version, &below.kind)
            }
            _ => kind.schema(),
        }
    }
}

/// `ApplyStructuredMergeDiff`. Errors: fields that the type does not have; parts that are replaced as a whole.
fn merged(schema: &Schema, object: &Value, mut configuration: Value) -> Result<Value, String> {
    for field in ["apiVersion", "kind"] {
        configuration[field] = object.get(field).cloned().unwrap_or_else(|| json!(""));
    }
    if let Some(why) = apply::untyped(schema, &configuration) {
        return Err(format!("failed to convert patch object to typed object: {why}"));
    }
    let atomics = atomics::of(schema, &configuration);
    if !atomics.is_empty() {
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
            atomics.join(", ")
        ));
    }
    Ok(apply::merged(schema, object, &configuration))
}
