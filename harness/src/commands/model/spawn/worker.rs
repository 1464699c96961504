//! One controller at work: it takes a key, decides by the caches, sends one request after the other, and looks again.

use std::{convert::Infallible, rc::Rc, time::Duration};

use controllers::{Controller, Next, Request, Response, View};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use trace::{ObjectKey, Time};

use super::{awaited::Awaited, manager::Manager, state::Ended, watches::News};
use crate::providers::client_files::real_now;

/// Before a server that did not say how far a type is is asked again.
const PACE: Duration = Duration::from_secs(1);

/// Works for ever.
pub async fn work(manager: Rc<Manager>, controller: Controller) -> Infallible {
    let mut worker = Worker { manager, controller, awaited: Vec::new() };
    loop {
        worker.see_own_writes().await;
        let key = worker.next_key().await;
        let ended = worker.reconcile(&key).await;
        worker.manager.state.borrow_mut().done(controller, key, ended, real_now());
    }
}

struct Worker {
    manager: Rc<Manager>,
    controller: Controller,
    awaited: Vec<Awaited>,
}

impl Worker {
    /// Waits until the caches show all that the controller has written.
    async fn see_own_writes(&mut self) {
        self.ask_how_far().await;
        let mut moved = self.manager.moved.subscribe();
        loop {
            self.awaited.retain(|one| !one.is_seen(&self.manager.state.borrow().cache));
            if self.awaited.is_empty() || moved.changed().await.is_err() {
                return;
            }
        }
    }

    /// Where nobody knows what was written: everything up to now has to be seen.
    async fn ask_how_far(&mut self) {
        let mut pace = tokio::time::interval(PACE);
        for awaited in &mut self.awaited {
            while let Awaited::Newest(resource) = awaited {
                pace.tick().await;
                let of = self.manager.state.borrow().types.get(resource).cloned();
                // A type that is not served any more has nothing to show.
                let Some(of) = of else { break };
                match self.manager.api.newest(&of).await {
                    Ok(revision) => {
                        self.manager.list_anew(resource);
                        *awaited = Awaited::Reached(resource.clone(), revision);
                    }
                    Err(why) => self.manager.tell(format!("{why}; asked again")),
                }
            }
        }
        self.awaited.retain(|awaited| !matches!(awaited, Awaited::Newest(_)));
    }

    /// Waits for a key that is due.
    async fn next_key(&self) -> ObjectKey {
        let woken = &self.manager.work[&self.controller];
        loop {
            match self.take(real_now()) {
                Ok(key) => return key,
                // Woken by a change, or by the clock: both mean to look again.
                Err(Some(left)) => drop(timeout_at(Instant::now() + left, woken.notified()).await),
                Err(None) => woken.notified().await,
            }
        }
    }

    /// A key that is due. Error: how long until one is, if nothing happens before.
    fn take(&self, now: Time) -> Result<ObjectKey, Option<Duration>> {
        let mut state = self.manager.state.borrow_mut();
        let key = state.take(self.controller, now);
        key.ok_or_else(|| Some(state.queues[&self.controller].next_timer()?.since(now)))
    }

    async fn reconcile(&mut self, key: &ObjectKey) -> Ended {
        if let Err(why) = self.read_what_is_not_watched(key).await {
            self.manager.tell(format!("{}: {why}; tried again", self.controller.short_name()));
            return Ended::Failed;
        }
        let (view, now) = (self.manager.state.borrow().cache.view.clone(), real_now());
        let mut responses: Vec<Response> = Vec::new();
        loop {
            let requests = match self.controller.next(&view, key, now, &responses) {
                Next::Request(request) => vec![*request],
                Next::Requests(requests) => requests,
                Next::Done { requeue_after } => return Ended::Done(requeue_after),
                Next::Failed(why) => {
                    tracing::debug!("{} {key}: {why}", self.controller.name());
                    return Ended::Failed;
                }
            };
            for request in requests {
                match self.send(&request).await {
                    Ok(response) => responses.push(response),
                    Err(why) => {
                        self.manager.tell(format!("{why}; tried again"));
                        return Ended::Failed;
                    }
                }
            }
        }
    }

    async fn send(&mut self, request: &Request) -> Result<Response, String> {
        let manager = &self.manager;
        let sent = manager.api.send(self.controller, request, &manager.state).await;
        self.awaited.extend(sent.awaited);
        sent.response
    }

    /// Upstream reads some things from the API server itself, not from its caches.
    async fn read_what_is_not_watched(&self, key: &ObjectKey) -> Result<(), String> {
        for of in self.manager.unwatched(self.controller) {
            let path = of.path("", "", "");
            let (code, mut list) = self.read(&path).await?;
            if code == 200 {
                let items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
                let listed = News::Listed(items, trace::Revision::default());
                self.manager.state.borrow_mut().hear(&of, listed);
            }
        }
        match self.controller {
            Controller::GarbageCollector => self.owners_are_gone(key).await,
            _ => Ok(()),
        }
    }

    /// An owner that no watch has told of may be one that a watch has not told of yet: the server is asked
    /// (`attemptToDeleteItem` of `pkg/controller/garbagecollector`).
    async fn owners_are_gone(&self, key: &ObjectKey) -> Result<(), String> {
        let view = self.manager.state.borrow().cache.view.clone();
        for (owner, uid) in unknown_owners(&view, key) {
            let of = self.manager.state.borrow().types.get(&owner.resource).cloned();
            let Some(of) = of else { continue };
            let path = of.path(&owner.namespace, &owner.name, "");
            match self.read(&path).await? {
                (404, _) => {}
                (200, found) if found["metadata"]["uid"] != *uid => {}
                (200, _) => return Err(format!("{owner} is not seen yet")),
                (code, answer) => return Err(format!("GET {path}: {code} {}", answer["message"])),
            }
        }
        Ok(())
    }

    async fn read(&self, path: &str) -> Result<(u16, Value), String> {
        let json = controllers::wire::JSON;
        let program = self.controller.program();
        self.manager.api.exchange("GET", path, json, &Value::Null, program).await
    }
}

/// The owners that an object names and of which nothing is known, with their uids.
fn unknown_owners(view: &View, key: &ObjectKey) -> Vec<(ObjectKey, controllers::object::Text)> {
    let owners = view.get(key).map(|object| &*object.meta.owners).unwrap_or_default();
    let unknown = owners.iter().filter_map(|owner| {
        let kind = view.kinds.get(&owner.api_version, &owner.kind)?;
        let namespace = if kind.namespaced { &*key.namespace } else { "" };
        let at = ObjectKey::new(kind.resource.clone(), namespace, &owner.name);
        let known = view.get(&at).is_some_and(|found| found.meta.uid == owner.uid);
        (!known).then(|| (at, owner.uid.clone()))
    });
    unknown.collect()
}
