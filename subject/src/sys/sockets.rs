//! Asking the kernel about the sockets of a network namespace (`NETLINK_SOCK_DIAG`).

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd, OwnedFd},
};

use super::{checked, descriptor::own};

/// A question socket in the network namespace of the calling thread.
pub fn open() -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let raw = unsafe {
        libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_SOCK_DIAG)
    };
    checked(raw).map(own)
}

/// Sends one request.
pub fn ask(socket: BorrowedFd<'_>, request: &[u8]) -> io::Result<()> {
    // SAFETY: the slice is live and its length is passed.
    let sent = unsafe { libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
    if sent == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Receives one part of the answer; its length.
pub fn answer(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the slice is live and its length is passed.
        let got =
            unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        if got >= 0 {
            return Ok(got as usize);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Ends a TCP socket's connection, if it has one, and makes it one that can be connected again (`AF_UNSPEC`).
pub fn disconnect(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: a zeroed address of the family that is asked for, and its size.
    let result = unsafe {
        let mut nowhere: libc::sockaddr = std::mem::zeroed();
        nowhere.sa_family = libc::AF_UNSPEC as libc::sa_family_t;
        let size = size_of::<libc::sockaddr>() as libc::socklen_t;
        libc::connect(socket.as_raw_fd(), &raw const nowhere, size)
    };
    checked(result).map(drop)
}
