//! A toy API for tests: two resource types, JSON, merge patches, conflicts. Not the product's server, on purpose:
//! a workload must not depend on it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use crate::client::{Body, BoxError, Client, Upstream};

/// What it holds, and what it was asked.
#[derive(Default)]
pub(crate) struct Store {
    pub objects: BTreeMap<String, Value>,
    /// `actor METHOD path`, in order.
    pub calls: Vec<String>,
    revision: u64,
    /// Group-versions that discovery knows.
    pub served: Vec<&'static str>,
    /// Before this many writes, somebody else writes.
    pub interfere: usize,
    /// Answers to the next writes instead of carrying them out.
    pub refuse: Vec<(u16, &'static str, &'static str)>,
}

pub(crate) type Shared = Arc<Mutex<Store>>;

/// A client of a new toy API.
pub(crate) fn toy() -> (Client, Shared) {
    let store = Store { served: vec!["v1", "example.com/v1"], ..Store::default() };
    let store = Arc::new(Mutex::new(store));
    (Client::new(upstream(store.clone())), store)
}

pub(crate) fn upstream(store: Shared) -> Upstream {
    Upstream::new(tower::service_fn(move |request: Request<Body>| {
        let store = store.clone();
        async move {
            let (head, body) = request.into_parts();
            let bytes = body.collect().await?.to_bytes();
            let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            let actor = head.extensions.get::<trace::Actor>().expect("each request has an actor");
            assert_eq!(head.headers["user-agent"], "trommel-user");
            let mut store = store.lock().expect("no panic");
            let path = head.uri.to_string();
            store.calls.push(format!("{actor} {} {path}", head.method));
            let (status, answer) = store.answer(&head.method, &path, body);
            let body = Full::from(answer.to_string()).map_err(|never| match never {});
            let response = Response::builder().status(status).body(body.boxed_unsync());
            response.map_err(|error| BoxError::from(error.to_string()))
        }
    }))
}

type Answer = (StatusCode, Value);

fn refusal(code: u16, reason: &str, message: &str) -> Answer {
    let status = StatusCode::from_u16(code).expect("a status");
    (status, json!({"kind": "Status", "code": code, "reason": reason, "message": message}))
}

impl Store {
    /// Puts an object as if the cluster had written it.
    pub fn put(&mut self, path: &str, mut object: Value) {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = self.revision.to_string().into();
        self.objects.insert(path.to_owned(), object);
    }

    fn answer(&mut self, method: &Method, path: &str, body: Value) -> Answer {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        if let Some(version) = path.strip_prefix("/apis/").or(path.strip_prefix("/api/"))
            && let Some(list) = self.discovery(version)
        {
            return list;
        }
        let missing = || refusal(404, "NotFound", &format!("{path} not found"));
        if method != Method::GET {
            if let Some((code, reason, message)) = self.refuse.pop() {
                return refusal(code, reason, message);
            }
            if self.interfere > 0 {
                self.interfere -= 1;
                let keys: Vec<String> = self.objects.keys().cloned().collect();
                for key in keys {
                    let object = self.objects[&key].clone();
                    self.put(&key, object);
                }
            }
        }
        match *method {
            Method::GET => match self.objects.get(path) {
                Some(object) => (StatusCode::OK, object.clone()),
                None if is_collection(path) => (StatusCode::OK, self.list(path, query)),
                None => missing(),
            },
            Method::POST => {
                let name = body["metadata"]["name"].as_str().unwrap_or("generated").to_owned();
                let path = format!("{path}/{name}");
                if self.objects.contains_key(&path) {
                    let message = format!("{path} already exists");
                    return refusal(409, "AlreadyExists", &message);
                }
                let mut body = body;
                body["metadata"]["name"] = name.into();
                self.put(&path, body);
                (StatusCode::CREATED, self.objects[&path].clone())
            }
            Method::PUT | Method::PATCH => {
                let path = path.strip_suffix("/status").unwrap_or(path);
                let Some(found) = self.objects.get(path) else { return missing() };
                let (asked, is) = (&body["metadata"], &found["metadata"]);
                if asked["resourceVersion"] != is["resourceVersion"] {
                    return refusal(409, "Conflict", "the object has been modified");
                }
                let mut object = if *method == Method::PUT { body.clone() } else { found.clone() };
                if *method == Method::PATCH {
                    merge(&mut object, &body);
                }
                self.put(path, object);
                (StatusCode::OK, self.objects[path].clone())
            }
            Method::DELETE => self.delete(path).unwrap_or_else(missing),
            _ => refusal(405, "MethodNotAllowed", "no"),
        }
    }

    fn delete(&mut self, path: &str) -> Option<Answer> {
        let object = self.objects.get(path)?.clone();
        if object["metadata"]["finalizers"].as_array().is_some_and(|list| !list.is_empty()) {
            let mut object = object;
            object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
            self.put(path, object.clone());
            return Some((StatusCode::OK, object));
        }
        self.objects.remove(path);
        Some((StatusCode::OK, json!({"kind": "Status", "status": "Success"})))
    }

    fn discovery(&self, version: &str) -> Option<Answer> {
        let is_version =
            version == "v1" || version.split('/').count() == 2 && !version.contains("v1/");
        if !is_version {
            return None;
        }
        if !self.served.contains(&version) {
            return Some(refusal(404, "NotFound", "no such version"));
        }
        let row = |name: &str, kind: &str, namespaced: bool| json!({"name": name, "kind": kind, "namespaced": namespaced});
        let rows = match version {
            "v1" => {
                json!([row("configmaps", "ConfigMap", true), row("namespaces", "Namespace", false)])
            }
            _ => json!([row("bars", "Bar", true), row("bars/status", "Bar", true)]),
        };
        Some((StatusCode::OK, json!({"kind": "APIResourceList", "resources": rows})))
    }

    fn list(&self, path: &str, query: &str) -> Value {
        let selector = query.strip_prefix("labelSelector=").unwrap_or_default();
        let selector = selector.replace("%3D", "=").replace("%2C", ",").replace("%2F", "/");
        let pairs: Vec<(&str, &str)> =
            selector.split(',').filter_map(|pair| pair.split_once('=')).collect();
        let within = format!("{path}/");
        let items = self.objects.iter().filter(|(key, object)| {
            let labels = &object["metadata"]["labels"];
            key.strip_prefix(&within).is_some_and(|rest| !rest.contains('/'))
                && pairs.iter().all(|(key, value)| labels[key] == *value)
        });
        let items = items.map(|(_, object)| {
            let mut item = object.clone();
            if let Value::Object(map) = &mut item {
                map.remove("kind");
                map.remove("apiVersion");
            }
            item
        });
        json!({"kind": "List", "items": items.collect::<Vec<_>>()})
    }
}

fn is_collection(path: &str) -> bool {
    ["bars", "configmaps", "namespaces"].contains(&path.rsplit('/').next().unwrap_or_default())
}

/// RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        match value {
            Value::Null => {
                target.as_object_mut().expect("an object").remove(key);
            }
            value => merge(&mut target[key], value),
        }
    }
}
