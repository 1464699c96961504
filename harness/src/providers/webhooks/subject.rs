//! Calls into the subject, and what of them is under way.
//!
//! The sockets are those that the subject's first process made in its namespace and left to us (`subject::Dialer`);
//! each call has a connection of its own. While a call has no answer the moment is not quiet; if the subject sleeps
//! over it, time passes (`harness/src/trial/webhook_calls.rs`).

use std::{
    collections::BTreeMap,
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use cluster::{Caller, Clock, Destination, WebhookAnswer, WebhookCall};
use futures::future::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::{Notify, oneshot},
};
use trace::Time;

use super::{TIMED_OUT, is_loopback, over};

/// Calls the subject's current incarnation. Cloning it shares it.
#[derive(Clone)]
pub(crate) struct SubjectCaller {
    shared: Arc<Shared>,
}

struct Shared {
    /// The world's: the server holds its caller, so the caller must not hold the server.
    clock: Clock,
    /// The way to the incarnation that runs; none while the subject is down.
    dialer: Mutex<Option<subject::Dialer>>,
    calls: Mutex<BTreeMap<u64, Outstanding>>,
    /// Tells of each call that begins.
    asked: Notify,
    /// Calls that began.
    begun: AtomicU64,
    /// Grows with every call that begins or ends, and every byte of them.
    moved: Arc<AtomicU64>,
}

/// A call without an answer.
struct Outstanding {
    text: String,
    /// When it is given up, by the world's clock.
    until: Time,
    /// Tells it so.
    give_up: oneshot::Sender<()>,
}

impl SubjectCaller {
    pub(crate) fn new(clock: Clock) -> SubjectCaller {
        SubjectCaller {
            shared: Arc::new(Shared {
                clock,
                dialer: Mutex::default(),
                calls: Mutex::default(),
                asked: Notify::new(),
                begun: AtomicU64::new(0),
                moved: Arc::default(),
            }),
        }
    }

    /// From now on this incarnation is called; or none.
    pub(crate) fn lead_to(&self, dialer: Option<subject::Dialer>) {
        *lock(&self.shared.dialer) = dialer;
    }

    /// Waits for a call to begin; ends at once if one has since it was last asked.
    pub(crate) async fn asked(&self) {
        self.shared.asked.notified().await;
    }

    /// Calls that have no answer yet, each with a short description.
    pub(crate) fn outstanding(&self) -> Vec<String> {
        lock(&self.shared.calls).values().map(|call| call.text.clone()).collect()
    }

    /// Grows with everything that moves.
    pub(crate) fn activity(&self) -> u64 {
        self.shared.moved.load(Ordering::Relaxed)
    }

    /// When the next of them is given up, by the world's clock.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        lock(&self.shared.calls).values().map(|call| call.until).min()
    }

    /// Gives up those whose time is over.
    pub(crate) fn give_up_due(&self) {
        let now = self.shared.clock.now();
        let mut calls = lock(&self.shared.calls);
        let due: Vec<u64> =
            calls.iter().filter(|(_, call)| call.until <= now).map(|(id, _)| *id).collect();
        for call in due.into_iter().filter_map(|id| calls.remove(&id)) {
            // One that ended at this moment needs not be told.
            let _ = call.give_up.send(());
        }
    }
}

impl Caller for SubjectCaller {
    fn call(&self, call: WebhookCall) -> BoxFuture<'static, Result<WebhookAnswer, String>> {
        let shared = self.shared.clone();
        Box::pin(async move {
            let (give_up, given_up) = oneshot::channel();
            let until = shared.clock.now().plus(call.timeout);
            let text = format!("the webhook {} is asked about {}", call.name, call.about);
            let under_way = UnderWay::begin(shared, Outstanding { text, until, give_up });
            tokio::select! {
                biased;
                answer = reach(&under_way.shared, &call) => answer,
                _ = given_up => Err(TIMED_OUT.to_owned()),
            }
        })
    }
}

async fn reach(shared: &Shared, call: &WebhookCall) -> Result<WebhookAnswer, String> {
    let port = match &call.destination {
        Destination::Host { host, port } if is_loopback(host) => *port,
        Destination::Host { host, port } => {
            return Err(format!(
                "dial tcp {host}:{port}: only the subject itself can be called here"
            ));
        }
        Destination::Service { target_port: Some(port), .. } => *port,
        Destination::Service { address, .. } => {
            return Err(format!(
                "dial tcp {address}: nothing says on which port the Service's pods listen"
            ));
        }
    };
    let dialer = lock(&shared.dialer).clone().ok_or_else(|| call.destination.refused())?;
    let mut connection =
        dialer.connect(port).await.map_err(|error| call.destination.undialled(&error))?;
    let stream = connection.stream.take().ok_or_else(|| call.destination.refused())?;
    // The connection's socket is used again: it must outlive the stream.
    let stream = Counted { stream, moved: shared.moved.clone() };
    let answer = over(stream, call, shared.clock.now()).await;
    drop(connection);
    answer
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call's place in the books, as long as it lasts.
struct UnderWay {
    shared: Arc<Shared>,
    id: u64,
}

impl UnderWay {
    fn begin(shared: Arc<Shared>, call: Outstanding) -> UnderWay {
        let id = shared.begun.fetch_add(1, Ordering::Relaxed);
        shared.moved.fetch_add(1, Ordering::Relaxed);
        lock(&shared.calls).insert(id, call);
        shared.asked.notify_one();
        UnderWay { shared, id }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.shared.moved.fetch_add(1, Ordering::Relaxed);
        lock(&self.shared.calls).remove(&self.id);
    }
}

/// A connection whose bytes are counted.
struct Counted {
    stream: TcpStream,
    moved: Arc<AtomicU64>,
}

impl Counted {
    fn count(&self, bytes: usize) {
        self.moved.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.count(buffer.filled().len() - before);
        polled
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(written)) = polled {
            self.count(written);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
