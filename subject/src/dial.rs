//! Calling what a subject listens on: webhooks that it serves.
//!
//! A TCP socket stays in the network namespace in which it was made. So the subject's first process makes some before it
//! becomes the subject, and leaves them to us; each is used for one connection after the other. No right is needed
//! for that which we did not have when the namespace was made.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpStream as Plain},
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    net::{TcpSocket, TcpStream},
    sync::{Semaphore, TryAcquireError},
};

use crate::sys::sockets;

/// Opens connections to ports of 127.0.0.1 as the subject sees it. Cloning it shares it.
#[derive(Debug, Clone)]
pub struct Dialer {
    /// None where the subject is on this machine's own network.
    inside: Option<Arc<Inside>>,
}

#[derive(Debug)]
struct Inside {
    /// Sockets that are not connected.
    free: Mutex<Vec<OwnedFd>>,
    /// As many as there are free ones.
    permits: Semaphore,
}

/// A connection. Dropping it closes it at once.
#[derive(Debug)]
pub struct Connection {
    /// It.
    pub stream: Option<TcpStream>,
    /// The socket, to be used again.
    kept: Option<(Arc<Inside>, OwnedFd)>,
}

impl Dialer {
    pub(crate) fn here() -> Dialer {
        Dialer { inside: None }
    }

    pub(crate) fn inside(free: Vec<OwnedFd>) -> Dialer {
        let permits = Semaphore::new(free.len());
        Dialer { inside: Some(Arc::new(Inside { free: Mutex::new(free), permits })) }
    }

    /// Connects to a port; waits for its turn where many connections are open. Must be called inside a tokio
    /// runtime.
    ///
    /// # Errors
    /// Whatever the system says, [`io::ErrorKind::ConnectionRefused`] above all.
    pub async fn connect(&self, port: u16) -> io::Result<Connection> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let Some(inside) = &self.inside else {
            let stream = TcpStream::connect(address).await?;
            return Ok(Connection { stream: Some(stream), kept: None });
        };
        let permit = match inside.permits.try_acquire() {
            Ok(permit) => permit,
            Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => {
                inside.permits.acquire().await.map_err(io::Error::other)?
            }
        };
        permit.forget();
        let socket = inside.lock().pop().ok_or_else(|| io::Error::other("no socket is left"))?;
        // From here on it finds its way back by itself.
        let mut connection = Connection { stream: None, kept: None };
        let copy = Plain::from(socket.try_clone()?);
        connection.kept = Some((inside.clone(), socket));
        connection.stream = Some(TcpSocket::from_std_stream(copy).connect(address).await?);
        Ok(connection)
    }
}

impl Inside {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<OwnedFd>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        drop(self.stream.take());
        let Some((inside, socket)) = self.kept.take() else { return };
        let plain = Plain::from(socket);
        // It may have been closed by the other side already.
        drop(plain.shutdown(std::net::Shutdown::Both));
        if sockets::disconnect(plain.as_fd()).is_ok() {
            inside.lock().push(plain.into());
            inside.permits.add_permits(1);
        }
    }
}
