//! Timers that are files (`timerfd`): some event loops use them instead of the time-out of `epoll`.
//!
//! The time left stands in `/proc/PID/fdinfo/FD`, by the machine's clock. A timer that was set to a duration runs by
//! that clock, so when it is first seen it is worked out when it is due by the subject's; what passed on the machine
//! since the subject was last quiet, and it may have been set, is added: late by some work is what any machine may
//! be, early is not; its next expiries follow at its interval. A jump re-arms timers through a copy of the descriptor: the
//! same timer, in the hands of two processes.
//!
//! A timer that goes off again and again counts its expiries until they are read, and wakes nobody for those after the
//! first. So one with unread expiries is no timer that anybody waits for; but a jump adds what it skips to the count
//! (`TFD_IOC_SET_TICKS`; a kernel without CONFIG_CHECKPOINT_RESTORE can't, and then the count is named as lost).
//!
//! Looking for them costs a microsecond a descriptor, so it is done again only for processes that have run.

use std::{
    collections::BTreeMap,
    fs, io,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    descriptors,
    sys::{timer, wait},
    timers::Now,
    vdso::Offsets,
};

/// The timer files of one tree, as of the last time that it ran.
#[derive(Debug)]
pub(crate) struct TimerFds {
    work: u64,
    found: BTreeMap<i32, (PathBuf, Vec<i32>)>,
    /// When each timer that runs by the machine's clock is due.
    due: BTreeMap<(i32, i32), Due>,
    /// The machine's steady clock when the subject was last quiet.
    quiet_at: i64,
}

/// When a timer is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Due {
    /// By the machine's steady clock.
    here: i64,
    /// By the subject's.
    subject: i64,
}

impl Due {
    /// Whether a timer that expires at `here` is this one, or one of its next expiries, to which it then moves on: the
    /// kernel's interval timers don't drift.
    fn goes_on(&mut self, here: i64, interval: i64) -> bool {
        let ahead = here - self.here;
        let times = match interval {
            1.. => (ahead + interval / 2).div_euclid(interval),
            _ => 0,
        };
        let goes_on = times >= 0 && (ahead - times * interval).abs() < SAME_MOMENT;
        if goes_on && times > 0 {
            *self = Due { here, subject: self.subject + times * interval };
        }
        goes_on
    }
}

/// One armed timer file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Armed {
    pub process: i32,
    descriptor: i32,
    /// Nanoseconds until it expires by the machine's clock; 0: it has, and goes on when that has been read.
    left: i64,
    /// How many expiries have not been read.
    ticks: u64,
    /// Nanoseconds from one expiry to the next; 0: only one.
    interval: i64,
    /// Whether it was set to a moment (of the subject's clock) rather than to a duration.
    absolute: bool,
    /// Whether that clock tells the date.
    wall: bool,
}

impl Armed {
    /// Whether there are expiries that have not been read: the next one wakes nobody.
    pub fn is_unread(&self) -> bool {
        self.ticks > 0
    }

    /// How many more expiries there are when so many nanoseconds are left to the next one.
    fn passed(&self, left: i64) -> u64 {
        match (left, self.interval) {
            (1.., _) => 0,
            (_, 1..) => 1 + left.unsigned_abs() / self.interval.unsigned_abs(),
            _ => 1,
        }
    }

    /// Nanoseconds left by the subject's clocks, which show `shown` when the machine's show `now`: a moment that
    /// the subject named is not shifted for the kernel.
    fn left(&self, now: Now, shown: Now) -> i64 {
        match (self.absolute, self.wall) {
            (false, _) => self.left,
            (true, true) => self.left.saturating_sub(shown.wall - now.wall),
            (true, false) => self.left.saturating_sub(shown.steady - now.steady),
        }
    }
}

/// Reading one timer twice shows the same moment up to so many nanoseconds.
const SAME_MOMENT: i64 = 1_000_000;

impl TimerFds {
    pub fn new() -> TimerFds {
        let quiet_at = Now::here().steady;
        TimerFds { work: 0, found: BTreeMap::new(), due: BTreeMap::new(), quiet_at }
    }

    /// The subject is quiet now.
    pub fn rests(&mut self) {
        self.quiet_at = Now::here().steady;
    }

