//! Pipes, event counters, and waiting for several descriptors.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
};

use super::checked;

/// Takes over a number that the kernel has just given us.
pub(super) fn own(raw: RawFd) -> OwnedFd {
    // SAFETY: callers pass the result of the call that created the descriptor, which nobody else
    // holds.
    unsafe { OwnedFd::from_raw_fd(raw) }
}

/// A pipe, closed at exec. With `nonblocking_read` the read end doesn't block.
pub fn pipe(nonblocking_read: bool) -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two numbers.
    checked(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    let (read, write) = (own(ends[0]), own(ends[1]));
    if nonblocking_read {
        // SAFETY: plain flags on a descriptor that we own.
        checked(unsafe { libc::fcntl(read.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) })?;
    }
    Ok((read, write))
}

/// A copy with a number of at least 3, so that it can't collide with the standard streams.
pub fn above_standard(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() > 2 {
        return Ok(fd);
    }
    // SAFETY: duplicates a descriptor that we own.
    checked(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) }).map(own)
}

/// How many bytes in the pipe have not been read: a subject's output (`Started::output`), before it may be called quiet.
///
/// # Errors
/// When the descriptor is no pipe.
pub fn unread(pipe: &OwnedFd) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one `int`, and `bytes` is a live one.
    checked(unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &mut bytes) })?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// What [`wait_readable`] found out about one descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// There is something to read.
    pub readable: bool,
    /// The other side is gone.
    pub closed: bool,
}

/// Blocks until one of the descriptors is readable or closed.
pub fn wait_readable(fds: &[BorrowedFd<'_>]) -> io::Result<Vec<Ready>> {
    poll(fds, -1)
}

/// Whether the descriptor is readable now, or, if `block`, as soon as it is.
pub fn is_readable(fd: BorrowedFd<'_>, block: bool) -> io::Result<bool> {
    Ok(poll(&[fd], if block { -1 } else { 0 })?.iter().any(|ready| ready.readable))
}

/// Whether it becomes readable within so many milliseconds.
pub fn is_readable_within(fd: BorrowedFd<'_>, milliseconds: i32) -> io::Result<bool> {
    Ok(poll(&[fd], milliseconds)?.iter().any(|ready| ready.readable))
}

/// A patience below zero has no end.
fn poll(fds: &[BorrowedFd<'_>], patience: libc::c_int) -> io::Result<Vec<Ready>> {
    let entry =
        |fd: &BorrowedFd<'_>| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut set: Vec<libc::pollfd> = fds.iter().map(entry).collect();
    loop {
        // SAFETY: `set` is a live array of the length passed.
        match checked(unsafe { libc::poll(set.as_mut_ptr(), set.len() as libc::nfds_t, patience) })
        {
            Ok(_) => return Ok(set.iter().map(ready).collect()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn ready(entry: &libc::pollfd) -> Ready {
    let closed = entry.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0;
    Ready { readable: entry.revents & libc::POLLIN != 0, closed }
}
