//! The account of one connection: what it carries now, and what its sockets have carried.
//!
//! HTTP/1.1 carries one exchange at a time. Its stages follow each other without gaps: some of a request
//! has arrived → it is a call → forwarded → the answer is complete → it is flushed. Only the last makes
//! the connection idle again. An answer counts as given when its last byte is in the socket; a watch event is
//! recorded when it is released, because a client reads the first events of a long burst, and acts on
//! them, while the last still wait for room in the socket. Of a client that was killed in a burst the
//! record may therefore name events that it did not read.
//!
//! Simplification: of a client that pipelines, the first part of a second request that arrived in the
//! same read as the end of the first does not count as under way until more of it arrives. No Kubernetes
//! client pipelines.

use std::{
    net::{Shutdown, SocketAddr, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
};

use tokio::task::AbortHandle;
use trace::{Answer, Call, ClientCertificates, Event, Flight, Recorder, SocketPair};

use crate::{gate::Waits, record::Sender};

mod account;
use account::{Account, Backlog};

/// What a connection's task does after HTTP: an upgraded one's splice.
pub(crate) type Rest = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// Grows with everything that moves, over all connections of a proxy.
pub(crate) type Activity = Arc<AtomicU64>;

/// One accepted connection.
pub(crate) struct Connection {
    pub(crate) sender: Sender,
    /// The listener that accepted it.
    pub(crate) serving: u64,
    /// Where the client believes the server to be.
    local: SocketAddr,
    peer: SocketAddr,
    /// A second handle of the socket, to cut it without waiting for its task.
    socket: TcpStream,
    task: OnceLock<AbortHandle>,
    /// Set when the handshake was over.
    certificates: OnceLock<ClientCertificates>,
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
    /// Watch events handed to HTTP, not yet flushed.
    unflushed: usize,
    /// HTTP was given something since it last flushed.
    dirty: bool,
    /// Woken at the next flush.
    awaits_flush: Option<Waker>,
    /// What its task does after HTTP.
    rest: Option<Rest>,
}

#[derive(Default)]
enum Stage {
    #[default]
    Idle,
    Receiving,
    Open(Box<Account>),
    /// Upgraded (101): bytes go both ways unseen.
    Spliced,
    /// Upgraded, and spoken by an upstream of this process.
    Spoken {
        /// For people, as of a call.
        text: String,
        /// It has said all that it has to say before the client says more.
        waits: bool,
    },
}

/// What becomes of a connection that was upgraded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upgrade {
    /// It is joined to one of upstream.
    Spliced,
    /// Upstream speaks on it.
    Spoken,
}

