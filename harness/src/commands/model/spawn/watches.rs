//! What the cluster tells: for each type a list, and a watch from there on, again and again.
//!
//! A watch that ends goes on from the newest revision that it told of (bookmarks keep that young); one that comes too late
//! (410), or that somebody wants to begin anew, begins with a list.

use std::rc::Rc;

use controllers::wire::JSON;
use http_body_util::{BodyExt, Empty};
use serde_json::Value;
use tokio::{
    sync::{Notify, mpsc},
    task::JoinHandle,
    time::MissedTickBehavior,
};
use trace::{GroupResource, Revision};

use super::{
    api::{Api, why},
    types::Type,
};

/// Before a cluster that did not answer, or refused, is asked again.
const PACE: std::time::Duration = std::time::Duration::from_secs(1);

/// News of the objects of a type.
#[derive(Debug)]
pub enum News {
    /// All that there are, at this revision.
    Listed(Vec<Value>, Revision),
    /// One is as it says now.
    Changed(Value),
    /// One is gone; as it was last.
    Gone(Value),
    /// Nothing else has happened up to here.
    Reached(Revision),
    /// The list or watch was refused, with this status; 0 where there was no answer.
    Refused(u16, String),
}

/// News of a type.
pub type Heard = (GroupResource, News);

/// A watch of a type; dropping it ends it.
pub struct Watch {
    task: JoinHandle<()>,
    anew: Rc<Notify>,
}

impl Watch {
    /// Begins one. Within a `LocalSet` only.
    pub fn start(api: Api, of: Type, tell: mpsc::UnboundedSender<Heard>) -> Watch {
        let anew = Rc::new(Notify::new());
        let task = tokio::task::spawn_local(Follow { api, of, tell }.run(anew.clone()));
        Watch { task, anew }
    }

    /// Lists at once, and goes on from there.
    pub fn begin_anew(&self) {
        self.anew.notify_one();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Why a watch did not go on.
enum Ended {
    /// Its stream ended: it can go on.
    Closed,
    /// What it asked for is not there any more.
    TooLate,
    /// See [`News::Refused`].
    Refused(u16, String),
}

struct Follow {
    api: Api,
    of: Type,
    tell: mpsc::UnboundedSender<Heard>,
}

impl Follow {
    async fn run(self, anew: Rc<Notify>) {
        let mut pace = tokio::time::interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reached = None;
        loop {
            let ended = tokio::select! {
                ended = self.follow(&mut reached) => ended,
                () = anew.notified() => Ended::TooLate,
            };
            match ended {
                Ended::Closed => {}
                Ended::TooLate => reached = None,
                Ended::Refused(code, message) => {
                    self.tell(News::Refused(code, message));
                    pace.tick().await;
                }
            }
        }
    }

    fn tell(&self, news: News) {
        // Nobody listens any more at the end only.
        drop(self.tell.send((self.of.resource.clone(), news)));
    }

    async fn follow(&self, reached: &mut Option<Revision>) -> Ended {
        let from = match *reached {
            Some(from) => from,
            None => match self.list().await {
                Ok(revision) => *reached.insert(revision),
                Err(ended) => return ended,
            },
        };
        let path = self.of.path("", "", "");
        let request = http::Request::builder()
            .uri(format!("{path}?watch=true&allowWatchBookmarks=true&resourceVersion={from}"))
            .header(http::header::ACCEPT, JSON)
            .header(http::header::USER_AGENT, "trommel")
            .body(Empty::new().map_err(|never| match never {}).boxed_unsync())
            .expect("a path is a URI");
        let answer = match tower::ServiceExt::oneshot(self.api.upstream.clone(), request).await {
            Ok(answer) => answer,
            Err(error) => return Ended::Refused(0, why(&*error)),
        };
        let code = answer.status().as_u16();
        if !answer.status().is_success() {
            return match code {
                410 => Ended::TooLate,
                _ => Ended::Refused(code, format!("a watch was answered {code}")),
            };
        }
        let (mut body, mut pending) = (answer.into_body(), Vec::new());
        while let Some(Ok(frame)) = body.frame().await {
            pending.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
            while let Some(end) = pending.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = pending.drain(..=end).collect();
                let Ok(event) = serde_json::from_slice(&line) else { return Ended::TooLate };
                match self.hear(event) {
                    Some(revision) => *reached = Some(revision),
                    None => return Ended::TooLate,
                }
            }
        }
        Ended::Closed
    }

    async fn list(&self) -> Result<Revision, Ended> {
        let path = self.of.path("", "", "");
        let answered = self.api.exchange("GET", &path, JSON, &Value::Null, "trommel").await;
        let (code, mut list) = answered.map_err(|why| Ended::Refused(0, why))?;
        let Some(revision) = revision(&list).filter(|_| code == 200) else {
            let message = list["message"].as_str().unwrap_or("it is no list").to_owned();
            return Err(Ended::Refused(code, message));
        };
        let mut objects = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        for object in &mut objects {
            object["apiVersion"] = (*self.of.api_version).into();
            object["kind"] = (*self.of.kind).into();
        }
        self.tell(News::Listed(objects, revision));
        Ok(revision)
    }

    /// The revision that an event tells of; none where it ends the watch.
    fn hear(&self, mut event: Value) -> Option<Revision> {
        let object = event["object"].take();
        let revision = revision(&object)?;
        let news = match event["type"].as_str()? {
            "ADDED" | "MODIFIED" => News::Changed(object),
            "DELETED" => News::Gone(object),
            "BOOKMARK" => News::Reached(revision),
            _ => return None,
        };
        self.tell(news);
        Some(revision)
    }
}

/// The revision of an object or list.
pub fn revision(object: &Value) -> Option<Revision> {
    Revision::parse(object["metadata"]["resourceVersion"].as_str()?)
}
