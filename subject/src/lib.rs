//! Runs an unmodified controller process: start, kill, freeze, quiet, clock.
//!
//! - [`start`] makes a process tree of its own ([`Launch`]): nothing survives us, nothing is
//!   inherited, and with namespaces nothing but the listener that it hands out can be reached.
//! - [`Process::look`] answers "can anything still happen without input, and when does the next
//!   timer fire?" from the kernel's own books; [`quiet()`] asks until the answer is yes.
//! - [`Dialer`] calls what the subject listens on, where only it and we can reach it.
//! - [`Process::advance`] moves the tree's clocks forward and makes those return whose timers are
//!   then due.
//! - [`probe()`] says which of this the machine allows.
//!
//! Linux only; virtual clocks on x86-64 only. `unsafe` is confined to the `sys` module.

mod at_rest;
mod attached;
mod clock;
mod descriptors;
mod dial;
mod forced;
mod keeper;
mod launch;
mod member;
mod monitors;
mod mounts;
mod of_files;
mod poke;
mod probe;
mod process;
mod quiet;
mod runtime;
mod sockets;
mod sys;
mod threads;
mod timerfds;
mod timers;
mod tree;
mod vdso;
mod why;

pub use at_rest::Look;
pub use attached::{attach, listen_beside, may_enter_networks};
pub use clock::{ClockAbility, ClockReader};
pub use dial::{Connection, Dialer};
pub use launch::{Determinism, Isolation, Launch, Pace, StartError, Started};
pub use probe::{Capabilities, Capability, probe};
pub use process::{Exit, Process, start, start_at};
pub use quiet::{NotQuiet, Patience, Quiet, Watched, quiet, quiet_within};
pub use runtime::Runtime;
pub use sys::{descriptor::unread, processors::Pinned};
pub use why::{Timer, Why};