impl Connection {
    /// The account of a socket that was just accepted; its client believes it to lead to `address`, if there is one.
    pub(crate) fn new(
        sender: Sender,
        serving: u64,
        (socket, address): (TcpStream, Option<SocketAddr>),
        activity: Activity,
        recorder: Recorder,
    ) -> std::io::Result<Connection> {
        activity.fetch_add(1, Ordering::Relaxed);
        Ok(Connection {
            sender,
            serving,
            local: address.map_or_else(|| socket.local_addr(), Ok)?,
            peer: socket.peer_addr()?,
            socket,
            task: OnceLock::new(),
            certificates: OnceLock::new(),
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

    /// Its client showed this of itself.
    pub(crate) fn shows(&self, certificates: Option<ClientCertificates>) {
        if let Some(certificates) = certificates {
            // There is one handshake.
            let _ = self.certificates.set(certificates);
        }
    }

    /// What its client showed of itself.
    pub(crate) fn certificates(&self) -> Option<&ClientCertificates> {
        self.certificates.get()
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
        match &mut state.stage {
            Stage::Idle => state.stage = Stage::Receiving,
            Stage::Open(_) => state.ahead = true,
            Stage::Spoken { waits, .. } => *waits = false,
            Stage::Receiving | Stage::Spliced => {}
        }
    }

    /// More is wanted, and there is nothing to read.
    pub(crate) fn listens(&self) {
        self.waits_for_client(true);
    }

    /// Something is to be written.
    pub(crate) fn speaks(&self) {
        self.waits_for_client(false);
    }

    fn waits_for_client(&self, it_does: bool) {
        if let Stage::Spoken { waits, .. } = &mut self.lock().stage {
            *waits = it_does;
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
        self.lock().stage = Stage::Open(Box::new(Account::open(call)));
        self.moved();
    }

    fn with_account(&self, change: impl FnOnce(&mut Account)) {
        if let Stage::Open(account) = &mut self.lock().stage {
            change(account);
        }
        self.moved();
    }

    /// It is at the gate, or past it.
    pub(crate) fn waits(&self, waits: Option<Waits>) {
        self.with_account(|account| account.waits = waits);
    }

    /// It passed the gate on its way to upstream.
    pub(crate) fn forwards(&self) {
        self.with_account(|account| account.forwarded = true);
    }

    /// Upstream answered: this is recorded when the client has it, or at a cut.
    pub(crate) fn answers(&self, answer: Answer) {
        self.with_account(|account| account.answer = Some(answer));
    }

    /// The head of a watch's answer is released.
    pub(crate) fn streams(&self) {
        self.with_account(|account| account.watch = Some(Backlog::default()));
        self.hands_over();
    }

    /// The watch has this many events that it did not hand on.
    pub(crate) fn owes(&self, events: usize) {
        self.with_account(|account| {
            account.watch.get_or_insert_default().events = events;
        });
    }

    /// A watch event is handed to HTTP.
    pub(crate) fn delivers(&self) {
        self.lock().unflushed += 1;
        self.hands_over();
    }

    /// HTTP is given a head or a piece of a body.
    pub(crate) fn hands_over(&self) {
        self.lock().dirty = true;
        self.moved();
    }

    /// Ready once all that HTTP was given is in the socket. HTTP drops what it has not written when a
    /// body fails, but a client of a broken stream may see all that came before the break.
    pub(crate) fn poll_flushed(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.dirty {
            state.awaits_flush = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// HTTP has been given all of the answer.
    pub(crate) fn completes(&self) {
        self.with_account(|account| account.complete = true);
    }

    /// The answer in the making ends HTTP on this connection.
    pub(crate) fn upgrades(&self, upgrade: Upgrade) {
        self.with_account(|account| account.upgrade = Some(upgrade));
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
        state.dirty = false;
        if let Some(waker) = state.awaits_flush.take() {
            waker.wake();
        }
        if std::mem::take(&mut state.unflushed) > 0 {
            self.moved();
        }
        let Stage::Open(account) = &mut state.stage else { return };
        if !account.complete {
            if let Some(watch) = &mut account.watch {
                watch.flushed = true;
            }
            return;
        }
        let answer = account.ends();
        state.stage = match (account.upgrade, std::mem::take(&mut state.ahead)) {
            (Some(Upgrade::Spliced), _) => Stage::Spliced,
            (Some(Upgrade::Spoken), _) => {
                Stage::Spoken { text: std::mem::take(&mut account.text), waits: false }
            }
            (None, true) => Stage::Receiving,
            (None, false) => Stage::Idle,
        };
        self.recorder.record(Event::Answer(answer));
        self.moved();
    }

    /// The connection is over. A call that was open gets its fate.
    pub(crate) fn ends(&self) {
        let mut state = self.lock();
        state.unflushed = 0;
        state.shaking_hands = false;
        if let Stage::Open(mut account) = std::mem::take(&mut state.stage) {
            self.recorder.record(Event::Answer(account.is_cut()));
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
        flight.undelivered += state.unflushed;
        match &state.stage {
            Stage::Idle if state.shaking_hands && received_bytes > 0 => {
                flight.calls.push(format!("a TLS handshake with {}", self.peer));
            }
            Stage::Receiving => flight.calls.push(format!("part of a request from {}", self.peer)),
            Stage::Open(account) => account.report(flight),
            Stage::Spoken { text, waits: false } => flight.calls.push(text.clone()),
            Stage::Idle | Stage::Spliced | Stage::Spoken { .. } => {}
        }
        if state.ahead {
            flight.calls.push(format!("part of a next request from {}", self.peer));
        }
    }
}
