//! Logs, exec, attach and port-forward where kubelets run, and where none do. What is spoken after an upgrade is tested
//! beside it (`node`).

use std::sync::Arc;

use controllers::Controller;
use futures::{FutureExt, StreamExt};
use http_body_util::BodyStream;
use serde_json::{Value, json};

use super::{Api, Bytes, Full, Got, Request, START};
use crate::{Answers, Conversation, EnvironmentOptions, Server, SuffixOrder, World, WorldOptions};
use http_body_util::BodyExt;

const PODS: &str = "/api/v1/namespaces/default/pods";
const SPDY: [(&str, &str); 3] = [
    ("connection", "Upgrade"),
    ("upgrade", "SPDY/3.1"),
    ("x-stream-protocol-version", "v4.channel.k8s.io"),
];
const FORWARD: [(&str, &str); 3] = [
    ("connection", "Upgrade"),
    ("upgrade", "SPDY/3.1"),
    ("x-stream-protocol-version", "portforward.k8s.io"),
];

/// A world with one node, whose containers answer this.
fn world(controllers: Vec<Controller>, answers: Value) -> World {
    let options = WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending };
    let mut world = World::new(options);
    let answers: Vec<crate::Answer> = serde_json::from_value(answers).expect("answers");
    let answers = Arc::new(Answers::new(answers).expect("right ones"));
    let more = EnvironmentOptions::default();
    world.start_environment(&EnvironmentOptions { controllers, nodes: 1, answers, ..more });
    world
}

fn full(answers: Value) -> Api {
    let api = Api { server: Server::new(world(Controller::FULL.to_vec(), answers), None) };
    api.calm();
    api
}

/// A pod with these annotations and containers.
fn pod(name: &str, annotations: Value, containers: &[&str]) -> Value {
    let containers: Vec<Value> =
        containers.iter().map(|name| json!({"name": name, "image": "i"})).collect();
    // One that is not always restarted would end at once.
    let policy = if annotations == json!({}) { "Always" } else { "Never" };
    json!({
        "metadata": {"name": name, "labels": {"app": name}, "annotations": annotations},
        "spec": {"containers": containers, "restartPolicy": policy},
    })
}

/// The same on the node, before its kubelet has looked at it.
fn bind(api: &Api, name: &str) {
    let binding = json!({"metadata": {"name": name}, "target": {"kind": "Node", "name": "node-0"}});
    let path = format!("{PODS}/{name}/binding");
    assert_eq!(api.call("POST", &path, Some(binding)).code, 201);
}

fn text(got: &Got) -> String {
    String::from_utf8_lossy(&got.bytes).into_owned()
}

fn check(got: &Got, code: u16, expect: &str) {
    let message = if got.body.is_object() { got.message().to_owned() } else { text(got) };
    assert_eq!((got.code, message.as_str()), (code, expect));
}

