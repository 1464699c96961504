//! Starting the first process of a subject.
//!
//! The child is made with `clone(CLONE_VM | CLONE_VFORK)`, as `posix_spawn` does it: no page tables
//! are copied (a `fork` of a large campaign would cost milliseconds and stall all other trials),
//! the calling thread stands still until the child has execed or ended.
//!
//! Safety. Between clone and exec the child shares our memory and, as the only thread that moves,
//! the thread-local storage of its caller. So it behaves like a function call on another stack:
//! - it runs [`child`] on a stack of its own, which lives until `clone` has returned in the parent,
//!   that is until exec;
//! - it uses only what [`Plan`] prepared: no allocation, no lock, no destructor (the child leaves
//!   by exec or `_exit`);
//! - signals are blocked around the whole, and reset to their defaults in the child's own table
//!   before they are unblocked, so that no handler of ours ever runs in it;
//! - descriptors: the child starts with our table (`CLONE_FILES`), so the sockets that it opens
//!   *inside its namespace* are ours without being passed; it then takes a copy of the table for
//!   itself before it touches 0, 1, 2;
//! - what it has to say it writes to [`Said`], which the parent reads only after `clone` returned.

use std::{
    ffi::{CStr, CString},
    io,
    os::fd::{AsRawFd, BorrowedFd, OwnedFd},
    ptr,
};

use super::{descriptor::own, processors::Processors, seccomp};

/// One mount in the child's own mount namespace.
#[derive(Debug)]
pub enum Mount {
    /// Makes an empty folder.
    Folder(CString),
    /// Makes an empty file.
    File(CString),
    /// Shows `from` at `to`, with all that is mounted below.
    Bind {
        /// What to show.
        from: CString,
        /// Where.
        to: CString,
    },
    /// A fresh, empty file system in memory.
    Empty(CString),
    /// A symbolic link.
    Link {
        /// What it says.
        target: CString,
        /// Where it is.
        at: CString,
    },
    /// Moves what is mounted.
    Move {
        /// From here.
        from: CString,
        /// To there.
        to: CString,
    },
}

/// Everything that the child needs, prepared.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Absolute path.
    pub program: &'a CStr,
    /// Arguments with the program's name first.
    pub arguments: &'a [CString],
    /// `KEY=value`.
    pub environment: &'a [CString],
    /// Working folder.
    pub dir: &'a CStr,
    /// New PID, mount and network namespaces.
    pub namespaces: bool,
    /// A user namespace around them, in which we stay who we are: (uid map, gid map).
    pub users: Option<(CString, CString)>,
    /// Port to listen on inside the network namespace (0: a free one).
    pub port: u16,
    /// Mounts, in order.
    pub mounts: &'a [Mount],
    /// Where it may run; none: as we.
    pub processors: Option<Processors>,
    /// Memory laid out alike at each start.
    pub fixed_addresses: bool,
    /// Standard input; number above 2.
    pub input: BorrowedFd<'a>,
    /// Standard output and error; number above 2.
    pub output: BorrowedFd<'a>,
    /// Stop at exec for the calling thread, and report later execs.
    pub traced: bool,
}

/// A child that has execed (and stands at its first instruction if traced).
#[derive(Debug)]
pub struct Child {
    /// Its number as we see it.
    pub pid: i32,
    /// Its pidfd.
    pub pidfd: OwnedFd,
    /// The listener, if a network namespace was made.
    pub listener: Option<OwnedFd>,
    /// The socket-diagnosis socket of that namespace.
    pub diagnosis: Option<OwnedFd>,
    /// Unconnected sockets of that namespace.
    pub outgoing: Vec<OwnedFd>,
    /// Reports of later execs; or why there are none.
    pub execs: Result<OwnedFd, io::Error>,
}

/// How many connections into a namespace there can be at the same time.
pub const OUTGOING: usize = 16;

/// Written by the child, read by the parent afterwards.
struct Said {
    step: &'static str,
    error: i32,
    listener: i32,
    diagnosis: i32,
    outgoing: [i32; OUTGOING],
    execs: Result<i32, i32>,
}

struct Shared<'a> {
    plan: &'a Plan<'a>,
    argv: Vec<*const libc::c_char>,
    envp: Vec<*const libc::c_char>,
    life: (OwnedFd, OwnedFd),
    said: Said,
}

const STACK_BYTES: usize = 64 * 1024;

