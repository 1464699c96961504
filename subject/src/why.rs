//! What keeps a subject from being quiet, and what it waits for, as sentences for the user.

use std::{fmt, time::Duration};

/// Why a subject is not known to be quiet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// A request without a complete answer.
    Call(String),
    /// Watch events that have not been written to their stream.
    Undelivered(usize),
    /// Bytes of its output that have not been read.
    Output(u64),
    /// A thread runs or is about to run, or is in an uninterruptible wait.
    Runs {
        /// The thread, as this machine numbers it.
        thread: i32,
        /// Its name.
        name: String,
        /// The kernel's letter for its state; `C`, which it has not: it writes a core dump.
        state: char,
    },
    /// A process has used processor time since the look before.
    Works {
        /// The process, as this machine numbers it.
        process: i32,
        /// The name of its first thread.
        name: String,
    },
    /// Go's monitor has not yet looked whether there is something to run.
    Monitor {
        /// Its thread.
        thread: i32,
    },
    /// A thread is in a call that is looked at before it is carried out: an exec, say.
    Reported {
        /// The thread.
        thread: i32,
        /// Its name.
        name: String,
    },
    /// A thread waits for a file system.
    File {
        /// The thread.
        thread: i32,
        /// Its name.
        name: String,
    },
    /// Threads or processes came or went while we looked.
    Changed,
    /// Bytes that we sent have not all been received by the kernel on the subject's side.
    Sent {
        /// The client's end.
        client: std::net::SocketAddr,
        /// How many.
        bytes: u64,
    },
    /// The subject has not read all that it received.
    Unread {
        /// The client's end.
        client: std::net::SocketAddr,
        /// How many.
        bytes: u64,
    },
    /// The subject has written bytes that have not been read by the proxy.
    Written {
        /// The client's end.
        client: std::net::SocketAddr,
        /// How many.
        bytes: u64,
    },
    /// A connection to the proxy is being made or has not been accepted.
    Connecting(std::net::SocketAddr),
    /// A connection between two parts of the subject has bytes under way.
    Inner(std::net::SocketAddr),
    /// A timer is due now.
    Due(Timer),
    /// A thread waits in a call that was interrupted and restarted, and whose deadline was not seen
    /// before.
    NoDeadline {
        /// The thread.
        thread: i32,
        /// Its name.
        name: String,
    },
    /// A program whose blocked calls don't tell when they end.
    Program {
        /// The process, as this machine numbers it.
        process: i32,
        /// The name of its first thread.
        name: String,
        /// What is the matter with it, as a predicate.
        what: &'static str,
    },
    /// A connection to something else than the proxy.
    Foreign {
        /// The subject's end.
        from: std::net::SocketAddr,
        /// The other end.
        to: std::net::SocketAddr,
    },
    /// The subject has ended.
    Ended(crate::Exit),
    /// The kernel did not answer.
    Unreadable(String),
}

impl Why {
    /// As a sentence, and where in the kernel the thread that it is about waits now (proc(5), `wchan`).
    pub fn explained(&self) -> String {
        let thread = match self {
            Why::Runs { thread, .. }
            | Why::Reported { thread, .. }
            | Why::File { thread, .. }
            | Why::NoDeadline { thread, .. } => thread,
            Why::Due(timer) => &timer.thread,
            _ => return self.to_string(),
        };
        match std::fs::read_to_string(format!("/proc/{thread}/wchan")) {
            Ok(channel) if !matches!(&*channel, "" | "0") => {
                format!("{self}; in the kernel it waits at {channel}")
            }
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Call(call) => write!(f, "request {call} has no complete answer"),
            Why::Undelivered(count) => write!(f, "{count} watch events are not yet delivered"),
            Why::Output(bytes) => write!(f, "{bytes} bytes of its output have not been read"),
            Why::Runs { thread, name, state: 'D' } => {
                write!(f, "thread {thread} ({name}) waits for this machine, such as its disk")
            }
            Why::Runs { thread, name, state: 'C' } => {
                write!(f, "thread {thread} ({name}) writes a core dump")
            }
            Why::Runs { thread, name, state: 'T' | 't' } => {
                write!(f, "thread {thread} ({name}) was stopped by somebody else")
            }
            Why::Runs { thread, name, .. } => write!(f, "thread {thread} ({name}) runs"),
            Why::Works { process, name } => write!(f, "process {process} ({name}) works"),
            Why::Reported { thread, name } => {
                write!(f, "thread {thread} ({name}) is in a call that Trommel looks at first")
            }
            Why::Monitor { thread } => {
                write!(f, "thread {thread}, Go's monitor, still looks for something to run")
            }
            Why::File { thread, name } => {
                write!(f, "thread {thread} ({name}) waits for a file system")
            }
            Why::Changed => f.write_str("threads or processes come and go"),
            Why::Sent { client, bytes } => write!(f, "{bytes} bytes are on their way to {client}"),
            Why::Unread { client, bytes } => {
                write!(f, "{bytes} bytes were not yet read at {client}")
            }
            Why::Written { client, bytes } => {
                write!(f, "{bytes} bytes from {client} have not yet been read by the proxy")
            }
            Why::Connecting(client) => write!(f, "a connection from {client} is being made"),
            Why::Inner(end) => {
                write!(f, "the subject's own connection at {end} has bytes under way")
            }
            Why::Due(timer) => write!(f, "{timer} is due"),
            Why::NoDeadline { thread, name } => {
                write!(
                    f,
                    "thread {thread} ({name}) waits until a time that the kernel does not show"
                )
            }
            Why::Program { process, name, what } => {
                write!(f, "process {process} ({name}) {what}: what it waits for can't be known")
            }
            Why::Foreign { from, to } => {
                write!(
                    f,
                    "{from} is connected to {to}, which is not the proxy: what comes from there can't be seen"
                )
            }
            Why::Ended(exit) => write!(f, "the subject has ended: {exit}"),
            Why::Unreadable(reason) => write!(f, "the kernel's books can't be read: {reason}"),
        }
    }
}

/// A blocked call that ends by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timer {
    /// The thread.
    pub thread: i32,
    /// Its name.
    pub name: String,
    /// The call: `epoll`, `futex`, `sleep`, `poll`, `select`, `timerfd`, …
    pub call: &'static str,
    /// How long until it fires, at the latest, by the subject's clock.
    pub remaining: Duration,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Timer { thread, name, call, remaining } = self;
        let seconds = remaining.as_secs_f64();
        write!(f, "timer in {seconds:.3} s ({call} of thread {thread}, {name})")
    }
}
