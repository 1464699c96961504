//! What tests build histories from.

use trace::{Actor, Body, Call, CallId, ConnectionId, GroupResource, Verb};

/// A call of the subject to a core type in `default`.
pub(crate) fn call(id: u64, verb: Verb, resource: &str, connection: u64) -> Call {
    Call {
        id: CallId(id),
        actor: Actor::Subject(0),
        incarnation: 0,
        connection: ConnectionId(connection),
        verb,
        resource: Some(GroupResource::new("", resource)),
        version: "v1".into(),
        namespace: "default".into(),
        name: String::new(),
        subresource: String::new(),
        method: String::new(),
        uri: String::new(),
        content_type: String::new(),
        user_agent: String::new(),
        body: Body::None,
        raw: None,
    }
}
