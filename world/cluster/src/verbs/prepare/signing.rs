//! CertificateSigningRequests: who asks is who sends them, and only the subresources change anything
//! (`pkg/registry/certificates/certificates/strategy.go`).

use serde_json::{Value, json};
use trace::GroupResource;

use super::Work;

pub(super) fn requests() -> GroupResource {
    GroupResource::new("certificates.k8s.io", "certificatesigningrequests")
}

impl Work<'_> {
    pub(super) fn prepare_signing(&self, old: Option<&Value>, new: &mut Value) {
        let Some(old) = old else {
            self.name_sender(new);
            new["status"] = json!({});
            return;
        };
        let subresource = self.route.subresource.as_str();
        let conditions = stamped(new, old, &self.now_text());
        new["spec"] = old["spec"].clone();
        if subresource != "status" {
            new["status"] = old["status"].clone();
        }
        if !subresource.is_empty() {
            set(&mut new["status"], "conditions", conditions);
        }
    }

    fn name_sender(&self, new: &mut Value) {
        let user = &self.request.user;
        let some = |value: Value, is_empty: bool| if is_empty { Value::Null } else { value };
        let fields = [
            ("username", json!(user.name)),
            ("uid", some(json!(user.uid), user.uid.is_empty())),
            ("groups", some(json!(user.groups), user.groups.is_empty())),
            ("extra", some(json!(user.extra), user.extra.is_empty())),
        ];
        for (field, value) in fields {
            set(&mut new["spec"], field, value);
        }
    }
}

/// Null removes.
fn set(object: &mut Value, field: &str, value: Value) {
    match object.as_object_mut() {
        Some(fields) if value.is_null() => {
            fields.remove(field);
        }
        _ => object[field] = value,
    }
}

/// The conditions, with the times that they lack (`populateConditionTimestamps`); null where there are none.
fn stamped(new: &Value, old: &Value, now: &str) -> Value {
    let known = old["status"]["conditions"].as_array();
    let Some(list) = new["status"]["conditions"].as_array() else { return Value::Null };
    let stamp = |condition: &Value| {
        let mut condition = condition.clone();
        if condition["lastUpdateTime"].is_null() {
            condition["lastUpdateTime"] = json!(now);
        }
        if condition["lastTransitionTime"].is_null() {
            let same = known.into_iter().flatten().find(|old| {
                old["type"] == condition["type"] && old["status"] == condition["status"]
            });
            let since = same.map(|old| old["lastTransitionTime"].clone());
            condition["lastTransitionTime"] =
                since.filter(Value::is_string).unwrap_or_else(|| json!(now));
        }
        condition
    };
    list.iter().map(stamp).collect()
}
