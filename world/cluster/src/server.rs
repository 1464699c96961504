//! The server: one live world behind one lock, and what listens to it.
//!
//! A request is read to its end first, then carried out under the lock in one go: there is one writer, and
//! no time passes while a request runs. Commits are recorded under the same lock that makes their revision,
//! so the record has the store's order. Every revision since the start keeps its world for forking.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use trace::{Actor, CallId, Commit, Event, ObjectKey, Recorder, Revision, Time};

use crate::{
    environment::{self, REQUESTS_WITHOUT_REST, Restless, schedule::Turn},
    node::follow::Follows,
    store::Logged,
    watch::Watchers,
    webhooks::{Calls, Made, NobodyListens, SharedCaller, Wanted, post, told},
    world::{World, crds},
};

pub(crate) mod answer;
pub(crate) mod request;
mod warnings;

use request::Request;

/// Any error, as `tower` and `hyper` pass them on.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// Bodies of requests and answers.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;
/// An in-process HTTP server.
pub type Upstream =
    tower::util::BoxCloneSyncService<http::Request<Body>, http::Response<Body>, BoxError>;

/// A connection after its upgrade, as whoever owns it hands it over.
pub type Upgraded = tokio::io::Join<
    Box<dyn tokio::io::AsyncRead + Send + Unpin>,
    Box<dyn tokio::io::AsyncWrite + Send + Unpin>,
>;
/// An extension of an answer that switches protocols (101): who speaks then. It ends when all is said, or the client
/// has gone; while it waits for the client's next bytes, it has sent and flushed all that it has to say.
pub type Conversation = tower::util::BoxCloneSyncService<Upgraded, (), BoxError>;

/// Longest request body in bytes (`MaxRequestBodyBytes`).
pub const BODY_LIMIT_BYTES: usize = 3 * 1024 * 1024;

/// One live world that answers requests. Cloning it shares the world.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    live: Mutex<Live>,
    /// The world's clock, readable without the lock: a recorder reads it while a commit holds the lock.
    now: Arc<AtomicI64>,
    changed: tokio::sync::watch::Sender<Revision>,
    /// Who makes calls of webhooks.
    caller: OnceLock<SharedCaller>,
}

/// The clock of a server's world.
#[derive(Debug, Clone)]
pub struct Clock(Arc<AtomicI64>);

impl Clock {
    /// What it shows. Takes no lock.
    pub fn now(&self) -> Time {
        Time(self.0.load(Ordering::SeqCst))
    }
}

/// What the lock guards.
pub(crate) struct Live {
    pub(crate) world: World,
    /// World of revision `first + i` at index i.
    worlds: Vec<World>,
    first: Revision,
    recorder: Option<Recorder>,
    pub(crate) watchers: Watchers,
    pub(crate) follows: Follows,
    answers: u64,
    /// Of the request that the built-in controllers are sending.
    calls: Calls,
}

/// On whose behalf something is written.
#[derive(Debug, Clone)]
pub(crate) struct Author {
    pub(crate) actor: Actor,
    pub(crate) call: Option<CallId>,
}

impl Server {
    /// Puts a world to work. With a recorder every commit is recorded.
    pub fn new(world: World, recorder: Option<Recorder>) -> Server {
        let (changed, _) = tokio::sync::watch::channel(world.revision());
        let live = Live {
            first: world.revision(),
            worlds: vec![world.clone()],
            recorder,
            watchers: Watchers::default(),
            follows: Follows::default(),
            answers: 0,
            calls: Calls::default(),
            world,
        };
        let now = Arc::new(AtomicI64::new(live.world.now.0));
        let caller = OnceLock::new();
        Server { shared: Arc::new(Shared { live: Mutex::new(live), now, changed, caller }) }
    }

    /// A world after something was done to it as one does to a live one.
    pub(crate) fn prepare(world: World, act: impl FnOnce(&mut Live)) -> World {
        let server = Server::new(world, None);
        act(&mut server.shared.lock());
        server.world()
    }

    /// Names who makes calls of webhooks; without one all of them are refused, as where nobody listens. The first that
    /// is named stays.
    pub fn call_webhooks_by(&self, caller: SharedCaller) {
        drop(self.shared.caller.set(caller));
    }

    /// The HTTP side of it.
    pub fn service(&self) -> Upstream {
        let server = self.clone();
        Upstream::new(tower::service_fn(move |request| {
            let server = server.clone();
            async move { Ok::<_, BoxError>(server.respond(request).await) }
        }))
    }

