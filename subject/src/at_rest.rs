//! One sound look at a process tree: can anything still happen without input?
//!
//! The order of the steps is the argument (kubernetes-api.md §11.1):
//! 1. by the proxy's own books no request is unanswered and nothing is undelivered, and all output has been read;
//! 2. first sample: how often every thread of the tree was put on a processor;
//! 3. the sockets: all that the proxy sent has been received on the subject's side, all that the
//!    subject wrote has been read by the proxy, no connection is being made. Whoever waited for
//!    those bytes has been woken by now;
//! 4. the blocked calls name the next timer, and none is due. The kernel names the call of a thread
//!    only once that thread is off its processor, so this also tells real sleepers from those that
//!    are just about to sleep, or were preempted at that point. One that has not been put on a processor since
//!    its call was named is in it still, so only the others are asked;
//! 5. when all ready tasks of ours have had their turn ([`Observer::still`]), every thread sleeps: nobody was woken in 3;
//! 6. second sample: none has worked since 2. So all of them slept all that time (one that waited for a processor in 2
//!    would have had it since), and all of it holds at one moment.
//!
//! Bytes that were received but not read don't count against quiet by themselves: by 3 and 5 their
//! reader is not waiting for them (it sleeps in something else, and wakes by its timer or not at
//! all). To be on the safe side such a state must show in [`UNREAD_LOOKS`] looks in a row, between
//! which no thread ran.

use std::{collections::BTreeSet, io, net::SocketAddr, sync::Arc, time::Duration};

use trace::{Flight, SocketPair};

use crate::{
    clock::Clock,
    monitors::Monitors,
    runtime::Runtime,
    sockets::{self, Socket, Sockets},
    threads::{Missed, Seen, Thread},
    timerfds::{Armed, TimerFds},
    timers::{Now, Wait},
    tree::Tree,
    vdso::Offsets,
    why::{Timer, Why},
};

/// What a look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// Nothing can happen without input before `deadline`.
    Quiet {
        /// Time to the next timer by the subject's clock; `None`: there is none.
        deadline: Option<Duration>,
        /// All known timers, the next one first.
        timers: Vec<Timer>,
    },
    /// Something is under way.
    Busy(Why),
    /// It can't be known.
    Unknown(Why),
}

/// How many looks in a row must show the same unread bytes before they are taken for "nobody wants
/// them".
const UNREAD_LOOKS: u32 = 3;

/// What can't be followed where [`crate::timerfds`] can't count.
const LOST_TICKS: &str = "a timer file (timerfd) that went off more than once before it was read: it tells of one time \
                          only (the kernel has no CONFIG_CHECKPOINT_RESTORE)";

/// What is needed to look, and remembered between looks.
#[derive(Debug)]
pub(crate) struct Observer {
    pub tree: Tree,
    clock: Arc<Clock>,
    monitors: Monitors,
    sockets: Sockets,
    listener: SocketAddr,
    network: Network,
    unread: (u64, u32),
    timer_fds: TimerFds,
    shared_checked: Option<u64>,
    /// How much the tree had worked when all its blocked calls were noted.
    noted: Option<u64>,
}

/// Who else has sockets where the subject has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    /// Nobody but the proxy.
    Closed,
    /// Anybody of this machine.
    Shared,
    /// Nobody, but others call the subject, and it may call them: probes, webhooks, name servers.
    OfPod,
}

type Found<T> = Result<T, Look>;

impl Observer {
    pub fn new(
        pid: i32,
        sockets: Sockets,
        listener: SocketAddr,
        network: Network,
        clock: Arc<Clock>,
    ) -> Observer {
        Observer {
            clock,
            tree: Tree::new(pid),
            monitors: Monitors::default(),
            sockets,
            listener,
            network,
            unread: (0, 0),
            timer_fds: TimerFds::new(),
            shared_checked: None,
            noted: None,
        }
    }

