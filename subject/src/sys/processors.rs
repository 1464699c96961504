//! Which processors a thread, and what it starts, may run on.
//!
//! **A trial and its subject share one processor** ([`Pinned`]). They take turns: on one processor a turn is a switch
//! of a microsecond or two, across two it is an interrupt to one that sleeps. A long run costs a third of the time
//! (docs/bench.md), and what a subject's threads do side by side depends less on the machine.
//! `subject.determinism.processors` gives a controller more, for those who look for its own races.

use std::{
    collections::BTreeMap,
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixDatagram},
    },
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// A set of processors.
#[derive(Clone, Copy)]
pub struct Processors(libc::cpu_set_t);

/// How many [`Pinned`] there are on each processor.
static PINNED: Mutex<BTreeMap<usize, u32>> = Mutex::new(BTreeMap::new());

/// Keeps the calling thread, the threads and processes that it starts meanwhile, and theirs, on one processor; when it is
/// dropped, the calling thread gets its freedom back.
///
/// A trial and its subject take turns: one works while the other waits. On one processor a turn is a switch of a
/// microsecond or two; across two it is an interrupt to a processor that sleeps, in a virtual machine fifty. And what a
/// subject's threads do side by side then depends less on what else this machine does.
#[derive(Debug)]
pub struct Pinned {
    processor: usize,
    before: Processors,
    /// Tells other processes of this program that the processor has a trial.
    _claim: Option<UnixDatagram>,
}

impl Pinned {
    /// On the processor that fewest others of this process are pinned to, of these preferably one that no other process
    /// has claimed, and then where this thread runs now. None if the kernel refuses.
    pub fn new() -> Option<Pinned> {
        let before = Processors::allowed();
        // SAFETY: no arguments.
        let here = usize::try_from(unsafe { libc::sched_getcpu() }).ok();
        let mut pinned = PINNED.lock().unwrap_or_else(PoisonError::into_inner);
        let users = |number: &usize| pinned.get(number).copied().unwrap_or(0);
        let mut known = before.numbers();
        known.sort_by_key(|number| (users(number), Some(*number) != here));
        let first = *known.first()?;
        let alike = known.iter().take_while(|number| users(number) == users(&first));
        let claimed = alike
            .filter(|_| users(&first) == 0)
            .find_map(|number| Some((*number, claim(*number)?)));
        let (processor, claim) =
            claimed.map_or((first, None), |(number, claim)| (number, Some(claim)));
        if Processors::of([processor]).bind() != 0 {
            return None;
        }
        *pinned.entry(processor).or_default() += 1;
        Some(Pinned { processor, before, _claim: claim })
    }
}

/// A name that only one process has at a time, and that goes with it; none if another has it.
fn claim(processor: usize) -> Option<UnixDatagram> {
    let name = format!("trommel-processor-{processor}");
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name).ok()?).ok()
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.before.bind();
        let mut pinned = PINNED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(users) = pinned.get_mut(&self.processor) {
            *users -= 1;
        }
    }
}

impl Processors {
    /// So many of those that we may use, at least one, at most all; each call goes on where the one before ended, so
    /// that subjects side by side don't share some while others idle.
    pub fn some(count: u32) -> Processors {
        static TURN: AtomicUsize = AtomicUsize::new(0);
        let allowed = Processors::allowed().numbers();
        let count = (count.max(1) as usize).min(allowed.len());
        let turn = TURN.fetch_add(count, Ordering::Relaxed) % allowed.len().max(1);
        Processors::of(allowed.into_iter().cycle().skip(turn).take(count))
    }

    /// Those that the calling thread may use.
    fn allowed() -> Processors {
        // SAFETY: an all-zero set is valid and empty; the kernel fills at most that many bytes of it.
        unsafe {
            let mut allowed: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut allowed);
            Processors(allowed)
        }
    }

    fn of(numbers: impl IntoIterator<Item = usize>) -> Processors {
        // SAFETY: an all-zero set is valid and empty.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        for number in numbers {
            // SAFETY: numbers that came out of a set are below its size.
            unsafe { libc::CPU_SET(number, &mut set) };
        }
        Processors(set)
    }

    fn numbers(&self) -> Vec<usize> {
        // SAFETY: the numbers are below the set's size.
        (0..libc::CPU_SETSIZE as usize)
            .filter(|number| unsafe { libc::CPU_ISSET(*number, &self.0) })
            .collect()
    }

    /// Restricts the calling thread; −1 with the thread's error number if refused. Allocates nothing.
    pub(super) fn bind(&self) -> libc::c_int {
        // SAFETY: the set is live and of that size.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &self.0) }
    }
}

impl std::fmt::Debug for Processors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Processors").field(&self.numbers()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_is_freed_again() {
        let free = Processors::allowed().numbers();
        let pinned = Pinned::new().expect("threads may choose among their processors");
        let inherited = std::thread::spawn(|| Processors::allowed().numbers()).join().unwrap();
        assert_eq!(inherited, [pinned.processor]);
        let other = std::thread::spawn(move || {
            Processors::of(free.clone()).bind();
            let second = Pinned::new().unwrap().processor;
            (free, second)
        });
        let (free, second) = other.join().unwrap();
        assert_eq!(second == pinned.processor, free.len() == 1, "they spread: {free:?}");
        drop(pinned);
        assert_eq!(Processors::allowed().numbers(), free);
    }
}
