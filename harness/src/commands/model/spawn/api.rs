//! From a controller's request to the API server and back: what the call says is [`controllers::wire`]'s affair.

use controllers::{
    Controller, Object, Request, Response,
    autoscaler::Scale,
    wire::{self, Call, JSON, NoCall},
};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use trace::{ObjectKey, Revision, Verb};

use super::{awaited::Awaited, state::State, types::Type, watches::revision};

/// What came of a request.
#[derive(Debug)]
pub struct Sent {
    /// For the controller; none where there was no answer.
    pub response: Result<Response, String>,
    /// What it has to see before it looks again.
    pub awaited: Option<Awaited>,
}

impl From<Response> for Sent {
    fn from(response: Response) -> Sent {
        Sent { response: Ok(response), awaited: None }
    }
}

/// Connections to an API server.
#[derive(Clone)]
pub struct Api {
    /// They.
    pub upstream: proxy::Upstream,
}

/// Status and body.
type Answer = (u16, Value);

impl Api {
    /// Carries out a controller's request.
    pub async fn send(
        &self,
        controller: Controller,
        request: &Request,
        state: &std::cell::RefCell<State>,
    ) -> Sent {
        if let Request::Remember { key, memory } = request {
            state.borrow_mut().cache.view.remember(key, memory.clone());
            return Response::Written(None).into();
        }
        let key = wire::key_of(request);
        let Some(of) = state.borrow().types.get(&key.resource).cloned() else {
            return absent(&key).into();
        };
        let call = match request {
            Request::List { .. } => reading(Verb::List, &key, ""),
            Request::GetScale { .. } => reading(Verb::Get, &key, "scale"),
            Request::Review { spec } => review(&key, spec),
            _ => match wire::call(request, &key, &mut *state.borrow_mut()) {
                Ok(call) => call,
                Err(NoCall::Absent) => return absent(&key).into(),
                Err(NoCall::Otherwise) => unreachable!("such controllers can't be chosen"),
            },
        };
        match self.carry_out(controller, &of, &call).await {
            Ok((code, answer)) if (200..300).contains(&code) => Sent {
                response: Ok(read(request, &of, &answer)),
                awaited: awaited(request, &of, &answer),
            },
            Ok((code, answer)) => Sent {
                response: Ok(refused(code, &answer)),
                awaited: unknown(call.verb, code, &key),
            },
            Err(why) => Sent { response: Err(why), awaited: unknown(call.verb, 0, &key) },
        }
    }

    async fn carry_out(
        &self,
        controller: Controller,
        of: &Type,
        call: &Call<'_>,
    ) -> Result<Answer, String> {
        // A POST names the collection, whatever name its object has; a binding names its pod.
        let creates = call.verb == Verb::Create && call.subresource.is_empty();
        let name = if creates { "" } else { &*call.key.name };
        let mut path = of.path(&call.key.namespace, name, call.subresource);
        if call.content_type == wire::APPLY_PATCH {
            path = format!("{path}?fieldManager={}&force=true", controller.name());
        }
        self.exchange(method(call.verb), &path, call.content_type, &call.body, controller.program())
            .await
    }

    /// Status and body of one request.
    pub async fn exchange(
        &self,
        method: &str,
        path: &str,
        media: &str,
        body: &Value,
        program: &str,
    ) -> Result<Answer, String> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::ACCEPT, JSON)
            .header(http::header::CONTENT_TYPE, media)
            .header(http::header::USER_AGENT, format!("{program}/trommel"))
            .body(Full::new(body.into()).map_err(|never| match never {}).boxed_unsync())
            .expect("a path is a URI");
        let failed = |what: String| format!("{method} {path}: {what}");
        let answer = tower::ServiceExt::oneshot(self.upstream.clone(), request).await;
        let answer = answer.map_err(|error| failed(why(&*error)))?;
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await;
        let bytes = bytes.map_err(|error| failed(error.to_string()))?.to_bytes();
        Ok((code, serde_json::from_slice(&bytes).unwrap_or(Value::Null)))
    }

    /// The newest revision of a type.
    pub async fn newest(&self, of: &Type) -> Result<Revision, String> {
        let path = format!("{}?limit=1", of.path("", "", ""));
        let (code, list) = self.exchange("GET", &path, JSON, &Value::Null, "trommel").await?;
        revision(&list).ok_or_else(|| format!("GET {path}: {code} {}", list["message"]))
    }
}

