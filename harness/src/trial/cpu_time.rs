//! Processor time and memory as the kernel counts them.

use std::{fs, time::Duration};

use rustix::time::{ClockId, clock_gettime};

/// Processor time of this process, and of those children that ended and were waited for, theirs included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    /// Trommel's own.
    pub own: Duration,
    /// Of the processes that it started.
    pub children: Duration,
}

impl Used {
    /// Since the start of this process, in steps of 10 ms (proc(5)). Nothing where there is no /proc.
    pub fn so_far() -> Used {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        parse(&stat).unwrap_or_default()
    }

    /// What was used since then.
    pub fn since(self, before: Used) -> Used {
        Used {
            own: self.own.saturating_sub(before.own),
            children: self.children.saturating_sub(before.children),
        }
    }
}

fn parse(stat: &str) -> Option<Used> {
    const TICK: Duration = Duration::from_millis(10);
    // The name, in parentheses, may hold anything; field 3 follows it. utime is field 14, cstime is field 17.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<u32>().ok();
    let sum = |user, system| Some(TICK * (ticks(user)? + ticks(system)?));
    Some(Used { own: sum(14, 15)?, children: sum(16, 17)? })
}

/// Processor time of the thread that calls, to the nanosecond.
pub fn of_this_thread() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), used.tv_nsec as u32)
}

/// Processor time of a process's living threads, to the nanosecond, as the scheduler counts it.
pub fn of_process(pid: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let nanoseconds = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// Bytes of memory that this process had at most, so far (`VmHWM`, proc_pid_status(5)). Nothing where there is no /proc.
pub fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(peak.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_a_time_of_its_own() {
        let before = of_this_thread();
        let other = std::thread::spawn(|| {
            (0..3_000_000).for_each(|_| std::hint::spin_loop());
            of_this_thread()
        });
        let others = other.join().unwrap();
        assert!(others > Duration::ZERO && of_this_thread() - before < others);
    }

    #[test]
    fn memory_is_told_in_bytes() {
        assert!(peak_memory().is_some_and(|bytes| bytes > 1_000_000));
    }

    #[test]
    fn own_time_and_that_of_children_are_told_apart() {
        let stat = "1 (a) b) S 0 1 1 0 -1 4 100 200 0 0 7 8 250 50 20 0 1 0 5";
        let ms = Duration::from_millis;
        assert_eq!(parse(stat), Some(Used { own: ms(150), children: ms(3000) }));
        assert_eq!(parse("1 (a) S 0"), None);
        let before = Used { own: ms(100), children: ms(3000) };
        assert_eq!(parse(stat).unwrap().since(before), Used { own: ms(50), children: ms(0) });
    }
}
