//! Go's monitor threads: whether they have had their say.
//!
//! A goroutine can be ready to run while no thread will run it: the runtime's only free processor is held by a call that
//! blocks (a wait for a child, a file lock). Go's monitor (`sysmon` in `runtime/proc.go`) finds that out: in one round it
//! notes that the processor is in a call, in a later one that it still is, and hands it on. So a monitor that sleeps
//! between rounds is a reason to wait, until it has gone through [`ROUNDS`] of them while no other thread of its process
//! did anything: then it has nothing to hand on. Rounds are up to 10 ms apart, by the machine's clock, so this is asked
//! only of processes with a thread in a call that may hold a processor. Who could notice: a program that blocks in a
//! futex of C code (cgo) while a goroutine is ready.

use std::collections::BTreeMap;

use crate::threads::{Thread, Tree};

/// Rounds after which a monitor has seen twice what every processor does, the one that was under way not counted.
const ROUNDS: u64 = 3;

/// What the monitors' processes had done when they were last seen to do something.
#[derive(Debug, Default)]
pub(crate) struct Monitors {
    /// How often all threads of a process were put on a processor, as of the latest look.
    work: BTreeMap<i32, u64>,
    /// For each monitor: how often the others of its process were, and how often it was by then.
    since: BTreeMap<i32, (u64, u64)>,
}

impl Monitors {
    /// Takes note of how much each process has worked.
    pub fn sample(&mut self, tree: &Tree) {
        self.work.clear();
        for thread in &tree.threads {
            *self.work.entry(thread.process).or_default() += thread.sample.work.slices;
        }
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
