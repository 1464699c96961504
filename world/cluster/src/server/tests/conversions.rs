//! Custom types in several versions: with a webhook that converts, and with none.
//!
//! The webhook of these tests calls `spec.x` of v1 `spec.size` in v2.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;

use super::*;
use crate::{Caller, WebhookAnswer, WebhookCall};

mod failing;
mod managers;
mod none;
mod streams;
mod written;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const FOOS2: &str = "/apis/example.com/v2/namespaces/default/foos";

/// What a webhook makes of a review: the `response`; or why it can't be reached.
type Answer = Box<dyn Fn(&Value) -> Result<Value, String> + Send + Sync>;

/// A webhook, and all that it was asked.
struct Converter {
    answer: Mutex<Answer>,
    calls: Mutex<Vec<WebhookCall>>,
}

impl Caller for Converter {
    fn call(&self, call: WebhookCall) -> BoxFuture<'static, Result<WebhookAnswer, String>> {
        let review: Value = serde_json::from_slice(&call.body).expect("JSON");
        self.calls.lock().expect("nobody panics").push(call);
        let answered = (self.answer.lock().expect("nobody panics"))(&review).map(|response| {
            let answer = json!({
                "apiVersion": review["apiVersion"], "kind": review["kind"], "response": response,
            });
            WebhookAnswer { status: 200, is_text: false, body: answer.to_string().into() }
        });
        Box::pin(std::future::ready(answered))
    }
}

impl Converter {
    /// From now on it answers so.
    fn answers(&self, answer: impl Fn(&Value) -> Result<Value, String> + Send + Sync + 'static) {
        *self.answer.lock().expect("nobody panics") = Box::new(answer);
    }

    /// From now on it answers as it should, and something is done to each object.
    fn converts_and(&self, change: impl Fn(&mut Value) + Send + Sync + 'static) {
        self.answers(move |review| {
            let mut response = well(review);
            let objects = response["convertedObjects"].as_array_mut().expect("objects");
            objects.iter_mut().for_each(&change);
            Ok(response)
        });
    }

    /// The requests of all reviews since this was last asked: `2 to example.com/v2`.
    fn asked(&self) -> Vec<String> {
        let calls = std::mem::take(&mut *self.calls.lock().expect("nobody panics"));
        let told = calls.iter().map(|call| {
            let review: Value = serde_json::from_slice(&call.body).expect("JSON");
            let request = &review["request"];
            let (objects, to) = (&request["objects"], &request["desiredAPIVersion"]);
            let count = objects.as_array().expect("objects").len();
            format!("{count} to {}", to.as_str().expect("a version"))
        });
        told.collect()
    }
}

/// What a good webhook answers.
fn well(review: &Value) -> Value {
    let request = &review["request"];
    let to = request["desiredAPIVersion"].as_str().expect("a version");
    let objects = request["objects"].as_array().expect("objects").iter();
    let converted: Vec<Value> = objects.map(|object| converted(object, to)).collect();
    json!({
        "uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": converted,
    })
}

fn converted(object: &Value, to: &str) -> Value {
    let mut object = object.clone();
    let names = [("x", "size"), ("size", "x")];
    let (from, into) = if to.ends_with("v2") { names[0] } else { names[1] };
    if let Some(spec) = object["spec"].as_object_mut()
        && let Some(value) = spec.remove(from)
    {
        spec.insert(into.to_owned(), value);
    }
    object["apiVersion"] = json!(to);
    object
}

/// `foos` in two versions: v1, which is stored, and v2.
fn two_versions(conversion: Value) -> Value {
    let mut crd = foos_crd();
    crd["spec"]["conversion"] = conversion;
    let mut second = crd["spec"]["versions"][0].clone();
    (second["name"], second["storage"]) = (json!("v2"), json!(false));
    second["schema"]["openAPIV3Schema"]["properties"]["spec"] = json!({
        "type": "object",
        "properties": {
            "size": {"type": "integer", "maximum": 9},
            "colour": {"type": "string", "default": "blue"},
            "replicas": {"type": "integer"},
        },
        "x-kubernetes-validations": [
            {"rule": "!has(self.size) || self.size != 7", "message": "not seven"},
        ],
    });
    second["additionalPrinterColumns"] =
        json!([{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]);
    second["selectableFields"] = json!([{"jsonPath": ".spec.size"}]);
    crd["spec"]["versions"].as_array_mut().expect("versions").push(second);
    crd
}

fn by_webhook() -> Value {
    json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/convert"},
    }})
}

/// A server with `foos` in two versions, and the webhook that converts them.
fn converting() -> (Api, Arc<Converter>) {
    let api = Api::new();
    api.create(CRDS, two_versions(by_webhook()));
    let answer: Mutex<Answer> = Mutex::new(Box::new(|review| Ok(well(review))));
    let converter = Arc::new(Converter { answer, calls: Mutex::default() });
    api.server.call_webhooks_by(converter.clone());
    (api, converter)
}

fn foo2(name: &str, spec: Value) -> Value {
    let mut object = foo(name, spec);
    object["apiVersion"] = json!("example.com/v2");
    object
}

/// An object as it is stored.
fn stored(api: &Api, name: &str) -> Value {
    let key = ObjectKey::new(GroupResource::new("example.com", "foos"), "default", name);
    api.server.world().object(&key).map(|object| (**object).clone()).unwrap_or_default()
}

#[test]
fn a_review_is_what_upstream_sends() {
    let api = Api::new();
    let mut conversion = by_webhook();
    conversion["webhook"]["conversionReviewVersions"] = json!(["v2", "v1beta1", "v1"]);
    conversion["webhook"]["clientConfig"] =
        json!({"service": {"name": "s", "namespace": "default", "path": "/c"}});
    api.create(CRDS, two_versions(conversion));
    api.create(
        "/api/v1/namespaces/default/services",
        json!({
            "metadata": {"name": "s"}, "spec": {"ports": [{"port": 443, "targetPort": 8443}]},
        }),
    );
    let answer: Mutex<Answer> = Mutex::new(Box::new(|review| Ok(well(review))));
    let converter = Arc::new(Converter { answer, calls: Mutex::default() });
    api.server.call_webhooks_by(converter.clone());
    api.create(FOOS, foo("a", json!({"x": 1})));
    assert_eq!(api.get(&format!("{FOOS2}/a")).body["spec"]["size"], 1);
    let calls = converter.calls.lock().unwrap();
    let [call] = &calls[..] else { panic!("one call") };
    assert_eq!(call.url, "https://s.default.svc:443/c?timeout=30s");
    let crate::Destination::Service { target_port, .. } = &call.destination else { panic!() };
    assert_eq!(*target_port, Some(8443));
    assert_eq!((call.name.as_str(), call.role), ("foos.example.com", "conversion"));
    let mut review: Value = serde_json::from_slice(&call.body).unwrap();
    let mut object = stored(&api, "a");
    // What is in etcd has no revision.
    object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    let uid = review["request"].as_object_mut().unwrap().remove("uid").unwrap();
    assert_eq!(uid.as_str().unwrap().len(), 36);
    assert_eq!(
        review,
        json!({
            "kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1beta1",
            "request": {"desiredAPIVersion": "example.com/v2", "objects": [object]},
            "response": {"uid": "", "convertedObjects": null, "result": {"metadata": {}}},
        })
    );
}
