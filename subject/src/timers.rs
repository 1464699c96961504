//! When a blocked thread will go on by itself, from the system call that it is blocked in
//! (`/proc/PID/task/TID/syscall`: number and arguments as they were at entry).

use std::{fs::File, os::unix::fs::FileExt};

use crate::{
    of_files::OfFiles,
    sys::{seccomp, time},
};

/// What a blocked call says about time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It ends only by an event.
    Forever,
    /// It ends this many nanoseconds after it was entered.
    After(i64),
    /// It ends at this moment of the subject's monotonic clock.
    Steady(i64),
    /// It ends at this moment of the subject's wall clock.
    Wall(i64),
    /// The kernel restarts an earlier call: what that was is not shown.
    Restarted,
    /// It may end by a timer that is not shown (`io_uring`).
    Hidden,
}

/// The call that a thread is blocked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blocked {
    /// A word for the user.
    pub call: &'static str,
    /// System call number.
    pub number: i64,
    /// Where in the program it was made.
    pub at: u64,
    /// When it ends by itself.
    pub wait: Wait,
    of_files: OfFiles,
    reported: bool,
}

impl Blocked {
    /// A call by its number, its arguments, and where in the program it was made.
    pub fn of(number: i64, arguments: &[u64; 6], at: u64, memory: &File) -> Blocked {
        let (call, wait) = understand(number, arguments, memory);
        let of_files = OfFiles::of(number, arguments);
        let reported = seccomp::is_reported(number, arguments[1]);
        Blocked { call, number, at, wait, of_files, reported }
    }

    /// Whether it is a call that blocks only until the keeper has seen it.
    pub fn is_reported(&self) -> bool {
        self.reported
    }

    /// Whether a goroutine that is in this call may hold one of its runtime's processors: all but the calls in which the
    /// runtime itself waits (`internal/runtime/syscall` and `runtime.futex`); `own` says that it was made by Go code, not
    /// by C code that Go has called.
    pub fn may_hold_a_processor(&self, own: bool) -> bool {
        (self.call != "futex" || !own) && self.number != libc::SYS_epoll_pwait
    }

    /// Whether it waits for a file system, which ends by itself, soon.
    pub fn is_of_files(&self, process: i32, memory: &File) -> bool {
        self.of_files.waits(process, memory)
    }

    /// Whether the kernel may show it as a restarted call after a stop: it goes on with what is left of its time
    /// (`ERESTART_RESTARTBLOCK`).
    pub fn is_restarted(&self) -> bool {
        matches!(self.call, "poll" | "sleep" | "futex") && matches!(self.wait, Wait::After(_))
    }

    /// Nanoseconds left at `shown` of the subject's clocks, in a call that was first seen at `seen` of its
    /// monotonic clock.
    pub fn left(&self, shown: Now, seen: i64) -> Option<i64> {
        match self.wait {
            Wait::Forever | Wait::Restarted | Wait::Hidden => None,
            Wait::After(duration) => Some(seen.saturating_add(duration) - shown.steady),
            Wait::Steady(moment) => Some(moment.saturating_sub(shown.steady)),
            Wait::Wall(moment) => Some(moment.saturating_sub(shown.wall)),
        }
    }

    /// Whether a call that is interrupted now may be this one. What is left of a relative time is written over the time
    /// itself by some calls, so that is not compared.
    pub fn goes_on_as(&self, now: Blocked) -> bool {
        match (self.wait, now.wait) {
            (_, Wait::Restarted) => self.is_restarted(),
            (Wait::After(_), Wait::After(_)) => (self.number, self.at) == (now.number, now.at),
            (seen, wait) => (self.number, self.at, seen) == (now.number, now.at, wait),
        }
    }

    /// What the call must return for its caller to believe that the time has passed.
    pub fn timed_out(&self) -> i64 {
        match self.call {
            "futex" | "message queue" => -i64::from(libc::ETIMEDOUT),
            "signal" | "semaphore" => -i64::from(libc::EAGAIN),
            _ => 0,
        }
    }
}

/// Clocks at one moment, in nanoseconds: the machine's or a subject's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Now {
    pub steady: i64,
    pub wall: i64,
}

impl Now {
    /// The machine's.
    pub fn here() -> Now {
        Now { steady: time::steady(), wall: time::wall() }
    }
}

const MILLISECOND: i64 = 1_000_000;

/// Reads one line of `/proc/PID/task/TID/syscall`; `None` if the thread runs.
pub(crate) fn blocked(line: &str, memory: &File) -> Option<Blocked> {
    let mut fields = line.split_ascii_whitespace();
    let number: i64 = fields.next()?.parse().ok()?; // "running"
    // Six arguments, the stack and the place; only the last two where the number is −1: stopped outside of any call.
    let mut words = [0u64; 8];
    for word in &mut words {
        *word = match fields.next() {
            Some(text) => u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()?,
            None => break,
        };
    }
    let [arguments @ .., _, at] = words;
    Some(Blocked::of(number, &arguments, at, memory))
}