#[test]
fn a_log_is_there_when_its_container_has_started() {
    let api = full(json!([{"pod": "default/p", "container": "c", "logs": "one\ntwo\n"}]));
    api.create(PODS, pod("p", json!({}), &["c"]));
    let log = |query: &str| api.get(&format!("{PODS}/p/log?{query}"));
    check(&log(""), 204, "");
    assert_eq!(log("").header("content-type"), "");
    bind(&api, "p");
    check(&log(""), 400, r#"container "c" in pod "p" is not available"#);
    api.calm();
    check(&log(""), 200, "one\ntwo\n");
    assert_eq!(log("").header("content-type"), "text/plain");
    check(&log("tailLines=1&container=c"), 200, "two\n");
    check(&log("timestamps=1&limitBytes=35"), 200, "2026-01-01T00:00:00.000000000Z one\n");
    check(&log("previous=true"), 400, r#"previous terminated container "c" in pod "p" not found"#);
    check(&log("container=x"), 400, "container x is not valid for pod p");
    let negative = "tailLines: Invalid value: -1: must be greater than or equal to 0";
    check(&log("tailLines=-1"), 422, &format!("PodLogOptions \"p\" is invalid: {negative}"));

    api.create(PODS, pod("q", json!({}), &["a", "b"]));
    api.calm();
    let several = "a container name must be specified for pod q, choose one of: [a b]";
    check(&api.get(&format!("{PODS}/q/log")), 400, several);
    check(&api.get(&format!("{PODS}/q/log?container=b")), 200, "");
}

#[test]
fn a_followed_log_ends_with_its_container() {
    let api = full(json!([{"logs": "one\n"}]));
    api.create(PODS, pod("p", json!({"trommel.dev/runs-for": "5s"}), &["c"]));
    api.calm();
    let body = Full::new(Bytes::new()).map_err(|never| match never {}).boxed_unsync();
    let request = Request::builder().uri(format!("{PODS}/p/log?follow=true"));
    let response = api.send(request.body(body).expect("a request"));
    let mut body = BodyStream::new(response.into_body());
    let mut next = || {
        let frame = body.next().now_or_never()?;
        Some(frame.map(|frame| frame.expect("a frame").into_data().expect("data")))
    };
    assert_eq!(next(), Some(Some(Bytes::from_static(b"one\n"))));
    assert_eq!((next(), api.server.undelivered()), (None, 0), "it goes on");
    // What another pod does is nothing to it.
    api.create(PODS, pod("q", json!({}), &["c"]));
    api.calm();
    assert_eq!((next(), api.server.undelivered()), (None, 0));
    api.later(5);
    assert_eq!(api.server.undelivered(), 1, "it is over");
    assert_eq!((next(), api.server.undelivered()), (Some(None), 0));
    // Of one that has ended nothing more comes.
    check(&api.get(&format!("{PODS}/p/log?follow=true")), 200, "one\n");
}

#[test]
fn commands_end_as_somebody_said() {
    let api = full(json!([{"selector": "app=p", "command": ["ask", "**"], "exitCode": 3}]));
    api.create(PODS, pod("p", json!({}), &["c"]));
    let exec = |pod: &str, query: &str, headers: &[(&str, &str)]| {
        api.raw("POST", &format!("{PODS}/{pod}/exec?{query}"), headers, "")
    };
    let asked = "command=ask&command=me&stdout=true";
    check(&exec("p", asked, &SPDY), 400, "pod p does not have a host assigned");
    bind(&api, "p");
    check(&exec("p", asked, &SPDY), 500, "container not found (\"c\")");
    api.calm();
    check(&exec("p", asked, &[]), 400, "Upgrade request required");
    let none = "you must specify at least 1 of stdin, stdout, stderr";
    check(&exec("p", "command=ask", &SPDY), 400, none);
    check(&exec("p", "command=other&stdout=true", &SPDY), 500, "container not found (\"c\")");
    let attach = api.raw("POST", &format!("{PODS}/p/attach?stdout=true"), &SPDY, "");
    check(&attach, 500, "container c not found in pod p_default");
    let got = exec("p", asked, &SPDY);
    let agreed = got.header("x-stream-protocol-version");
    assert_eq!((got.code, got.header("upgrade"), agreed), (101, "SPDY/3.1", "v4.channel.k8s.io"));
    assert_eq!(exec("none", asked, &SPDY).code, 404);
}

#[test]
fn somebody_speaks_after_the_upgrade() {
    let api = full(json!([{"command": ["**"]}]));
    api.create(PODS, pod("p", json!({}), &["c"]));
    api.calm();
    let body = Full::new(Bytes::new()).map_err(|never| match never {}).boxed_unsync();
    let path = format!("{PODS}/p/exec?command=a&stdout=true");
    let mut request = Request::builder().method("POST").uri(path);
    for (name, value) in SPDY {
        request = request.header(name, value);
    }
    let response = api.send(request.body(body).expect("a request"));
    assert!(response.extensions().get::<Conversation>().is_some());
}

#[test]
fn what_has_ended_runs_no_commands() {
    let api = full(json!([{"command": ["**"]}]));
    api.create(PODS, pod("p", json!({"trommel.dev/runs-for": "1s"}), &["c"]));
    api.calm();
    let path = format!("{PODS}/p/exec?command=a&stdout=true");
    assert_eq!(api.raw("POST", &path, &SPDY, "").code, 101);
    let forward = format!("{PODS}/p/portforward");
    assert_eq!(api.raw("POST", &forward, &FORWARD, "").code, 101);
    api.later(2);
    check(&api.raw("POST", &path, &SPDY, ""), 500, "container not found (\"c\")");
    check(&api.raw("POST", &forward, &FORWARD, ""), 500, "pod not found (\"p_default\")");
}

/// Headers of a WebSocket with this subprotocol.
fn websocket(protocol: &str) -> Vec<(&str, &str)> {
    vec![
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "k"),
        ("sec-websocket-protocol", protocol),
    ]
}

#[test]
fn without_kubelets_nodes_are_away() {
    let api = Api { server: Server::new(world(Controller::MINIMAL.to_vec(), json!([])), None) };
    api.create(PODS, pod("p", json!({}), &["c"]));
    bind(&api, "p");
    let nowhere = "dial tcp: lookup node-0: no such host";
    let log = "https://node-0:10250/containerLogs/default/p/c?follow=true&tailLines=3";
    let got = api.get(&format!("{PODS}/p/log?tailLines=3&follow=1"));
    check(&got, 500, &format!("Get \"{log}\": {nowhere}"));
    assert_eq!(got.reason(), "");
    let exec = format!("{PODS}/p/exec?command=a+b&stdout=true");
    let dialing = format!("error dialing backend: {nowhere}");
    check(&api.raw("POST", &exec, &SPDY, ""), 500, &dialing);
    check(&api.raw("GET", &exec, &websocket("v4.channel.k8s.io"), ""), 500, &dialing);
    // To whom the API server speaks already, it says so there.
    assert_eq!(api.raw("GET", &exec, &websocket("v5.channel.k8s.io"), "").code, 101);
    let forward = format!("{PODS}/p/portforward");
    check(&api.raw("POST", &forward, &FORWARD, ""), 500, &dialing);
    check(&api.raw("POST", &forward, &[], ""), 400, "Upgrade request required");
    api.patch("/api/v1/nodes/node-0/status", json!({"status": {"addresses": null}}));
    let none = "no preferred addresses found; known addresses: []";
    check(&api.get(&format!("{PODS}/p/log")), 500, none);
    api.call("DELETE", "/api/v1/nodes/node-0", None);
    check(&api.get(&format!("{PODS}/p/log")), 404, "pods \"node-0\" not found");
}

#[test]
fn a_kubelet_that_is_stopped_answers_nothing() {
    let api = full(json!([{"logs": "one\n", "command": ["**"]}]));
    api.create(PODS, pod("p", json!({}), &["c"]));
    api.calm();
    let log = format!("{PODS}/p/log");
    let exec = format!("{PODS}/p/exec?command=a&stdout=true");
    let says = |annotation: Value| {
        let annotations = json!({"annotations": {"trommel.dev/kubelet": annotation}});
        api.patch("/api/v1/nodes/node-0", json!({"metadata": annotations}));
    };
    let body = Full::new(Bytes::new()).map_err(|never| match never {}).boxed_unsync();
    let request = Request::builder().uri(format!("{log}?follow=true")).body(body);
    let response = api.send(request.expect("a request"));
    let mut followed = BodyStream::new(response.into_body());
    assert!(matches!(followed.next().now_or_never(), Some(Some(Ok(_)))), "what there is");
    assert!(followed.next().now_or_never().is_none(), "it goes on");
    says(json!("stopped"));
    assert_eq!(api.server.undelivered(), 1);
    assert!(matches!(followed.next().now_or_never(), Some(None)), "it ends with the kubelet");
    let refused = "dial tcp 10.0.0.1:10250: connect: connection refused";
    let url = "https://node-0:10250/containerLogs/default/p/c";
    check(&api.get(&log), 500, &format!("Get \"{url}\": {refused}"));
    check(&api.raw("POST", &exec, &SPDY, ""), 500, &format!("error dialing backend: {refused}"));
    says(Value::Null);
    check(&api.get(&log), 200, "one\n");
    assert_eq!(api.raw("POST", &exec, &SPDY, "").code, 101);
}

#[test]
fn nodes_say_who_translates() {
    let api = full(json!([]));
    api.create(PODS, pod("p", json!({}), &["c"]));
    api.calm();
    let exec = || {
        let path = format!("{PODS}/p/exec?command=a&stdout=true");
        api.raw("GET", &path, &websocket("v5.channel.k8s.io"), "")
    };
    assert_eq!(exec().code, 101);
    let declared = json!({"status": {"declaredFeatures": ["ExtendWebSocketsToKubelet"]}});
    api.patch("/api/v1/nodes/node-0/status", declared);
    check(&exec(), 500, "container not found (\"c\")");
}

#[test]
fn ports_are_read_by_the_api_server() {
    let api = full(json!([]));
    api.create(PODS, pod("p", json!({}), &["c"]));
    api.calm();
    let forward = |query: &str| {
        let path = format!("{PODS}/p/portforward?{query}");
        api.raw("GET", &path, &websocket("v4.channel.k8s.io"), "")
    };
    let refused = "cannot convert to []int32: strconv.ParseUint: parsing \"x\": invalid syntax";
    check(&forward("ports=80,x"), 400, refused);
    check(&forward("port=80"), 400, "query parameter \"port\" is required");
    let got = forward("ports=80");
    assert_eq!((got.code, got.header("sec-websocket-protocol")), (101, "v4.channel.k8s.io"));
}

#[test]
fn upgrades_have_no_media_types() {
    let api = full(json!([{"command": ["**"]}]));
    api.create(PODS, pod("p", json!({}), &["c"]));
    api.calm();
    let headers = [&SPDY[..], &[("accept", "text/html")]].concat();
    let exec = format!("{PODS}/p/exec?command=a&stdout=true");
    assert_eq!(api.raw("POST", &exec, &headers, "").code, 101);
}

#[test]
fn who_may_only_get_may_not_exec() {
    let mut world = world(Controller::FULL.to_vec(), json!([{"command": ["**"]}]));
    world.enforce_rbac();
    let api = Api { server: Server::new(world, None) };
    api.create(PODS, pod("p", json!({}), &["c"]));
    api.calm();
    let rules = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let role = |verb: &str| {
        let rule = json!({"apiGroups": [""], "resources": ["pods/exec"], "verbs": [verb]});
        json!({"metadata": {"name": verb}, "rules": [rule]})
    };
    let bind = |verb: &str| {
        let group = "rbac.authorization.k8s.io";
        api.create(&format!("{rules}/roles"), role(verb));
        let binding = json!({
            "metadata": {"name": verb},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": verb},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "jo"}],
        });
        api.create(&format!("{rules}/rolebindings"), binding);
    };
    let exec = |method: &str| {
        let path = format!("{PODS}/p/exec?command=a&stdout=true");
        let headers = [&SPDY[..], &[("impersonate-user", "jo")]].concat();
        api.raw(method, &path, &headers, "")
    };
    bind("get");
    check(&exec("GET"), 403, "pods \"p\" is forbidden: ");
    assert!(exec("POST").message().contains("cannot create resource \"pods/exec\""));
    bind("create");
    assert_eq!([exec("GET").code, exec("POST").code], [101, 101]);
}
