//! The server, driven through its service as a client would: each golden answer of a real server, each
//! rule of watches. A case is a line of data where it can be.

use bytes::Bytes;
use futures::{FutureExt, StreamExt, executor::block_on};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, BodyStream, Full};
use serde_json::{Value, json};
use tower::{Service, ServiceExt};
use trace::{GroupResource, ObjectKey, Revision, Time};

use crate::{Body, Server, SuffixOrder, World, WorldOptions};

mod access;
mod builtin;
mod certificates;
mod containers;
mod conversions;
mod crds;
mod discovery;
mod environment;
mod events;
mod full;
mod golden;
mod kubelet;
mod lists;
mod older;
mod sizes;
mod staged;
mod subresources;
mod warnings;
mod watches;
mod webhooks;
mod workloads;

/// A world's start: 2026-01-01T00:00:00Z.
const START: Time = Time(1_767_225_600_000_000_000);

/// A client of a fresh server.
pub(super) struct Api {
    pub(super) server: Server,
}

/// An answer, read to its end.
pub(super) struct Got {
    pub(super) code: u16,
    pub(super) headers: http::HeaderMap,
    pub(super) bytes: Bytes,
    pub(super) body: Value,
}

impl Got {
    pub(super) fn reason(&self) -> &str {
        self.body["reason"].as_str().unwrap_or("")
    }

    pub(super) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or("")
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    pub(super) fn revision(&self) -> u64 {
        let text = self.body["metadata"]["resourceVersion"].as_str().expect("a revision");
        text.parse().expect("a number")
    }
}

impl Api {
    pub(super) fn new() -> Api {
        let options = WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending };
        Api { server: Server::new(World::new(options), None) }
    }

    /// A server that knows `foos.example.com`.
    pub(super) fn with_foos() -> Api {
        let api = Api::new();
        api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", foos_crd());
        api
    }

    pub(super) fn send(&self, request: Request<Body>) -> Response<Body> {
        let mut service = self.server.service();
        block_on(async { service.ready().await.expect("ready").call(request).await })
            .expect("an answer")
    }

    pub(super) fn raw(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Got {
        let method: Method = method.parse().expect("a method");
        let body = Full::new(body.into()).map_err(|never| match never {}).boxed_unsync();
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.send(request.body(body).expect("a request"));
        let (parts, body) = response.into_parts();
        let bytes = block_on(body.collect()).expect("a body").to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Got { code: parts.status.as_u16(), headers: parts.headers, bytes, body }
    }

    pub(super) fn call(&self, method: &str, path: &str, body: Option<Value>) -> Got {
        let text = body.map_or(String::new(), |body| body.to_string());
        let kind = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        self.raw(method, path, &[("content-type", kind)], text)
    }

    pub(super) fn get(&self, path: &str) -> Got {
        self.call("GET", path, None)
    }

    pub(super) fn create(&self, path: &str, object: Value) -> Got {
        let got = self.call("POST", path, Some(object));
        assert_eq!(got.code, 201, "{path}: {}", got.message());
        got
    }

    pub(super) fn watch(&self, path: &str) -> Watch {
        let body = Full::new(Bytes::new()).map_err(|never| match never {}).boxed_unsync();
        let request = Request::builder().uri(path).body(body).expect("a request");
        let response = self.send(request);
        assert_eq!(response.status(), 200);
        Watch { body: BodyStream::new(response.into_body()) }
    }
}

/// An open watch.
pub(super) struct Watch {
    body: BodyStream<Body>,
}

/// What a watch says next.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    Event(Value),
    /// Nothing for now.
    Idle,
    End,
}

impl Watch {
    pub(super) fn next(&mut self) -> Next {
        match self.body.next().now_or_never() {
            None => Next::Idle,
            Some(None) => Next::End,
            Some(Some(frame)) => {
                let data = frame.expect("a frame").into_data().expect("data");
                Next::Event(serde_json::from_slice(&data).expect("one JSON line"))
            }
        }
    }

