//! What goes to the cluster and comes from it.

use std::time::Duration;

use http_body_util::{BodyExt, Empty, Full};
use serde_json::Value;
use stages::{Action, stages::nodes, stages::pods, steps};
use tokio::sync::mpsc;
use trace::{GroupResource, ObjectKey, Time};

use crate::providers::remote::access::{self, unavailable};

/// Before a cluster that did not answer is asked again.
const PACE: Duration = Duration::from_secs(1);

/// News of the cluster.
pub enum Heard {
    /// All that there are of a type.
    All(GroupResource, Vec<Value>),
    /// One is as it says now.
    Changed(GroupResource, Value),
    /// One is gone.
    Gone(GroupResource, Value),
}

/// What came of a write.
pub enum Sent {
    /// The object as it is now.
    Object(Value),
    /// It was carried out.
    Done,
    /// It was not, and would not be.
    Refused(u16, String),
    /// It was not, and may be later.
    Busy(String),
}

/// A client.
#[derive(Clone)]
pub struct Client {
    upstream: proxy::Upstream,
}

/// The key of an object of a type.
pub fn key(resource: &GroupResource, object: &Value) -> ObjectKey {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or("");
    ObjectKey::new(resource.clone(), text("namespace"), text("name"))
}

fn path(key: &ObjectKey, subresource: &str) -> String {
    let collection = match &*key.namespace {
        "" => format!("/api/v1/{}", key.resource.resource),
        namespace => format!("/api/v1/namespaces/{namespace}/{}", key.resource.resource),
    };
    match subresource {
        "" => format!("{collection}/{}", key.name),
        subresource => format!("{collection}/{}/{subresource}", key.name),
    }
}

impl Client {
    /// By these connections.
    pub fn new(upstream: proxy::Upstream) -> Client {
        Client { upstream }
    }

    /// Status and body of a request.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> anyhow::Result<(u16, Value)> {
        let body = Full::new(body.to_string().into()).map_err(|never| match never {});
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, content_type)
            .header(http::header::ACCEPT, "application/json")
            .header(http::header::USER_AGENT, "kubelet")
            .body(body.boxed_unsync())?;
        let failed = |what: String| unavailable(&format!("{method} {path}: {what}"));
        let answer = tower::ServiceExt::oneshot(self.upstream.clone(), request).await;
        let answer = answer.map_err(|error| failed(error.to_string()))?;
        let code = answer.status().as_u16();
        let bytes =
            answer.into_body().collect().await.map_err(|error| failed(error.to_string()))?;
        Ok((code, serde_json::from_slice(&bytes.to_bytes()).unwrap_or(Value::Null)))
    }

    /// Carries out a part of a stage.
    pub async fn play(&self, key: &ObjectKey, object: &Value, action: &Action, now: Time) -> Sent {
        let uid = object["metadata"]["uid"].as_str().unwrap_or("");
        let json = "application/json";
        let sent = match action {
            Action::Event(event) => {
                let kind = if key.resource == nodes() { "Node" } else { "Pod" };
                let event = steps::event(event, (kind, key, uid), "kubelet", now);
                let namespace = event["metadata"]["namespace"].as_str().unwrap_or("default");
                let path = format!("/api/v1/namespaces/{namespace}/events");
                self.send("POST", &path, json, &event).await
            }
            Action::Patch { body, kind, subresource } => {
                self.send("PATCH", &path(key, subresource), kind.content_type(), body).await
            }
            Action::Delete => {
                self.send("DELETE", &path(key, ""), json, &steps::delete_options(uid)).await
            }
        };
        match (sent, action) {
            (Err(error), _) => Sent::Busy(format!("{error:#}")),
            (Ok((200..300, object)), Action::Patch { .. }) => Sent::Object(object),
            (Ok((200..300, _)), _) => Sent::Done,
            // `shouldRetry` of kwok.
            (Ok((code @ (429 | 503 | 504), answer)), _) => {
                Sent::Busy(format!("{code} {}", answer["message"]))
            }
            (Ok((code, answer)), _) => {
                Sent::Refused(code, answer["message"].as_str().unwrap_or("").to_owned())
            }
        }
    }

    /// Renews a lease, or makes it.
    pub async fn renew(&self, lease: &Value) -> anyhow::Result<()> {
        let collection = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
        let path = format!("{collection}/{}", lease["metadata"]["name"].as_str().unwrap_or(""));
        let (code, answer) =
            self.send("PATCH", &path, "application/merge-patch+json", lease).await?;
        let (code, answer) = match code {
            404 => self.send("POST", collection, "application/json", lease).await?,
            _ => (code, answer),
        };
        match code {
            200..300 => Ok(()),
            _ => Err(unavailable(&format!("{code} {}", answer["message"]))),
        }
    }

    /// Tells of nodes and pods from now on, as long as somebody listens. Within a `LocalSet` only.
    pub fn watch(&self) -> mpsc::UnboundedReceiver<Heard> {
        let (tell, heard) = mpsc::unbounded_channel();
        for resource in [nodes(), pods()] {
            let (client, tell) = (self.clone(), tell.clone());
            tokio::task::spawn_local(async move {
                let mut pace = tokio::time::interval(PACE);
                pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
                while !tell.is_closed() {
                    if let Err(error) = client.follow(&resource, &tell).await {
                        eprintln!("trommel: {error:#}; asked again");
                        pace.tick().await;
                    }
                }
            });
        }
        heard
    }

    /// A list, and a watch from there on until it ends. A stream that says that it is too late ends too.
    async fn follow(
        &self,
        resource: &GroupResource,
        tell: &mpsc::UnboundedSender<Heard>,
    ) -> anyhow::Result<()> {
        let path = format!("/api/v1/{}", resource.resource);
        let (status, mut list) = access::request(&self.upstream, "GET", &path).await?;
        if !status.is_success() {
            return Err(unavailable(&format!("GET {path}: {status} {}", list["message"])));
        }
        let revision = list["metadata"]["resourceVersion"].as_str().unwrap_or("0").to_owned();
        let items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        drop(tell.send(Heard::All(resource.clone(), items)));
        let request = http::Request::builder()
            .uri(format!("{path}?watch=true&resourceVersion={revision}"))
            .header(http::header::ACCEPT, "application/json")
            .header(http::header::USER_AGENT, "kubelet")
            .body(Empty::new().map_err(|never| match never {}).boxed_unsync())?;
        let answer = tower::ServiceExt::oneshot(self.upstream.clone(), request).await;
        let answer = answer.map_err(|error| unavailable(&error.to_string()))?;
        let (mut body, mut pending) = (answer.into_body(), Vec::new());
        while let Some(Ok(frame)) = body.frame().await {
            pending.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
            while let Some(end) = pending.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = pending.drain(..=end).collect();
                let mut event: Value = serde_json::from_slice(&line)?;
                let object = event["object"].take();
                let heard = match event["type"].as_str() {
                    Some("ADDED" | "MODIFIED") => Heard::Changed(resource.clone(), object),
                    Some("DELETED") => Heard::Gone(resource.clone(), object),
                    _ => return Ok(()),
                };
                drop(tell.send(heard));
            }
        }
        Ok(())
    }
}