    /// A look but for its last steps, which are [`Observer::still`]; the process is known not to have ended just before.
    pub fn look(&mut self, flight: &Flight, offsets: Offsets, frozen: bool) -> Look {
        match self.try_look(flight, offsets, frozen) {
            // What can't be seen through while somebody runs may be gone when they rest: a socket about to be closed.
            Err(unknown @ Look::Unknown(_)) => self.still(frozen).err().unwrap_or(unknown),
            Ok(look) | Err(look) => look,
        }
    }

    fn try_look(&mut self, flight: &Flight, offsets: Offsets, frozen: bool) -> Found<Look> {
        if let Some(call) = flight.calls.first() {
            return Err(Look::Busy(Why::Call(call.clone())));
        }
        if flight.undelivered > 0 {
            return Err(Look::Busy(Why::Undelivered(flight.undelivered)));
        }
        if flight.unread_output > 0 {
            return Err(Look::Busy(Why::Output(flight.unread_output)));
        }
        if let Some(process) = self.tree.worked() {
            return Err(self.works(process));
        }
        if let Some(waiting) = self.tree.still_waiting() {
            return Err(runs(waiting, 'R'));
        }
        self.tree.sample().map_err(|missed| self.missed(missed))?;
        if !frozen {
            self.follows_all()?;
        }
        self.shared_network()?;
        let unread = self.bytes(flight, frozen)?;
        let timers = self.timers(offsets, frozen)?;
        self.noted = (!frozen).then(|| self.work());
        self.parked(unread)?;
        Ok(Look::Quiet { deadline: timers.first().map(|timer| timer.remaining), timers })
    }

    fn missed(&mut self, missed: Missed) -> Look {
        self.tree.distrust();
        match missed {
            Missed::Gone | Missed::Moving => Look::Busy(Why::Changed),
            Missed::Error(error) => Look::Unknown(Why::Unreadable(error.to_string())),
        }
    }

    fn works(&self, process: i32) -> Look {
        Look::Busy(Why::Works { process, name: self.name_of(process) })
    }

    /// The name of a process's first thread.
    fn name_of(&self, process: i32) -> String {
        let thread = self.tree.threads.iter().find(|thread| thread.process == process);
        thread.map(|thread| thread.name.clone()).unwrap_or_default()
    }

    /// Every program is one whose calls tell when they end.
    fn follows_all(&mut self) -> Found<()> {
        let is_virtual = self.clock.is_virtual();
        let mut members = self.tree.members.iter_mut();
        let unreadable =
            members.find_map(|(process, member)| Some((*process, member.unreadable(is_virtual)?)));
        let Some((process, what)) = unreadable else { return Ok(()) };
        Err(Look::Unknown(Why::Program { process, name: self.name_of(process), what }))
    }

    /// Every thread sleeps.
    fn asleep(&mut self, frozen: bool) -> Found<()> {
        let first = self.tree.root();
        let asleep = |process, state| match state {
            b'S' | b'I' | b'Z' | b'X' => true,
            // Stopped by somebody of the tree, who can let it go on; the first process only by somebody outside.
            b'T' => frozen || process != first,
            b't' => frozen,
            _ => false,
        };
        let why = match self.tree.awake(asleep) {
            Ok(None) => return Ok(()),
            Ok(Some(thread)) => match thread.sample.state {
                state if asleep(thread.process, state) => Why::Changed, // it has another name
                state => return Err(runs(thread, state as char)),
            },
            Err(missed) => return Err(self.missed(missed)),
        };
        Err(Look::Busy(why))
    }

    /// Makes a timer file expire after so many nanoseconds.
    pub fn rearm(&mut self, armed: Armed, left: i64) -> io::Result<()> {
        if !self.timer_fds.rearm(armed, left, self.clock.shown())? {
            self.clock.is_blind_for(LOST_TICKS.to_owned());
        }
        Ok(())
    }

