//! `serviceaccounts/token`: a token for whoever may ask for one (KEP-1205).

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use super::{Outcome, Work};
use crate::{
    auth::token::{Claims, ISSUER},
    names::Names,
    schema::{FieldError, FieldErrorKind},
    status::Refusal,
    world::meta,
};

/// Shortest and default life of a token in seconds.
const LIFE_SECONDS_MIN: i64 = 600;
const LIFE_SECONDS: i64 = 3600;

impl Work<'_> {
    pub(super) fn token(&mut self) -> Result<Outcome, Refusal> {
        let mut body = self.read_object()?;
        let account = self.stored()?;
        let dry_run = self.request.dry_run();
        self.admit_body(&mut body, dry_run)?;
        let now = self.now_text();
        let spec = body.get("spec").cloned().unwrap_or(json!({}));
        let seconds = spec["expirationSeconds"].as_i64().unwrap_or(LIFE_SECONDS);
        if seconds < LIFE_SECONDS_MIN {
            let detail = "may not specify a duration less than 10 minutes";
            let (field, kind) = ("spec.expirationSeconds", FieldErrorKind::Invalid);
            let error = FieldError::with_value(field, kind, &json!(seconds), detail);
            let group = "authentication.k8s.io";
            return Err(Refusal::invalid(group, "TokenRequest", "", &[error]));
        }
        let bound = spec.get("boundObjectRef").cloned().unwrap_or(Value::Null);
        self.check_bound(&bound)?;
        let audiences = match spec["audiences"].as_array() {
            Some(list) if !list.is_empty() => list.clone(),
            _ => vec![json!(ISSUER)],
        };
        let claims = Claims {
            namespace: self.route.namespace.clone(),
            name: self.route.name.clone(),
            uid: meta(&account, "uid").to_owned(),
            audiences: audiences.iter().filter_map(|it| Some(it.as_str()?.to_owned())).collect(),
            id: Names::opaque(b"token", self.live.next_answer()),
            since: self.live.world.now,
            until: self.live.world.now.plus(Duration::from_secs(seconds.unsigned_abs())),
        };
        body["metadata"] = json!({
            "name": claims.name, "namespace": claims.namespace, "uid": claims.uid,
            "creationTimestamp": now,
        });
        body["spec"] =
            json!({"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": bound});
        body["status"] =
            json!({"token": claims.token(), "expirationTimestamp": claims.until.rfc3339()});
        Ok(Outcome::object(201, Arc::new(body)))
    }

    /// What a token is bound to must be there. Errors: 404, 409 if it is another one by now.
    fn check_bound(&self, bound: &Value) -> Result<(), Refusal> {
        let text = |field: &str| bound[field].as_str().unwrap_or("");
        let (plural, namespace) = match text("kind") {
            "Pod" => ("pods", self.route.namespace.as_str()),
            "Secret" => ("secrets", self.route.namespace.as_str()),
            "Node" => ("nodes", ""),
            _ => return Ok(()),
        };
        let resource = GroupResource::new("", plural);
        let found =
            self.live.world.store.get(&ObjectKey::new(resource.clone(), namespace, text("name")));
        let found = found.ok_or_else(|| Refusal::not_found(&resource, text("name")))?;
        let (wanted, uid) = (text("uid"), meta(found, "uid"));
        if wanted.is_empty() || wanted == uid {
            return Ok(());
        }
        let why = format!(
            "the UID in the bound object reference ({wanted}) does not match the UID in record. The object might \
             have been deleted and then recreated"
        );
        Err(Refusal::conflict(&resource, text("name"), &why))
    }
}