/// Starts the child; on failure says which step failed.
pub fn spawn(plan: &Plan<'_>) -> Result<Child, (&'static str, io::Error)> {
    let pointers = |strings: &[CString]| {
        strings.iter().map(|s| s.as_ptr()).chain([ptr::null()]).collect::<Vec<_>>()
    };
    let mut shared = Shared {
        plan,
        argv: pointers(plan.arguments),
        envp: pointers(plan.environment),
        life: super::descriptor::pipe(false).map_err(|error| ("make a pipe", error))?,
        said: Said {
            step: "",
            error: 0,
            listener: -1,
            diagnosis: -1,
            outgoing: [-1; OUTGOING],
            execs: Err(0),
        },
    };
    let mut flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES | libc::CLONE_PIDFD;
    if plan.namespaces {
        flags |= libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWNET;
    }
    if plan.users.is_some() {
        flags |= libc::CLONE_NEWUSER;
    }
    let mut stack = vec![0u128; STACK_BYTES / 16];
    let mut pidfd: libc::c_int = -1;
    // SAFETY: see the essay above. `stack` and `shared` outlive the call, which returns after exec
    // or _exit.
    let pid = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, &mut before);
        let top = stack.as_mut_ptr().add(stack.len());
        let argument = (&raw mut shared).cast::<libc::c_void>();
        let pid = libc::clone(child, top.cast(), flags | libc::SIGCHLD, argument, &raw mut pidfd);
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
        if pid == -1 {
            let step = if plan.namespaces { "make namespaces" } else { "start a process" };
            return Err((step, error));
        }
        pid
    };
    let pidfd = own(pidfd);
    let said = &shared.said;
    let listener = (said.listener >= 0).then(|| own(said.listener));
    let diagnosis = (said.diagnosis >= 0).then(|| own(said.diagnosis));
    let outgoing = said.outgoing.into_iter().filter(|raw| *raw >= 0).map(own).collect();
    let execs = said.execs.map(own).map_err(io::Error::from_raw_os_error);
    if said.error != 0 {
        let _ = super::wait::reap(std::os::fd::AsFd::as_fd(&pidfd));
        return Err((said.step, io::Error::from_raw_os_error(said.error)));
    }
    Ok(Child { pid, pidfd, listener, diagnosis, outgoing, execs })
}

/// Runs in the child. Leaves by exec or by `_exit`, never by returning.
extern "C" fn child(argument: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the parent passed its `Shared` and stands still.
    let shared = unsafe { &mut *argument.cast::<Shared<'_>>() };
    if let Err((step, error)) = prepare(shared) {
        shared.said.step = step;
        shared.said.error = error;
    }
    // SAFETY: ends the child only; no destructors run.
    unsafe { libc::_exit(127) }
}

type Step = Result<(), (&'static str, i32)>;

fn tried(step: &'static str, result: libc::c_int) -> Result<libc::c_int, (&'static str, i32)> {
    if result == -1 {
        // SAFETY: the thread's own error number.
        Err((step, unsafe { *libc::__errno_location() }))
    } else {
        Ok(result)
    }
}

fn prepare(shared: &mut Shared<'_>) -> Step {
    let plan = shared.plan;
    default_signals();
    if let Some((uids, gids)) = &plan.users {
        write_file(c"/proc/self/setgroups", c"deny")?;
        write_file(c"/proc/self/uid_map", uids)?;
        write_file(c"/proc/self/gid_map", gids)?;
    }
    if plan.namespaces {
        network(plan.port, &mut shared.said)?;
        // As in a pod, everybody may bind low ports.
        let _ = write_file(c"/proc/sys/net/ipv4/ip_unprivileged_port_start", c"0");
        mounts(plan.mounts)?;
    }
    if plan.traced {
        shared.said.execs = seccomp::install();
    }
    // SAFETY: plain calls without pointers, or with pointers to prepared, NUL-terminated data.
    unsafe {
        tried("start a session", libc::setsid())?;
        tried("tie it to us", libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong))?;
    }
    copy_descriptors()?;
    if let Some(processors) = &plan.processors {
        tried("choose its processors", processors.bind())?;
    }
    if plan.fixed_addresses {
        // SAFETY: no pointers.
        tried("fix its addresses", unsafe {
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong)
        })?;
    }
    die_if_orphaned(&shared.life);
    // SAFETY: as above; from here on the descriptor table is the child's own.
    unsafe {
        tried("redirect input", libc::dup2(plan.input.as_raw_fd(), 0))?;
        tried("redirect output", libc::dup2(plan.output.as_raw_fd(), 1))?;
        tried("redirect output", libc::dup2(plan.output.as_raw_fd(), 2))?;
        // Ours are closed at exec already; this is for descriptors that a parent of ours leaked to
        // us.
        libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
        tried("enter the working folder", libc::chdir(plan.dir.as_ptr()))?;
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
        if plan.traced {
            tried("be traced", libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) as libc::c_int)?;
        }
        libc::syscall(
            libc::SYS_execveat,
            seccomp::FIRST_EXEC,
            plan.program.as_ptr(),
            shared.argv.as_ptr(),
            shared.envp.as_ptr(),
            0,
        );
    }
    tried("exec", -1).map(drop)
}