    /// Whether nobody has run since the blocked calls were noted.
    pub fn is_noted(&mut self) -> bool {
        matches!(self.tree.ran(), Ok(None)) && self.noted == Some(self.work())
    }

    /// After a look that found quiet, and with the same flight: everybody sleeps, and nobody has run since it began.
    /// Nothing was sent either, so sockets and calls are as they were.
    pub fn still(&mut self, frozen: bool) -> Found<()> {
        let stopped = self.tree.stopped();
        self.asleep(frozen)?;
        let is_same = matches!(self.tree.ran(), Ok(None)) && self.tree.is_listed();
        // Where others are stopped than in the look, their timers were misjudged.
        if !is_same || self.tree.stopped() != stopped {
            return Err(Look::Busy(Why::Changed));
        }
        self.timer_fds.rests();
        Ok(())
    }

    /// All bytes are where they should be; returns the first socket with bytes that were received
    /// but not read.
    fn bytes(&mut self, flight: &Flight, frozen: bool) -> Found<Option<(SocketAddr, u64)>> {
        let read = match self.network {
            Network::Closed | Network::OfPod => self.sockets.read(self.listener),
            Network::Shared => self.sockets.read_some(self.listener, &flight.connections),
        };
        read.map_err(|error| Look::Unknown(Why::Unreadable(error.to_string())))?;
        let mut unread = None;
        for pair in &flight.connections {
            let ends = |socket: &&Socket| socket.local == pair.peer && socket.peer == pair.local;
            // A client's end that is gone was closed or reset: the proxy has not noticed yet.
            let Some(client) = self.sockets.found.iter().find(ends) else {
                return Err(Look::Busy(Why::Connecting(pair.peer)));
            };
            transferred(pair, client)?;
            if client.unread > 0 && !frozen {
                unread = unread.or(Some((pair.peer, u64::from(client.unread))));
            }
        }
        self.sockets.found.iter().try_for_each(|socket| self.belongs(socket, flight))?;
        Ok(unread)
    }

    /// On a shared network: the subject's own sockets lead to the proxy only. Looked up again
    /// whenever it has run.
    fn shared_network(&mut self) -> Found<()> {
        let work = self.work();
        if self.network != Network::Shared || self.shared_checked == Some(work) {
            return Ok(());
        }
        let unreadable = |error: io::Error| Look::Unknown(Why::Unreadable(error.to_string()));
        self.sockets.read(self.listener).map_err(unreadable)?;
        let mut inodes = BTreeSet::new();
        for process in self.tree.members.keys() {
            inodes.extend(sockets::inodes(*process).map_err(unreadable)?);
        }
        let own = |socket: &&Socket| inodes.contains(&socket.inode);
        let outside = |socket: &&Socket| socket.peer != self.listener;
        self.sockets.found.iter().filter(own).filter(outside).try_for_each(|socket| {
            let other =
                self.sockets.found.iter().filter(own).find(|other| other.local == socket.peer);
            inner(socket, other)
        })?;
        self.shared_checked = Some(work);
        Ok(())
    }

    /// Every socket is one that we can account for.
    fn belongs(&self, socket: &Socket, flight: &Flight) -> Found<()> {
        if socket.state == sockets::LISTENING {
            // Only our own listener's queue is ours to empty; a subject may leave its own alone.
            return match socket.local == self.listener && socket.unread > 0 {
                true => Err(Look::Busy(Why::Connecting(socket.local))),
                false => Ok(()),
            };
        }
        if matches!(socket.state, sockets::TIME_WAIT | sockets::CLOSED) {
            return Ok(());
        }
        if socket.peer == self.listener {
            let known = flight.connections.iter().any(|pair| pair.peer == socket.local);
            // What is not in the proxy's books is either not yet accepted or already closed by the
            // proxy.
            let making = matches!(socket.state, sockets::SYN_SENT | sockets::ESTABLISHED);
            return match making && !known {
                true => Err(Look::Busy(Why::Connecting(socket.local))),
                false => Ok(()),
            };
        }
        if socket.local == self.listener || self.network != Network::Closed {
            return Ok(());
        }
        let mut others = self.sockets.found.iter();
        inner(socket, others.find(|other| other.local == socket.peer && other.peer == socket.local))
    }

