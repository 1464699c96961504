//! The TCP sockets of a network namespace, from the kernel (`NETLINK_SOCK_DIAG` with `INET_DIAG_INFO`).
//!
//! What is read of each socket: its ends, its state, its inode, bytes received, bytes not yet read, and bytes written. The kernel
//! takes the socket's lock while it copies the counters, and wakes sleeping readers under the same lock; so whoever
//! waits for bytes that are counted as received here is already runnable.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::{AsFd, OwnedFd},
};

use crate::sys::sockets as system;

/// One socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Socket {
    pub local: SocketAddr,
    pub peer: SocketAddr,
    pub state: u8,
    /// Identifies the socket in `/proc/PID/fd`; 0 if no process holds it.
    pub inode: u32,
    /// Bytes not yet read; for a listener: connections not yet accepted.
    pub unread: u32,
    /// Bytes received since the start.
    pub received: u64,
    /// Bytes written since the start.
    pub written: u64,
}

/// Established, in the kernel's numbering.
pub(crate) const ESTABLISHED: u8 = 1;
/// The three-way handshake has begun.
pub(crate) const SYN_SENT: u8 = 2;
/// The same, on the other side.
pub(crate) const SYN_RECEIVED: u8 = 3;
/// All is over, the address is kept for a while.
pub(crate) const TIME_WAIT: u8 = 6;
/// Over.
pub(crate) const CLOSED: u8 = 7;
/// The other side has said that it will write no more.
pub(crate) const CLOSE_WAIT: u8 = 8;
/// Waiting for connections.
pub(crate) const LISTENING: u8 = 10;

/// A place to ask.
#[derive(Debug)]
pub(crate) struct Sockets {
    socket: OwnedFd,
    buffer: Vec<u8>,
    /// The answer to the last question.
    pub found: Vec<Socket>,
}

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_AND_DUMP: u16 = 0x301;
const INET_DIAG_INFO: u16 = 2;

impl Sockets {
    pub fn new(socket: OwnedFd) -> Sockets {
        Sockets { socket, buffer: vec![0; 32 * 1024], found: Vec::new() }
    }

    /// In the network namespace of the calling thread.
    pub fn here() -> io::Result<Sockets> {
        system::open().map(Sockets::new)
    }

    /// Reads all TCP sockets, of both families, into `found`.
    pub fn read(&mut self) -> io::Result<()> {
        self.found.clear();
        self.dump(libc::AF_INET as u8)?;
        self.dump(libc::AF_INET6 as u8)
    }

    fn dump(&mut self, family: u8) -> io::Result<()> {
        let mut request = [0; 72];
        request[..4].copy_from_slice(&72u32.to_ne_bytes());
        request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        request[6..8].copy_from_slice(&REQUEST_AND_DUMP.to_ne_bytes());
        request[16] = family;
        request[17] = libc::IPPROTO_TCP as u8;
        request[18] = 1 << (INET_DIAG_INFO - 1);
        request[20..24].copy_from_slice(&u32::MAX.to_ne_bytes()); // all states
        system::ask(self.socket.as_fd(), &request)?;
        loop {
            let length = system::answer(self.socket.as_fd(), &mut self.buffer)?;
            if !parse(&self.buffer[..length], &mut self.found)? {
                return Ok(());
            }
        }
    }
}

/// Appends the sockets of one part of an answer; whether more parts follow.
fn parse(mut bytes: &[u8], found: &mut Vec<Socket>) -> io::Result<bool> {
    while bytes.len() >= 16 {
        let length = (word(bytes, 0) as usize).clamp(16, bytes.len());
        let kind = u16::from_ne_bytes([bytes[4], bytes[5]]);
        match i32::from(kind) {
            libc::NLMSG_DONE => return Ok(false),
            libc::NLMSG_ERROR => {
                return Err(io::Error::from_raw_os_error(-(word(bytes, 16) as i32)));
            }
            _ => found.extend(socket(&bytes[16..length])),
        }
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    Ok(true)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
}

/// `struct inet_diag_msg` and its attributes.
fn socket(message: &[u8]) -> Option<Socket> {
    if message.len() < 72 {
        return None;
    }
    let port = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
    let address = |at: usize| -> IpAddr {
        let bytes: [u8; 16] = message[at..at + 16].try_into().unwrap_or_default();
        if message[0] == libc::AF_INET as u8 {
            Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into()
        } else {
            // A dual-stack socket shows its IPv4 peer as a mapped address.
            IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()
        }
    };
    let mut socket = Socket {
        local: SocketAddr::new(address(8), port(4)),
        peer: SocketAddr::new(address(24), port(6)),
        state: message[1],
        inode: word(message, 68),
        unread: word(message, 56),
        received: 0,
        written: 0,
    };
    let mut rest = &message[72..];
    while rest.len() >= 4 {
        let length = (u16::from_ne_bytes([rest[0], rest[1]]) as usize).clamp(4, rest.len());
        if u16::from_ne_bytes([rest[2], rest[3]]) == INET_DIAG_INFO {
            counters(&rest[4..length], &mut socket);
        }
        rest = &rest[length.next_multiple_of(4).min(rest.len())..];
    }
    Some(socket)
}

/// `struct tcp_info`: what was written is what was sent for the first time and what is still to be sent.
fn counters(info: &[u8], socket: &mut Socket) {
    socket.received = long(info, 128);
    let (sent, again, waiting) = (long(info, 200), long(info, 208), word(info, 144));
    socket.written = (sent + u64::from(waiting)).saturating_sub(again);
}