    /// All armed timers of these processes with the nanoseconds left to the next expiry by the subject's clock; `work`
    /// changes whenever one of them has run.
    pub fn armed(
        &mut self,
        processes: impl Iterator<Item = i32>,
        work: u64,
        offsets: Offsets,
    ) -> Vec<(Armed, i64)> {
        if self.work != work {
            self.found.clear();
            self.work = work;
        }
        let mut all = Vec::new();
        for process in processes {
            let (holder, numbers) =
                self.found.entry(process).or_insert_with(|| timer_files(process));
            let read = |number: &i32| read(holder, process, *number);
            for armed in numbers.iter().filter_map(read).collect::<Vec<Armed>>() {
                let now = Now::here();
                all.push((armed, self.left(armed, now, offsets.shown(now))));
            }
        }
        all
    }

    fn left(&mut self, armed: Armed, now: Now, shown: Now) -> i64 {
        if armed.left == 0 {
            // The kernel counted it by the machine's clock; by the subject's it may still lie ahead.
            let latest = Due { here: now.steady, subject: shown.steady };
            let latest = self.due.entry((armed.process, armed.descriptor)).or_insert(latest);
            return latest.subject.saturating_add(armed.interval) - shown.steady;
        }
        if armed.absolute {
            return armed.left(now, shown);
        }
        let (here, at) = (now.steady + armed.left, (armed.process, armed.descriptor));
        if let Some(known) = self.due.get_mut(&at)
            && known.goes_on(here, armed.interval)
        {
            return known.subject - shown.steady;
        }
        if shown.steady == now.steady {
            return armed.left; // its clock runs as the machine's
        }
        let left = armed.left + now.steady - self.quiet_at;
        self.due.insert(at, Due { here, subject: shown.steady + left });
        left
    }

    /// Makes a timer expire after so many nanoseconds, and then at its own interval; the subject's clocks show `shown`.
    /// Of one whose moment has passed, all expiries until now are counted. Whether the count is right.
    pub fn rearm(&mut self, armed: Armed, left: i64, shown: Now) -> io::Result<bool> {
        let passed = armed.passed(left);
        if passed == 0 && armed.left == 0 {
            return Ok(true); // it stands until it is read
        }
        let copy = copy(armed)?;
        let at = (armed.process, armed.descriptor);
        // What was set to a moment runs by the machine's clock from now on.
        let known = self.due.get(&at).filter(|_| !armed.absolute && armed.left > 0);
        let due = known.map_or(shown.steady.saturating_add(left), |known| known.subject);
        let further = armed.interval.saturating_mul(i64::try_from(passed).unwrap_or(i64::MAX));
        let (left, subject) = (left.saturating_add(further), due.saturating_add(further));
        self.due.insert(at, Due { here: Now::here().steady + left, subject });
        let interval = nanoseconds(armed.interval);
        timer::arm(copy.as_fd(), nanoseconds(left.max(1)), interval)?;
        let ticks = armed.ticks.saturating_add(passed);
        if armed.interval == 0 || ticks == 0 || timer::set_ticks(copy.as_fd(), ticks).is_ok() {
            return Ok(true);
        }
        // It counts from one again.
        self.due.insert(at, Due { here: Now::here().steady, subject: subject - armed.interval });
        timer::arm(copy.as_fd(), Duration::ZERO, interval)?;
        Ok(ticks == 1)
    }
}

fn nanoseconds(value: i64) -> Duration {
    Duration::from_nanos(value.max(0).unsigned_abs())
}

/// The same timer, as a descriptor of ours.
fn copy(armed: Armed) -> io::Result<OwnedFd> {
    let holder = descriptors::holder(armed.process);
    let number = holder.file_name().and_then(|name| name.to_str()?.parse().ok());
    let holder = match number {
        Some(thread) if thread != armed.process => wait::open_thread(thread)?,
        _ => wait::open(armed.process)?,
    };
    wait::copy_descriptor(holder.as_fd(), armed.descriptor)
}

