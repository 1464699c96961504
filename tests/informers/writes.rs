//! Random writes to two types, drawn from a seed.

use std::collections::BTreeMap;

use bytes::Bytes;
use cluster::Server;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;
use trommel_tests::drawn;

use crate::mirror::Held;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
/// So many names there are of each type.
const NAMES: u64 = 200;

/// Somebody who writes all the time.
pub struct Writer {
    server: Server,
    state: u64,
    written: u64,
}

impl Writer {
    /// Makes the custom type.
    pub async fn new(server: &Server) -> Writer {
        let writer = Writer { server: server.clone(), state: 1, written: 0 };
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let version = json!({"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open}}}});
        let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "versions": [version],
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget",
                    "listKind": "WidgetList"}}});
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        assert_eq!(writer.send("POST", path, &crd).await.0, 201);
        writer
    }

    /// So many writes, each followed by a moment in which clients are served.
    pub async fn some(&mut self, count: usize) {
        for _ in 0..count {
            self.one().await;
            tokio::task::yield_now().await;
        }
    }

    /// So many writes, while no client is served.
    pub async fn at_once(&mut self, count: usize) {
        for _ in 0..count {
            self.one().await;
        }
    }

    /// Makes an object if there is none of the drawn name; else changes its value, takes or gives the label that
    /// is selected by, or deletes it.
    async fn one(&mut self) {
        let path = [CONFIG_MAPS, WIDGETS][drawn(&mut self.state, 2) as usize];
        let name = format!("o{}", drawn(&mut self.state, NAMES));
        let keep = ["yes", "no"][drawn(&mut self.state, 2) as usize];
        self.written += 1;
        let value = self.written.to_string();
        let (kind, content) = match path {
            CONFIG_MAPS => (json!({"apiVersion": "v1", "kind": "ConfigMap"}), "data"),
            _ => (json!({"apiVersion": "example.com/v1", "kind": "Widget"}), "spec"),
        };
        let mut object = kind;
        object["metadata"] = json!({"name": name, "labels": {"keep": keep}});
        object[content] = json!({"value": value});
        let one = format!("{path}/{name}");
        let code = match drawn(&mut self.state, 3) {
            0 => self.send("DELETE", &one, &Value::Null).await.0,
            _ => self.send("PATCH", &one, &object).await.0,
        };
        if code == 404 {
            assert_eq!(self.send("POST", path, &object).await.0, 201);
        } else {
            assert!(code < 300, "{code} for {one}");
        }
    }

    /// What is stored, in the form that mirrors tell.
    pub async fn store(&self) -> Held {
        let mut held = Held::new();
        for (cache, path, content) in [
            ("configmaps", CONFIG_MAPS.to_owned(), "data"),
            ("selected", format!("{CONFIG_MAPS}?labelSelector=keep%3Dyes"), "data"),
            ("widgets", WIDGETS.to_owned(), "spec"),
        ] {
            let (code, list) = self.send("GET", &path, &Value::Null).await;
            assert_eq!(code, 200, "{list}");
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let told = |object: &Value| {
                let meta = &object["metadata"];
                let revision = text(&meta["resourceVersion"]);
                (text(&meta["name"]), format!("{revision} {}", text(&object[content]["value"])))
            };
            let objects: BTreeMap<_, _> =
                list["items"].as_array().expect("a list").iter().map(told).collect();
            assert!(objects.len() > 20, "{cache}: {} objects prove little", objects.len());
            held.insert(cache.to_owned(), objects);
        }
        held
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let bytes = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let media_type = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", media_type)
            .body(Full::new(bytes).map_err(|never| match never {}).boxed_unsync())
            .expect("a request");
        let answer = self.server.service().oneshot(request).await.expect("an answer");
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }
}
