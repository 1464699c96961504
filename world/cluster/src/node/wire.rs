//! Bytes to and from a client, in whatever they are wrapped.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Most bytes that are taken at a time.
const READ_BYTES_MAX: usize = 16 << 10;

/// A connection after its upgrade. Who waits for more bytes has sent all that there is to send: that is how the owner
/// of the connection knows that nothing is under way on it.
pub(super) trait Wire: Send {
    /// The next bytes; none at the end.
    fn receive(&mut self) -> impl Future<Output = io::Result<Option<Bytes>>> + Send;

    /// Sends and flushes.
    fn send(&mut self, bytes: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send;
}

/// The stream itself.
pub(super) struct Plain<T>(pub(super) T);

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for Plain<T> {
    async fn receive(&mut self) -> io::Result<Option<Bytes>> {
        let mut bytes = BytesMut::with_capacity(READ_BYTES_MAX);
        match self.0.read_buf(&mut bytes).await {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(bytes.freeze())),
            Err(error) if is_end(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn send(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        self.0.write_all(&bytes).await?;
        self.0.flush().await
    }
}

/// The client has gone without ceremony, as most do.
pub(super) fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), ConnectionReset | ConnectionAborted | BrokenPipe | UnexpectedEof)
}
