//! Webhooks where the real server has nothing to compare with: what else happens while one is asked, writes of
//! built-in controllers, and calls into a world whose controller is down.

use std::sync::{Arc, Mutex};

use base64::{Engine, prelude::BASE64_STANDARD};
use controllers::Controller;
use futures::future::BoxFuture;

use super::*;
use crate::{Caller, EnvironmentOptions, WebhookAnswer, WebhookCall};

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Answers with a patch, and does something first.
struct Scripted {
    meanwhile: Box<dyn Fn(usize) + Send + Sync>,
    patch: Value,
    /// The objects that it was asked about.
    asked: Mutex<Vec<Value>>,
}

impl Caller for Scripted {
    fn call(&self, call: WebhookCall) -> BoxFuture<'static, Result<WebhookAnswer, String>> {
        let review: Value = serde_json::from_slice(&call.body).expect("JSON");
        let number = {
            let mut asked = self.asked.lock().expect("nobody panics");
            asked.push(review["request"]["object"].clone());
            asked.len()
        };
        // On a thread of its own: it waits for the server as its clients do.
        std::thread::scope(|scope| scope.spawn(|| (self.meanwhile)(number)).join())
            .expect("it succeeds");
        let mut response = json!({"uid": review["request"]["uid"], "allowed": true});
        if !self.patch.is_null() {
            response["patch"] = json!(BASE64_STANDARD.encode(self.patch.to_string()));
            response["patchType"] = json!("JSONPatch");
        }
        let answer = json!({
            "apiVersion": review["apiVersion"], "kind": review["kind"], "response": response,
        });
        let body = answer.to_string().into();
        Box::pin(std::future::ready(Ok(WebhookAnswer { status: 200, is_text: false, body })))
    }
}

fn configure(api: &Api, kind: &str, resource: &str) {
    let plural = format!("{}webhookconfigurations", kind.to_lowercase());
    let group = if resource == "replicasets" { "apps" } else { "" };
    let hook = json!({
        "name": "h.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "rules": [{"apiGroups": [group], "apiVersions": ["v1"], "operations": ["*"], "resources": [resource]}],
        "clientConfig": {"service": {"name": "s", "namespace": "default"}},
    });
    let body = json!({"metadata": {"name": "c"}, "webhooks": [hook]});
    api.create(&format!("{CONFIGURATIONS}/{plural}"), body);
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 443}]}});
    api.create("/api/v1/namespaces/default/services", service);
}

fn scripted(
    api: &Api,
    patch: Value,
    meanwhile: impl Fn(usize) + Send + Sync + 'static,
) -> Arc<Scripted> {
    let asked = Mutex::default();
    let caller = Arc::new(Scripted { meanwhile: Box::new(meanwhile), patch, asked });
    api.server.call_webhooks_by(caller.clone());
    caller
}

fn map(name: &str, value: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"a": value}})
}

#[test]
fn a_reply_to_what_was_overtaken_does_not_count() {
    let api = Api::new();
    configure(&api, "Validating", "configmaps");
    let other = Api { server: api.server.clone() };
    // The object changes while the webhook is asked about a patch of it, once.
    let caller = scripted(&api, Value::Null, move |number| {
        if number == 2 {
            let patch = Some(json!({"data": {"c": "other"}}));
            assert_eq!(other.call("PATCH", &format!("{MAPS}/m"), patch).code, 200);
        }
    });
    api.create(MAPS, map("m", "1"));
    let got = api.call("PATCH", &format!("{MAPS}/m"), Some(json!({"data": {"a": "2"}})));
    assert_eq!(got.body["data"], json!({"a": "2", "c": "other"}));
    let asked = caller.asked.lock().unwrap();
    let seen: Vec<Value> = asked.iter().map(|object| object["data"].clone()).collect();
    let expect = [
        json!({"a": "1"}),
        json!({"a": "2"}),
        json!({"a": "1", "c": "other"}),
        json!({"a": "2", "c": "other"}),
    ];
    assert_eq!(seen, expect);
}

#[test]
fn what_is_drawn_stays_while_a_webhook_is_asked() {
    let api = Api::new();
    configure(&api, "Validating", "configmaps");
    let other = Api { server: api.server.clone() };
    let caller = scripted(&api, Value::Null, move |_| {
        let secret = json!({"metadata": {"generateName": "s-"}});
        other.create("/api/v1/namespaces/default/secrets", secret);
    });
    let got = api.create(MAPS, json!({"metadata": {"generateName": "m-"}}));
    let asked = caller.asked.lock().unwrap();
    assert_eq!(asked.len(), 1, "it was asked once");
    for field in ["uid", "name"] {
        assert_eq!(asked[0]["metadata"][field], got.body["metadata"][field]);
    }
}

#[test]
fn built_in_controllers_meet_webhooks() {
    let mut world = Api::new().server.world();
    let options =
        EnvironmentOptions { controllers: vec![Controller::Deployment], ..Default::default() };
    world.start_environment(&options);
    let api = Api { server: Server::new(world, None) };
    configure(&api, "Mutating", "replicasets");
    let patch = json!([{"op": "add", "path": "/metadata/annotations/seen", "value": "yes"}]);
    let caller = scripted(&api, patch, |_| {});
    api.create("/apis/apps/v1/namespaces/default/deployments", json!({
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    }));
    block_on(api.server.run_environment_and_call()).unwrap();
    assert!(!caller.asked.lock().unwrap().is_empty());
    let sets = api.get("/apis/apps/v1/namespaces/default/replicasets");
    let annotations = &sets.body["items"][0]["metadata"]["annotations"];
    assert_eq!(annotations["seen"], "yes", "{}", sets.body);
}

#[test]
fn where_nobody_listens_the_connection_is_refused() {
    let api = Api::new();
    configure(&api, "Mutating", "configmaps");
    let got = api.call("POST", MAPS, Some(map("m", "1")));
    let ip = api.get("/api/v1/namespaces/default/services/s").body["spec"]["clusterIP"].clone();
    let expect = format!(
        "Internal error occurred: failed calling webhook \"h.example.com\": failed to call webhook: Post \
         \"https://s.default.svc:443/?timeout=10s\": dial tcp {}:443: connect: connection refused",
        ip.as_str().unwrap()
    );
    assert_eq!((got.code, got.message()), (500, expect.as_str()));
    assert_eq!(api.get(&format!("{MAPS}/m")).code, 404);
}
