//! What differs between types when they are written: rows taken from the `strategy.go` of each built-in
//! type (`pkg/registry/*`) and of custom resources.

use serde_json::{Map, Value, json};

use crate::{encoding, schema::FieldError, schema::FieldErrorKind, world::kinds::Kind};

/// Types with `metadata.generation`: it starts at 1 and grows with each change of what is desired.
const WITH_GENERATION: &[(&str, &str)] = &[
    ("", "pods"),
    ("", "podtemplates"),
    ("", "replicationcontrollers"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("apps", "daemonsets"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("batch", "cronjobs"),
    ("batch", "jobs"),
    ("discovery.k8s.io", "endpointslices"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
    ("networking.k8s.io", "ingressclasses"),
    ("networking.k8s.io", "ingresses"),
    ("networking.k8s.io", "networkpolicies"),
    ("policy", "poddisruptionbudgets"),
    ("resource.k8s.io", "deviceclasses"),
    ("resource.k8s.io", "resourceslices"),
    ("scheduling.k8s.io", "priorityclasses"),
];

/// Those that have a generation once they are changed.
const COUNTED_FROM_ZERO: &[(&str, &str)] = &[("storage.k8s.io", "csidrivers")];

/// Built-in types that refuse a PUT without `resourceVersion` (`AllowUnconditionalUpdate` is false).
const NEED_REVISION: &[(&str, &str)] = &[
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("apiregistration.k8s.io", "apiservices"),
    ("coordination.k8s.io", "leases"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
    ("node.k8s.io", "runtimeclasses"),
    ("policy", "poddisruptionbudgets"),
    ("storage.k8s.io", "csidrivers"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "csistoragecapacities"),
    ("storage.k8s.io", "volumeattachments"),
];

/// Built-in types that a PUT creates (`AllowCreateOnUpdate`).
const CREATED_BY_UPDATE: &[(&str, &str)] = &[
    ("", "endpoints"),
    ("", "events"),
    ("", "limitranges"),
    ("", "services"),
    ("coordination.k8s.io", "leases"),
    ("node.k8s.io", "runtimeclasses"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("rbac.authorization.k8s.io", "roles"),
];

/// Built-in types whose DELETE answers with the object (`ReturnDeletedObject`).
const DELETE_RETURNS_OBJECT: &[(&str, &str)] = &[
    ("", "persistentvolumeclaims"),
    ("", "persistentvolumes"),
    ("", "pods"),
    ("", "podtemplates"),
    ("", "resourcequotas"),
    ("", "serviceaccounts"),
    ("", "services"),
    ("resource.k8s.io", "deviceclasses"),
    ("resource.k8s.io", "devicetaintrules"),
    ("resource.k8s.io", "resourceclaims"),
    ("resource.k8s.io", "resourceclaimtemplates"),
    ("resource.k8s.io", "resourceslices"),
    ("storage.k8s.io", "csidrivers"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "storageclasses"),
    ("storage.k8s.io", "volumeattachments"),
    ("storage.k8s.io", "volumeattributesclasses"),
];

/// Built-in types whose dependents are let go where a DELETE does not say otherwise
/// (`DefaultGarbageCollectionPolicy` is OrphanDependents, for old clients' sake).
const ORPHANS_BY_DEFAULT: &[(&str, &str)] = &[("", "replicationcontrollers"), ("batch", "jobs")];

/// Whether a table has the type, by where it is stored: old versions may be of another group.
fn listed(table: &[(&str, &str)], kind: &Kind) -> bool {
    table.contains(&(&kind.storage.group, &kind.storage.resource))
}

/// The warning that each use of an old type gets (`APILifecycleDeprecated`).
pub(crate) fn deprecation(kind: &Kind) -> Option<&'static str> {
    match (&*kind.row().group, &*kind.row().resource) {
        ("", "endpoints") => {
            Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
        }
        ("", "componentstatuses") => Some("v1 ComponentStatus is deprecated in v1.19+"),
        _ => None,
    }
}

/// Whether objects of the type have a generation.
pub(crate) fn has_generation(kind: &Kind) -> bool {
    kind.is_custom() || listed(WITH_GENERATION, kind)
}

/// Whether changes of the spec count up `metadata.generation`.
pub(crate) fn counts_generation(kind: &Kind) -> bool {
    // Upstream gives priority classes a generation and never counts it.
    let counted = kind.storage != crate::world::priority_classes();
    counted && has_generation(kind) || listed(COUNTED_FROM_ZERO, kind)
}

/// Whether a PUT must carry the revision that it replaces.
pub(crate) fn needs_revision(kind: &Kind) -> bool {
    kind.is_custom() || listed(NEED_REVISION, kind)
}

/// Whether a PUT of a missing object creates it.
pub(crate) fn created_by_update(kind: &Kind) -> bool {
    listed(CREATED_BY_UPDATE, kind)
}

/// Whether dependents are let go where a DELETE does not say what becomes of them.
pub(crate) fn orphans_by_default(kind: &Kind) -> bool {
    listed(ORPHANS_BY_DEFAULT, kind)
}

/// Whether a DELETE that completes answers with the object.
pub(crate) fn delete_returns_object(kind: &Kind) -> bool {
    listed(DELETE_RETURNS_OBJECT, kind)
}

/// Built-in types that are stored at first without what every read fills in (defaults of the status, which
/// `PrepareForCreate` clears after they were filled in).
const CREATED_SHORT: &[(&str, &str)] = &[("", "persistentvolumeclaims")];

/// Whether new objects of the type are stored without what every read fills in.
pub(crate) fn is_created_short(kind: &Kind) -> bool {
    listed(CREATED_SHORT, kind) || (kind.has_status() && has_default_status(kind))
}

fn has_default_status(kind: &Kind) -> bool {
    let Some(custom) = kind.custom() else { return false };
    let status = custom.schema.root().properties.get("status");
    status.is_some_and(|&id| custom.schema.node(id).default.is_some())
}

/// What reads make of a new object. Those who validate it, webhooks and policies, have seen it without.
pub(crate) fn read_back(kind: &Kind, new: &mut Value) {
    if listed(CREATED_SHORT, kind) {
        new["status"] = json!({"phase": "Pending"});
    }
}

/// The status that a new object begins with: the caller's is ignored where `/status` exists. `None` keeps
/// what was sent.
pub(crate) fn initial_status(kind: &Kind) -> Option<Value> {
    match (&*kind.row().group, &*kind.row().resource) {
        // Nodes register with their status.
        ("", "nodes") => None,
        ("", "namespaces") => Some(json!({"phase": "Active"})),
        ("", "pods") => Some(json!({"phase": "Pending"})),
        ("", "persistentvolumes") => Some(json!({"phase": "Pending"})),
        ("", "persistentvolumeclaims") => Some(json!({})),
        ("", "services") => Some(json!({"loadBalancer": {}})),
        ("apiextensions.k8s.io", "customresourcedefinitions") => None,
        _ if kind.has_status() && kind.is_custom() => Some(Value::Null),
        // The zero of the Go struct, of which some fields show.
        _ if kind.has_status() => {
            let zero = encoding::zero_value(&kind.api_version(), &kind.row().kind);
            Some(zero.and_then(|mut zero| zero.remove("status")).unwrap_or(Value::Null))
        }
        _ => None,
    }
}

/// Where a DaemonSet keeps the count of its template's changes since `apps/v1` has no field for it.
pub(crate) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// A DaemonSet always says how often its template was changed, if only that it never was
/// (`Convert_apps_DaemonSet_To_v1_DaemonSet`).
pub(crate) fn begin_count(kind: &Kind, object: &mut Value) {
    if (&*kind.row().group, &*kind.row().resource) != ("apps", "daemonsets") {
        return;
    }
    if object["metadata"]["annotations"][TEMPLATE_GENERATION].is_null() {
        object["metadata"]["annotations"][TEMPLATE_GENERATION] = json!("0");
    }
}

/// Counts the changes of a DaemonSet's template (`daemonset/strategy.go`): after it was written down who changed what.
pub(crate) fn count_template(kind: &Kind, old: &Value, new: &mut Value) {
    if (&*kind.row().group, &*kind.row().resource) != ("apps", "daemonsets") {
        return;
    }
    let count = |object: &Value| -> i64 {
        let text = object["metadata"]["annotations"][TEMPLATE_GENERATION].as_str();
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    let changed = old.pointer("/spec/template") != new.pointer("/spec/template");
    let next = count(old) + i64::from(changed);
    new["metadata"]["annotations"][TEMPLATE_GENERATION] = json!(next.to_string());
}

/// Claims inside a StatefulSet say what they are (`SetDefaults_StatefulSet`), unlike other parts of objects.
pub(crate) fn name_templates(kind: &Kind, object: &mut Value) {
    if (&*kind.row().group, &*kind.row().resource) != ("apps", "statefulsets") {
        return;
    }
    let claims = object.pointer_mut("/spec/volumeClaimTemplates").and_then(Value::as_array_mut);
    for claim in claims.into_iter().flatten() {
        claim["apiVersion"] = json!("v1");
        claim["kind"] = json!("PersistentVolumeClaim");
    }
}

/// Whether `new` desires something else than `old` (both without regard to metadata and status).
pub(crate) fn desire_changed(kind: &Kind, old: &Value, new: &Value) -> bool {
    let keep_status = kind.custom().is_some_and(|custom| !custom.status);
    let relevant = |object: &Value| -> Map<String, Value> {
        let Some(fields) = object.as_object() else { return Map::new() };
        fields
            .iter()
            .filter(|(key, _)| match key.as_str() {
                "metadata" | "apiVersion" => false,
                "status" => keep_status,
                _ => true,
            })
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    if relevant(old) != relevant(new) {
        return true;
    }
    // So are a Deployment's annotations (`deploymentStrategy.PrepareForUpdate`).
    let annotations = |object: &Value| -> Map<String, Value> {
        let found = object.pointer("/metadata/annotations").and_then(Value::as_object);
        found.cloned().unwrap_or_default()
    };
    if (kind.row().group.as_str(), kind.row().resource.as_str()) == ("apps", "deployments")
        && annotations(old) != annotations(new)
    {
        return true;
    }
    // The slices' labels and annotations are part of what is desired.
    let labels = |object: &Value| object.pointer("/metadata/labels").cloned();
    kind.row().resource == "endpointslices"
        && kind.row().group == "discovery.k8s.io"
        && labels(old) != labels(new)
}

/// How names of a type must look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameRule {
    Subdomain,
    Label,
    PathSegment,
}

fn name_rule(kind: &Kind) -> NameRule {
    match (&*kind.row().group, &*kind.row().resource) {
        ("", "namespaces" | "services") | ("apps", "statefulsets") => NameRule::Label,
        ("rbac.authorization.k8s.io", _) => NameRule::PathSegment,
        ("certificates.k8s.io", _) => NameRule::Subdomain,
        _ => NameRule::Subdomain,
    }
}

/// Checks a name; `prefix` for a `generateName` (upstream lets it end in a dash).
pub(crate) fn check_name(kind: &Kind, field: &str, name: &str, prefix: bool) -> Option<FieldError> {
    let checked = match prefix {
        true => name.strip_suffix('-').map_or(name.to_owned(), |base| format!("{base}a")),
        false => name.to_owned(),
    };
    let wrong = match name_rule(kind) {
        NameRule::PathSegment => path_segment_problem(&checked),
        NameRule::Label => label_problem(&checked),
        NameRule::Subdomain => subdomain_problem(&checked),
    }?;
    Some(FieldError::with_value(field, FieldErrorKind::Invalid, &Value::from(name), wrong))
}

pub(crate) fn path_segment_problem(name: &str) -> Option<String> {
    if name == "." || name == ".." {
        return Some(format!("may not be '{name}'"));
    }
    let bad = name.chars().find(|letter| matches!(letter, '/' | '%'))?;
    Some(format!("may not contain '{bad}'"))
}

/// What is wrong with a DNS-1123 label, in upstream's words.
pub(crate) fn label_problem(name: &str) -> Option<String> {
    if name.len() > 63 {
        return Some("must be no more than 63 characters".to_owned());
    }
    if name.contains('.') {
        return Some("must not contain dots".to_owned());
    }
    (!is_label(name)).then(|| {
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
         start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
         validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            .to_owned()
    })
}

/// What is wrong with a DNS-1123 subdomain, in upstream's words.
pub(crate) fn subdomain_problem(name: &str) -> Option<String> {
    if name.len() > 253 {
        return Some("must be no more than 253 characters".to_owned());
    }
    (!name.split('.').all(is_label)).then(|| {
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
         and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
         validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            .to_owned()
    })
}

/// What is wrong with a DNS-1035 label, in upstream's words.
pub(crate) fn dns_1035_problem(name: &str) -> Option<&'static str> {
    if name.len() > 63 {
        return Some("must be no more than 63 characters");
    }
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    (!begins || !is_label(name)).then_some(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
         alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex \
         used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    )
}

/// Of lower case alphanumeric characters and dashes, which are neither first nor last; of any length.
pub(crate) fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
        && bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
}
