//! WebSockets after their handshake: messages of one channel each (`channel.k8s.io`), or SPDY in them (a tunnel).

use std::io;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error, Message,
        error::ProtocolError,
        protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
    },
};

use super::wire::{Wire, is_end};

/// Longest message that a client may send (`DefaultMaxPayloadBytes` of golang.org/x/net/websocket).
const MESSAGE_BYTES_MAX: usize = 32 << 20;

/// How messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    /// The channel's number in a byte, then the bytes.
    Binary,
    /// The channel's number as a digit, then base64.
    Base64,
}

/// The server's end. As a [`Wire`] it is a tunnel: bytes in binary messages.
pub(super) struct WebSocket<T>(WebSocketStream<T>);

impl<T: AsyncRead + AsyncWrite + Unpin + Send> WebSocket<T> {
    /// After the handshake.
    pub(super) async fn over(stream: T) -> WebSocket<T> {
        let limit = Some(MESSAGE_BYTES_MAX);
        let config = WebSocketConfig::default().max_message_size(limit).max_frame_size(limit);
        WebSocket(WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await)
    }

    /// Sends bytes on a channel.
    pub(super) async fn tell(
        &mut self,
        coding: Coding,
        channel: u8,
        bytes: &[u8],
    ) -> io::Result<()> {
        let message = match coding {
            Coding::Binary => Message::binary([&[channel], bytes].concat()),
            Coding::Base64 => Message::text(format!("{channel}{}", STANDARD.encode(bytes))),
        };
        self.0.send(message).await.map_err(plain)
    }

    /// Closes it well, and reads until the client has gone: a socket that is closed before all was read takes with it
    /// what the client has not read yet.
    pub(super) async fn end(mut self) -> io::Result<()> {
        let normal = CloseFrame { code: CloseCode::Normal, reason: "".into() };
        match self.0.close(Some(normal)).await {
            Ok(()) | Err(Error::ConnectionClosed) => {}
            Err(error) => return Err(plain(error)),
        }
        while self.receive().await?.is_some() {}
        Ok(())
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for WebSocket<T> {
    /// The next message with data; what else comes is answered meanwhile.
    async fn receive(&mut self) -> io::Result<Option<Bytes>> {
        while let Some(message) = self.0.next().await {
            match message {
                Ok(message @ (Message::Binary(_) | Message::Text(_))) => {
                    return Ok(Some(message.into_data()));
                }
                Ok(_) => {}
                Err(error) => match plain(error) {
                    error if is_end(&error) => return Ok(None),
                    error => return Err(error),
                },
            }
        }
        Ok(None)
    }

    async fn send(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        self.0.send(Message::binary(bytes)).await.map_err(plain)
    }
}

fn plain(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        Error::ConnectionClosed
        | Error::AlreadyClosed
        | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
            io::ErrorKind::ConnectionReset.into()
        }
        error => io::Error::other(error),
    }
}
