//! What a field selector compares: the text that an API server makes of a field (`ToSelectableFields` of each type's
//! strategy). What an object leaves out counts as what Go's type of the field is at first, or what decoding fills in.

use serde_json::Value;
use trace::GroupResource;

/// What an absent field counts as, by group, resource and field; all others as empty text, those of custom types too
/// (`GetAttrs` of apiextensions' `customresource`).
const ABSENT: &[(&str, &str, &str, &str)] = &[
    ("", "nodes", "spec.unschedulable", "false"),
    ("", "pods", "spec.hostNetwork", "false"),
    ("", "pods", "spec.restartPolicy", "Always"),
    ("", "pods", "spec.schedulerName", "default-scheduler"),
    ("", "namespaces", "status.phase", "Active"),
    ("", "secrets", "type", "Opaque"),
    ("", "services", "spec.type", "ClusterIP"),
    ("", "replicationcontrollers", "status.replicas", "0"),
    ("apps", "replicasets", "status.replicas", "0"),
    ("batch", "jobs", "status.successful", "0"),
];

/// Where a field stands if not at the path that its name spells; of several places the first that says something.
/// Events are stored as core ones, and asked for by the names of `events.k8s.io` too.
const ELSEWHERE: &[(&str, &str, &str, &[&str])] = &[
    ("", "pods", "spec.host", &["/spec/nodeName"]),
    ("", "pods", "spec.serviceAccountName", &["/spec/serviceAccountName", "/spec/serviceAccount"]),
    ("", "pods", "status.podIP", &["/status/podIPs/0/ip", "/status/podIP"]),
    // The label is known, and no field has it.
    ("", "pods", "status.podIPs", &[]),
    ("", "namespaces", "name", &["/metadata/name"]),
    ("", "persistentvolumes", "name", &["/metadata/name"]),
    ("", "persistentvolumeclaims", "name", &["/metadata/name"]),
    ("", "events", "source", &["/source/component", "/reportingComponent"]),
    ("", "events", "reportingController", &["/reportingComponent"]),
    ("batch", "jobs", "status.successful", &["/status/succeeded"]),
];

/// The text of an object's field; the object as it is stored.
pub fn text(resource: &GroupResource, field: &str, object: &Value) -> String {
    let of_type = |group: &str, name: &str, of: &str| {
        (group, name, of) == (&*resource.group, &*resource.resource, field)
    };
    let elsewhere = ELSEWHERE.iter().find(|(group, name, of, _)| of_type(group, name, of));
    let found = match elsewhere {
        Some((.., places)) => places.iter().find_map(|place| said(object.pointer(place))),
        None => said(object.pointer(&path(resource, field))),
    };
    let absent = ABSENT.iter().find(|(group, name, of, _)| of_type(group, name, of));
    found.unwrap_or_else(|| absent.map_or("", |(.., text)| text).to_owned())
}

fn path(resource: &GroupResource, field: &str) -> String {
    let path = format!("/{}", field.replace('.', "/"));
    match path.strip_prefix("/regarding/") {
        Some(rest) if *resource == GroupResource::new("", "events") => {
            format!("/involvedObject/{rest}")
        }
        _ => path,
    }
}

/// As Go prints it; none if it says nothing.
fn said(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => (!text.is_empty()).then(|| text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_left_out_counts_as_upstream_counts_it() {
        let check = |resource: &str, object: Value, field: &str, expect: &str| {
            let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
            let found = text(&GroupResource::new(group, resource), field, &object);
            assert_eq!(found, expect, "{field} of {resource}: {object}");
        };
        check("nodes", json!({}), "spec.unschedulable", "false");
        check("nodes", json!({"spec": {"unschedulable": true}}), "spec.unschedulable", "true");
        check("pods", json!({"spec": {}}), "spec.hostNetwork", "false");
        check("pods", json!({"spec": {}}), "spec.nodeName", "");
        check("pods", json!({"spec": {"nodeName": "n"}}), "spec.host", "n");
        check("pods", json!({}), "spec.schedulerName", "default-scheduler");
        check("pods", json!({"spec": {"serviceAccount": "s"}}), "spec.serviceAccountName", "s");
        check(
            "pods",
            json!({"status": {"podIPs": [{"ip": "1.2.3.4"}]}}),
            "status.podIP",
            "1.2.3.4",
        );
        check("pods", json!({"status": {"podIP": "1.2.3.4"}}), "status.podIP", "1.2.3.4");
        check("pods", json!({"status": {"podIPs": [{"ip": "1.2.3.4"}]}}), "status.podIPs", "");
        check(
            "pods",
            json!({"status": {"nominatedNodeName": null}}),
            "status.nominatedNodeName",
            "",
        );
        check("jobs.batch", json!({"status": {}}), "status.successful", "0");
        check("jobs.batch", json!({"status": {"succeeded": 2}}), "status.successful", "2");
        check("replicasets.apps", json!({}), "status.replicas", "0");
        check("replicationcontrollers", json!({}), "status.replicas", "0");
        check(
            "namespaces",
            json!({"status": {"phase": "Terminating"}}),
            "status.phase",
            "Terminating",
        );
        check("secrets", json!({"type": "a/b"}), "type", "a/b");
        let event = json!({"involvedObject": {"kind": "Pod"}, "reportingComponent": "r"});
        check("events", event.clone(), "source", "r");
        check("events", event.clone(), "regarding.kind", "Pod");
        check("events", event, "reportingController", "r");
        check("events", json!({"source": {"component": "s"}}), "source", "s");
        check("events", json!({}), "involvedObject.fieldPath", "");
        check("foos.example.com", json!({"spec": {"on": false, "n": 0}}), "spec.on", "false");
        check("foos.example.com", json!({"spec": {"on": false, "n": 0}}), "spec.n", "0");
        check("foos.example.com", json!({}), "spec.on", "");
    }
}