    /// All timers in order; remembers when each blocked call was first seen. Frozen threads have
    /// none.
    fn timers(&mut self, offsets: Offsets, frozen: bool) -> Found<Vec<Timer>> {
        let shown = offsets.shown(Now::here());
        let mut timers = Vec::new();
        self.monitors.sample(&self.tree);
        let (mut watching, mut held) = (Vec::new(), BTreeSet::new());
        for thread in &mut self.tree.threads {
            let Some(member) = self.tree.members.get(&thread.process) else {
                // Ended but not yet reaped, or about to be another program.
                match thread.has_ended() {
                    true => continue,
                    false => return Err(Look::Busy(Why::Changed)),
                }
            };
            if !frozen && thread.is_still_stopped() {
                continue; // no time passes for it
            }
            let (number, name) = (thread.number, &thread.name);
            let parked = thread.parked();
            let named = parked.map(|seen| seen.call).or_else(|| thread.syscall(&member.memory));
            let blocked = match named {
                // It runs, or could if it had a processor.
                None => {
                    self.tree.waiting = Some(number);
                    return Err(runs(thread, 'R'));
                }
                // Its registers are still those of the call that made it. It sleeps or works, as its state says, and has
                // no timer but the one for its own end.
                Some(_) if thread.of_a_ring => continue,
                Some(call) if call.is_reported() && thread.waits_for_the_keeper() => {
                    return Err(Look::Busy(Why::Reported { thread: number, name: name.clone() }));
                }
                Some(call) => call,
            };
            if frozen {
                continue;
            }
            let seen = thread.waits(blocked, shown.steady);
            if seen.call.is_of_files(thread.process, &member.memory) {
                let name = thread.name.clone();
                return Err(Look::Busy(Why::File { thread: number, name }));
            }
            self.monitors.learn(thread, member.runtime, seen.call);
            if self.monitors.is_monitor(thread, member.runtime, seen.call) {
                watching.extend(
                    (!self.monitors.is_content(thread)).then_some((number, thread.process)),
                );
                continue;
            }
            let own = match self.monitors.futex_of(thread.process) {
                Some(at) => seen.call.at == at,
                None => member.is_own_code(seen.call.at),
            };
            if seen.call.may_hold_a_processor(own) {
                held.insert(thread.process);
            }
            let first = member.first_of_the_name(thread.number);
            if member.runtime.is_upkeep(&thread.name, first, seen.call, own) {
                continue;
            }
            timers.extend(timer(thread, seen, shown, member.runtime)?);
        }
        if let Some((thread, _)) = watching.iter().find(|(_, process)| held.contains(process)) {
            return Err(Look::Busy(Why::Monitor { thread: *thread }));
        }
        if !frozen {
            self.files(offsets, &mut timers)?;
        }
        timers.sort_by_key(|timer| timer.remaining);
        Ok(timers)
    }

    /// Adds the timers that are files.
    fn files(&mut self, offsets: Offsets, timers: &mut Vec<Timer>) -> Found<()> {
        for (armed, left) in self.armed(offsets) {
            if armed.is_unread() {
                continue; // whoever waited for it has been woken
            }
            let name = self.tree.threads.iter().find(|thread| thread.number == armed.process);
            let timer = Timer {
                thread: armed.process,
                name: name.map(|thread| thread.name.clone()).unwrap_or_default(),
                call: "timerfd",
                remaining: Duration::from_nanos(left.max(0) as u64),
            };
            if left <= 0 {
                return Err(Look::Busy(Why::Due(timer)));
            }
            timers.push(timer);
        }
        Ok(())
    }

