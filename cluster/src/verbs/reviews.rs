//! Types that are only answered: access and token reviews, and `componentstatuses`.
//!
//! Everyone may do everything (RBAC objects are stored and not evaluated): a simplification that a
//! controller notices only if it expects to be refused.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{List, Outcome, Payload, Work};
use crate::status::Refusal;

impl Work<'_> {
    pub(super) fn review(&mut self) -> Result<Outcome, Refusal> {
        let mut body = self.read_object()?;
        self.check_identity(&mut body)?;
        let groups = json!(["system:masters", "system:authenticated"]);
        let user = json!({"username": "admin", "groups": groups});
        let status = match self.kind.row().kind.as_str() {
            "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview" => {
                json!({"allowed": true})
            }
            "SelfSubjectRulesReview" => json!({
                "incomplete": false,
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            }),
            "SelfSubjectReview" => json!({"userInfo": user}),
            "TokenReview" => {
                let audiences = body.pointer("/spec/audiences").cloned().unwrap_or(json!([]));
                json!({"authenticated": true, "user": user, "audiences": audiences})
            }
            "Binding" => return self.legacy_binding(&body),
            _ => return Err(Refusal::method_not_allowed()),
        };
        body["metadata"]["creationTimestamp"] = json!(self.now_text());
        body["status"] = status;
        Ok(Outcome::object(201, Arc::new(body)))
    }

    /// `POST /bindings`: the old way to bind a pod.
    fn legacy_binding(&mut self, body: &Value) -> Result<Outcome, Refusal> {
        let name = crate::world::meta(body, "name").to_owned();
        let route = crate::route::Route {
            resource: "pods".to_owned(),
            name,
            subresource: "binding".to_owned(),
            ..self.route.clone()
        };
        let kind = self.live.world.kind("", "v1", "pods").ok_or_else(Refusal::no_such_path)?;
        super::carry_out(self.live, self.request, &route, kind, trace::Verb::Create)
    }

    /// `componentstatuses`: nothing runs here that could be looked at.
    pub(super) fn computed(&mut self) -> Result<Outcome, Refusal> {
        if !self.route.name.is_empty() {
            return Err(Refusal::not_found(&self.kind.served(), &self.route.name));
        }
        let list = List { items: Vec::new(), metadata: json!({}) };
        Ok(Outcome { code: 200, payload: Payload::List(list), warnings: Vec::new() })
    }
}
