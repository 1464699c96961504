//! Listeners: accepting, one identity each, and cutting.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    os::fd::AsFd,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::mpsc::UnboundedReceiver,
    task::AbortHandle,
};
use trace::{Actor, CallId, ConnectionId, Flight, Recorder};

use crate::{
    Codec, Error, Upstream, accepting,
    connection::{Activity, Connection},
    exchange,
    gate::Gate,
    in_process,
    record::Sender,
    tap::{Counted, Observed},
};

/// Who speaks on a listener.
#[derive(Clone)]
pub struct Client {
    /// The identity of everyone who connects.
    pub actor: Actor,
    /// Which start of that actor.
    pub incarnation: u32,
    /// TLS with this; plain HTTP without.
    pub tls: Option<Arc<rustls::ServerConfig>>,
}

/// What the record keeps.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Keep the object of each delivery (the gate sees it in any case).
    pub keep_delivered_objects: bool,
}

/// See the crate. Cloning shares it.
#[derive(Clone)]
pub struct Proxy {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) upstream: Upstream,
    pub(crate) recorder: Recorder,
    pub(crate) codec: Arc<dyn Codec>,
    pub(crate) gate: Gate,
    pub(crate) options: Options,
    calls: AtomicU64,
    connections: AtomicU64,
    servings: AtomicU64,
    activity: Activity,
    open: Mutex<BTreeMap<ConnectionId, Arc<Connection>>>,
}