    /// All that is there to read: `ADDED a@5`, `BOOKMARK @7 end`, `ERROR 410`, `end`.
    pub(super) fn drain(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            match self.next() {
                Next::Idle => return all,
                Next::End => {
                    all.push("end".to_owned());
                    return all;
                }
                Next::Event(event) => all.push(show(&event)),
            }
        }
    }
}

fn show(event: &Value) -> String {
    let kind = event["type"].as_str().expect("a type");
    let object = &event["object"];
    if kind == "ERROR" {
        return format!("ERROR {} {}", object["code"], object["message"].as_str().unwrap_or(""));
    }
    let name = object["metadata"]["name"].as_str().unwrap_or("");
    let revision = object["metadata"]["resourceVersion"].as_str().expect("a revision");
    let end = match object["metadata"]["annotations"]["k8s.io/initial-events-end"].as_str() {
        Some("true") => " end",
        _ => "",
    };
    format!("{kind} {name}@{revision}{end}")
}

pub(super) const FOOS: &str = "/apis/example.com/v1/namespaces/default/foos";
pub(super) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub(super) fn foos_crd() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {
                    "specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas",
                    "labelSelectorPath": ".status.selector",
                }},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "x": {"type": "integer"},
                        "colour": {"type": "string", "default": "red"},
                        "replicas": {"type": "integer"},
                    }},
                    "status": {"type": "object", "properties": {
                        "phase": {"type": "string"},
                        "replicas": {"type": "integer"},
                        "selector": {"type": "string"},
                    }},
                }}},
            }],
        },
    })
}

pub(super) fn foo(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name}, "spec": spec,
    })
}

pub(super) fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}})
}

#[test]
fn forks_go_their_own_way() {
    let api = Api::new();
    api.create(MAPS, map("a"));
    let fork = Server::new(api.server.world(), None);
    let before = api.server.revision();
    api.create(MAPS, map("b"));
    assert_eq!(fork.revision(), before);
    let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", "b");
    let world = api.server.world_at(before).expect("a world of that revision");
    assert!(world.object(&key).is_none());
    assert!(api.server.world().object(&key).is_some());
    assert!(api.server.world_at(Revision(before.0 + 2)).is_none());
    let again = Api { server: fork };
    let (one, two) = (again.create(MAPS, map("b")).body, api.get(&format!("{MAPS}/b")).body);
    assert_eq!(one, two, "a fork that does the same gets the same uid, revision and time");
}

#[test]
fn generated_names_are_remembered_and_ordered() {
    let api = Api::new();
    let object = json!({"metadata": {"generateName": "cm-"}});
    let names: Vec<String> = (0..3)
        .map(|_| {
            let got = api.create(MAPS, object.clone());
            got.body["metadata"]["name"].as_str().expect("a name").to_owned()
        })
        .collect();
    assert!(names.is_sorted(), "{names:?}");
    let mut world = api.server.world();
    assert_eq!(world.generated_names().collect::<Vec<_>>(), names);
    world.reseed(7, SuffixOrder::Descending);
    let fork = Api { server: Server::new(world, None) };
    let got = fork.create(MAPS, object);
    let name = got.body["metadata"]["name"].as_str().expect("a name");
    assert!(names.iter().all(|other| *name < **other));
}

#[test]
fn commits_are_recorded_in_order_with_their_author() {
    let clocks = std::sync::Arc::new(|| (START, 0));
    let recorder = trace::Recorder::new(clocks, None);
    let options = WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending };
    let api = Api { server: Server::new(World::new(options), Some(recorder.clone())) };
    let body = map("a").to_string();
    let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
    let mut request = Request::post(MAPS).body(body).expect("a request");
    request.extensions_mut().insert(trace::Actor::User);
    request.extensions_mut().insert(trace::CallId(7));
    api.send(request);
    api.call("DELETE", &format!("{MAPS}/a"), None);
    let history = recorder.take();
    let commits: Vec<String> = history
        .commits()
        .map(|commit| format!("{:?} {} {}", commit.change, commit.key, commit.actor))
        .collect();
    let expect = ["Created configmaps/default/a user", "Deleted configmaps/default/a trommel"];
    assert_eq!(commits, expect);
    assert_eq!(history.commits().next().expect("one").call, Some(trace::CallId(7)));
}
