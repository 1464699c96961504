//! CertificateSigningRequests (`pkg/controller/certificates/{approver,signer,cleaner}`, Kubernetes 1.36): those of
//! kubelets for their client certificates are approved, where whoever asks may have them; approved ones of Kubernetes'
//! own signers are signed ([`signer`]); old ones are deleted.
//!
//! The real cleaner looks once an hour; here a request goes when it is due. That a certificate has expired is not looked
//! at: what was issued goes an hour after it was approved, whatever its certificate says.

use std::time::Duration;

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey, Time};

use crate::{
    calls::{Calls, Reconciled, Response},
    controller::{Affected, Change},
    object::{Body, Object, Text},
    read,
    request::Request,
    view::View,
};

mod pkcs10;
mod signer;
#[cfg(test)]
mod tests;

pub use pkcs10::{Asked, Name, NameKind, attributes};
pub use signer::NewCertificate;
pub(crate) use signer::sign;

const DONE_FOR: Duration = Duration::from_secs(3600);
const PENDING_FOR: Duration = Duration::from_secs(24 * 3600);

/// A CertificateSigningRequest.
#[derive(Debug, Clone, PartialEq)]
pub struct SigningRequest {
    /// What it asks for, where that can be read.
    pub asked: Option<Asked>,
    /// `spec.signerName`.
    pub signer: Text,
    /// `spec.usages`, as they are written.
    pub usages: Vec<Text>,
    /// `spec.expirationSeconds`.
    pub expiration_seconds: Option<u64>,
    /// Who asks: `spec.username`, `groups`, `uid`, `extra`, as an access review has them.
    pub user: Value,
    /// `status.conditions`, as they are written.
    pub conditions: Vec<Value>,
    /// Whether it has a certificate.
    pub issued: bool,
}

fn requests() -> GroupResource {
    GroupResource::new("certificates.k8s.io", "certificatesigningrequests")
}

impl SigningRequest {
    pub(crate) fn read(object: &Value) -> SigningRequest {
        let (spec, status) = (&object["spec"], &object["status"]);
        let mut user = json!({"user": spec["username"]});
        for field in ["groups", "uid", "extra"] {
            if let Some(value) = spec.get(field) {
                user[field] = value.clone();
            }
        }
        let usages = read::list(spec, "usages").filter_map(Value::as_str);
        SigningRequest {
            asked: pkcs10::read(spec["request"].as_str().unwrap_or("")),
            signer: read::text(spec, "signerName"),
            usages: usages.map(Text::from).collect(),
            expiration_seconds: spec["expirationSeconds"].as_u64(),
            user,
            conditions: read::list(status, "conditions").cloned().collect(),
            issued: !read::text(status, "certificate").is_empty(),
        }
    }

    fn has(&self, kind: &str) -> bool {
        self.conditions.iter().any(|condition| condition["type"] == kind)
    }
}

/// Approves what a kubelet asks for.
pub(crate) fn approve(view: &View, key: &ObjectKey, calls: &mut Calls<'_>) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::SigningRequest(request) = &object.body else { return Ok(None) };
    if request.issued || request.has("Approved") || request.has("Denied") {
        return Ok(None);
    }
    let Some(asked) = request.asked.as_ref() else { return Ok(None) };
    if *request.signer != *signer::KUBELET_CLIENTS || signer::problem(request, asked).is_some() {
        return Ok(None);
    }
    let own = request.user["user"] == asked.common_name();
    let rights = [("selfnodeclient", own, "self kubelet"), ("nodeclient", true, "kubelet")];
    for (subresource, _, whose) in rights.into_iter().filter(|(_, applies, _)| *applies) {
        let review = || {
            let mut spec = request.user.clone();
            spec["resourceAttributes"] = json!({
                "group": "certificates.k8s.io", "resource": "certificatesigningrequests",
                "verb": "create", "subresource": subresource, "version": "*",
            });
            Request::Review { spec: Box::new(spec) }
        };
        if !matches!(calls.send(review)?, Response::Reviewed(true)) {
            continue;
        }
        branch!(RequestApproved);
        let message =
            format!("Auto approving {whose} client certificate after SubjectAccessReview.");
        let mut conditions = request.conditions.clone();
        conditions.push(json!({
            "type": "Approved", "status": "True", "reason": "AutoApproved", "message": message,
        }));
        calls.must(|| Request::Update {
            key: key.clone(),
            revision: object.meta.revision,
            subresource: "approval",
            fields: vec![("/status/conditions", json!(conditions))],
        })?;
        return Ok(None);
    }
    Ok(None)
}

/// When a request is to go, if it does.
fn end(object: &Object, request: &SigningRequest) -> Option<Time> {
    let since = |kind: &str| {
        let conditions = request.conditions.iter().filter(|condition| condition["type"] == kind);
        conditions.filter_map(|condition| read::time(condition, "lastUpdateTime")).min()
    };
    if request.conditions.is_empty() {
        return Some(object.meta.created.plus(PENDING_FOR));
    }
    let approved = if request.issued { DONE_FOR } else { PENDING_FOR };
    let ends = [("Denied", DONE_FOR), ("Failed", DONE_FOR), ("Approved", approved)];
    ends.into_iter().filter_map(|(kind, after)| Some(since(kind)?.plus(after))).min()
}

/// Deletes what is old.
pub(crate) fn clean(view: &View, key: &ObjectKey, now: Time, calls: &mut Calls<'_>) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::SigningRequest(request) = &object.body else { return Ok(None) };
    let Some(end) = end(object, request) else { return Ok(None) };
    if now <= end {
        return Ok(Some(end.since(now) + Duration::from_nanos(1)));
    }
    calls.need(|| Request::delete(key.clone(), object.meta.uid.clone()))?;
    Ok(None)
}

pub(crate) fn keys_affected(change: &Change<'_>) -> Vec<Affected> {
    let ours = change.key.resource == requests() && change.after.is_some();
    ours.then(|| Affected::now(change.key)).into_iter().collect()
}
