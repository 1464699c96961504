//! What a webhook's answer means (`request.VerifyAdmissionResponse`, `errors.ToStatusErr`, and what client-go says
//! of answers that are none).

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{WebhookAnswer, calls::Asked, hook::Role};
use crate::status::Refusal;

/// A review that can be relied on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verdict {
    pub(super) warnings: Vec<String>,
    /// Allowed, with a JSON patch if there is one; or the refusal.
    pub(super) decision: Result<Option<Value>, Box<Refusal>>,
}

/// Reads an answer. Errors: why the call counts as failed, as upstream words it behind the webhook's name.
pub(super) fn read(
    name: &str,
    role: Role,
    version: &str,
    asked: &Asked,
) -> Result<Verdict, String> {
    let called = asked.answer.clone().and_then(|answer| decoded(&answer));
    let review = called.map_err(|why| format!("failed to call webhook: {why}"))?;
    let invalid = |why: String| format!("received invalid webhook response: {why}");
    let response = &review["response"];
    if !response.is_object() {
        return Err(invalid("webhook response was absent".to_owned()));
    }
    if version == "v1" {
        check(&review, &asked.uid, role).map_err(invalid)?;
    }
    let list = response["warnings"].as_array().into_iter().flatten();
    let warnings = list.filter_map(|warning| Some(warning.as_str()?.to_owned())).collect();
    let decision = match response["allowed"] == true {
        false => Err(Box::new(denied(name, &response["status"]))),
        true => Ok(patch(role, response)?),
    };
    Ok(Verdict { warnings, decision })
}

fn check(review: &Value, uid: &str, role: Role) -> Result<(), String> {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let response = &review["response"];
    let given = text(&response["uid"]);
    if given != uid {
        return Err(format!("expected response.uid={uid:?}, got {given:?}"));
    }
    let (api_version, kind) = (text(&review["apiVersion"]), text(&review["kind"]));
    if (api_version.as_str(), kind.as_str()) != ("admission.k8s.io/v1", "AdmissionReview") {
        let slash = if api_version.contains('/') { "" } else { "/" };
        return Err(format!(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {slash}{api_version}, \
             Kind={kind}"
        ));
    }
    let patch = !text(&response["patch"]).is_empty();
    let patch_type = response.get("patchType").filter(|value| !value.is_null());
    let why = match (role, patch, patch_type) {
        (Role::Mutating, true, None) => {
            "webhook returned response.patch but not response.patchType"
        }
        (Role::Mutating, false, Some(_)) => {
            "webhook returned response.patchType but not response.patch"
        }
        (Role::Mutating, true, Some(kind)) if kind == "" => {
            "webhook returned invalid response.patchType of \"\""
        }
        (Role::Validating, true, _) => "validating webhook may not return response.patch",
        (Role::Validating, false, Some(_)) => {
            "validating webhook may not return response.patchType"
        }
        _ => return Ok(()),
    };
    Err(why.to_owned())
}

/// The patch of an answer that allows. Errors: it can't be read.
fn patch(role: Role, response: &Value) -> Result<Option<Value>, String> {
    let text = response["patch"].as_str().unwrap_or("");
    if role == Role::Validating || text.is_empty() {
        return Ok(None);
    }
    let undecodable =
        |why: String| format!("received undecodable patch in webhook response: {why}");
    let bytes = STANDARD.decode(text).map_err(|error| undecodable(error.to_string()))?;
    let patch: Value =
        serde_json::from_slice(&bytes).map_err(|error| undecodable(error.to_string()))?;
    let is_empty = patch.as_array().is_some_and(Vec::is_empty);
    if !is_empty
        && let Some(kind) = response["patchType"].as_str().filter(|kind| *kind != "JSONPatch")
    {
        return Err(format!("unsupported patch type {kind:?}"));
    }
    Ok((!is_empty).then_some(patch))
}

/// The refusal of a webhook that refused.
fn denied(name: &str, result: &Value) -> Refusal {
    let by = format!("admission webhook {name:?} denied the request");
    let text = |field: &str| result[field].as_str().unwrap_or("");
    let message = match (text("message"), text("reason")) {
        ("", "") => format!("{by} without explanation"),
        ("", reason) => format!("{by}: {reason}"),
        (message, _) => format!("{by}: {message}"),
    };
    let code = result["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(0);
    let mut refusal = Refusal::new(code.max(400), "", message);
    refusal.reason = text("reason").to_owned().into();
    if let Some(details) = result["details"].as_object() {
        refusal.details = details.clone();
    }
    refusal
}

/// The review in an HTTP answer: JSON, or YAML. Errors: as client-go words them.
pub(super) fn decoded(answer: &WebhookAnswer) -> Result<Value, String> {
    let body = &answer.body;
    if !(200..=206).contains(&answer.status) {
        return Err(unexpected(answer));
    }
    let unread = |why: &str| format!("couldn't get version/kind; json parse error: {why}");
    let review = serde_json::from_slice::<Value>(body).ok();
    let review = review.or_else(|| serde_saphyr::from_slice(body).ok());
    let what = match review.ok_or_else(|| unread("unexpected end of JSON input"))? {
        review @ Value::Object(_) => return Ok(review),
        Value::Null => return Ok(Value::Null),
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
    };
    Err(unread(&format!(
        "json: cannot unmarshal {what} into Go value of type struct {{ APIVersion string \
         \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    )))
}

/// What client-go makes of an answer that is no success (`NewGenericServerResponse`).
fn unexpected(answer: &WebhookAnswer) -> String {
    let WebhookAnswer { status, is_text, body } = answer;
    let text = if *is_text { String::from_utf8_lossy(body) } else { "unknown".into() };
    let text = text.trim().to_owned();
    // A Status in the body speaks for itself.
    let given = serde_json::from_slice::<Value>(body).unwrap_or(json!({}));
    if given["kind"] == "Status" && given["status"] != "Success" {
        return given["message"].as_str().unwrap_or("").to_owned();
    }
    match *status {
        400 => "the server rejected our request for an unknown reason".to_owned(),
        401 => "the server has asked for the client to provide credentials".to_owned(),
        403 | 406 | 415 => text,
        404 => "the server could not find the requested resource".to_owned(),
        405 => "the server does not allow this method on the requested resource".to_owned(),
        409 => "the server reported a conflict".to_owned(),
        422 => "the server rejected our request due to an error in our request".to_owned(),
        429 => "the server has received too many requests and has asked us to try again later".to_owned(),
        503 => "the server is currently unable to handle the request".to_owned(),
        504 => "the server was unable to return a response in the time allotted, but may still be processing the \
                request"
            .to_owned(),
        500.. => {
            format!("an error on the server ({text:?}) has prevented the request from succeeding")
        }
        _ => format!(
            "the server responded with the status code {status} but did not return more information"
        ),
    }
}

/// An answer for the history.
pub(super) fn in_short(answer: &WebhookAnswer) -> trace::WebhookOutcome {
    use trace::WebhookOutcome::{Allowed, Denied, Failed};
    let review = match decoded(answer) {
        Ok(review) => review,
        Err(why) => return Failed(why),
    };
    let response = &review["response"];
    match response["allowed"] != true {
        true => Denied(response["status"]["message"].as_str().unwrap_or("").to_owned()),
        false => Allowed { patched: response["patch"].is_string() },
    }
}
