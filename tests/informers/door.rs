//! A door of the server for one client: it can be slammed, and it knows who stands in it.

use std::{
    collections::BTreeSet,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use cluster::{BoxError, Server};
use futures::{FutureExt, future::BoxFuture};
use http::{Request, Response};
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
};
use tower::ServiceExt;
use trace::Actor;
use trommel_tests::root;

/// What the mirrors watch.
const WATCHED: [&str; 3] = ["configmaps", "selected", "widgets"];

/// Where one client comes in.
pub struct Door {
    name: &'static str,
    /// For this client.
    pub kubeconfig: PathBuf,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    connections: JoinSet<()>,
    /// Of [`WATCHED`], since the connections were cut.
    watches: BTreeSet<&'static str>,
    /// Lists, also those that come as the beginning of a watch.
    lists: usize,
}

impl Seen {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, request: &http::Uri) {
        let query = request.query().unwrap_or_default().to_lowercase();
        let Some(what) = WATCHED.into_iter().find(|what| match *what {
            "selected" => query.contains("labelselector=keep"),
            other => request.path().ends_with(other) && !query.contains("labelselector=keep"),
        }) else {
            return;
        };
        let watch = query.contains("watch=true") || query.contains("watch=1");
        // A list in pieces is one list.
        if (!watch && !query.contains("continue=")) || query.contains("sendinitialevents=true") {
            self.state().lists += 1;
        }
        if watch {
            self.state().watches.insert(what);
            self.changed.notify_waiters();
        }
    }
}

impl Door {
    /// On a port of its own.
    pub async fn open(name: &'static str, server: &Server) -> Door {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("informers");
        std::fs::create_dir_all(&folder).expect("a folder");
        let kubeconfig = folder.join(format!("{}.kubeconfig", name.replace([' ', ','], "-")));
        let text = std::fs::read_to_string(root().join("tests/informers/kubeconfig.yaml"));
        let text = text.expect("kubeconfig.yaml").replace("PORT", &port.to_string());
        std::fs::write(&kubeconfig, text).expect("a file can be written");
        let door = Door { name, kubeconfig, seen: Arc::default() };
        tokio::spawn(accept(listener, server.clone(), door.seen.clone()));
        door
    }

    /// Every connection ends, in the middle of what it was saying.
    pub fn cut(&self) {
        let mut state = self.seen.state();
        state.connections.abort_all();
        state.watches.clear();
    }

    /// When the client watches everything, since the last [`Self::cut`].
    pub async fn watched(&self) {
        loop {
            let changed = self.seen.changed.notified();
            if self.seen.state().watches.len() == WATCHED.len() {
                return;
            }
            changed.await;
        }
    }

    /// What it does not watch, if that is so.
    pub fn missing(&self) -> Option<String> {
        let state = self.seen.state();
        let missing: Vec<_> =
            WATCHED.iter().filter(|what| !state.watches.contains(*what)).collect();
        (!missing.is_empty()).then(|| format!("{} does not watch {missing:?}", self.name))
    }

    /// So many times something was listed.
    pub fn lists(&self) -> usize {
        self.seen.state().lists
    }
}

async fn accept(listener: TcpListener, server: Server, seen: Arc<Seen>) {
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        let task = speak(stream, server.clone(), seen.clone());
        let mut state = seen.state();
        state.connections.spawn(task);
        while state.connections.try_join_next().is_some() {}
    }
}

async fn speak(stream: TcpStream, server: Server, seen: Arc<Seen>) {
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        seen.note(request.uri());
        answer(&server, request)
    });
    // It ends with an error when it is cut.
    let connection = hyper::server::conn::http1::Builder::new();
    drop(connection.serve_connection(TokioIo::new(stream), service).await);
}

/// Errors are of one plain type, since the compiler can't follow boxed ones into a task.
fn answer(
    server: &Server,
    request: Request<Incoming>,
) -> BoxFuture<'static, io::Result<Response<UnsyncBoxBody<Bytes, io::Error>>>> {
    let own = |error| Box::new(error) as BoxError;
    let mut request = request.map(|body| body.map_err(own).boxed_unsync());
    request.extensions_mut().insert(Actor::User);
    let plain = |answer: Response<cluster::Body>| {
        answer.map(|body| body.map_err(io::Error::other).boxed_unsync())
    };
    let answer = server.service().oneshot(request);
    answer.map(move |answer| answer.map(plain).map_err(io::Error::other)).boxed()
}