    /// The world as it is. O(1).
    pub fn world(&self) -> World {
        self.shared.lock().world.clone()
    }

    /// The world right after the commit that made `revision`; any revision since this server started
    /// that was not compacted. O(1).
    pub fn world_at(&self, revision: Revision) -> Option<World> {
        let live = self.shared.lock();
        let index = revision.0.checked_sub(live.first.0)?;
        live.worlds.get(usize::try_from(index).ok()?).cloned()
    }

    /// The newest revision.
    pub fn revision(&self) -> Revision {
        *self.shared.changed.borrow()
    }

    /// Tells of each new revision.
    pub fn subscribe(&self) -> tokio::sync::watch::Receiver<Revision> {
        self.shared.changed.subscribe()
    }

    /// The world's clock. Takes no lock.
    pub fn now(&self) -> Time {
        self.shared.now()
    }

    /// The world's clock, to be read by what the server itself holds: it does not hold the server.
    pub fn clock(&self) -> Clock {
        Clock(self.shared.now.clone())
    }

    /// Lets the built-in controllers send their next request, as ordinary API writes in their own name; a request
    /// that meets webhooks is carried out when their calls were made.
    pub fn step_environment(&self) -> Step {
        let mut live = self.shared.lock();
        let mut calls = std::mem::take(&mut live.calls);
        let acted = environment::step(&mut live, &mut calls);
        let wanted = calls.take_wanted();
        if !wanted.is_empty() {
            live.calls = calls;
            let author = Author { actor: Actor::Environment("webhook".into()), call: None };
            return Step::Calls(Pending { shared: self.shared.clone(), wanted, author });
        }
        live.keep_world();
        self.shared.publish(&live);
        acted.map_or(Step::Quiet, |controller| Step::Acted(controller.name()))
    }

    /// What the built-in controllers could do next, were they to run side by side: every key that waits, and the next
    /// request of every reconcile under way.
    pub fn turns(&self) -> Vec<Turn> {
        self.shared.lock().world.environment.as_ref().map_or(vec![], |found| found.turns())
    }

    /// Lets one of [`Server::turns`] come before all others. Says whether there is such a turn. What it writes meets no
    /// webhook, and what is played by stage files has no turns.
    pub fn take_turn(&self, turn: &Turn) -> bool {
        let Some(controller) = controllers::Controller::named(turn.controller) else {
            return false;
        };
        let mut live = self.shared.lock();
        let taken = environment::schedule::take(&mut live, controller, &turn.key);
        live.keep_world();
        self.shared.publish(&live);
        taken
    }

    /// Lets the built-in controllers act until they are quiet, where nobody listens whom a webhook could reach: their
    /// calls are refused. Says how many requests they sent.
    ///
    /// # Errors
    /// They don't come to rest.
    pub fn run_environment(&self) -> Result<u64, Restless> {
        let mut sent = 0;
        loop {
            match self.step_environment() {
                Step::Quiet => return Ok(sent),
                Step::Calls(pending) => pending.refuse(),
                Step::Acted(last) => {
                    sent += 1;
                    if sent == REQUESTS_WITHOUT_REST {
                        return Err(Restless { last });
                    }
                }
            }
        }
    }

    /// Lets the built-in controllers act until they are quiet, and has the webhooks called that their requests meet.
    ///
    /// # Errors
    /// They don't come to rest.
    pub async fn run_environment_and_call(&self) -> Result<(), Restless> {
        let mut last = "";
        for _ in 0..REQUESTS_WITHOUT_REST {
            match self.step_environment_and_call().await {
                Some(acted) => last = acted,
                None => return Ok(()),
            }
        }
        Err(Restless { last })
    }

