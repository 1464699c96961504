//! The TCP sockets of a network namespace, from the kernel (`NETLINK_SOCK_DIAG` with
//! `INET_DIAG_INFO`).
//!
//! What is read of each socket: its ends, its state, its inode, bytes received, bytes not yet read,
//! and bytes written. The kernel takes the socket's lock while it copies the counters, and wakes
//! sleeping readers under the same lock; so whoever waits for bytes that are counted as received
//! here is already runnable.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::{AsFd, OwnedFd},
};

use trace::SocketPair;

use crate::{descriptors, sys::sockets as system};

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
/// `TCPDIAG_GETSOCK`, the older question: it is answered for both families at once (`inet_diag_dump_compat`), which costs
/// hardly more than one of two questions.
const OF_BOTH_FAMILIES: u16 = 18;
const REQUEST: u16 = 1;
const REQUEST_AND_DUMP: u16 = 0x301;
/// All but listeners and sockets that are merely bound: those have tables of their own, long ones.
const CONNECTED_STATES: u32 = 0xfff & !(1 << LISTENING);
const INET_DIAG_INFO: u16 = 2;

impl Sockets {
    pub fn new(socket: OwnedFd) -> Sockets {
        Sockets { socket, buffer: vec![0; 32 * 1024], found: Vec::new() }
    }

    /// In the network namespace of the calling thread.
    pub fn here() -> io::Result<Sockets> {
        system::open().map(Sockets::new)
    }

    /// Reads all connected TCP sockets of the namespace, of both families, and this listener.
    pub fn read(&mut self, listener: SocketAddr) -> io::Result<()> {
        self.found.clear();
        self.ask(&all())?;
        self.read_one(listener, SocketAddr::from(([0; 4], 0)))
    }

    /// Reads this listener and the clients' ends of these connections only: the namespace belongs
    /// to others too.
    pub fn read_some(&mut self, listener: SocketAddr, pairs: &[SocketPair]) -> io::Result<()> {
        self.found.clear();
        self.read_one(listener, SocketAddr::from(([0; 4], 0)))?;
        pairs.iter().try_for_each(|pair| self.read_one(pair.peer, pair.local))
    }

    fn read_one(&mut self, local: SocketAddr, peer: SocketAddr) -> io::Result<()> {
        match self.ask(&one(local, peer)) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            other => other,
        }
    }

    fn ask(&mut self, request: &[u8]) -> io::Result<()> {
        system::ask(self.socket.as_fd(), request)?;
        loop {
            let length = system::answer(self.socket.as_fd(), &mut self.buffer)?;
            let more = parse(&self.buffer[..length], &mut self.found)?;
            if !more || u16::from_ne_bytes([request[6], request[7]]) == REQUEST {
                return Ok(());
            }
        }
    }
}

/// Asks for every socket that is or was connected: `struct inet_diag_req` behind its header.
fn all() -> [u8; 76] {
    let mut request = [0; 76];
    head(&mut request, OF_BOTH_FAMILIES, REQUEST_AND_DUMP);
    request[16] = libc::AF_INET as u8;
    request[19] = 1 << (INET_DIAG_INFO - 1);
    request[68..72].copy_from_slice(&CONNECTED_STATES.to_ne_bytes());
    request
}

/// Asks for the socket with this local and this other end: `struct inet_diag_req_v2` behind its header.
fn one(local: SocketAddr, peer: SocketAddr) -> [u8; 72] {
    let mut request = [0; 72];
    head(&mut request, SOCK_DIAG_BY_FAMILY, REQUEST);
    request[16] = libc::AF_INET as u8;
    request[17] = libc::IPPROTO_TCP as u8;
    request[18] = 1 << (INET_DIAG_INFO - 1);
    request[20..24].copy_from_slice(&CONNECTED_STATES.to_ne_bytes());
    request[64..72].fill(0xff); // any cookie
    request[24..26].copy_from_slice(&local.port().to_be_bytes());
    request[26..28].copy_from_slice(&peer.port().to_be_bytes());
    for (at, end) in [(28, local), (44, peer)] {
        if let IpAddr::V4(address) = end.ip() {
            request[at..at + 4].copy_from_slice(&address.octets());
        }
    }
    request
}

