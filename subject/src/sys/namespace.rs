//! A network namespace from which others are made with small socket tables.
//!
//! The kernel keeps all TCP sockets of the machine in one table, by default with hundreds of
//! thousands of rows, and asking for the sockets of one namespace walks all of it (a quarter of a
//! millisecond for an empty namespace on a machine with 24 GB). A namespace whose maker's
//! `tcp_child_ehash_entries` is set gets a small table of its own (Linux 6.2). That setting is made
//! in a namespace that this process keeps for the purpose, never on the machine.

use std::{
    fs::{self, File},
    io,
    os::fd::AsRawFd,
    sync::OnceLock,
};

use super::checked;

const ROWS: &str = "512";

/// Puts the calling thread into the template, if the machine allows it. The thread must not use the
/// network afterwards.
pub fn enter_template() -> io::Result<()> {
    static TEMPLATE: OnceLock<Option<File>> = OnceLock::new();
    let mut made = false;
    let template = TEMPLATE.get_or_init(|| {
        made = true;
        make_template().ok()
    });
    match template {
        _ if made => Ok(()), // we are in it already
        None => Ok(()),
        // SAFETY: a namespace file that stays open for ever; affects the calling thread only.
        Some(file) => {
            checked(unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
        }
    }
}

fn make_template() -> io::Result<File> {
    // SAFETY: no pointers; affects the calling thread only.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
    fs::write("/proc/sys/net/ipv4/tcp_child_ehash_entries", ROWS)?;
    File::open("/proc/thread-self/ns/net")
}

/// Does this in the network namespace of another process, on a thread that ends with it.
///
/// # Errors
/// No such process, or no right to enter (`CAP_SYS_ADMIN`); and those of what is done.
pub fn inside<T: Send>(process: i32, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let file = File::open(format!("/proc/{process}/ns/net"))?;
    let there = || {
        // SAFETY: a namespace file that is open; affects the calling thread only.
        checked(unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) })?;
        work()
    };
    std::thread::scope(|scope| scope.spawn(there).join().expect("the work does not panic"))
}
