//! Accepting connections, also when descriptors run out.
//!
//! Descriptors are the process's, and clients decide how many connections there are. So the connections of a [`Proxy`]
//! leave one descriptor in [`KEPT`] for all else: processes to start, what the kernel says of them, files. Who is refused
//! for that is counted, because what a subject does without the connection says nothing about it.
//!
//! [`Proxy`]: crate::Proxy

use std::{
    io,
    os::fd::AsRawFd,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use rustix::process::{Resource, getrlimit};
use tokio::net::{TcpListener, TcpStream};

/// Connections leave one descriptor in so many.
const KEPT: u64 = 8;

/// How long to wait for a descriptor before accepting is tried again: nothing tells when one gets free.
const PAUSE: Duration = Duration::from_millis(100);

static REFUSED: AtomicU64 = AtomicU64::new(0);

/// Connections that the proxies of this process refused so far, for want of descriptors or of the kernel's memory.
pub fn refused() -> u64 {
    REFUSED.load(Ordering::Relaxed)
}

/// What ran out, and what to do about it.
pub fn shortage() -> String {
    let limit = descriptors();
    format!(
        "descriptors ran out: connections take two each, and this process may have {limit} (ulimit -n); raise the hard \
         limit (ulimit -Hn), or run fewer trials side by side (--workers)"
    )
}

/// The next connection. One that is over before it was taken is passed over.
///
/// # Errors
/// None can be had now; the listener is as good as before (`EMFILE`, `ENFILE`, `ENOBUFS`, `ENOMEM`). [`pause`] comes next.
pub async fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return Ok(stream),
            Err(error) if lacks_something(&error) => return Err(error),
            // Of the connection, not of the listener (accept(2)).
            Err(error) => tracing::debug!(%error, "a connection was over before it was accepted"),
        }
    }
}

/// Lets some time pass in which descriptors may get free.
#[allow(clippy::disallowed_methods)] // how late a connection is accepted
pub async fn pause() {
    tokio::time::sleep(PAUSE).await;
}

/// Whether a connection took one of the descriptors that are for all else. The kernel gives the lowest that is free.
pub(crate) fn is_one_too_many(stream: &TcpStream) -> bool {
    let limit = descriptors();
    u64::from(stream.as_raw_fd().unsigned_abs()) >= limit - limit / KEPT
}

/// Counts a connection that is refused. The first one is told.
pub(crate) fn refuse() {
    if REFUSED.fetch_add(1, Ordering::Relaxed) == 0 {
        tracing::warn!("{}", shortage());
    }
}

/// Whether the machine had no room for one more.
pub(crate) fn lacks_something(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let lacking = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    error.raw_os_error().is_some_and(|code| lacking.iter().any(|one| one.raw_os_error() == code))
}

/// How many this process may have.
pub fn descriptors() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