impl Shared {
    pub(crate) fn next_call(&self) -> CallId {
        CallId(self.calls.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn flight(&self, counts: impl Fn(&Connection) -> bool) -> Flight {
        let activity = self.activity.load(Ordering::Relaxed);
        let mut flight = Flight { activity, ..Flight::default() };
        for connection in self.open().values().filter(|connection| counts(connection)) {
            connection.report(&mut flight);
        }
        flight
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<ConnectionId, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Proxy {
    /// A proxy in front of `upstream`, recording into `recorder` what `codec` can read.
    pub fn new(upstream: Upstream, recorder: Recorder, codec: Arc<dyn Codec>) -> Proxy {
        Proxy::with_options(upstream, recorder, codec, Options::default())
    }

    /// The same, with options.
    pub fn with_options(
        upstream: Upstream,
        recorder: Recorder,
        codec: Arc<dyn Codec>,
        options: Options,
    ) -> Proxy {
        Proxy {
            shared: Arc::new(Shared {
                upstream,
                recorder,
                codec,
                gate: Gate::default(),
                options,
                calls: AtomicU64::new(0),
                connections: AtomicU64::new(0),
                servings: AtomicU64::new(0),
                activity: Activity::default(),
                open: Mutex::default(),
            }),
        }
    }

    /// Serves `listener` (HTTP/1.1) until the [`Serving`] is closed or dropped. Must be called inside a tokio
    /// runtime; everything runs as tasks on it. Fails if the runtime can't watch the socket.
    pub fn serve(&self, listener: std::net::TcpListener, client: Client) -> io::Result<Serving> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = TcpListener::from_std(listener)?;
        let number = self.shared.servings.fetch_add(1, Ordering::Relaxed);
        let task = tokio::spawn(accept(self.shared.clone(), listener, client, number));
        let task = task.abort_handle();
        Ok(Serving { shared: self.shared.clone(), number, address, task })
    }

    /// Serves connections that somebody else accepts, as they come, until the [`Serving`] is closed or dropped. `address`
    /// is where their clients believe the server to be: their packets were led here.
    pub fn serve_accepted(
        &self,
        mut accepted: UnboundedReceiver<std::net::TcpStream>,
        address: SocketAddr,
        client: Client,
    ) -> Serving {
        let number = self.shared.servings.fetch_add(1, Ordering::Relaxed);
        let shared = self.shared.clone();
        let task = tokio::spawn(async move {
            while let Some(stream) = accepted.recv().await {
                let welcomed = stream
                    .set_nonblocking(true)
                    .and_then(|()| TcpStream::from_std(stream))
                    .and_then(|stream| welcome(&shared, stream, Some(address), &client, number));
                if let Err(error) = welcomed {
                    tracing::debug!(%error, "a connection could not be taken over");
                }
            }
        });
        Serving { shared: self.shared.clone(), number, address, task: task.abort_handle() }
    }

    /// What is under way now.
    pub fn flight(&self) -> Flight {
        self.shared.flight(|_| true)
    }

    /// What everything passes.
    pub fn gate(&self) -> &Gate {
        &self.shared.gate
    }

    /// The number for a call that is recorded without passing this proxy; numbers are never given twice.
    pub fn next_call(&self) -> CallId {
        self.shared.next_call()
    }

    /// What `actor` calls from within this process: its calls and answers are recorded and numbered like
    /// those of a listener, but they do not pass the gate and are not in [`Proxy::flight`], because their
    /// caller awaits them here. Of a watch only the call and the head of its answer are recorded.
    pub fn in_process(&self, actor: Actor, incarnation: u32) -> Upstream {
        let sender = Sender { actor, incarnation, connection: ConnectionId(0) };
        in_process::upstream(self.shared.clone(), sender)
    }

    /// Cuts one connection at once; see [`Serving::close`]. `false` if it is gone.
    pub fn cut_connection(&self, connection: ConnectionId) -> bool {
        let found = self.shared.open().remove(&connection);
        if let Some(connection) = &found {
            self.shared.gate.locked(|| connection.cuts());
        }
        found.is_some()
    }
}

/// One listener being served. Dropping it closes it.
#[must_use = "dropping it closes the listener"]
pub struct Serving {
    shared: Arc<Shared>,
    number: u64,
    address: SocketAddr,
    task: AbortHandle,
}

impl Serving {
    /// Where it listens, or where its clients believe it to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What is under way now on its connections. Everybody's activity is counted: nothing moved anywhere between two equal
    /// ones.
    pub fn flight(&self) -> Flight {
        self.shared.flight(|connection| connection.serving == self.number)
    }

    /// Cuts all connections of this listener at once and stops listening. When this returns nothing
    /// of them passes the gate any more, no byte is read or written, and each call that was open has its
    /// `Answer` record: `Lost` if it was forwarded, else `Dropped`.
    pub fn close(self) {}
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
        let mut open = self.shared.open();
        self.shared.gate.locked(|| {
            for connection in open.values().filter(|open| open.serving == self.number) {
                connection.cuts();
            }
        });
        open.retain(|_, connection| connection.serving != self.number);
    }
}

/// Takes the connection off the books when its task ends, in whatever way.
struct OnTheBooks {
    shared: Arc<Shared>,
    connection: Arc<Connection>,
}

impl Drop for OnTheBooks {
    fn drop(&mut self) {
        if self.shared.open().remove(&self.connection.sender.connection).is_some() {
            self.connection.ends();
        }
    }
}

async fn accept(shared: Arc<Shared>, listener: TcpListener, client: Client, serving: u64) {
    loop {
        match accepting::accept(&listener).await {
            Ok(stream) if accepting::is_one_too_many(&stream) => accepting::refuse(),
            Ok(stream) => {
                if let Err(error) = welcome(&shared, stream, None, &client, serving) {
                    tracing::debug!(%error, "a connection could not be accepted");
                }
            }
            Err(error) => {
                tracing::debug!(%error, "no connection can be accepted");
                accepting::refuse();
                accepting::pause().await;
            }
        }
    }
}

/// Puts a new connection on the books and serves it in a task of its own; `address` is where its client believes the
/// server to be, if that is elsewhere.
fn welcome(
    shared: &Arc<Shared>,
    stream: TcpStream,
    address: Option<SocketAddr>,
    client: &Client,
    serving: u64,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = std::net::TcpStream::from(stream.as_fd().try_clone_to_owned()?);
    let id = ConnectionId(shared.connections.fetch_add(1, Ordering::Relaxed) + 1);
    let connection = Arc::new(Connection::new(
        Sender { actor: client.actor.clone(), incarnation: client.incarnation, connection: id },
        serving,
        (socket, address),
        shared.activity.clone(),
        shared.recorder.clone(),
    )?);
    shared.open().insert(id, connection.clone());
    let books = OnTheBooks { shared: shared.clone(), connection: connection.clone() };
    let tls = client.tls.clone();
    let task = tokio::spawn(async move {
        if let Err(error) = attend(&books, stream, tls).await {
            tracing::debug!(%error, connection = id.0, "a connection ended with an error");
        }
    });
    connection.runs_in(task.abort_handle());
    Ok(())
}

/// Serves one connection to its end.
async fn attend(
    books: &OnTheBooks,
    stream: TcpStream,
    tls: Option<Arc<rustls::ServerConfig>>,
) -> Result<(), Error> {
    let connection = &books.connection;
    let stream = Counted::new(stream, connection.clone());
    let Some(tls) = tls else { return speak(books, stream).await };
    connection.shakes_hands(true);
    let stream = tokio_rustls::TlsAcceptor::from(tls).accept(stream).await?;
    connection.shakes_hands(false);
    connection.shows(crate::tls::shown(stream.get_ref().1));
    speak(books, stream).await
}

/// Speaks HTTP/1.1. No timeouts (time is virtual), no `Date` of our own (upstream's is forwarded).
async fn speak<T>(books: &OnTheBooks, stream: T) -> Result<(), Error>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (shared, connection) = (&books.shared, &books.connection);
    let stream = TokioIo::new(Observed::new(stream, connection.clone()));
    let service =
        service_fn(|request| exchange::serve(shared.clone(), connection.clone(), request));
    hyper::server::conn::http1::Builder::new()
        .auto_date_header(false)
        .header_read_timeout(None)
        .serve_connection(stream, service)
        .with_upgrades()
        .await?;
    if let Some(rest) = connection.take_rest() {
        rest.await;
    }
    Ok(())
}