/// `futex_wait` of Linux 6.7, which libc does not name.
const FUTEX_WAIT: libc::c_long = 455;
/// `FUTEX_LOCK_PI2`, neither.
const FUTEX_LOCK_PI2: i32 = 13;
/// `io_pgetevents`, neither.
const IO_PGETEVENTS: libc::c_long = if cfg!(target_arch = "x86_64") { 333 } else { 292 };

fn understand(number: i64, arguments: &[u64; 6], memory: &File) -> (&'static str, Wait) {
    let milliseconds = |value: u64| match value as i32 {
        negative if negative < 0 => Wait::Forever,
        value => Wait::After(i64::from(value) * MILLISECOND),
    };
    let relative = |address| read_time(memory, address, 1).map_or(Wait::Forever, Wait::After);
    match number as libc::c_long {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_epoll_wait => ("epoll", milliseconds(arguments[3])),
        libc::SYS_epoll_pwait => ("epoll", milliseconds(arguments[3])),
        libc::SYS_epoll_pwait2 => ("epoll", relative(arguments[3])),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll => ("poll", milliseconds(arguments[2])),
        libc::SYS_ppoll => ("poll", relative(arguments[2])),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_select => {
            ("select", read_time(memory, arguments[4], 1000).map_or(Wait::Forever, Wait::After))
        }
        libc::SYS_pselect6 => ("select", relative(arguments[4])),
        libc::SYS_nanosleep => ("sleep", relative(arguments[0])),
        libc::SYS_clock_nanosleep => ("sleep", sleep(arguments, memory)),
        libc::SYS_futex => ("futex", futex(arguments, memory)),
        libc::SYS_futex_waitv => ("futex", absolute(memory, arguments[3], arguments[4] as i32)),
        FUTEX_WAIT => ("futex", absolute(memory, arguments[4], arguments[5] as i32)),
        libc::SYS_io_getevents | IO_PGETEVENTS => ("aio", relative(arguments[4])),
        libc::SYS_rt_sigtimedwait => ("signal", relative(arguments[2])),
        libc::SYS_semtimedop => ("semaphore", relative(arguments[3])),
        libc::SYS_mq_timedreceive | libc::SYS_mq_timedsend => {
            ("message queue", absolute(memory, arguments[4], libc::CLOCK_REALTIME))
        }
        libc::SYS_io_uring_enter => ("io_uring", Wait::Hidden),
        libc::SYS_restart_syscall => ("wait", Wait::Restarted),
        _ => ("wait", Wait::Forever),
    }
}

/// A pair of seconds and a fraction counted in `unit` nanoseconds; `None` for a null pointer or
/// unreadable memory.
fn read_time(memory: &File, address: u64, unit: i64) -> Option<i64> {
    if address == 0 {
        return None;
    }
    let mut bytes = [0; 16];
    memory.read_exact_at(&mut bytes, address).ok()?;
    let word = |at: usize| i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
    word(0).checked_mul(1_000_000_000)?.checked_add(word(8).checked_mul(unit)?)
}

fn absolute(memory: &File, address: u64, clock: i32) -> Wait {
    match (read_time(memory, address, 1), clock) {
        (None, _) => Wait::Forever,
        (Some(moment), libc::CLOCK_REALTIME | libc::CLOCK_TAI | libc::CLOCK_REALTIME_ALARM) => {
            Wait::Wall(moment)
        }
        (Some(moment), _) => Wait::Steady(moment),
    }
}

fn sleep(arguments: &[u64; 6], memory: &File) -> Wait {
    let (clock, flags, request) = (arguments[0] as i32, arguments[1] as i32, arguments[2]);
    let of_processors = [libc::CLOCK_PROCESS_CPUTIME_ID, libc::CLOCK_THREAD_CPUTIME_ID];
    if clock < 0 || of_processors.contains(&clock) {
        Wait::Forever // it ends when somebody has worked so long
    } else if flags & libc::TIMER_ABSTIME != 0 {
        absolute(memory, request, clock)
    } else {
        read_time(memory, request, 1).map_or(Wait::Forever, Wait::After)
    }
}