/// Who holds them, and their numbers.
fn timer_files(process: i32) -> (PathBuf, Vec<i32>) {
    let holder = descriptors::holder(process);
    let entries = fs::read_dir(holder.join("fd")).into_iter().flatten();
    let is_timer = |entry: fs::DirEntry| {
        let target = fs::read_link(entry.path()).ok()?;
        (target.as_os_str() == "anon_inode:[timerfd]").then_some(())?;
        entry.file_name().to_str()?.parse().ok()
    };
    let numbers = entries.filter_map(|entry| is_timer(entry.ok()?)).collect();
    (holder, numbers)
}

fn read(holder: &Path, process: i32, descriptor: i32) -> Option<Armed> {
    let file = holder.join("fdinfo").join(descriptor.to_string());
    parse(&fs::read_to_string(file).ok()?, process, descriptor)
}

fn parse(text: &str, process: i32, descriptor: i32) -> Option<Armed> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let pair = |name| -> Option<i64> {
        let inner = field(name)?.strip_prefix('(')?.strip_suffix(')')?;
        let (seconds, nanoseconds) = inner.split_once(',')?;
        let seconds: i64 = seconds.trim().parse().ok()?;
        seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds.trim().parse().ok()?)
    };
    let number = |name| field(name)?.parse::<i32>().ok();
    let (left, interval) = (pair("it_value:")?, pair("it_interval:")?);
    let ticks = field("ticks:")?.parse().ok()?;
    if left == 0 && (ticks == 0 || interval == 0) {
        return None; // it is not set, or nothing more will come of it
    }
    let absolute =
        i32::from_str_radix(field("settime flags:")?.trim_start_matches('0'), 8).unwrap_or(0) & 1
            == 1;
    let wall = matches!(number("clockid:")?, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_ALARM);
    Some(Armed { process, descriptor, left, ticks, interval, absolute, wall })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<(i64, i64)>) {
        let now = Now { wall: 7, steady: 3 };
        let shown = Now { wall: 5_000_000_007, steady: 2_000_000_003 };
        let found = parse(text, 1, 2).map(|armed| (armed.left(now, shown), armed.interval));
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn an_interval_goes_on_from_when_it_was_due() {
        let mut due = Due { here: 1_000_000_000, subject: 50_000_000_000 };
        assert!(due.goes_on(1_000_300_000, 10_000_000_000));
        assert_eq!(due.subject, 50_000_000_000, "the same expiry, read again");
        assert!(due.goes_on(21_000_200_000, 10_000_000_000));
        assert_eq!(due, Due { here: 21_000_200_000, subject: 70_000_000_000 });
        assert!(!due.goes_on(24_000_000_000, 10_000_000_000), "set anew");
        assert!(!Due { here: 0, subject: 0 }.goes_on(5_000_000_000, 0));
    }

    #[test]
    fn fdinfo_is_understood() {
        let text = |clock, flags, left| {
            format!(
                "pos:\t0\nflags:\t02004002\nclockid: {clock}\nticks: 0\nsettime flags: {flags}\n\
                 it_value: {left}\nit_interval: (1, 5)\n"
            )
        };
        check(&text(1, "00", "(299, 999999000)"), Some((299_999_999_000, 1_000_000_005)));
        check(&text(1, "01", "(10, 0)"), Some((8_000_000_000, 1_000_000_005)));
        check(&text(0, "01", "(10, 0)"), Some((5_000_000_000, 1_000_000_005)));
        check(&text(0, "00", "(0, 0)"), None);
        check("pos: 0\n", None);
        let unread = text(1, "00", "(0, 0)").replace("ticks: 0", "ticks: 3");
        check(&unread, Some((0, 1_000_000_005)));
        check(&unread.replace("(1, 5)", "(0, 0)"), None);
    }

    #[test]
    fn a_jump_counts_the_expiries_that_it_skips() {
        let interval = 30_000_000_000;
        let (process, descriptor) = (1, 2);
        let armed = |interval| Armed {
            process,
            descriptor,
            left: 1,
            ticks: 0,
            interval,
            absolute: false,
            wall: false,
        };
        let check = |interval, left: i64, expect| {
            assert_eq!(armed(interval).passed(left), expect, "{left}")
        };
        check(interval, 1, 0);
        check(interval, 0, 1);
        check(interval, -29_999_999_999, 1);
        check(interval, -70_000_000_000, 3);
        check(0, -70_000_000_000, 1);
        check(0, 5, 0);
    }
}
