//! What is under way between a proxy and the processes behind it: the part of "quiet" that a proxy knows.

use std::net::SocketAddr;

/// One accepted connection and what we have handed to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketPair {
    /// The proxy's end.
    pub local: SocketAddr,
    /// The client's end.
    pub peer: SocketAddr,
    /// Bytes that the proxy has written to the socket since it was accepted, TLS records included.
    pub sent_bytes: u64,
    /// Bytes that the proxy has read from the socket.
    pub received_bytes: u64,
}

/// A snapshot of everything under way. Two equal snapshots around a scan of the processes show that
/// nothing was sent or received in between (kubernetes-api.md §11.1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flight {
    /// Requests whose answer is not yet complete, watches excluded; each with a short description.
    pub calls: Vec<String>,
    /// Requests or deliveries that a plan holds back on purpose: they don't count as under way.
    pub held: usize,
    /// Open connections.
    pub connections: Vec<SocketPair>,
    /// Grows with every byte read, every byte written, every connection accepted or closed.
    pub activity: u64,
    /// Watch events decided by the upstream that have not yet been written to the client's socket.
    pub undelivered: usize,
    /// Bytes that subjects wrote to their output and that have not been read. A subject whose output nobody reads stands
    /// still in its write in the end, which must not be taken for quiet; and its lines belong before what comes next.
    pub unread_output: u64,
}
