//! What the answer of a conversion webhook means (`webhookConverter.Convert`).

use serde_json::{Value, json};

use super::{calls::Asked, reply};
use crate::{rbac::aggregate, verbs::metadata_errors, world::meta};

/// Reads the answer to a review of `sent`, of which there is at least one. Errors: why they are not converted, in
/// upstream's words; of several objects, in those that it has for a list.
pub(super) fn read(
    review: &str,
    asked: &Asked,
    sent: &[Value],
    to: &str,
) -> Result<Vec<Value>, String> {
    let of = match sent {
        [one] => gvk(&one["apiVersion"], &one["kind"]),
        many => format!("{to}, Kind={}List", many[0]["kind"].as_str().unwrap_or("")),
    };
    let by = format!("conversion webhook for {of}");
    let failed = |why: String| format!("{by} failed: {why}");
    let called = asked.answer.clone().and_then(|answer| reply::decoded(&answer));
    let converted =
        called.and_then(|answer| objects(review, &answer, &asked.uid)).map_err(failed)?;
    if converted.len() != sent.len() {
        let (got, expected) = (converted.len(), sent.len());
        return Err(format!("{by} returned {got} objects, expected {expected}"));
    }
    let pairs = sent.iter().zip(converted).enumerate();
    let checked = pairs.map(|(index, (before, after))| {
        let wrong = Wrong { by: &by, at: (sent.len() > 1).then_some(index) };
        checked(before, after, to, &wrong)
    });
    checked.collect()
}

/// How errors of one object are worded: alone, or as one of a list.
struct Wrong<'a> {
    by: &'a str,
    at: Option<usize>,
}

impl Wrong<'_> {
    fn unreadable(&self, why: String) -> String {
        match self.at {
            None => why,
            Some(_) => self.object(&why),
        }
    }

    fn kind(&self, why: &str) -> String {
        match self.at {
            None => format!("{} returned invalid object at index 0: {why}", self.by),
            Some(_) => self.object(why),
        }
    }

    fn object(&self, why: &str) -> String {
        match self.at {
            None => format!("{} returned invalid object: {why}", self.by),
            Some(index) => {
                format!("{} returned invalid converted object at index {index}: {why}", self.by)
            }
        }
    }

    fn metadata(&self, why: &str) -> String {
        match self.at {
            None => format!("{} returned invalid metadata: {why}", self.by),
            Some(index) => {
                format!("{} returned invalid metadata in object at index {index}: {why}", self.by)
            }
        }
    }
}

fn gvk(api_version: &Value, kind: &Value) -> String {
    let (version, kind) = (api_version.as_str().unwrap_or(""), kind.as_str().unwrap_or(""));
    let slash = if version.contains('/') { "" } else { "/" };
    format!("{slash}{version}, Kind={kind}")
}

/// The objects of an answer (`getConvertedObjectsFromResponse`). Errors: there are none.
fn objects(review: &str, answer: &Value, uid: &str) -> Result<Vec<Value>, String> {
    // Of the older form neither type nor uid is looked at.
    let strict = review == "v1";
    let expected = "apiextensions.k8s.io/v1, Kind=ConversionReview";
    let given = gvk(&answer["apiVersion"], &answer["kind"]);
    if strict && given != expected {
        return Err(format!("expected webhook response of {expected}, got {given}"));
    }
    let response = &answer["response"];
    if !response.is_object() {
        return Err("no response provided".to_owned());
    }
    let given = response["uid"].as_str().unwrap_or("");
    if strict && given != uid {
        return Err(format!("expected response.uid={uid:?}, got {given:?}"));
    }
    let text = |field: &str| response["result"][field].as_str().unwrap_or("");
    match (text("status"), text("message")) {
        ("Success", _) => Ok(response["convertedObjects"].as_array().cloned().unwrap_or_default()),
        (status, "") => Err(format!("response.result.status was '{status}', not 'Success'")),
        (_, message) => Err(message.to_owned()),
    }
}

