//! Defaults of old versions where they differ from those of the version that replaced them
//! (`pkg/apis/*/v1beta1/defaults.go` of Kubernetes 1.21).

use serde_json::json;

use super::{Fields, set, set_all, text};

/// Fills in what only the old version has, and says by which definition the rest is filled in. `None` if the definition
/// is of no old version.
pub(super) fn fill(name: &str, fields: &mut Fields) -> Option<String> {
    let (package, kind) = name.rsplit_once('.')?;
    let (base, version) = package.rsplit_once('.')?;
    let current = match (base, version) {
        ("api.autoscaling", "v2beta1" | "v2beta2") => "api.autoscaling.v2".to_owned(),
        ("api.extensions", "v1beta1") => "api.networking.v1".to_owned(),
        (_, "v1beta1") => format!("{base}.v1"),
        _ => return None,
    };
    match (base, version, kind) {
        ("api.autoscaling", "v2beta1", "HorizontalPodAutoscalerSpec") => metrics(fields),
        ("api.networking" | "api.extensions", _, "HTTPIngressPath") => {
            set(fields, "pathType", "ImplementationSpecific");
        }
        ("api.admissionregistration", _, "MutatingWebhook" | "ValidatingWebhook") => {
            webhook(fields);
        }
        ("apiextensions-apiserver.pkg.apis.apiextensions", _, "CustomResourceDefinitionSpec") => {
            definition(fields);
        }
        _ => {}
    }
    Some(format!("{current}.{kind}"))
}

fn is_empty(fields: &Fields, list: &str) -> bool {
    fields.get(list).and_then(|list| list.as_array()).is_none_or(Vec::is_empty)
}

fn metrics(fields: &mut Fields) {
    if is_empty(fields, "metrics") {
        let cpu = json!({"name": "cpu", "targetAverageUtilization": 80});
        fields.insert("metrics".to_owned(), json!([{"type": "Resource", "resource": cpu}]));
    }
}

fn webhook(fields: &mut Fields) {
    set_all(
        fields,
        json!({"failurePolicy": "Ignore", "matchPolicy": "Exact", "sideEffects": "Unknown",
            "timeoutSeconds": 30}),
    );
    if is_empty(fields, "admissionReviewVersions") {
        fields.insert("admissionReviewVersions".to_owned(), json!(["v1beta1"]));
    }
}

fn definition(fields: &mut Fields) {
    set_all(fields, json!({"scope": "Namespaced", "preserveUnknownFields": true}));
    let version = text(fields, "version").to_owned();
    if is_empty(fields, "versions") && !version.is_empty() {
        let only = json!([{"name": version, "served": true, "storage": true}]);
        fields.insert("versions".to_owned(), only);
    }
    let first = fields.get("versions").and_then(|versions| versions.pointer("/0/name")).cloned();
    if let Some(first) = first {
        set(fields, "version", first);
    }
    if let Some(conversion) = fields.get_mut("conversion").and_then(|it| it.as_object_mut())
        && text(conversion, "strategy") == "Webhook"
        && is_empty(conversion, "conversionReviewVersions")
    {
        conversion.insert("conversionReviewVersions".to_owned(), json!(["v1beta1"]));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::schema::Schema;

    #[test]
    fn old_versions_have_defaults_of_their_own() {
        let check =
            |(group, version, kind): (&str, &str, &str), mut object: Value, expect: Value| {
                Schema::builtin(group, version, kind).expect(kind).default(&mut object);
                assert_eq!(object, expect);
            };
        check(
            ("extensions", "v1beta1", "Ingress"),
            json!({"spec": {"rules": [{"http": {"paths": [{"path": "/"}]}}]}}),
            json!({"spec": {"rules": [{"http": {"paths": [
                {"path": "/", "pathType": "ImplementationSpecific"}]}}]}}),
        );
        check(
            ("autoscaling", "v2beta1", "HorizontalPodAutoscaler"),
            json!({"spec": {"maxReplicas": 2}}),
            json!({"spec": {"maxReplicas": 2, "minReplicas": 1, "metrics": [{"type": "Resource",
                "resource": {"name": "cpu", "targetAverageUtilization": 80}}]}}),
        );
        check(
            ("admissionregistration.k8s.io", "v1beta1", "ValidatingWebhookConfiguration"),
            json!({"webhooks": [{"name": "a.example.com", "clientConfig": {"service": {}},
                "rules": [{}], "timeoutSeconds": 5}]}),
            json!({"webhooks": [{"name": "a.example.com", "clientConfig": {"service": {"port": 443}},
                "rules": [{"scope": "*"}], "timeoutSeconds": 5, "failurePolicy": "Ignore",
                "matchPolicy": "Exact", "sideEffects": "Unknown", "namespaceSelector": {},
                "objectSelector": {}, "admissionReviewVersions": ["v1beta1"]}]}),
        );
        check(
            ("apiextensions.k8s.io", "v1beta1", "CustomResourceDefinition"),
            json!({"spec": {"group": "example.com", "version": "v1", "names": {"kind": "Foo"},
                "conversion": {"strategy": "Webhook"}}}),
            json!({"spec": {"group": "example.com", "version": "v1", "scope": "Namespaced",
                "names": {"kind": "Foo", "singular": "foo", "listKind": "FooList"},
                "versions": [{"name": "v1", "served": true, "storage": true}],
                "conversion": {"strategy": "Webhook", "conversionReviewVersions": ["v1beta1"]},
                "preserveUnknownFields": true}}),
        );
        // What has not changed since.
        check(
            ("batch", "v1beta1", "CronJob"),
            json!({"spec": {"schedule": "@daily"}}),
            json!({"spec": {"schedule": "@daily", "concurrencyPolicy": "Allow", "suspend": false,
                "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1}}),
        );
    }
}
