//! What the subject was refused for want of permission: the line of its manifests that is missing.

use std::collections::{BTreeMap, BTreeSet};

use trace::{Call, CallId, Event, History};

/// The permissions that a run's subject asked for in vain, each once: `create configmaps in namespace default`.
pub fn missing(history: &History) -> BTreeSet<String> {
    let calls: BTreeMap<CallId, &Call> = history
        .calls()
        .filter(|call| call.actor.is_subject())
        .map(|call| (call.id, call))
        .collect();
    let answers = history.records.iter().filter_map(|record| match &record.event {
        Event::Answer(answer) if answer.status == 403 => Some(answer),
        _ => None,
    });
    let refused = answers.filter_map(|answer| {
        let call = calls.get(&answer.call)?;
        // Admission and quotas refuse with 403 too, in other words.
        let message = answer.body.json()?["message"].as_str()?;
        message.contains(&format!(" cannot {} ", verb(call))).then(|| permission(call))
    });
    refused.collect()
}

/// As a rule of a role names it.
fn verb(call: &Call) -> String {
    match &call.resource {
        Some(_) => call.verb.to_string(),
        None => call.method.to_lowercase(),
    }
}

fn permission(call: &Call) -> String {
    let Some(resource) = &call.resource else {
        let path = call.uri.split('?').next().unwrap_or_default();
        return format!("{} {path}", verb(call));
    };
    let subresource = match call.subresource.as_str() {
        "" => String::new(),
        name => format!("/{name}"),
    };
    let group = match &*resource.group {
        "" => String::new(),
        group => format!(".{group}"),
    };
    let place = match call.namespace.as_str() {
        "" => "in all namespaces (cluster scope)".to_owned(),
        namespace => format!("in namespace {namespace}"),
    };
    format!("{} {}{subresource}{group} {place}", verb(call), resource.resource)
}

/// A sentence for people.
pub fn sentence(missing: &BTreeSet<String>) -> Option<String> {
    let list: Vec<&str> = missing.iter().map(String::as_str).collect();
    let list = list.join("; ");
    (!missing.is_empty()).then(|| format!("RBAC refused the controller: {list}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use trace::{Actor, Answer, Body, ConnectionId, Fate, GroupResource, Recorder, Verb};

    use super::*;

    fn call(
        id: u64,
        actor: Actor,
        resource: GroupResource,
        subresource: &str,
        namespace: &str,
    ) -> Call {
        Call {
            id: CallId(id),
            actor,
            incarnation: 0,
            connection: ConnectionId(1),
            verb: Verb::Create,
            resource: Some(resource),
            version: "v1".to_owned(),
            namespace: namespace.to_owned(),
            name: String::new(),
            subresource: subresource.to_owned(),
            method: "POST".to_owned(),
            uri: "/".to_owned(),
            content_type: String::new(),
            user_agent: String::new(),
            body: Body::None,
            raw: None,
        }
    }

    #[test]
    fn only_what_rbac_refused_the_subject_counts() {
        let recorder = Recorder::new(Arc::new(Default::default), None);
        let subject = || Actor::Subject(0);
        let (pods, apps) =
            (GroupResource::new("", "pods"), GroupResource::new("apps", "deployments"));
        let rbac = r#"x is forbidden: User "u" cannot create resource "pods" in API group """#;
        let cases = [
            (call(1, subject(), pods.clone(), "", "a"), 403, rbac),
            (call(2, subject(), apps, "scale", ""), 403, rbac),
            (call(3, subject(), pods.clone(), "", "b"), 403, "pods is forbidden: exceeded quota"),
            (call(4, Actor::User, pods.clone(), "", "c"), 403, rbac),
            (call(5, subject(), pods, "", "a"), 409, rbac),
        ];
        for (call, status, message) in cases {
            let body = Body::Json(Arc::new(json!({"message": message})));
            let answer = Answer {
                call: call.id,
                fate: Fate::Answered,
                status,
                revision: None,
                body,
                injected: false,
            };
            recorder.record(Event::Call(call));
            recorder.record(Event::Answer(answer));
        }
        let found = recorder.with(missing);
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        let expect = [
            "create deployments/scale.apps in all namespaces (cluster scope)",
            "create pods in namespace a",
        ];
        assert_eq!(found, expect);
    }
}
