//! Types that are only answered: access and token reviews, and `componentstatuses`.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{List, Outcome, Payload, Work};
use crate::{
    auth::{self, Authorization, User},
    rbac::{self, Attributes, Decision},
    schema::{FieldError, FieldErrorKind},
    status::Refusal,
    world::meta,
};

const GROUP: &str = "authorization.k8s.io";

impl Work<'_> {
    pub(super) fn review(&mut self) -> Result<Outcome, Refusal> {
        let mut body = self.read_object()?;
        self.check_identity(&mut body)?;
        let kind = self.kind.row().kind.clone();
        if kind == "Binding" {
            return self.legacy_binding(&body);
        }
        self.shape(&mut body)?;
        let status = match kind.as_str() {
            "SelfSubjectAccessReview" => self.access(&mut body, Some(self.request.user.clone()))?,
            "SubjectAccessReview" | "LocalSubjectAccessReview" => self.access(&mut body, None)?,
            "SelfSubjectRulesReview" => {
                let status = self.rules(&body)?;
                body = json!({"apiVersion": body["apiVersion"], "kind": kind, "metadata": {}, "spec": {}});
                status
            }
            "SelfSubjectReview" => {
                body["metadata"] = json!({"creationTimestamp": self.now_text()});
                json!({"userInfo": self.request.user.info()})
            }
            "TokenReview" => {
                self.track(None, &mut body)?;
                self.token_review(&body)?
            }
            _ => return Err(Refusal::method_not_allowed()),
        };
        body["status"] = status;
        Ok(Outcome::object(201, Arc::new(body)))
    }

    /// Whether `user`, or whom the review names, may do what it asks about. Errors: 422.
    fn access(&mut self, body: &mut Value, user: Option<User>) -> Result<Value, Refusal> {
        self.track(None, body)?;
        let errors = access_errors(body, user.is_none(), &self.route.namespace);
        if !errors.is_empty() {
            return Err(Refusal::invalid(GROUP, "", "", &errors));
        }
        let spec = &body["spec"];
        let user = user.unwrap_or_else(|| named(spec));
        let (world, asked) = (&self.live.world, asked(spec));
        let decision = match world.authorization {
            Authorization::AlwaysAllow => Decision::Allowed(String::new()),
            Authorization::Rbac => rbac::decide(world, &user, &asked),
        };
        let (allowed, reason) = match decision {
            Decision::Allowed(reason) => (true, reason),
            Decision::NoOpinion(reason) => (false, reason),
        };
        let mut status = json!({"allowed": allowed});
        if !reason.is_empty() {
            status["reason"] = json!(reason);
        }
        Ok(status)
    }

    /// What the sender may do in a namespace. Errors: 400 without one.
    fn rules(&self, body: &Value) -> Result<Value, Refusal> {
        let namespace = body.pointer("/spec/namespace").and_then(Value::as_str).unwrap_or("");
        if namespace.is_empty() {
            return Err(Refusal::bad_request("no namespace on request"));
        }
        if self.live.world.authorization == Authorization::AlwaysAllow {
            return Ok(json!({
                "incomplete": false,
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            }));
        }
        let (rules, errors) = rbac::rules_for(&self.live.world, &self.request.user, namespace);
        let (paths, resources): (Vec<_>, Vec<_>) =
            rules.iter().partition(|rule| !rule.urls.is_empty());
        let shown = |rules: Vec<&rbac::Rule>| -> Vec<Value> {
            rules.into_iter().map(rbac::Rule::shown).collect()
        };
        let mut status = json!({
            "incomplete": false, "resourceRules": shown(resources), "nonResourceRules": shown(paths),
        });
        if !errors.is_empty() {
            status["evaluationError"] = json!(rbac::aggregate(&errors));
        }
        Ok(status)
    }

    /// Whose a token is. Errors: 400 without one.
    fn token_review(&self, body: &Value) -> Result<Value, Refusal> {
        let token = body.pointer("/spec/token").and_then(Value::as_str).unwrap_or("");
        if token.is_empty() {
            let text = "token is required for TokenReview in authentication";
            return Err(Refusal::bad_request(text));
        }
        let wanted = body.pointer("/spec/audiences").and_then(Value::as_array);
        let wanted: Vec<String> = match wanted {
            Some(list) => list.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect(),
            None => vec![auth::token::ISSUER.to_owned()],
        };
        Ok(match auth::whose(&self.live.world, token, &wanted) {
            Ok((user, audiences)) => {
                json!({"authenticated": true, "user": user.info(), "audiences": audiences})
            }
            Err(error) => json!({"user": {}, "error": error}),
        })
    }

    /// `POST /bindings`: the old way to bind a pod.
    fn legacy_binding(&mut self, body: &Value) -> Result<Outcome, Refusal> {
        let name = meta(body, "name").to_owned();
        let route = crate::route::Route {
            resource: "pods".to_owned(),
            name,
            subresource: "binding".to_owned(),
            ..self.route.clone()
        };
        let kind = self.live.world.kind("", "v1", "pods").ok_or_else(Refusal::no_such_path)?;
        super::carry_out(self.live, self.request, &route, kind, trace::Verb::Create, self.calls)
    }

    /// `componentstatuses`: nothing runs here that could be looked at.
    pub(super) fn computed(&mut self) -> Result<Outcome, Refusal> {
        if !self.route.name.is_empty() {
            let singular = trace::GroupResource::new("", "componentstatus");
            return Err(Refusal::not_found(&singular, &self.route.name));
        }
        let list = List { items: Vec::new(), metadata: json!({}) };
        Ok(Outcome { code: 200, payload: Payload::List(list), warnings: Vec::new() })
    }
}

