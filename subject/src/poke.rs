//! Making a thread notice that time has moved.
//!
//! The kernel knows nothing of our offsets: a thread that it put to sleep for five minutes sleeps
//! for five real minutes. So the calls whose time has come by the subject's clock are made to
//! return as if they had timed out: the thread is stopped by ptrace, which makes its call give way,
//! the result is set, and the thread goes on. Its program then reads the clock and finds that the
//! time has passed. A call that had been woken by something else at the same moment keeps its own
//! result. This works alike for epoll, poll, select, sleeps and futexes with relative and absolute
//! times, in any language, and needs no signal that a program could see.

use std::{fs::File, io, os::unix::fs::FileExt};

use crate::{sys::trace, timers::Blocked};

/// Makes the thread's call return if it is still in it, by its registers and its program's memory: it may have gone on to
/// the next one between the look and the stop.
#[cfg(target_arch = "x86_64")]
pub(crate) fn poke(thread: i32, blocked: Blocked, memory: &File) -> io::Result<()> {
    trace::seize(thread)?;
    let result = trace::interrupt(thread).and_then(|()| stopped(thread, blocked, memory));
    match result {
        Ok(signal) => trace::detach(thread, signal),
        Err(error) => {
            let _ = trace::detach(thread, 0);
            Err(error)
        }
    }
}

/// Waits for the stop and changes the result; a signal that arrived at the same time is to be
/// passed on.
#[cfg(target_arch = "x86_64")]
fn stopped(thread: i32, blocked: Blocked, memory: &File) -> io::Result<i32> {
    match trace::wait_for(thread)? {
        trace::Stop::Gone => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        trace::Stop::Signal(signal) => Ok(signal),
        trace::Stop::Exec => Ok(0),
        trace::Stop::Interrupted => {
            let registers = trace::Registers::read(thread)?;
            let now = registers.interrupted();
            let now =
                now.map(|(number, arguments, at)| Blocked::of(number, &arguments, at, memory));
            if now.is_some_and(|now| blocked.goes_on_as(now)) {
                if blocked.call == "select" {
                    // That none is ready is told by the sets too, and that no time is left.
                    for (address, bytes) in registers.sets() {
                        memory.write_all_at(&vec![0; bytes], address)?;
                    }
                }
                registers.force(thread, blocked.timed_out())?;
            }
            Ok(0)
        }
    }
}

/// Never reached: clocks can't be moved on this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn poke(_: i32, _: Blocked, _: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
