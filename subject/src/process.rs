//! A started subject: the whole tree of processes below one program.

use std::{
    collections::BTreeSet,
    fmt, io,
    net::{SocketAddr, TcpListener},
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
    time::Duration,
};

use trace::Flight;

use crate::{
    at_rest::{self, Look, Network, Observer},
    attached,
    clock::{Clock, ClockAbility, ClockReader},
    dial::Dialer,
    keeper,
    launch::{self, Isolation, Launch, StartError, Started},
    poke,
    sys::{descriptor, wait},
    why::Why,
};

/// How a subject ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It returned this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// Whoever started it knows how.
    Unknown,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(signal) => write!(f, "killed by signal {signal}"),
            Exit::Unknown => write!(f, "it ended by itself"),
        }
    }
}

/// A subject's process tree. Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    pid: i32,
    pidfd: OwnedFd,
    origin: Origin,
    clock: Arc<Clock>,
    observer: Observer,
    exit: Option<Exit>,
    /// Whether it is out of the table of processes, by [`Process::kill`] only: until then all that is done by its number,
    /// and by that of its group, can't meet another one.
    reaped: bool,
    frozen: bool,
}

/// Who started it, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// We did.
    Started(Isolation),
    /// Somebody else did ([`crate::attached`]).
    Attached,
}

/// Starts a subject. Problems with the program itself are found before anything else happens.
pub fn start(launch: &Launch) -> Result<Started, StartError> {
    start_at(launch, None)
}

/// The same; without namespaces the subject reaches the proxy at `outside`, a listener that the caller has bound, so that
/// its port can be written down before the start; a free port is taken if there is none.
pub fn start_at(launch: &Launch, outside: Option<TcpListener>) -> Result<Started, StartError> {
    let program = launch::resolve(launch)?;
    let (read, write) = descriptor::pipe(true).map_err(StartError::refused("make a pipe"))?;
    let outside = match launch.isolation {
        Isolation::Namespaces => None,
        Isolation::None => {
            Some(listener(outside).map_err(StartError::refused("listen on a free port"))?)
        }
    };
    let clock = Arc::new(Clock::new(launch.clock));
    let kept = keeper::start(launch, &program, write, clock.clone())?;
    let listener = match (kept.listener, outside) {
        (Some(inside), _) => TcpListener::from(inside),
        (None, Some(outside)) => outside,
        (None, None) => unreachable!("a network namespace always comes with its listener"),
    };
    let address =
        listener.local_addr().map_err(StartError::refused("ask for the listener's port"))?;
    let sockets =
        at_rest::sockets(kept.diagnosis).map_err(StartError::refused("ask for sockets"))?;
    let network = match launch.isolation {
        Isolation::Namespaces => Network::Closed,
        Isolation::None => Network::Shared,
    };
    let dialer = match launch.isolation {
        Isolation::Namespaces => Dialer::inside(kept.outgoing),
        Isolation::None => Dialer::here(),
    };
    let observer = Observer::new(kept.pid, sockets, address, network, clock.clone());
    let origin = Origin::Started(launch.isolation);
    let process = Process::new(kept.pid, kept.pidfd, origin, observer, clock);
    Ok(Started { process, listener, dialer, output: read })
}

