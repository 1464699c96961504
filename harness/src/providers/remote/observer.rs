//! Watches every type of a cluster and records its commits.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use http_body_util::{BodyExt, Empty};
use serde_json::Value;
use trace::{Change, Commit, Event, Recorder, Revision};

use super::{
    access::{self, Type},
    made::Made,
    writer,
};

/// Watches that run until it is dropped.
pub struct Observer {
    tasks: Vec<tokio::task::JoinHandle<()>>,
    newest: Arc<AtomicU64>,
    about: About,
}

impl Observer {
    /// Opens one watch per type, each from a list of now.
    pub async fn start(
        upstream: &proxy::Upstream,
        types: &[Type],
        about: &About,
    ) -> anyhow::Result<Observer> {
        let newest = Arc::new(AtomicU64::new(0));
        let mut tasks = Vec::new();
        for of in types {
            let (_, list) =
                access::request(upstream, "GET", &format!("{}?limit=1", of.path)).await?;
            let revision = list["metadata"]["resourceVersion"].as_str().unwrap_or("0").to_owned();
            newest.fetch_max(revision.parse().unwrap_or(0), Ordering::Relaxed);
            let body = open(upstream, of, &revision).await?;
            tasks.push(tokio::spawn(read(body, of.clone(), newest.clone(), about.clone())));
        }
        Ok(Observer { tasks, newest, about: about.clone() })
    }

    /// The newest revision seen.
    pub fn revision(&self) -> Revision {
        Revision(self.newest.load(Ordering::Relaxed))
    }

    /// Looks again at what was nobody's when it was seen.
    pub fn look_again(&self) {
        self.about.look_again();
    }
}

/// Ends all watches.
impl Drop for Observer {
    fn drop(&mut self) {
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

/// Which objects commits are recorded of.
#[derive(Clone)]
pub struct About {
    made: Made,
    /// Uids of what was there before.
    before: Arc<BTreeSet<String>>,
    recorder: Recorder,
    /// Commits of new objects that are nobody's so far: a watch may tell of an object before the answer to its maker does.
    waiting: Arc<Mutex<Vec<Commit>>>,
}

impl About {
    /// For a recorder of one trial.
    pub fn new(made: Made, before: Arc<BTreeSet<String>>, recorder: Recorder) -> About {
        About { made, before, recorder, waiting: Arc::default() }
    }

    fn saw(&self, commit: Commit) {
        self.made.saw(&commit.key, &commit.object);
        let known = super::uid(&commit.object).is_some_and(|uid| self.before.contains(&uid));
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if !known || self.concerns(&commit) {
            waiting.push(commit);
        }
        self.record_concerned(&mut waiting);
    }

    /// Records those that turned out to be the campaign's.
    pub fn look_again(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        self.record_concerned(&mut waiting);
    }

    fn record_concerned(&self, waiting: &mut Vec<Commit>) {
        for commit in waiting.extract_if(.., |commit| self.concerns(commit)) {
            self.recorder.record(Event::Commit(commit));
        }
    }

    fn concerns(&self, commit: &Commit) -> bool {
        self.made.concerns(&commit.key, &commit.object)
    }
}

async fn read(mut body: proxy::Body, of: Type, newest: Arc<AtomicU64>, about: About) {
    let mut pending = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        pending.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
        while let Some(end) = pending.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            let Ok(event) = serde_json::from_slice::<Value>(&line) else { continue };
            let Some(commit) = commit(&of, event) else { continue };
            newest.fetch_max(commit.revision.0, Ordering::Relaxed);
            about.saw(commit);
        }
    }
}

/// The commit that a watch event tells of. Which client made it is found out later, from the answers.
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
    let actor = writer::of(&key, &object, change);
    let object = Arc::new(object);
    Some(Commit { revision, change, key, object, actor, call: None, heartbeat: false })
}