/// One object, with the metadata that it had but for labels and annotations. Errors: it is another object.
fn checked(before: &Value, after: Value, to: &str, wrong: &Wrong<'_>) -> Result<Value, String> {
    readable(&after).map_err(|why| wrong.unreadable(why))?;
    let text = |object: &Value, field: &str| object[field].as_str().unwrap_or("").to_owned();
    for (field, what, expected) in
        [("apiVersion", "groupVersion", to.to_owned()), ("kind", "kind", text(before, "kind"))]
    {
        let got = text(&after, field);
        if got != expected {
            let why = format!("invalid {what} (expected {expected}, received {got})");
            return Err(wrong.kind(&why));
        }
    }
    for (field, what) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let (old, new) = (meta(before, field), meta(&after, field));
        if old != new {
            return Err(wrong.object(&format!("must have the same {what}: {old} != {new}")));
        }
    }
    restored(before, after).map_err(|why| wrong.metadata(&why))
}

/// Errors: no object of any type (`UnstructuredJSONScheme`).
fn readable(object: &Value) -> Result<(), String> {
    match object {
        Value::Object(_) if object["kind"].as_str().is_none_or(str::is_empty) => {
            Err(format!("Object 'Kind' is missing in '{object}'"))
        }
        Value::Object(_) => Ok(()),
        Value::Null => Err("unexpected end of JSON input".to_owned()),
        other => Err(format!(
            "json: cannot unmarshal {} into Go value of type struct {{ Items json.RawMessage \
             \"json:\\\"items\\\"\" }}",
            json_type(other)
        )),
    }
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::Object(_) | Value::Null => "object",
    }
}

/// A value's type, as Go prints it.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// `restoreObjectMeta`: a webhook may change labels and annotations, and what else it says of metadata doesn't count.
fn restored(before: &Value, mut after: Value) -> Result<Value, String> {
    let given = after.get("metadata").ok_or("missing metadata in converted object")?;
    if !given.is_object() {
        let found = go_type(given);
        return Err(format!("invalid metadata of type {found} in converted object"));
    }
    let mut metadata = before.get("metadata").cloned().unwrap_or_else(|| json!({}));
    for field in ["labels", "annotations"] {
        let value = given.get(field).filter(|value| !value.is_null());
        let Some(value) = value else {
            metadata.as_object_mut().map(|fields| fields.remove(field));
            continue;
        };
        check_texts(field, value)?;
        if metadata[field] != *value {
            check_names(field, value)?;
        }
        metadata[field] = value.clone();
    }
    after["metadata"] = metadata;
    Ok(after)
}

fn check_texts(field: &str, value: &Value) -> Result<(), String> {
    let Some(texts) = value.as_object() else {
        let found = go_type(value);
        return Err(format!("invalid metadata.{field} of type {found} in converted object"));
    };
    match texts.iter().find(|(_, text)| !text.is_string()) {
        None => Ok(()),
        Some((key, text)) => Err(format!(
            "metadata.{field}[{key}] must be a string, but is {} in converted object",
            go_type(text)
        )),
    }
}

/// Errors: labels or annotations that no object may have.
fn check_names(field: &str, value: &Value) -> Result<(), String> {
    let mut object = json!({"metadata": {}});
    object["metadata"][field] = value.clone();
    let errors = metadata_errors(&object, false);
    // Upstream's path has one annotation.
    let errors = errors.iter().map(|error| {
        let field = error.field.replace("metadata.annotations", "metadata.annotation");
        format!("{field}: {}", error.body())
    });
    let errors: Vec<String> = errors.collect();
    if errors.is_empty() { Ok(()) } else { Err(aggregate(&errors)) }
}

/// An answer for the history.
pub(super) fn in_short(answer: &super::WebhookAnswer) -> trace::WebhookOutcome {
    use trace::WebhookOutcome::{Converted, Failed};
    // Who sent it is not told here.
    match reply::decoded(answer).and_then(|answer| objects("v1beta1", &answer, "")) {
        Ok(objects) => Converted { objects: objects.len() as u64 },
        Err(why) => Failed(why),
    }
}

#[cfg(test)]
mod tests;
