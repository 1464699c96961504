//! Timers that are files (`timerfd`): some event loops use them instead of the time-out of `epoll`.
//!
//! The time left stands in `/proc/PID/fdinfo/FD`, by the machine's clock. A timer that was set to a duration runs by
//! that clock, so when it is first seen it is worked out when it is due by the subject's; what passed on the machine
//! since the subject was last quiet, and it may have been set, is added: late by some work is what any machine may
//! be, early is not. A jump re-arms timers through a copy of the descriptor: the same timer, in the hands of two
//! processes. Looking for them costs a microsecond a descriptor, so it is done again only for processes that have run.

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
    /// When each timer that was set to a duration is due: by the machine's steady clock, and by the subject's.
    due: BTreeMap<(i32, i32), (i64, i64)>,
    /// The machine's steady clock when the subject was last quiet.
    quiet_at: i64,
}

/// One armed timer file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Armed {
    pub process: i32,
    descriptor: i32,
    /// Nanoseconds until it expires by the machine's clock.
    left: i64,
    /// Nanoseconds from one expiry to the next; 0: only one.
    interval: i64,
    /// Whether it was set to a moment (of the subject's clock) rather than to a duration.
    absolute: bool,
    /// Whether that clock tells the date.
    wall: bool,
}

impl Armed {
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

    /// All armed timers of these processes with the nanoseconds left by the subject's clock; `work` changes whenever
    /// one of them has run.
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
        if armed.absolute {
            return armed.left(now, shown);
        }
        let (here, at) = (now.steady + armed.left, (armed.process, armed.descriptor));
        match self.due.get(&at) {
            Some((known, due)) if (known - here).abs() < SAME_MOMENT => due - shown.steady,
            _ if shown.steady == now.steady => armed.left, // its clock runs as the machine's
            _ => {
                let left = armed.left + now.steady - self.quiet_at;
                self.due.insert(at, (here, shown.steady + left));
                left
            }
        }
    }

    /// Makes a timer expire after so many nanoseconds, and then at its own interval.
    pub fn rearm(&mut self, armed: Armed, left: i64) -> io::Result<()> {
        let holder = descriptors::holder(armed.process);
        let number = holder.file_name().and_then(|name| name.to_str()?.parse().ok());
        let holder = match number {
            Some(thread) if thread != armed.process => wait::open_thread(thread)?,
            _ => wait::open(armed.process)?,
        };
        let copy: OwnedFd = wait::copy_descriptor(holder.as_fd(), armed.descriptor)?;
        let nanoseconds = |value: i64| Duration::from_nanos(value.max(0) as u64);
        if let Some((here, _)) = self.due.get_mut(&(armed.process, armed.descriptor)) {
            *here = Now::here().steady + left;
        }
        timer::arm(copy.as_fd(), nanoseconds(left.max(1)), nanoseconds(armed.interval))
    }
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
    let left = pair("it_value:").filter(|left| *left > 0)?;
    let absolute =
        i32::from_str_radix(field("settime flags:")?.trim_start_matches('0'), 8).unwrap_or(0) & 1
            == 1;
    let wall = matches!(number("clockid:")?, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_ALARM);
    Some(Armed { process, descriptor, left, interval: pair("it_interval:")?, absolute, wall })
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
    }
}