/// What is wrong with an access review (`pkg/apis/authorization/validation`).
fn access_errors(body: &Value, names_user: bool, namespace: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let invalid = |field: &str, value: &Value, detail: &str| {
        FieldError::with_value(field, FieldErrorKind::Invalid, value, detail)
    };
    let spec = &body["spec"];
    let part = |field: &str| spec.get(field).filter(|value| !value.is_null());
    let (resource, path) = (part("resourceAttributes"), part("nonResourceAttributes"));
    match (resource, path) {
        (Some(_), Some(path)) => errors.push(FieldError {
            field: "spec.nonResourceAttributes".to_owned(),
            kind: FieldErrorKind::Invalid,
            value: Some(format!("{{\"Path\":{},\"Verb\":{}}}", go(path, "path"), go(path, "verb"))),
            detail: "cannot be specified in combination with resourceAttributes".to_owned(),
        }),
        (None, None) => {
            let detail =
                "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            errors.push(invalid("spec.resourceAttributes", &Value::Null, detail));
        }
        _ => {}
    }
    let nobody = spec["user"].as_str().unwrap_or("").is_empty()
        && spec["groups"].as_array().is_none_or(Vec::is_empty);
    if names_user && nobody {
        let detail = "at least one of user or group must be specified";
        errors.push(invalid("spec.user", &json!(""), detail));
    }
    let mut metadata = body["metadata"].as_object().cloned().unwrap_or_default();
    if !namespace.is_empty() {
        metadata.remove("namespace");
    }
    if metadata.keys().any(|key| key != "managedFields") {
        errors.push(invalid("metadata", &Value::Object(metadata), "must be empty"));
    }
    if !namespace.is_empty() {
        let own = resource.map(|resource| resource["namespace"].as_str().unwrap_or(""));
        if let Some(other) = own.filter(|own| *own != namespace) {
            let field = "spec.resourceAttributes.namespace";
            errors.push(invalid(field, &json!(other), "must match metadata.namespace"));
        }
        if let Some(path) = path {
            let detail = "disallowed on this kind of request";
            errors.push(invalid("spec.nonResourceAttributes", path, detail));
        }
    }
    errors
}

fn go(value: &Value, field: &str) -> Value {
    json!(value[field].as_str().unwrap_or(""))
}

/// Whom a review names.
fn named(spec: &Value) -> User {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let list = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(text).collect()
    };
    let extra = spec["extra"].as_object().cloned().unwrap_or_else(Map::new);
    User {
        name: text(&spec["user"]),
        uid: text(&spec["uid"]),
        groups: list(&spec["groups"]),
        extra: extra.iter().map(|(key, values)| (key.clone(), list(values))).collect(),
    }
}

/// What a review asks about.
fn asked(spec: &Value) -> Attributes {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let resource = &spec["resourceAttributes"];
    if resource.is_object() {
        return Attributes {
            verb: text(&resource["verb"]),
            group: text(&resource["group"]),
            resource: text(&resource["resource"]),
            subresource: text(&resource["subresource"]),
            namespace: text(&resource["namespace"]),
            name: text(&resource["name"]),
            path: String::new(),
        };
    }
    let path = &spec["nonResourceAttributes"];
    Attributes { verb: text(&path["verb"]), path: text(&path["path"]), ..Attributes::default() }
}
