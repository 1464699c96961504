//! The only place of this crate with `unsafe`: thin, typed wrappers around the system calls that
//! the standard library lacks. Everything that can be done through files (`/proc/PID/mem`,
//! `/proc/PID/stat`, …) is done through files, in safe code.
//!
//! Why it is sound, by kind:
//! - *Descriptors.* A number becomes an [`OwnedFd`](std::os::fd::OwnedFd) at one place each,
//!   directly after the call that made it, and is never used as a number again.
//! - *Pointers into our memory* given to the kernel point to live, fully initialised locals whose
//!   size is passed with them; the kernel keeps none of them after the call returns.
//! - *Processes*: see the essay in [`spawn`].
#![allow(unsafe_code)]

pub mod descriptor;
pub mod files;
pub mod guard;
pub mod namespace;
pub mod processors;
pub mod seccomp;
pub mod sockets;
pub mod spawn;
pub mod time;
pub mod timer;
pub mod trace;
pub mod wait;

use std::io;

/// The error of the last call if it returned −1.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The same for calls that return a long.
fn checked_long(result: libc::c_long) -> io::Result<libc::c_long> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
