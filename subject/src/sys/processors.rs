//! Which processors a subject may run on.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A set of processors.
#[derive(Clone, Copy)]
pub struct Processors(libc::cpu_set_t);

impl Processors {
    /// So many of those that we may use (at least one, at most all); each call begins at another one, so that
    /// subjects side by side don't share one while others idle.
    pub fn some(count: u32) -> Processors {
        static TURN: AtomicUsize = AtomicUsize::new(0);
        let size = size_of::<libc::cpu_set_t>();
        // SAFETY: an all-zero set is valid and empty; the kernel fills at most `size` bytes of it.
        let allowed = unsafe {
            let mut allowed: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, size, &mut allowed);
            allowed
        };
        // SAFETY: the numbers are below CPU_SETSIZE.
        let known: Vec<usize> = (0..libc::CPU_SETSIZE as usize)
            .filter(|number| unsafe { libc::CPU_ISSET(*number, &allowed) })
            .collect();
        let turn = TURN.fetch_add(1, Ordering::Relaxed);
        let chosen = known.iter().cycle().skip(turn % known.len().max(1));
        // SAFETY: as above.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        for number in chosen.take((count.max(1) as usize).min(known.len())) {
            // SAFETY: as above.
            unsafe { libc::CPU_SET(*number, &mut set) };
        }
        Processors(set)
    }

    /// Restricts the calling thread; −1 with the thread's error number if refused. Allocates nothing.
    pub(super) fn bind(&self) -> libc::c_int {
        // SAFETY: the set is live and of that size.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &self.0) }
    }
}

impl std::fmt::Debug for Processors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Processors")
    }
}
