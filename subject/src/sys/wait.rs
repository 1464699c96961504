//! Signals to processes that we started, and their end. Processes are named by pidfd, never by a
//! number that may have been given to somebody else meanwhile.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd},
};

use super::{checked, checked_long};

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It returned this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

/// Sends a signal. A process that has ended is no error.
pub fn signal(pidfd: BorrowedFd<'_>, signal: i32) -> io::Result<()> {
    // SAFETY: no pointers are passed (the info pointer is null).
    let sent = checked_long(unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            signal,
            std::ptr::null::<libc::siginfo_t>(),
            0,
        )
    });
    match sent {
        Err(error) if error.raw_os_error() != Some(libc::ESRCH) => Err(error),
        _ => Ok(()),
    }
}

/// Signals a process by number: only for members of a tree that we hold and have just listed.
pub fn signal_number(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: no pointers.
    match checked(unsafe { libc::kill(pid, signal) }) {
        Err(error) if error.raw_os_error() != Some(libc::ESRCH) => Err(error),
        _ => Ok(()),
    }
}

/// A pidfd for a process that is known to be alive.
pub fn open(pid: i32) -> io::Result<std::os::fd::OwnedFd> {
    // SAFETY: no pointers.
    let raw = checked_long(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    Ok(super::descriptor::own(raw as i32))
}

/// A pidfd for a thread that is known to be alive, whatever became of the others of its process.
///
/// # Errors
/// Kernels before Linux 6.9 know none.
pub fn open_thread(thread: i32) -> io::Result<std::os::fd::OwnedFd> {
    // SAFETY: no pointers.
    let raw =
        checked_long(unsafe { libc::syscall(libc::SYS_pidfd_open, thread, libc::PIDFD_THREAD) })?;
    Ok(super::descriptor::own(raw as i32))
}

/// A descriptor of another process, as a descriptor of ours for the same file.
pub fn copy_descriptor(pidfd: BorrowedFd<'_>, number: i32) -> io::Result<std::os::fd::OwnedFd> {
    // SAFETY: no pointers.
    let raw = checked_long(unsafe {
        libc::syscall(libc::SYS_pidfd_getfd, pidfd.as_raw_fd(), number, 0)
    })?;
    Ok(super::descriptor::own(raw as i32))
}

/// How our child ended, if it has. It is left as it is, a zombie: its number is nobody else's as long as it is that.
pub fn ended(pidfd: BorrowedFd<'_>) -> io::Result<Option<End>> {
    wait(pidfd, false, libc::WNOWAIT)
}

/// Waits for our child's end and takes it out of the table of processes.
pub fn reap(pidfd: BorrowedFd<'_>) -> io::Result<Option<End>> {
    wait(pidfd, true, 0)
}

fn wait(pidfd: BorrowedFd<'_>, block: bool, more: i32) -> io::Result<Option<End>> {
    // Asking for the end alone first: a plain `waitid` would also take the ptrace stops of the
    // child that another thread of ours waits for.
    if !super::descriptor::is_readable(pidfd, block)? {
        return Ok(None);
    }
    // SAFETY: an all-zero siginfo_t is valid; the kernel fills it.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WEXITED | libc::WNOHANG | more;
    // SAFETY: `info` is a live local.
    checked(unsafe {
        libc::waitid(libc::P_PIDFD, pidfd.as_raw_fd() as libc::id_t, &mut info, options)
    })?;
    // SAFETY: waitid filled the SIGCHLD part of the union (or left zeroes: nothing has ended).
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    Ok((pid != 0).then_some(match info.si_code {
        libc::CLD_EXITED => End::Code(status),
        _ => End::Signal(status),
    }))
}

/// Whether we are root in our own user namespace.
pub fn is_root() -> bool {
    // SAFETY: no pointers.
    unsafe { libc::geteuid() == 0 }
}

/// Effective user and group.
pub fn identity() -> (u32, u32) {
    // SAFETY: no pointers.
    unsafe { (libc::geteuid(), libc::getegid()) }
}
