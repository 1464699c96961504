//! The account of one connection: what it carries now, and what its sockets have carried.
//!
//! HTTP/1.1 carries one exchange at a time. Its stages follow each other without gaps: some of a request
//! has arrived → it is a call → forwarded → the answer is complete → it is flushed. Only the last makes
//! the connection idle again. What a client may rely on having been sent (`Answer`, `Delivery`) is recorded
//! when it is flushed to the socket, so that the record of a killed client says what it can have seen.
//!
//! Simplification: of a client that pipelines, the first part of a second request that arrived in the
//! same read as the end of the first does not count as under way until the rest arrives or the first is
//! answered. No Kubernetes client pipelines.

use std::{
    net::{Shutdown, SocketAddr, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tokio::task::AbortHandle;
use trace::{
    Actor, Answer, Body, Call, CallId, ConnectionId, Delivery, Event, Fate, Flight, Recorder,
    SocketPair,
};

use crate::gate::Waits;

/// What a connection's task does after HTTP: an upgraded one's splice.
pub(crate) type Rest = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// Grows with everything that moves, over all connections of a proxy.
pub(crate) type Activity = Arc<AtomicU64>;

/// One accepted connection.
pub(crate) struct Connection {
    pub(crate) id: ConnectionId,
    pub(crate) actor: Actor,
    pub(crate) incarnation: u32,
    /// The listener that accepted it.
    pub(crate) serving: u64,
    local: SocketAddr,
    peer: SocketAddr,
    /// A second handle of the socket, to cut it without waiting for its task.
    socket: TcpStream,
    task: OnceLock<AbortHandle>,
    cut: AtomicBool,
    sent: AtomicU64,
    received: AtomicU64,
    activity: Activity,
    recorder: Recorder,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The TLS handshake has begun and has not ended.
    shaking_hands: bool,
    stage: Stage,
    /// Bytes of a next request arrived while this one was being answered.
    ahead: bool,
    /// Handed to HTTP, not yet flushed.
    unflushed: Vec<Delivery>,
    /// What its task does after HTTP.
    rest: Option<Rest>,
}

#[derive(Default)]
enum Stage {
    #[default]
    Idle,
    Receiving,
    Open(Box<Exchange>),
    /// Upgraded (101): bytes go both ways unseen.
    Spliced,
}

/// A call from its receipt to its last byte.
struct Exchange {
    call: CallId,
    /// For people: `update configmaps default/a`.
    text: String,
    forwarded: bool,
    /// What it waits for at the gate, if it is there.
    waits: Option<Waits>,
    /// A watch whose answer's head was released.
    watch: Option<Backlog>,
    /// What will be recorded when it is flushed.
    answer: Option<Answer>,
    /// HTTP has been given all of it.
    complete: bool,
    /// It ends in an upgrade.
    upgrade: bool,
}

/// A watch's events that were taken from upstream and not handed on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Backlog {
    /// The head of the answer is flushed.
    flushed: bool,
    /// Events, the part of one included.
    pub(crate) events: usize,
}

impl Connection {
    /// The account of a socket that was just accepted.
    pub(crate) fn new(
        id: ConnectionId,
        client: (Actor, u32, u64),
        socket: TcpStream,
        activity: Activity,
        recorder: Recorder,
    ) -> std::io::Result<Connection> {
        let (actor, incarnation, serving) = client;
        activity.fetch_add(1, Ordering::Relaxed);
        Ok(Connection {
            id,
            actor,
            incarnation,
            serving,
            local: socket.local_addr()?,
            peer: socket.peer_addr()?,
            socket,
            task: OnceLock::new(),
            cut: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            activity,
            recorder,
            state: Mutex::default(),
        })
    }

    /// The task that serves it, to be aborted at a cut.
    pub(crate) fn runs_in(&self, task: AbortHandle) {
        // Set once, by the one who spawned it.
        let _ = self.task.set(task);
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Relaxed)
    }

    /// Read by the gate under its lock.
    pub(crate) fn cut_flag(&self) -> &AtomicBool {
        &self.cut
    }

    pub(crate) fn moved(&self) {
        self.activity.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
        self.activity.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
        self.activity.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code from outside runs under it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn shakes_hands(&self, shaking: bool) {
        self.lock().shaking_hands = shaking;
    }

    /// HTTP read these bytes. Line ends before a request are no part of one (RFC 9112 §2.2).
    pub(crate) fn heard(&self, bytes: &[u8]) {
        if bytes.iter().all(|byte| matches!(byte, b'\r' | b'\n')) {
            return;
        }
        let mut state = self.lock();
        match &state.stage {
            Stage::Idle => state.stage = Stage::Receiving,
            Stage::Open(_) => state.ahead = true,
            Stage::Receiving | Stage::Spliced => {}
        }
    }

    /// HTTP has read the head of a request.
    pub(crate) fn begins(&self) {
        let mut state = self.lock();
        state.ahead = false;
        state.stage = Stage::Receiving;
    }

    /// The request was received in full.
    pub(crate) fn opens(&self, call: &Call) {
        self.lock().stage = Stage::Open(Box::new(Exchange {
            call: call.id,
            text: describe(call),
            forwarded: false,
            waits: None,
            watch: None,
            answer: None,
            complete: false,
            upgrade: false,
        }));
        self.moved();
    }

    fn with_exchange(&self, change: impl FnOnce(&mut Exchange)) {
        if let Stage::Open(exchange) = &mut self.lock().stage {
            change(exchange);
        }
        self.moved();
    }

    /// It is at the gate, or past it.
    pub(crate) fn waits(&self, waits: Option<Waits>) {
        self.with_exchange(|exchange| exchange.waits = waits);
    }

    /// It passed the gate on its way to upstream.
    pub(crate) fn forwards(&self) {
        self.with_exchange(|exchange| exchange.forwarded = true);
    }

    /// Upstream answered: this is recorded when the client has it, or at a cut.
    pub(crate) fn answers(&self, answer: Answer) {
        self.with_exchange(|exchange| exchange.answer = Some(answer));
    }

    /// The head of a watch's answer is released.
    pub(crate) fn streams(&self) {
        self.with_exchange(|exchange| exchange.watch = Some(Backlog::default()));
    }

    /// The watch has this many events that it did not hand on.
    pub(crate) fn owes(&self, events: usize) {
        self.with_exchange(|exchange| {
            exchange.watch.get_or_insert_default().events = events;
        });
    }

    /// A watch event is handed to HTTP.
    pub(crate) fn delivers(&self, delivery: Delivery) {
        self.lock().unflushed.push(delivery);
        self.moved();
    }

    /// HTTP has been given all of the answer.
    pub(crate) fn completes(&self) {
        self.with_exchange(|exchange| exchange.complete = true);
    }

    /// The answer in the making ends HTTP on this connection.
    pub(crate) fn upgrades(&self) {
        self.with_exchange(|exchange| exchange.upgrade = true);
    }

    /// `rest` is what becomes of the connection when HTTP is done with it.
    pub(crate) fn goes_on(&self, rest: Rest) {
        self.lock().rest = Some(rest);
    }

    pub(crate) fn take_rest(&self) -> Option<Rest> {
        self.lock().rest.take()
    }

    /// All that HTTP was given is in the socket.
    pub(crate) fn flushed(&self) {
        let mut guard = self.lock();
        let state = &mut *guard;
        for delivery in state.unflushed.drain(..) {
            self.recorder.record(Event::Delivery(delivery));
            self.moved();
        }
        let Stage::Open(exchange) = &mut state.stage else { return };
        if !exchange.complete {
            if let Some(watch) = &mut exchange.watch {
                watch.flushed = true;
            }
            return;
        }
        let answer = exchange.ends(Fate::Answered);
        state.stage = match (exchange.upgrade, std::mem::take(&mut state.ahead)) {
            (true, _) => Stage::Spliced,
            (false, true) => Stage::Receiving,
            (false, false) => Stage::Idle,
        };
        self.recorder.record(Event::Answer(answer));
        self.moved();
    }

    /// The connection is over. A call that was open gets its fate.
    pub(crate) fn ends(&self) {
        let mut state = self.lock();
        state.unflushed.clear();
        state.shaking_hands = false;
        if let Stage::Open(exchange) = std::mem::take(&mut state.stage) {
            let fate = if exchange.forwarded { Fate::Lost } else { Fate::Dropped };
            self.recorder.record(Event::Answer(exchange.into_answer(fate)));
        }
        self.moved();
    }

    /// Cuts the connection at once: after this returns, nothing of it passes the gate, and no byte is read
    /// or written. To be called under the gate's lock.
    pub(crate) fn cuts(&self) {
        self.cut.store(true, Ordering::Relaxed);
        // It fails only where the client has closed it already.
        let _ = self.socket.shutdown(Shutdown::Both);
        if let Some(task) = self.task.get() {
            task.abort();
        }
        self.ends();
    }

    /// Adds this connection to a snapshot.
    pub(crate) fn report(&self, flight: &mut Flight) {
        let received_bytes = self.received.load(Ordering::Relaxed);
        flight.connections.push(SocketPair {
            local: self.local,
            peer: self.peer,
            sent_bytes: self.sent.load(Ordering::Relaxed),
            received_bytes,
        });
        let state = self.lock();
        flight.undelivered += state.unflushed.len();
        match &state.stage {
            Stage::Idle if state.shaking_hands && received_bytes > 0 => {
                flight.calls.push(format!("a TLS handshake with {}", self.peer));
            }
            Stage::Receiving => flight.calls.push(format!("part of a request from {}", self.peer)),
            Stage::Open(exchange) => exchange.report(flight),
            Stage::Idle | Stage::Spliced => {}
        }
        if state.ahead {
            flight.calls.push(format!("part of a next request from {}", self.peer));
        }
    }
}

impl Exchange {
    /// The answer as it is recorded.
    fn ends(&mut self, fate: Fate) -> Answer {
        let call = self.call;
        let none = Answer { call, fate, status: 0, revision: None, body: Body::None };
        Answer { fate, ..self.answer.take().unwrap_or(none) }
    }

    fn into_answer(mut self: Box<Self>, fate: Fate) -> Answer {
        self.ends(fate)
    }

    fn report(&self, flight: &mut Flight) {
        let held = self.waits.as_ref().is_some_and(Waits::is_held);
        match (self.watch, held) {
            (Some(watch), true) => flight.held += watch.events,
            (Some(watch), false) => flight.undelivered += watch.events,
            (None, true) => flight.held += 1,
            (None, false) => {}
        }
        let streaming = self.watch.is_some_and(|watch| watch.flushed) && !self.complete;
        if !streaming && !held {
            flight.calls.push(self.text.clone());
        }
    }
}

/// `update configmaps default/a (call 12)`.
fn describe(call: &Call) -> String {
    let Some(resource) = &call.resource else {
        return format!("{} {} (call {})", call.method, call.uri, call.id.0);
    };
    let parts = [&call.namespace, &call.name, &call.subresource].map(String::as_str);
    let object: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{} {resource} {} (call {})", call.verb, object.join("/"), call.id.0)
}
