//! Two wrappers around a connection's bytes, one on each side of TLS.
//!
//! [`Counted`] sits on the socket and counts what it carries: that is what a process's own socket can be
//! compared with. [`Observed`] sits under HTTP: it sees when a request begins to arrive, and when all
//! that HTTP had to say is in the socket. Both fail at once when the connection has been cut.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection::Connection;

/// Counts the bytes of the socket.
pub(crate) struct Counted<T> {
    inner: T,
    connection: Arc<Connection>,
}

/// Tells the accounts what HTTP reads and when it has flushed.
pub(crate) struct Observed<T> {
    inner: T,
    connection: Arc<Connection>,
}

impl<T> Counted<T> {
    pub(crate) fn new(inner: T, connection: Arc<Connection>) -> Self {
        Counted { inner, connection }
    }
}

impl<T> Observed<T> {
    pub(crate) fn new(inner: T, connection: Arc<Connection>) -> Self {
        Observed { inner, connection }
    }
}

fn check(connection: &Connection) -> io::Result<()> {
    match connection.is_cut() {
        true => Err(io::ErrorKind::ConnectionReset.into()),
        false => Ok(()),
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Counted<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        check(&self.connection)?;
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        self.connection.received(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Counted<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        check(&self.connection)?;
        let written = ready!(Pin::new(&mut self.inner).poll_write(cx, bytes))?;
        self.connection.sent(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        check(&self.connection)?;
        let written = ready!(Pin::new(&mut self.inner).poll_write_vectored(cx, slices))?;
        self.connection.sent(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.moved();
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Observed<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let Poll::Ready(read) = Pin::new(&mut self.inner).poll_read(cx, buffer) else {
            self.connection.listens();
            return Poll::Pending;
        };
        read?;
        self.connection.heard(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Observed<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        check(&self.connection)?;
        self.connection.speaks();
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        check(&self.connection)?;
        self.connection.speaks();
        Pin::new(&mut self.inner).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        check(&self.connection)?;
        ready!(Pin::new(&mut self.inner).poll_flush(cx))?;
        // HTTP flushes only when its own buffer is empty, so all that it was given is in the socket.
        self.connection.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