/// Gives the child a descriptor table of its own. Containers refuse `unshare`, whatever is asked of it (Docker's default
/// profile); `close_range` does the same on its way, and is allowed there.
fn copy_descriptors() -> Step {
    // SAFETY: no pointers.
    unsafe {
        if libc::unshare(libc::CLONE_FILES) == 0 {
            return Ok(());
        }
        let flags = libc::CLOSE_RANGE_UNSHARE | libc::CLOSE_RANGE_CLOEXEC;
        let result = libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, flags);
        tried("copy the descriptors", result as libc::c_int).map(drop)
    }
}

/// Handlers are reset by exec anyway; ignored signals (Rust ignores SIGPIPE) are not.
fn default_signals() {
    for signal in 1..=64 {
        // SAFETY: the table is the child's own copy; SIGKILL and SIGSTOP are refused, harmlessly.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Between clone and `PR_SET_PDEATHSIG` our parent may have been killed: then its end of the pipe
/// is closed.
fn die_if_orphaned(life: &(OwnedFd, OwnedFd)) {
    let mut entry = libc::pollfd { fd: life.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: closes the child's copy; polls one live entry without waiting.
    unsafe {
        libc::close(life.1.as_raw_fd());
        if libc::poll(&mut entry, 1, 0) > 0 {
            libc::_exit(127);
        }
    }
}

fn write_file(path: &CStr, text: &CStr) -> Step {
    const STEP: &str = "map the user in a user namespace";
    // SAFETY: NUL-terminated path and live text.
    unsafe {
        let fd = tried(STEP, libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC))?;
        let bytes = text.to_bytes();
        let wrote = libc::write(fd, bytes.as_ptr().cast(), bytes.len()) as libc::c_int;
        let result = tried(STEP, wrote);
        libc::close(fd);
        result.map(drop)
    }
}

/// Loopback up, listener, question socket, sockets for calls: all in the namespace that the child is in.
fn network(port: u16, said: &mut Said) -> Step {
    // SAFETY: all structures are live, zeroed and of the type that the call expects.
    unsafe {
        let stream = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let socket =
            tried("listen in the network namespace", libc::socket(libc::AF_INET, stream, 0))?;
        said.listener = socket;
        let mut interface: libc::ifreq = std::mem::zeroed();
        interface.ifr_name[0] = b'l' as libc::c_char;
        interface.ifr_name[1] = b'o' as libc::c_char;
        interface.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        let up = libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &mut interface);
        tried("bring loopback up in the network namespace", up)?;
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        address.sin_family = libc::AF_INET as libc::sa_family_t;
        address.sin_port = port.to_be();
        address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
        let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        let bound = libc::bind(socket, (&raw const address).cast(), size);
        tried("bind the listener in the network namespace", bound)?;
        tried("listen in the network namespace", libc::listen(socket, 1024))?;
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        said.diagnosis = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_SOCK_DIAG);
        // A socket stays in the namespace in which it was made: through these we call the subject.
        for raw in &mut said.outgoing {
            *raw = libc::socket(libc::AF_INET, stream, 0);
        }
    }
    Ok(())
}

fn mounts(steps: &[Mount]) -> Step {
    const PRIVATE: &str = "make the mount namespace private";
    // SAFETY: all paths are NUL-terminated and live; null is allowed where passed.
    unsafe {
        let slave = libc::MS_REC | libc::MS_SLAVE;
        tried(PRIVATE, libc::mount(ptr::null(), c"/".as_ptr(), ptr::null(), slave, ptr::null()))?;
        // A /proc that fits the new PID namespace. Containers that hide parts of /proc refuse it:
        // then the old one stays, in which only /proc/self is right, and that is what programs use.
        let plain = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        let proc = c"proc".as_ptr();
        steps.iter().try_for_each(mount)?;
        libc::mount(proc, c"/proc".as_ptr(), proc, plain, ptr::null());
    }
    Ok(())
}

fn mount(step: &Mount) -> Step {
    const STEP: &str = "mount the service-account folder";
    // SAFETY: as in `mounts`.
    let result = unsafe {
        match step {
            Mount::Folder(path) => libc::mkdir(path.as_ptr(), 0o755),
            Mount::File(path) => {
                let fd = libc::open(
                    path.as_ptr(),
                    libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC,
                    0o644,
                );
                if fd >= 0 { libc::close(fd) } else { fd }
            }
            Mount::Bind { from, to } => {
                let bind = libc::MS_BIND | libc::MS_REC;
                libc::mount(from.as_ptr(), to.as_ptr(), ptr::null(), bind, ptr::null())
            }
            Mount::Empty(path) => {
                let kind = c"tmpfs".as_ptr();
                libc::mount(
                    kind,
                    path.as_ptr(),
                    kind,
                    libc::MS_NOSUID | libc::MS_NODEV,
                    ptr::null(),
                )
            }
            Mount::Link { target, at } => libc::symlink(target.as_ptr(), at.as_ptr()),
            Mount::Move { from, to } => {
                libc::mount(from.as_ptr(), to.as_ptr(), ptr::null(), libc::MS_MOVE, ptr::null())
            }
        }
    };
    tried(STEP, result).map(drop)
}