    /// Lets the built-in controllers send one request, and has the webhooks called that it meets. Says which acted.
    pub async fn step_environment_and_call(&self) -> Option<&'static str> {
        loop {
            match self.step_environment() {
                Step::Quiet => return None,
                Step::Acted(controller) => return Some(controller),
                Step::Calls(pending) => pending.make().await,
            }
        }
    }

    /// When the next timer of the built-in controllers is due. They are quiet until then, or have work now
    /// ([`World::is_environment_quiet`]).
    pub fn next_timer(&self) -> Option<Time> {
        self.shared.lock().world.environment.as_ref()?.next_timer()
    }

    /// When the next of the open watches ends, because its time is up: its client will come back then.
    pub fn next_watch_end(&self) -> Option<Time> {
        self.shared.lock().watchers.next_end()
    }

    /// Whether the built-in controllers have nothing to do before the next of their timers.
    pub fn is_environment_quiet(&self) -> bool {
        self.shared.lock().world.is_environment_quiet()
    }

    /// Keeps a built-in controller from acting, or lets it act again. Says whether there is one of this name.
    pub fn hold_controller(&self, name: &str, held: bool) -> bool {
        let mut live = self.shared.lock();
        let environment = live.world.environment.as_mut().map(Arc::make_mut);
        match (environment, controllers::Controller::named(name)) {
            (Some(environment), Some(controller)) => {
                environment.hold(controller, held);
                true
            }
            _ => false,
        }
    }

    /// From now on the built-in controllers go through what upstream keeps in Go's maps in the order of this number, of
    /// which there are as many as permutations of the longest of these; 0 is the usual order.
    pub fn order_maps(&self, order: usize) {
        let mut live = self.shared.lock();
        if let Some(environment) = live.world.environment.as_mut().map(Arc::make_mut) {
            environment.set_order(order);
        }
    }

    /// Lets time pass; whenever a timer of the built-in controllers is due before its end, they act.
    ///
    /// # Errors
    /// They don't come to rest.
    pub fn live_until(&self, time: Time) -> Result<(), Restless> {
        while let Some(due) = self.next_timer().filter(|due| *due < time) {
            self.advance_to(due);
            self.run_environment()?;
        }
        self.advance_to(time);
        Ok(())
    }

    /// The same, and has the webhooks called that requests of the built-in controllers meet.
    ///
    /// # Errors
    /// They don't come to rest.
    pub async fn live_until_and_call(&self, time: Time) -> Result<(), Restless> {
        while let Some(due) = self.next_timer().filter(|due| *due < time) {
            self.advance_to(due);
            self.run_environment_and_call().await?;
        }
        self.advance_to(time);
        Ok(())
    }

    /// Moves the world's clock forward (never back). Watches whose time is up end; bookmarks that are due go out.
    pub fn advance_to(&self, time: Time) {
        let mut live = self.shared.lock();
        let time = time.max(live.world.now);
        live.world.now = time;
        if let Some(environment) = &mut live.world.environment
            && environment.next_timer().is_some_and(|due| due <= time)
        {
            Arc::make_mut(environment).advance(time);
        }
        self.shared.now.store(time.0, Ordering::SeqCst);
        let revision = live.world.revision();
        live.watchers.advance(time, revision);
    }

    /// Forgets history before `revision`, as etcd's compaction does: older lists and watches get 410, and older
    /// worlds are no more.
    pub fn compact(&self, revision: Revision) {
        let mut live = self.shared.lock();
        live.world.store.compact(revision);
        let gone = revision.0.min(live.world.revision().0).saturating_sub(live.first.0);
        let gone = usize::try_from(gone).unwrap_or(0);
        live.worlds.drain(..gone);
        live.first = live.first.max(revision);
    }

    /// Watch events committed (or initial events due) and not yet pulled by their streams, and logs that are over and
    /// whose streams have not ended.
    pub fn undelivered(&self) -> usize {
        let live = self.shared.lock();
        live.watchers.undelivered() + live.follows.ending()
    }

    async fn respond(&self, request: http::Request<Body>) -> http::Response<Body> {
        let (parts, body) = request.into_parts();
        let body = read(body).await;
        answer::respond(&self.shared, Request::new(parts, body)).await
    }
}

/// A body's bytes, or whether it was too long.
async fn read(mut body: Body) -> Result<Bytes, bool> {
    let mut bytes = bytes::BytesMut::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(|_| false)?.into_data() {
            if bytes.len() + data.len() > BODY_LIMIT_BYTES {
                return Err(true);
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes.freeze())
}

/// What the built-in controllers have to do next.
#[derive(Debug)]
pub enum Step {
    /// Nothing.
    Quiet,
    /// This controller has sent a request.
    Acted(&'static str),
    /// Webhooks have to be called before a controller's request can be carried out.
    Calls(Pending),
}

/// Calls of webhooks that a built-in controller's request waits for.
#[must_use = "the controller goes on when they were made"]
pub struct Pending {
    shared: Arc<Shared>,
    wanted: Vec<Wanted>,
    author: Author,
}

impl std::fmt::Debug for Pending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Pending").field(&self.wanted.len()).finish()
    }
}

