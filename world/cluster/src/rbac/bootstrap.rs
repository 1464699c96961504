//! The roles and bindings that every cluster has (`plugin/pkg/auth/authorizer/rbac/bootstrappolicy`), as a
//! 1.36 server lists them (`cluster/data/rbac.json`).

use bytes::Bytes;
use serde_json::{Map, Value};
use trace::{Actor, Verb};

use super::GROUP;
use crate::{
    route::Route,
    server::{Live, Server, request::Request},
    verbs,
    webhooks::Calls,
    world::{World, meta},
};

/// Objects by plural name.
fn policy() -> Map<String, Value> {
    let text = include_str!("../../data/rbac.json");
    serde_json::from_str(text).expect("the file is part of the program")
}

/// Creates those that are not there yet, in the API server's own name.
pub(crate) fn create(world: &mut World) {
    *world = Server::prepare(world.clone(), |live| {
        for (resource, objects) in &policy() {
            for object in objects.as_array().into_iter().flatten() {
                create_one(live, resource, object);
            }
        }
    });
}

fn create_one(live: &mut Live, resource: &str, object: &Value) {
    let route = Route {
        group: GROUP.to_owned(),
        version: "v1".to_owned(),
        resource: resource.to_owned(),
        namespace: meta(object, "namespace").to_owned(),
        ..Route::default()
    };
    let agent = format!("kube-apiserver/{}", live.world.release.git_version());
    let request = Request::own(Actor::Trommel, &agent, Bytes::from(object.to_string()));
    let kind = live.world.kind(GROUP, "v1", resource).expect("a built-in type");
    let calls = &mut Calls::exempt(live.world.now);
    let created = verbs::carry_out(live, &request, &route, kind, Verb::Create, calls);
    if let Err(refusal) = created {
        // A world that has them already, or whose user made one of the same name: as upstream, left alone.
        assert_eq!(refusal.code, 409, "{resource}: {}", refusal.message);
    }
}
