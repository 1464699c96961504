//! Programs that somebody else started: the first process of a container on this machine.
//!
//! They are looked at as our own are. They live in real time, in a network namespace that others share, and whoever
//! started them learns how they ended.

use std::{
    fs, io,
    net::{SocketAddr, TcpListener},
    os::fd::AsFd,
    sync::Arc,
};

use crate::{
    at_rest::{Network, Observer},
    clock::Clock,
    launch::Pace,
    process::{Origin, Process},
    sockets::Sockets,
    sys::{descriptor, namespace, wait},
};

/// A running program by the number of its first process; `server` is where it believes that the API server is.
///
/// # Errors
/// It is gone, or this user may not look at it.
pub fn attach(pid: i32, server: SocketAddr) -> io::Result<Process> {
    let pidfd = wait::open(pid)?;
    let sockets = namespace::inside(pid, Sockets::here)?;
    let clock = Arc::new(Clock::new(Pace::Untouched));
    let observer = Observer::new(pid, sockets, server, Network::OfPod, clock.clone());
    Ok(Process::new(pid, pidfd, Origin::Attached, observer, clock))
}

/// Whether this user may enter network namespaces of this machine's containers (`CAP_SYS_ADMIN`), as a listener beside a
/// process needs.
pub fn may_enter_networks() -> bool {
    let here = std::process::id().cast_signed();
    namespace::inside(here, || Ok(())).is_ok()
}

/// A listener in the network namespace of another process.
///
/// # Errors
/// No such process, no right to enter its namespace, or no such address there.
pub fn listen_beside(process: i32, address: SocketAddr) -> io::Result<TcpListener> {
    namespace::inside(process, || TcpListener::bind(address))
}

/// Kills all processes of the control group of a process, and waits for their end: they end with the first one of their
/// PID namespace, but a pod may share one.
pub(crate) fn kill_group(pid: i32) {
    let of = |pid: i32| fs::read_to_string(format!("/proc/{pid}/cgroup")).ok();
    let Some(group) = of(pid) else { return };
    let numbers = || {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
    };
    loop {
        // A zombie has no group but the root.
        let members: Vec<_> = numbers()
            .filter(|number| of(*number).is_some_and(|other| other == group))
            .filter_map(|number| wait::open(number).ok())
            .collect();
        if members.is_empty() {
            return;
        }
        for member in &members {
            // It fails only where this user may not; the next look finds it again.
            if wait::signal(member.as_fd(), libc::SIGKILL).is_err() {
                return;
            }
        }
        for member in &members {
            let _ = descriptor::wait_readable(&[member.as_fd()]);
        }
    }
}