/// `struct nlmsghdr`.
fn head(request: &mut [u8], kind: u16, flags: u16) {
    let length = request.len() as u32;
    request[..4].copy_from_slice(&length.to_ne_bytes());
    request[4..6].copy_from_slice(&kind.to_ne_bytes());
    request[6..8].copy_from_slice(&flags.to_ne_bytes());
}

/// The inodes of the sockets that a process holds.
pub(crate) fn inodes(process: i32) -> io::Result<Vec<u32>> {
    let inode = |entry: std::fs::DirEntry| {
        let target = std::fs::read_link(entry.path()).ok()?;
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    let entries = std::fs::read_dir(descriptors::holder(process).join("fd"))?;
    Ok(entries.filter_map(|entry| inode(entry.ok()?)).collect())
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

/// `struct tcp_info`: what was written is what was sent for the first time and what is still to be
/// sent.
fn counters(info: &[u8], socket: &mut Socket) {
    socket.received = long(info, 128);
    let (sent, again, waiting) = (long(info, 200), long(info, 208), word(info, 144));
    socket.written = (sent + u64::from(waiting)).saturating_sub(again);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::{Read, Write},
        net::{TcpListener, TcpStream},
    };

    /// Waits until so many bytes can be read.
    fn arrived(stream: &TcpStream, bytes: usize) {
        let mut buffer = vec![0; bytes];
        while stream.peek(&mut buffer).unwrap() < bytes {}
    }

    /// The counters of a real connection, at each step of its life.
    #[test]
    fn counters_follow_a_connection() {
        for family in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(family) else { continue }; // no IPv6 here
            let address = listener.local_addr().unwrap();
            let mut client = TcpStream::connect(address).unwrap();
            let end = client.local_addr().unwrap();
            let mut sockets = Sockets::here().unwrap();
            let mut check = |local: SocketAddr, expect: (u64, u32, u64)| {
                sockets.read(address).unwrap();
                let found =
                    sockets.found.iter().find(|s| s.local == local && s.state == ESTABLISHED);
                let found = found.map(|s| (s.received, s.unread, s.written));
                assert_eq!(found, Some(expect), "{local} of {address}");
            };
            let (mut server, _) = listener.accept().unwrap();
            check(end, (0, 0, 0));
            server.write_all(b"hello").unwrap();
            arrived(&client, 5);
            check(end, (5, 5, 0));
            client.read_exact(&mut [0; 3]).unwrap();
            check(end, (5, 2, 0));
            client.write_all(&[0; 1000]).unwrap();
            arrived(&server, 1000);
            check(end, (5, 2, 1000));
            check(address, (1000, 1000, 5));
        }
    }

    #[test]
    fn a_listener_shows_its_queue() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let queue = || {
            let mut sockets = Sockets::here().unwrap();
            sockets.read_some(address, &[]).unwrap();
            sockets.found.first().map(|socket| (socket.state, socket.unread))
        };
        assert_eq!(queue(), Some((LISTENING, 0)));
        let _client = TcpStream::connect(address).unwrap();
        while queue() != Some((LISTENING, 1)) {} // the handshake may still be under way
        let _server = listener.accept().unwrap();
        assert_eq!(queue(), Some((LISTENING, 0)));
    }

    #[test]
    fn broken_answers_are_no_sockets() {
        let mut found = Vec::new();
        assert!(parse(&[], &mut found).unwrap());
        assert!(parse(&[9; 40], &mut found).unwrap());
        assert_eq!(found, []);
        let mut error = [0; 20];
        (error[0], error[4]) = (20, 2);
        error[16..].copy_from_slice(&(-libc::EPERM).to_ne_bytes());
        assert_eq!(parse(&error, &mut found).unwrap_err().raw_os_error(), Some(libc::EPERM));
    }
}
