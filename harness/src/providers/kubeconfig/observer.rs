//! Watches every type of a cluster and records its commits.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use http_body_util::{BodyExt, Empty};
use serde_json::Value;
use trace::{Actor, Change, Commit, Event, Recorder, Revision};

use super::access::{self, Type};

/// Watches that run until stopped.
pub struct Observer {
    tasks: Vec<tokio::task::JoinHandle<()>>,
    newest: Arc<AtomicU64>,
}

impl Observer {
    /// Opens one watch per type, each from a list of now.
    pub async fn start(
        upstream: &proxy::Upstream,
        types: &[Type],
        recorder: &Recorder,
    ) -> anyhow::Result<Observer> {
        let newest = Arc::new(AtomicU64::new(0));
        let mut tasks = Vec::new();
        for of in types {
            let (_, list) =
                access::request(upstream, "GET", &format!("{}?limit=1", of.path)).await?;
            let revision = list["metadata"]["resourceVersion"].as_str().unwrap_or("0").to_owned();
            newest.fetch_max(revision.parse().unwrap_or(0), Ordering::Relaxed);
            let body = open(upstream, of, &revision).await?;
            tasks.push(tokio::spawn(read(body, of.clone(), recorder.clone(), newest.clone())));
        }
        Ok(Observer { tasks, newest })
    }

    /// The newest revision seen.
    pub fn revision(&self) -> Revision {
        Revision(self.newest.load(Ordering::Relaxed))
    }

    /// Ends all watches.
    pub fn stop(&self) {
        self.tasks.iter().for_each(|task| task.abort());
    }
}

async fn open(
    upstream: &proxy::Upstream,
    of: &Type,
    revision: &str,
) -> anyhow::Result<proxy::Body> {
    let request = http::Request::builder()
        .uri(format!("{}?watch=true&resourceVersion={revision}", of.path))
        .header(http::header::ACCEPT, "application/json")
        .header(http::header::USER_AGENT, "trommel")
        .body(Empty::new().map_err(|never| match never {}).boxed_unsync())?;
    let answer = tower::ServiceExt::oneshot(upstream.clone(), request).await;
    Ok(answer.map_err(|error| access::unavailable(&error.to_string()))?.into_body())
}

async fn read(mut body: proxy::Body, of: Type, recorder: Recorder, newest: Arc<AtomicU64>) {
    let mut pending = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        pending.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
        while let Some(end) = pending.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            let Ok(event) = serde_json::from_slice::<Value>(&line) else { continue };
            if let Some(commit) = commit(&of, event) {
                newest.fetch_max(commit.revision.0, Ordering::Relaxed);
                recorder.record(Event::Commit(commit));
            }
        }
    }
}

/// The commit that a watch event tells of. By whom it was is found out later, from the calls' answers.
fn commit(of: &Type, mut event: Value) -> Option<Commit> {
    let change = match event["type"].as_str()? {
        "ADDED" => Change::Created,
        "MODIFIED" => Change::Updated,
        "DELETED" => Change::Deleted,
        _ => return None,
    };
    let object = event["object"].take();
    let revision = Revision::parse(object["metadata"]["resourceVersion"].as_str()?)?;
    let key = access::key(of, &object);
    let actor = Actor::Environment("cluster".into());
    let object = Arc::new(object);
    Some(Commit { revision, change, key, object, actor, call: None, heartbeat: false })
}
