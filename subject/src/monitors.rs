//! Go's monitor threads: whether they have had their say.
//!
//! A goroutine can be ready to run while no thread will run it: the runtime's only free processor is held by a call that
//! blocks (a wait for a child, a file lock). Go's monitor (`sysmon` in `runtime/proc.go`) finds that out: in one round it
//! notes that the processor is in a call, in a later one that it still is, and hands it on. So a monitor that sleeps
//! between rounds is a reason to wait, until it has gone through [`ROUNDS`] of them while no other thread of its process
//! did anything: then it has nothing to hand on. Rounds are up to 10 ms apart, by the machine's clock, so this is asked
//! only of processes with a thread in a call that may hold a processor, a wait of C code included.
//!
//! Without this, a goroutine that is ready and that nobody runs yet would pass for asleep.

use std::collections::BTreeMap;

use crate::{
    runtime::Runtime,
    threads::Thread,
    timers::{Blocked, Wait},
    tree::Tree,
};

/// Longest sleep of a monitor between two rounds, in nanoseconds.
const LONGEST_SLEEP: i64 = 10_000_000;

/// Rounds after which a monitor has seen twice what every processor does, the one that was under way not counted.
const ROUNDS: u64 = 3;

/// What the monitors' processes had done when they were last seen to do something.
#[derive(Debug, Default)]
pub(crate) struct Monitors {
    /// How often all threads of a process were put on a processor, as of the latest look.
    work: BTreeMap<i32, u64>,
    /// For each process: when its first thread but one was made, and that thread.
    second: BTreeMap<i32, (u64, i32)>,
    /// For each process: where its runtime waits for a futex.
    futexes: BTreeMap<i32, u64>,
    /// For each monitor: how often the others of its process were, and how often it was by then.
    since: BTreeMap<i32, (u64, u64)>,
}

impl Monitors {
    /// Takes note of how much each process has worked, and of which threads it has.
    pub fn sample(&mut self, tree: &Tree) {
        self.work.clear();
        self.second.clear();
        for thread in &tree.threads {
            *self.work.entry(thread.process).or_default() += thread.sample.work.slices;
            if thread.number != thread.process {
                let this = (thread.made, thread.number);
                let second = self.second.entry(thread.process).or_insert(this);
                *second = this.min(*second);
            }
        }
    }

    /// Takes note of where a runtime waits for a futex (`runtime.futex`, the only place): where its monitor does, when all
    /// is idle. By the mapping alone, waits of C code in a statically linked program would pass for the runtime's.
    pub fn learn(&mut self, thread: &Thread, runtime: Runtime, call: Blocked) {
        if runtime == Runtime::Go && call.call == "futex" && self.is_second(thread) {
            self.futexes.insert(thread.process, call.at);
        }
    }

    /// See [`Self::learn`]; none while it is not known.
    pub fn futex_of(&self, process: i32) -> Option<u64> {
        self.futexes.get(&process).copied()
    }

    /// Whether it is the first thread of its process but one.
    fn is_second(&self, thread: &Thread) -> bool {
        self.second.get(&thread.process).is_some_and(|(_, number)| *number == thread.number)
    }

    /// Whether this is a monitor between two rounds. It is the first thread that the runtime makes (`runtime.main`), and
    /// sleeps for 20 µs to 10 ms as long as some processor of the runtime is not idle, by the machine's clock: it needs
    /// no jump. Any other thread that sleeps so shortly has something to do afterwards (one that is about to tell of a
    /// panic does, in `freezetheworld`).
    pub fn is_monitor(&self, thread: &Thread, runtime: Runtime, call: Blocked) -> bool {
        let short = matches!(call.wait, Wait::After(..=LONGEST_SLEEP));
        runtime == Runtime::Go && call.call == "sleep" && short && self.is_second(thread)
    }

    /// Whether this monitor has been through enough rounds since anybody else of its process ran.
    pub fn is_content(&mut self, monitor: &Thread) -> bool {
        let own = monitor.sample.work.slices;
        let others = self.work.get(&monitor.process).map_or(0, |work| work - own);
        let since = self.since.entry(monitor.number).or_insert((others, own));
        if since.0 != others {
            *since = (others, own);
        }
        own - since.1 >= ROUNDS
    }
}