/// An error with what caused it.
pub fn why(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn method(verb: Verb) -> &'static str {
    match verb {
        Verb::Create => "POST",
        Verb::Update => "PUT",
        Verb::Patch => "PATCH",
        Verb::Delete | Verb::DeleteCollection => "DELETE",
        Verb::Get | Verb::List | Verb::Watch | Verb::Other => "GET",
    }
}

fn reading<'a>(verb: Verb, key: &'a ObjectKey, subresource: &'a str) -> Call<'a> {
    Call { verb, key, subresource, content_type: JSON, body: Value::Null }
}

fn review<'a>(key: &'a ObjectKey, spec: &Value) -> Call<'a> {
    let body = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec,
    });
    Call { verb: Verb::Create, key, subresource: "", content_type: JSON, body }
}

fn absent(key: &ObjectKey) -> Response {
    let message = format!("{} {:?} not found", key.resource, key.name);
    Response::Refused { code: 404, reason: "NotFound".into(), message: message.into() }
}

/// What a Status says. A namespace that is being terminated is a cause, not a reason (`apierrors.HasStatusCause`).
fn refused(code: u16, status: &Value) -> Response {
    let causes = status.pointer("/details/causes").and_then(Value::as_array).into_iter().flatten();
    let mut reasons = causes.filter_map(|cause| cause["reason"].as_str());
    let reason = reasons.find(|reason| *reason == "NamespaceTerminating");
    let text = |field: &str| status[field].as_str().unwrap_or_default();
    Response::Refused {
        code,
        reason: reason.unwrap_or(text("reason")).into(),
        message: text("message").into(),
    }
}

/// What an answer of success says.
fn read(request: &Request, of: &Type, answer: &Value) -> Response {
    match request {
        Request::List { .. } => {
            let items = answer["items"].as_array().into_iter().flatten();
            Response::Listed(items.map(|item| Object::read(&of.key(item), item).meta).collect())
        }
        Request::GetScale { .. } => Response::Scale(Scale::read(answer)),
        Request::Review { .. } => {
            Response::Reviewed(answer.pointer("/status/allowed") == Some(&json!(true)))
        }
        _ if answer["kind"] == *of.kind => {
            Response::Written(Some(Object::read(&of.key(answer), answer)))
        }
        _ => Response::Written(None),
    }
}

/// What has to be seen after a write with this answer.
fn awaited(request: &Request, of: &Type, answer: &Value) -> Option<Awaited> {
    match request {
        Request::List { .. } | Request::GetScale { .. } | Request::Review { .. } => None,
        // Its controller looks again, at lists.
        Request::DeleteCollection { .. } => None,
        Request::Bind { key, uid, .. } => Some(Awaited::Bound(key.clone(), uid.clone())),
        Request::Evict { key, .. } => Some(Awaited::Leaving(key.clone())),
        Request::Delete { key, uid, .. } if answer["kind"] != *of.kind => {
            Some(Awaited::Gone(key.clone(), uid.clone()))
        }
        _ => Some(Awaited::Reached(of.resource.clone(), revision(answer)?)),
    }
}

/// What has to be seen where nobody knows whether a write was carried out.
fn unknown(verb: Verb, code: u16, key: &ObjectKey) -> Option<Awaited> {
    let unknown = verb.is_write() && (code == 0 || code >= 500);
    unknown.then(|| Awaited::Newest(key.resource.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_that_goes_is_a_reason() {
        let status = json!({
            "reason": "Forbidden", "message": "m", "details": {"causes": [{"reason": "NamespaceTerminating"}]},
        });
        let expect = Response::Refused {
            code: 403,
            reason: "NamespaceTerminating".into(),
            message: "m".into(),
        };
        assert_eq!(refused(403, &status), expect);
    }

    #[test]
    fn only_writes_of_which_nothing_is_known_are_looked_for() {
        let key = ObjectKey::new(trace::GroupResource::new("", "pods"), "ns", "a");
        let check = |verb, code, expect: bool| {
            assert_eq!(unknown(verb, code, &key).is_some(), expect, "{verb:?} {code}");
        };
        check(Verb::Create, 0, true);
        check(Verb::Delete, 504, true);
        check(Verb::Create, 409, false);
        check(Verb::List, 0, false);
    }
}
