//! A process that kills subjects when we are gone.
//!
//! Each subject asks the kernel to be killed with us (`PR_SET_PDEATHSIG`); but the kernel forgets that when a program
//! takes on another user (setpriv, su, a setuid program), and a program can forget it itself. So the first subject comes
//! with one small process that outlives us: it holds a pidfd of each subject and the other end of a socket of ours, which
//! ends when we do, however we end.

use std::{
    io, mem,
    os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd},
    ptr,
    sync::OnceLock,
};

use super::{checked, checked_long, descriptor::own};

/// Kills the subject, and without a PID namespace its process group, as soon as this process has ended. Where no guard
/// can be made or told, the kernel's own word must do.
pub fn watch_over(subject: BorrowedFd<'_>) {
    static GUARD: OnceLock<io::Result<OwnedFd>> = OnceLock::new();
    if let Ok(guard) = GUARD.get_or_init(start) {
        let _ = send(guard.as_raw_fd(), subject.as_raw_fd());
    }
}

/// Starts the guard; our end of its socket.
fn start() -> io::Result<OwnedFd> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: `ends` has room for the two numbers.
    checked(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) })?;
    let (ours, its) = (own(ends[0]), own(ends[1]));
    // Twice, so that it is nobody's child: our own waiting never meets it.
    // SAFETY: the children make system calls only: no allocation, no locks, no destructors.
    unsafe {
        let between = checked(libc::fork())?;
        if between == 0 {
            libc::setsid(); // ^C at a terminal is not meant for it
            if libc::fork() == 0 {
                stand(its.as_raw_fd());
            }
            libc::_exit(0);
        }
        libc::waitpid(between, ptr::null_mut(), 0);
    }
    Ok(ours)
}

/// One byte and the descriptor that comes with it.
#[repr(C, align(8))]
struct Control([u8; 24]);

fn message(
    byte: &mut u8,
    control: &mut Control,
    act: impl FnOnce(&mut libc::msghdr) -> isize,
) -> isize {
    let mut part = libc::iovec { iov_base: ptr::from_mut(byte).cast(), iov_len: 1 };
    // SAFETY: an all-zero msghdr is valid.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = ptr::from_mut(control).cast();
    message.msg_controllen = size_of::<Control>() as _;
    act(&mut message)
}

fn send(guard: RawFd, subject: RawFd) -> io::Result<()> {
    let mut control = Control([0; 24]);
    let sent = message(&mut 0, &mut control, |message| {
        // SAFETY: `message` has a control buffer with room for one header and one descriptor.
        unsafe {
            let header = libc::CMSG_FIRSTHDR(message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
            libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(subject);
            libc::sendmsg(guard, message, libc::MSG_NOSIGNAL)
        }
    });
    checked_long(sent as libc::c_long).map(drop)
}

/// The descriptor in the next message: none if that has none; an error at the end of the socket.
fn receive(socket: RawFd) -> Result<Option<RawFd>, ()> {
    let mut control = Control([0; 24]);
    let mut found = None;
    let received = message(&mut 0, &mut control, |message| {
        // SAFETY: as in `send`; the kernel has filled the buffer where the header says so.
        unsafe {
            let received = libc::recvmsg(socket, message, libc::MSG_CMSG_CLOEXEC);
            let header = libc::CMSG_FIRSTHDR(message);
            if received > 0 && !header.is_null() && (*header).cmsg_type == libc::SCM_RIGHTS {
                found = Some(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned());
            }
            received
        }
    });
    if received > 0 { Ok(found) } else { Err(()) }
}

/// The guard's life.
fn stand(socket: RawFd) -> ! {
    // SAFETY: plain system calls on descriptors and locals of this process alone.
    unsafe {
        let mut all: libc::sigset_t = mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, ptr::null_mut());
        libc::prctl(libc::PR_SET_NAME, c"trommel-guard".as_ptr());
        libc::chdir(c"/".as_ptr());
        // Pipes of ours must end when we do. The lowest numbers stay: what is held is above the socket.
        if socket > 0 {
            libc::syscall(libc::SYS_close_range, 0u32, socket as u32 - 1, 0u32);
        }
        libc::syscall(libc::SYS_close_range, socket as u32 + 1, u32::MAX, 0u32);
        let events = libc::epoll_create1(0);
        if !add(events, socket) {
            libc::_exit(1);
        }
        let mut highest = socket;
        loop {
            let mut event = libc::epoll_event { events: 0, u64: 0 };
            if libc::epoll_wait(events, &mut event, 1, -1) != 1 {
                continue;
            }
            let ready = event.u64 as RawFd;
            if ready != socket {
                // A subject that has ended. Closing is not enough: we and the guard share the open file.
                libc::epoll_ctl(events, libc::EPOLL_CTL_DEL, ready, ptr::null_mut());
                libc::close(ready);
                continue;
            }
            match receive(socket) {
                Ok(Some(subject)) if add(events, subject) => highest = highest.max(subject),
                Ok(_) => {}
                Err(()) => break,
            }
        }
        (0..=highest).for_each(kill);
        libc::_exit(0);
    }
}

fn add(events: RawFd, descriptor: RawFd) -> bool {
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: descriptor as u64 };
    // SAFETY: `event` is a live local.
    unsafe { libc::epoll_ctl(events, libc::EPOLL_CTL_ADD, descriptor, &mut event) == 0 }
}

/// Kills what this descriptor names, if it names a process: with its group where the kernel knows how (Linux 6.9).
fn kill(descriptor: RawFd) {
    for to in [libc::PIDFD_SIGNAL_PROCESS_GROUP, 0] {
        let none = ptr::null::<libc::siginfo_t>();
        // SAFETY: no pointers but null.
        unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, descriptor, libc::SIGKILL, none, to);
        }
    }
}
