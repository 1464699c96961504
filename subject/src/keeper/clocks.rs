//! Answers programs that read a clock by a raw system call: a runtime that knows no vDSO, a static program that did not
//! look for it, or one that was started without. Ten microseconds a call instead of a tenth of one, but the right time.

use std::{
    fs::File,
    io,
    os::{fd::BorrowedFd, unix::fs::FileExt},
};

use crate::{
    clock::Clock,
    sys::seccomp::{self, Report},
    vdso,
};

const SECOND: i64 = 1_000_000_000;

/// Whether a report is of such a call.
pub fn is_reading(report: Report) -> bool {
    matches!(report.number, seccomp::CLOCK_GETTIME | seccomp::GETTIMEOFDAY | seccomp::TIME)
}

/// Answers it; what we can't answer, the kernel does.
pub fn answer(listener: BorrowedFd<'_>, report: Report, clock: &Clock) -> io::Result<()> {
    match read(report, clock) {
        Some(value) => seccomp::answer(listener, report, value),
        None => seccomp::proceed(listener, report),
    }
}

fn read(report: Report, clock: &Clock) -> Option<i64> {
    if !clock.is_ours() {
        return None;
    }
    let (shown, [first, second, ..]) = (clock.shown(), report.arguments);
    let memory = File::options().write(true).open(format!("/proc/{}/mem", report.thread)).ok()?;
    let pair = |address: u64, nanoseconds: i64, unit: i64| {
        let whole = nanoseconds.div_euclid(SECOND);
        let rest = nanoseconds.rem_euclid(SECOND) / unit;
        memory.write_all_at(&[whole.to_le_bytes(), rest.to_le_bytes()].concat(), address).ok()
    };
    match report.number {
        seccomp::CLOCK_GETTIME => pair(second, vdso::shown_by(first, clock.offsets())?, 1)?,
        seccomp::GETTIMEOFDAY => {
            if second != 0 {
                memory.write_all_at(&[0; 8], second).ok()?; // the zone, which is UTC on every kernel of today
            }
            pair(first, shown.wall, 1000)?;
        }
        _ => {
            let seconds = shown.wall.div_euclid(SECOND);
            if first != 0 {
                memory.write_all_at(&seconds.to_le_bytes(), first).ok()?;
            }
            return Some(seconds);
        }
    }
    Some(0)
}
