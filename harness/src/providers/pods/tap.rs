//! Where the connections of pods to the API server come out: those of the subject go to the running trial, all others on
//! to the API server, byte for byte.
//!
//! The listener is in the node's network namespace, so that a connection's other end is the pod's own address, and no
//! port of this machine is taken. A connection is the subject's if a pod of its has the other end.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot},
};

use super::{container, rule::Rule};
use crate::providers::kind::{Docker, HostNode};

/// Where connections of the subject's pods go, by the uid of the pod.
#[derive(Clone, Default)]
pub struct Leads(Arc<Mutex<BTreeMap<String, mpsc::UnboundedSender<std::net::TcpStream>>>>);

impl Leads {
    /// From now on, connections of this pod come here.
    pub fn lead(&self, uid: &str) -> mpsc::UnboundedReceiver<std::net::TcpStream> {
        let (lead, led) = mpsc::unbounded_channel();
        self.get().insert(uid.to_owned(), lead);
        led
    }

    /// No pod is the subject's any more.
    pub fn clear(&self) {
        self.get().clear();
    }

    /// The trial to which a connection from there belongs.
    fn of(&self, end: SocketAddr) -> Option<mpsc::UnboundedSender<std::net::TcpStream>> {
        let known = self.get().clone();
        let uid = container::pod_with(end, known.keys().map(String::as_str))?;
        known.get(uid).cloned()
    }

    fn get(&self) -> MutexGuard<'_, BTreeMap<String, mpsc::UnboundedSender<std::net::TcpStream>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The listeners and rules of all nodes, while they last: until this is dropped.
pub struct Tap {
    /// Its end ends the thread.
    _lasts: oneshot::Sender<()>,
}

impl Tap {
    /// Leads the pods of these nodes here. `api` is the API server's own address for this machine.
    ///
    /// # Errors
    /// A node's network can't be entered, or does not take the rule.
    pub fn open(
        nodes: Vec<HostNode>,
        service: SocketAddr,
        api: SocketAddr,
        leads: Leads,
    ) -> anyhow::Result<Tap> {
        let (lasts, over) = oneshot::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        // A thread of its own: connections of others outlive the trials.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return drop(tell.send(Err(error.into()))),
            };
            runtime.block_on(async {
                let set = set_all(&nodes, service, api, &leads).await;
                let (rules, result) = match set {
                    Ok(rules) => (rules, Ok(())),
                    Err(error) => (vec![], Err(error)),
                };
                // Nobody listens if the campaign has ended meanwhile.
                drop(tell.send(result));
                drop(over.await);
                drop(rules);
            });
        });
        told.recv()??;
        Ok(Tap { _lasts: lasts })
    }
}

async fn set_all(
    nodes: &[HostNode],
    service: SocketAddr,
    api: SocketAddr,
    leads: &Leads,
) -> anyhow::Result<Vec<Rule>> {
    let docker = Docker::connect().await?;
    let mut rules = Vec::new();
    for node in nodes {
        let listener = listen(node)?;
        let address = listener.local_addr()?;
        tokio::spawn(accept(listener, api, leads.clone()));
        rules.push(Rule::set(&docker, &node.name, service, address).await?);
    }
    Ok(rules)
}

fn listen(node: &HostNode) -> anyhow::Result<TcpListener> {
    let listener = subject::listen_beside(node.process, SocketAddr::new(node.address, 0));
    let listener = listener.map_err(|error| {
        crate::providers::kind::failed(&format!(
            "the network of the node {} can't be entered: {error}. A controller in pods needs root: `trommel doctor`",
            node.name
        ))
    })?;
    listener.set_nonblocking(true)?;
    Ok(TcpListener::from_std(listener)?)
}

async fn accept(listener: TcpListener, api: SocketAddr, leads: Leads) {
    loop {
        match listener.accept().await {
            Ok((stream, end)) => drop(tokio::spawn(pass(stream, end, api, leads.clone()))),
            Err(error) => {
                tracing::debug!(%error, "a pod's connection can't be accepted");
                proxy::accepting::pause().await;
            }
        }
    }
}

/// Passes a connection on to its trial, or to the API server.
async fn pass(
    mut stream: TcpStream,
    end: SocketAddr,
    api: SocketAddr,
    leads: Leads,
) -> io::Result<()> {
    if let Some(trial) = leads.of(end) {
        // If the trial is over, the connection is, too.
        drop(trial.send(stream.into_std()?));
        return Ok(());
    }
    let mut server = TcpStream::connect(api).await?;
    tokio::io::copy_bidirectional(&mut stream, &mut server).await?;
    Ok(())
}
