//! A descriptor that becomes readable after a short while: the pace of polling, finer than a
//! millisecond.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use tokio::io::{Interest, unix::AsyncFd};

use super::{checked, descriptor::own};

/// A timer, known to the runtime of the calling task.
#[derive(Debug)]
pub struct Pace(AsyncFd<OwnedFd>);

impl Pace {
    /// A timer that is not set.
    pub fn new() -> io::Result<Pace> {
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: no pointers.
        let timer =
            checked(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) }).map(own)?;
        // SAFETY: the number of an `OwnedFd` stays the same and open until the `AsyncFd` drops it.
        let registered = unsafe { AsyncFd::register_with_interest(timer, Interest::READABLE) };
        registered.map(Pace).map_err(io::Error::from)
    }

    /// Returns after about this time.
    pub async fn rest(&self, pause: Duration) -> io::Result<()> {
        arm(self.0.get_ref().as_fd(), pause, Duration::ZERO)?;
        let mut expired = self.0.readable().await?;
        // Setting it again forgets the expiry, so nothing needs to be read.
        expired.clear_ready();
        Ok(())
    }
}

/// Sets a timer to expire after this time, and then at intervals (zero: never again).
pub fn arm(timer: BorrowedFd<'_>, after: Duration, interval: Duration) -> io::Result<()> {
    let time = |duration: Duration| libc::timespec {
        tv_sec: duration.as_secs() as i64,
        tv_nsec: i64::from(duration.subsec_nanos()),
    };
    let value = time(after.max(Duration::from_nanos(1))); // zero would stop it
    let setting = libc::itimerspec { it_interval: time(interval), it_value: value };
    // SAFETY: `setting` is a live local; null is allowed for the old setting.
    checked(unsafe { libc::timerfd_settime(timer.as_raw_fd(), 0, &setting, std::ptr::null_mut()) })
        .map(drop)
}

/// `TFD_IOC_SET_TICKS`: `_IOW('T', 0, __u64)`.
const SET_TICKS: libc::c_ulong = 0x4008_5400;

/// Makes so many expiries of a timer unread, and wakes who waits for them; when it expires next is as before.
///
/// # Errors
/// A kernel without CONFIG_CHECKPOINT_RESTORE can't; nobody can set them to 0.
pub fn set_ticks(timer: BorrowedFd<'_>, ticks: u64) -> io::Result<()> {
    // SAFETY: the size is coded in the request number and equals that of the live local.
    checked(unsafe { libc::ioctl(timer.as_raw_fd(), SET_TICKS as _, &raw const ticks) }).map(drop)
}
