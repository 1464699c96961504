//! This machine's own clocks, in the form in which waiting threads name their deadlines.

/// Any of them, in nanoseconds; 0 if there is none of that number.
pub fn read(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live local; these clocks exist everywhere.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn steady() -> i64 {
    read(libc::CLOCK_MONOTONIC)
}

/// `CLOCK_REALTIME` in nanoseconds.
pub fn wall() -> i64 {
    read(libc::CLOCK_REALTIME)
}

/// Processor time of all threads of a process together, ended ones too, in nanoseconds; 0 if there is none. What one
/// uses that is on a processor now is booked at the next tick or when it leaves it.
pub fn of_process(process: i32) -> u64 {
    // As clock_getcpuclockid(3) makes it, which asks first whether there is one.
    const SCHEDULED: libc::clockid_t = 2;
    read(!process << 3 | SCHEDULED).cast_unsigned()
}