impl Pending {
    /// Has nobody called: nobody listens.
    fn refuse(self) {
        let refused = self.wanted.into_iter().map(|wanted| {
            let answer = wanted.unanswered();
            (wanted, answer)
        });
        let made: Vec<Made> = refused.collect();
        let mut live = self.shared.lock();
        live.tell(&made, &self.author);
        live.calls.record(made);
    }

    /// Makes them.
    pub async fn make(self) {
        let made = self.shared.make(self.wanted, &self.author).await;
        self.shared.lock().calls.record(made);
    }
}

impl Shared {
    /// Makes calls of webhooks, all at the same time, and records them.
    pub(crate) async fn make(&self, wanted: Vec<Wanted>, author: &Author) -> Vec<Made> {
        let caller = self.caller.get().cloned().unwrap_or_else(|| Arc::new(NobodyListens));
        let calls = wanted.into_iter().map(|wanted| {
            let caller = &caller;
            async move {
                let answer = match wanted.call.clone() {
                    Err(why) => Err(why),
                    Ok(call) => {
                        let url = call.url.clone();
                        let answer = caller.call(call).await;
                        answer.map_err(|why| post(&url, &why))
                    }
                };
                (wanted, answer)
            }
        });
        let made = futures::future::join_all(calls).await;
        self.lock().tell(&made, author);
        made
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Live> {
        // A panic inside a request leaves at most a half-done cascade behind, each commit of it whole.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The world as it is.
    pub(crate) fn world(&self) -> World {
        self.lock().world.clone()
    }

    pub(crate) fn now(&self) -> Time {
        Time(self.now.load(Ordering::SeqCst))
    }

    /// Tells subscribers of the newest revision.
    pub(crate) fn publish(&self, live: &Live) {
        let revision = live.world.revision();
        self.changed.send_if_modified(|known| {
            let newer = revision > *known;
            *known = revision.max(*known);
            newer
        });
    }
}

impl Live {
    /// Sets an object.
    pub(crate) fn put(
        &mut self,
        author: &Author,
        key: ObjectKey,
        object: serde_json::Value,
    ) -> Arc<Logged> {
        let logged = self.world.put(key, object);
        self.committed(author, &logged);
        logged
    }

    /// Removes an object, if it exists.
    pub(crate) fn remove(&mut self, author: &Author, key: ObjectKey) -> Option<Arc<Logged>> {
        let logged = self.world.remove(key)?;
        self.committed(author, &logged);
        Some(logged)
    }

    /// Keeps the world as it is as the one of its revision, if no time has passed since: a fork of it must not
    /// do again what the built-in controllers have done, or heard, since its commit.
    fn keep_world(&mut self) {
        if self.world.environment.is_some()
            && let Some(last) = self.worlds.last_mut()
            && last.revision() == self.world.revision()
            && last.now == self.world.now
        {
            *last = self.world.clone();
        }
    }

    fn committed(&mut self, author: &Author, logged: &Arc<Logged>) {
        self.worlds.push(self.world.clone());
        if let Some(recorder) = &self.recorder {
            recorder.record(Event::Commit(Commit {
                revision: logged.revision,
                change: logged.change,
                key: logged.key.clone(),
                object: logged.object.clone(),
                actor: author.actor.clone(),
                call: author.call,
                // Whoever records knows what the campaign calls one.
                heartbeat: false,
            }));
        }
        if logged.key.resource == crds() {
            self.watchers.learn_types(&self.world);
        }
        self.watchers.committed(logged);
        self.follows.committed(logged);
    }

    /// Records calls of webhooks.
    fn tell(&self, made: &[Made], author: &Author) {
        for (wanted, answer) in made {
            if let Some(recorder) = &self.recorder {
                recorder.record(Event::Webhook(told(wanted, answer, author)));
            }
        }
    }

    /// Numbers the answers, for their audit ids.
    pub(crate) fn next_answer(&mut self) -> u64 {
        self.answers += 1;
        self.answers
    }
}

/// How long the server lets a watch live that names no `timeoutSeconds`: half an hour to an hour, by
/// the watch's number (upstream draws it at random from the same range).
pub(crate) fn default_watch_life(number: u64) -> Duration {
    Duration::from_secs(1800 + number.wrapping_mul(611) % 1800)
}

#[cfg(test)]
mod tests;
