//! One controller at work: it takes a key, decides by the caches, sends one request after the other, and looks again.

use std::{convert::Infallible, rc::Rc, time::Duration};

use controllers::{Controller, Next, Request, Response};
use tokio::time::{Instant, timeout_at};
use trace::{ObjectKey, Time};

use super::{awaited::Awaited, live::Live, manager::Manager, state::Ended};

/// Before a server that did not say how far a type is is asked again.
const PACE: Duration = Duration::from_secs(1);

/// Works for ever.
pub async fn work(manager: Rc<Manager>, controller: Controller) -> Infallible {
    let mut worker = Worker { manager, controller, awaited: Vec::new() };
    loop {
        worker.see_own_writes().await;
        let key = worker.next_key().await;
        let ended = worker.reconcile(&key).await;
        let now = (worker.manager.now)();
        worker.manager.state.borrow_mut().done(controller, key, ended, now);
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
                let Some(of) = self.manager.watched(resource) else { break };
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
            match self.take((self.manager.now)()) {
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
        let live = Live { manager: &self.manager, controller: self.controller };
        if let Err(why) = live.check(key).await {
            return self.failed(key, &why);
        }
        let (view, now) = (self.manager.state.borrow().cache.view.clone(), (self.manager.now)());
        let mut responses: Vec<Response> = Vec::new();
        loop {
            let requests = match self.controller.next(&view, key, now, &responses) {
                Next::Request(request) => vec![*request],
                Next::Requests(requests) => requests,
                Next::Done { requeue_after } => return Ended::Done(requeue_after),
                Next::Failed(why) => return self.failed(key, &why),
            };
            for request in requests {
                match self.send(&request).await {
                    Ok(response) => responses.push(response),
                    Err(why) => return self.failed(key, &why),
                }
            }
        }
    }

    /// It is tried again; who wants to know why sets `TROMMEL_LOG=debug`.
    fn failed(&self, key: &ObjectKey, why: &str) -> Ended {
        tracing::debug!("{} {key}: {why}", self.controller.name());
        Ended::Failed
    }

    async fn send(&mut self, request: &Request) -> Result<Response, String> {
        let manager = &self.manager;
        Live { manager, controller: self.controller }.check_request(request).await?;
        let sent = manager.api.send(self.controller, request, &manager.state).await;
        self.awaited.extend(sent.awaited);
        sent.response
    }
}