fn futex(arguments: &[u64; 6], memory: &File) -> Wait {
    let (operation, time) = (arguments[1] as i32, arguments[3]);
    let wall = operation & libc::FUTEX_CLOCK_REALTIME != 0;
    let clock = if wall { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
    match operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
        libc::FUTEX_WAIT => read_time(memory, time, 1).map_or(Wait::Forever, Wait::After),
        libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAIT_REQUEUE_PI => absolute(memory, time, clock),
        libc::FUTEX_LOCK_PI => absolute(memory, time, libc::CLOCK_REALTIME),
        FUTEX_LOCK_PI2 => absolute(memory, time, clock),
        _ => Wait::Forever,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Our own memory serves as the subject's.
    fn check(line: &str, expect: Option<(&str, Wait)>) {
        let memory = File::open("/proc/self/mem").unwrap();
        let found = blocked(line, &memory).map(|blocked| (blocked.call, blocked.wait));
        assert_eq!(found, expect, "{line}");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn blocked_calls_name_their_deadlines() {
        let time: [i64; 2] = [7, 5];
        let at = format!("{:#x}", time.as_ptr() as usize);
        let rest = "0x7ffd 0x7f12";
        let (after, fixed) = (Wait::After(7_000_000_005), 7_000_000_005);
        check("running", None);
        check(&format!("426 0x4 0x0 0x1 0x1 0x0 0x0 {rest}"), Some(("io_uring", Wait::Hidden)));
        check("-1 0x7ffd 0x7f12", Some(("wait", Wait::Forever)));
        check(&format!("0 0x3 0x1 0x2 0x0 0x0 0x0 {rest}"), Some(("wait", Wait::Forever)));
        let epoll = |number, timeout| format!("{number} 0x4 0x7f 0x80 {timeout} 0x0 0x0 {rest}");
        check(&epoll(281, "0x1b57"), Some(("epoll", Wait::After(6_999_000_000))));
        check(&epoll(232, "0xffffffff"), Some(("epoll", Wait::Forever)));
        check(&epoll(281, "0xffffffffffffffff"), Some(("epoll", Wait::Forever)));
        check(&epoll(441, &at), Some(("epoll", after)));
        check(&epoll(441, "0x0"), Some(("epoll", Wait::Forever)));
        check(
            &format!("7 0x1 0x1 0x64 0x0 0x0 0x0 {rest}"),
            Some(("poll", Wait::After(100_000_000))),
        );
        check(&format!("271 0x1 0x1 {at} 0x0 0x0 0x0 {rest}"), Some(("poll", after)));
        // A `timeval` counts microseconds.
        let select = format!("23 0x1 0x1 0x0 0x0 {at} 0x0 {rest}");
        check(&select, Some(("select", Wait::After(7_000_005_000))));
        let sleep = |clock, flags| format!("230 {clock} {flags} {at} 0x0 0x0 0x0 {rest}");
        check(&sleep("0x1", "0x0"), Some(("sleep", after)));
        check(&sleep("0x1", "0x1"), Some(("sleep", Wait::Steady(fixed))));
        check(&sleep("0x0", "0x1"), Some(("sleep", Wait::Wall(fixed))));
        let futex = |operation| format!("202 0x1 {operation} 0x0 {at} 0x0 0xffffffff {rest}");
        check(&futex("0x80"), Some(("futex", after)));
        check(&futex("0x89"), Some(("futex", Wait::Steady(fixed))));
        check(&futex("0x189"), Some(("futex", Wait::Wall(fixed))));
        check(&futex("0x81"), Some(("futex", Wait::Forever)));
        check(&format!("202 0x1 0x80 0x0 0x0 0x0 0x0 {rest}"), Some(("futex", Wait::Forever)));
        check(&format!("219 0x1 0x80 0x0 0x0 0x0 0x0 {rest}"), Some(("wait", Wait::Restarted)));
        assert_eq!(std::hint::black_box(time), [7, 5]);
    }

    #[test]
    fn what_is_left_is_counted_by_the_subjects_clocks() {
        let shown = Now { steady: 150, wall: 700 };
        let left = |wait, since| {
            Blocked { call: "wait", number: 0, at: 0, wait, of_files: OfFiles::No, reported: false }
                .left(shown, since)
        };
        assert_eq!(left(Wait::After(30), 140), Some(20));
        assert_eq!(left(Wait::Steady(160), 0), Some(10));
        assert_eq!(left(Wait::Wall(690), 0), Some(-10));
        assert_eq!(left(Wait::Forever, 0), None);
    }

    /// Between a look and a stop a thread may have gone on to the next call of the same name.
    #[test]
    fn only_a_call_that_was_seen_is_ended() {
        let call = |number, at, wait| Blocked {
            call: "sleep",
            number,
            at,
            wait,
            of_files: OfFiles::No,
            reported: false,
        };
        let (due, date) = (call(230, 7, Wait::Steady(5)), call(230, 7, Wait::Wall(9)));
        assert!(due.goes_on_as(due) && date.goes_on_as(date));
        assert!(!due.goes_on_as(date) && !due.goes_on_as(call(230, 7, Wait::Steady(6))));
        assert!(!due.goes_on_as(call(230, 8, Wait::Steady(5))));
        let (relative, rest) = (call(35, 7, Wait::After(50)), call(35, 7, Wait::After(20)));
        assert!(relative.goes_on_as(rest) && !relative.goes_on_as(due));
        let restarted = call(219, 7, Wait::Restarted);
        assert!(relative.goes_on_as(restarted) && !due.goes_on_as(restarted));
    }
}