fn listener(given: Option<TcpListener>) -> io::Result<TcpListener> {
    let listener = match given {
        Some(listener) => listener,
        None => TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?,
    };
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// How often a tree is asked to stop or die before we give up on it.
const ROUNDS: u32 = 100_000;

impl Process {
    pub(crate) fn new(
        pid: i32,
        pidfd: OwnedFd,
        origin: Origin,
        observer: Observer,
        clock: Arc<Clock>,
    ) -> Process {
        Process { pid, pidfd, origin, clock, observer, exit: None, reaped: false, frozen: false }
    }

    /// The number of its first process, as this machine numbers it.
    pub fn pid(&self) -> u32 {
        self.pid.cast_unsigned()
    }

    /// Whether its clock shows what we want.
    pub fn clock(&self) -> ClockAbility {
        self.clock.ability()
    }

    /// What its clocks show, to be asked for by whoever has to agree with it.
    pub fn reader(&self) -> ClockReader {
        ClockReader(self.clock.clone())
    }

    /// What it has done so far that can't be followed from outside, as phrases: timers and connections that no look sees.
    pub fn blind_spots(&self) -> BTreeSet<String> {
        self.clock.blind_spots()
    }

    pub(crate) fn has_virtual_clock(&self) -> bool {
        self.clock.is_virtual()
    }

    /// How it ended, if its first process has ended; never blocks.
    pub fn exited(&mut self) -> Option<Exit> {
        if self.exit.is_none() {
            self.exit = match self.origin {
                Origin::Started(_) => exit(wait::ended(self.pidfd.as_fd())),
                Origin::Attached
                    if descriptor::is_readable_within(self.pidfd.as_fd(), 0).unwrap_or(true) =>
                {
                    Some(Exit::Unknown)
                }
                Origin::Attached => None,
            };
        }
        self.exit
    }

    /// Whether its first process ends within so many milliseconds.
    pub(crate) fn ends_within(&mut self, milliseconds: i32) -> bool {
        let _ = descriptor::is_readable_within(self.pidfd.as_fd(), milliseconds);
        self.exited().is_some()
    }

    /// Kills the whole tree at once and returns when all of it is gone.
    pub fn kill(&mut self) {
        if self.reaped {
            return;
        }
        match self.origin {
            Origin::Attached => {
                attached::kill_group(self.pid);
                self.reaped = true;
                self.exit = self.exit.or(Some(Exit::Signal(libc::SIGKILL)));
                return;
            }
            Origin::Started(Isolation::None) => self.kill_descendants(),
            Origin::Started(Isolation::Namespaces) => {}
        }
        // The end of the first process of a PID namespace is the end of all others, and comes after
        // theirs.
        let _ = wait::signal(self.pidfd.as_fd(), libc::SIGKILL);
        let ended = exit(wait::reap(self.pidfd.as_fd()));
        self.reaped = ended.is_some();
        self.exit = self.exit.or(ended);
    }

    /// Without a PID namespace: stop, list and kill until nobody new shows, then wait for the end
    /// of each.
    fn kill_descendants(&mut self) {
        let mut dying = std::collections::BTreeMap::new();
        for _ in 0..ROUNDS {
            let _ = wait::signal_number(-self.pid, libc::SIGSTOP);
            self.observer.tree.distrust();
            let _ = self.observer.tree.sample();
            let mut new = 0;
            for &member in self.observer.tree.members.keys().filter(|member| **member != self.pid) {
                if let std::collections::btree_map::Entry::Vacant(entry) = dying.entry(member)
                    && let Ok(pidfd) = wait::open(member)
                {
                    let _ = wait::signal(pidfd.as_fd(), libc::SIGKILL);
                    entry.insert(pidfd);
                    new += 1;
                }
            }
            if new == 0 {
                break;
            }
        }
        let _ = wait::signal_number(-self.pid, libc::SIGKILL);
        for pidfd in dying.values() {
            let _ = descriptor::wait_readable(&[pidfd.as_fd()]);
        }
    }

    /// Stops every process of the tree where it is; returns when all have stopped.
    pub fn freeze(&mut self) -> io::Result<()> {
        // After a stop the kernel shows no deadlines any more.
        let _ = self.observer.tree.sample();
        self.note_calls();
        for _ in 0..ROUNDS {
            for &member in self.members()? {
                wait::signal_number(member, libc::SIGSTOP)?;
            }
            let stopped = |_, state| matches!(state, b'T' | b'Z' | b'X');
            if let Ok(None) = self.observer.tree.awake(stopped) {
                self.frozen = true;
                return Ok(());
            }
            std::thread::yield_now();
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "the subject does not stop"))
    }

    /// Lets it go on. Its clocks have gone on meanwhile.
    pub fn thaw(&mut self) -> io::Result<()> {
        for &member in self.members()? {
            wait::signal_number(member, libc::SIGCONT)?;
        }
        self.frozen = false;
        Ok(())
    }

    /// The processes of the tree, listed now.
    fn members(&mut self) -> io::Result<impl Iterator<Item = &i32>> {
        self.observer.tree.distrust();
        match self.observer.tree.sample() {
            Err(crate::threads::Missed::Error(error)) => Err(error),
            _ => Ok(self.observer.tree.members.keys()),
        }
    }

    /// One look: can anything still happen without input? `flight` is what the proxy knows; it must
    /// not have changed when the look is over.
    pub fn look(&mut self, flight: &Flight) -> Look {
        match self.first_look(flight) {
            quiet @ Look::Quiet { .. } => self.still().err().unwrap_or(quiet),
            look => look,
        }
    }

    /// The same without the end: what it finds quiet is so if it is [still](Process::still).
    pub(crate) fn first_look(&mut self, flight: &Flight) -> Look {
        if let Some(exit) = self.exited() {
            return Look::Unknown(Why::Ended(exit));
        }
        let offsets = self.clock.offsets();
        self.observer.look(flight, offsets, self.frozen)
    }

    /// Nothing has happened since a look that found it quiet began, with the same flight; or what has.
    pub(crate) fn still(&mut self) -> Result<(), Look> {
        match self.exited() {
            Some(exit) => Err(Look::Unknown(Why::Ended(exit))),
            None => self.observer.still(self.frozen),
        }
    }

    /// Processor time of its processes, in nanoseconds (as of the latest look).
    pub(crate) fn runtime(&self) -> u64 {
        self.observer.tree.used()
    }

    /// Ends the waits that are over by its clocks, though the kernel does not know it.
    pub(crate) fn end_due_waits(&mut self) -> io::Result<()> {
        if !self.clock.is_ours() {
            return Ok(());
        }
        for (armed, left) in self.observer.armed(self.clock.offsets()) {
            if left <= 0 && !armed.is_unread() {
                self.observer.rearm(armed, left)?;
            }
        }
        self.wake_due()
    }

    /// Moves its clocks forward, and makes the calls return whose time has come thereby. To be
    /// called while it is quiet. Fails without effect if its clock is not virtual.
    pub fn advance(&mut self, by: Duration) -> io::Result<()> {
        if !self.has_virtual_clock() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the subject lives in real time",
            ));
        }
        // Right after a look nobody has run, and all is noted.
        if !self.observer.is_noted() {
            let _ = self.observer.tree.sample();
            self.note_calls();
        }
        let files = self.observer.armed(self.clock.offsets());
        let members = self.observer.tree.members.values();
        let patched = members.filter_map(|member| Some((&member.memory, member.vdso?)));
        let jump = i64::try_from(by.as_nanos()).unwrap_or(i64::MAX);
        self.clock.advance(jump, patched)?;
        for (armed, left) in files {
            self.observer.rearm(armed, left.saturating_sub(jump))?;
        }
        self.wake_due()
    }

    /// Remembers, by the clock before the jump, since when each thread waits.
    fn note_calls(&mut self) {
        let shown = self.clock.shown();
        let tree = &mut self.observer.tree;
        for thread in &mut tree.threads {
            let Some(member) = tree.members.get(&thread.process) else { continue };
            match thread.syscall(&member.memory) {
                Some(call) => drop(thread.waits(call, shown.steady)),
                None => thread.blocked = None,
            }
        }
    }

    /// Makes the calls return whose time has come.
    fn wake_due(&mut self) -> io::Result<()> {
        let shown = self.clock.shown();
        let tree = &self.observer.tree;
        for thread in &tree.threads {
            let Some(seen) = thread.blocked else { continue };
            let Some(member) = tree.members.get(&thread.process) else { continue };
            let due = seen.call.left(shown, seen.since).is_some_and(|left| left <= 0);
            // One that has run since may wait for something else by now.
            if due && thread.stands(seen) {
                match poke::poke(thread.number, seen.call, &member.memory) {
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    other => other?,
                }
            }
        }
        Ok(())
    }
}

/// What waiting for it told.
fn exit(waited: io::Result<Option<wait::End>>) -> Option<Exit> {
    match waited {
        Ok(end) => end.map(|end| match end {
            wait::End::Code(code) => Exit::Code(code),
            wait::End::Signal(signal) => Exit::Signal(signal),
        }),
        // Somebody else has reaped it; it is gone all the same.
        Err(_) => Some(Exit::Signal(libc::SIGKILL)),
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