    /// All armed timer files, with the nanoseconds left by the subject's clock.
    pub fn armed(&mut self, offsets: Offsets) -> Vec<(Armed, i64)> {
        if !self.clock.has_timer_files() {
            return Vec::new();
        }
        let work = self.work();
        self.timer_fds.armed(self.tree.members.keys().copied(), work, offsets)
    }

    /// How often all threads together were put on a processor: equal numbers mean that nobody ran
    /// in between.
    pub fn work(&self) -> u64 {
        self.tree.threads.iter().map(|thread| thread.sample.work.slices).sum()
    }

    /// Unread bytes must stay unread while nobody runs.
    fn parked(&mut self, unread: Option<(SocketAddr, u64)>) -> Found<()> {
        let Some((client, bytes)) = unread else {
            self.unread = (0, 0);
            return Ok(());
        };
        let work = self.work();
        let looks = if self.unread.0 == work { self.unread.1 + 1 } else { 1 };
        self.unread = (work, looks);
        if looks < UNREAD_LOOKS { Err(Look::Busy(Why::Unread { client, bytes })) } else { Ok(()) }
    }
}

/// A thread is in this state, in which it does not sleep.
fn runs(thread: &Thread, state: char) -> Look {
    Look::Busy(Why::Runs { thread: thread.number, name: thread.name.clone(), state })
}

/// A connection between two parts of the subject (such as a probe of its own metrics port).
fn inner(socket: &Socket, other: Option<&Socket>) -> Found<()> {
    if matches!(socket.state, sockets::SYN_SENT | sockets::SYN_RECEIVED) {
        return Err(Look::Busy(Why::Connecting(socket.local)));
    }
    if !matches!(socket.state, sockets::ESTABLISHED | sockets::CLOSE_WAIT) {
        return Ok(());
    }
    match other {
        // What the other end wrote is here, or (one more) its end of stream is too.
        Some(other) if socket.received < other.written => Err(Look::Busy(Why::Inner(socket.local))),
        Some(_) => Ok(()),
        None if socket.state == sockets::CLOSE_WAIT => Ok(()),
        None => Err(Look::Unknown(Why::Foreign { from: socket.local, to: socket.peer })),
    }
}

/// The timer of one blocked thread, if it has one.
fn timer(thread: &Thread, seen: Seen, shown: Now, runtime: Runtime) -> Found<Option<Timer>> {
    if matches!(seen.call.wait, Wait::Restarted | Wait::Hidden) {
        let (thread, name) = (thread.number, thread.name.clone());
        return Err(Look::Unknown(Why::NoDeadline { thread, name }));
    }
    let Some(left) = seen.call.left(shown, seen.since) else { return Ok(None) };
    // Go rounds its time-outs down to milliseconds and waits for the rest in a second call.
    let rest = if runtime.rounds_down() { 1_000_000 } else { 0 };
    let timer = Timer {
        thread: thread.number,
        name: thread.name.clone(),
        call: seen.call.call,
        remaining: Duration::from_nanos(left.saturating_add(rest).max(0) as u64),
    };
    if left <= 0 { Err(Look::Busy(Why::Due(timer))) } else { Ok(Some(timer)) }
}

/// Compares the proxy's books of one connection with the kernel's books of the client's end.
fn transferred(pair: &SocketPair, client: &Socket) -> Found<()> {
    let on_the_way = pair.sent_bytes.saturating_sub(client.received);
    if on_the_way > 0 {
        return Err(Look::Busy(Why::Sent { client: pair.peer, bytes: on_the_way }));
    }
    let not_read = client.written.saturating_sub(pair.received_bytes);
    if not_read > 0 {
        return Err(Look::Busy(Why::Written { client: pair.peer, bytes: not_read }));
    }
    Ok(())
}

/// A socket that can answer questions about the namespace with the listener.
pub(crate) fn sockets(own: Option<std::os::fd::OwnedFd>) -> io::Result<Sockets> {
    match own {
        Some(socket) => Ok(Sockets::new(socket)),
        None => Sockets::here(),
    }
}
