//! The few uses of `ptrace`: stopping a program at exec, and making one blocked call return.
//!
//! A tracer is a *thread*: all calls for one tracee must come from the thread that attached.

use std::io;

use super::{checked, checked_long};

/// Why a tracee stopped or that it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// At the end of an exec, before the new program's first instruction.
    Exec,
    /// Because we interrupted it.
    Interrupted,
    /// A signal is about to be delivered to it.
    Signal(i32),
    /// It has ended. For our own child the exit status is still to be reaped by others.
    Gone,
}

fn request(request: libc::c_uint, thread: i32, data: usize) -> io::Result<()> {
    // SAFETY: the requests used here take no address and a plain number as data.
    checked_long(unsafe { libc::ptrace(request, thread, 0usize, data) }).map(drop)
}

/// Attaches without stopping; exec stops will be seen.
pub fn seize(thread: i32) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, thread, libc::PTRACE_O_TRACEEXEC as usize)
}

/// Asks for a stop as soon as the thread is about to return to its program.
pub fn interrupt(thread: i32) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, thread, 0)
}

/// Lets a stopped thread run on, untraced, with a signal (0: none).
///
/// One that has been killed meanwhile is waited for: its parent does not hear of its end before its tracer has, and
/// would wait for ever.
///
/// # Errors
/// `ESRCH` if it was killed.
pub fn detach(thread: i32, signal: i32) -> io::Result<()> {
    let detach = || request(libc::PTRACE_DETACH, thread, signal as usize);
    match detach() {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => match wait_for(thread) {
            Ok(Stop::Gone) | Err(_) => Err(error),
            Ok(_) => detach(), // it had not stopped yet
        },
        other => other,
    }
}

/// Lets a stopped thread run on, still traced.
pub fn proceed(thread: i32, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_CONT, thread, signal as usize)
}

/// Writes a word into a stopped thread's program, over code too.
pub fn write(thread: i32, address: u64, word: u64) -> io::Result<()> {
    // SAFETY: address and data are numbers for the kernel, which checks them against the other program.
    checked_long(unsafe { libc::ptrace(libc::PTRACE_POKEDATA, thread, address, word) }).map(drop)
}

/// Leads a stopped thread through a system call, by an instruction of its program at `entry` that makes one, and puts
/// everything back; what the call returned.
#[cfg(target_arch = "x86_64")]
pub fn call(thread: i32, entry: u64, number: i64, arguments: [u64; 3]) -> io::Result<i64> {
    let before = Registers::read(thread)?;
    // From a stop inside exec, the first step only leaves that, and its result takes the place of the number.
    for _ in 0..2 {
        before.at(entry, number, arguments).write(thread)?;
        request(libc::PTRACE_SINGLESTEP, thread, 0)?;
        if !matches!(wait(libc::P_PID, thread, thread)?, (_, Stop::Signal(libc::SIGTRAP))) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        let now = Registers::read(thread)?;
        if now.0.rip != entry {
            before.write(thread)?;
            return Ok(now.0.rax as i64);
        }
    }
    before.write(thread)?;
    Err(io::Error::other("it does not step"))
}

/// Waits until a tracee of this thread stops; who, and why. `first` is our own child, whose end is
/// left for its reaper.
pub fn wait_any(first: i32) -> io::Result<(i32, Stop)> {
    wait(libc::P_ALL, 0, first)
}

/// Waits until this tracee, which is no child of the calling thread, stops.
pub fn wait_for(thread: i32) -> io::Result<Stop> {
    wait(libc::P_PID, thread, -1).map(|(_, stop)| stop)
}

fn wait(kind: libc::idtype_t, number: i32, first: i32) -> io::Result<(i32, Stop)> {
    // Another thread's tracees and children are none of our business.
    let mine = libc::__WALL | libc::__WNOTHREAD;
    loop {
        // SAFETY: an all-zero siginfo_t is valid; the kernel fills it.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // A child of ours is only looked at, for its end is not to be taken.
        let look = if first < 0 { 0 } else { libc::WNOWAIT };
        let options = libc::WSTOPPED | libc::WEXITED | look | mine;
        // SAFETY: `info` is a live local.
        let waited =
            checked(unsafe { libc::waitid(kind, number as libc::id_t, &mut info, options) });
        match waited {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => {
                return Ok((number, Stop::Gone));
            }
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        // SAFETY: waitid filled the SIGCHLD part.
        let (thread, status) = unsafe { (info.si_pid(), info.si_status()) };
        let stopped = matches!(info.si_code, libc::CLD_TRAPPED | libc::CLD_STOPPED);
        if !stopped && thread == first {
            return Ok((thread, Stop::Gone));
        }
        if look != 0 {
            // Take the event itself, so that the next wait doesn't see it again.
            let take = mine | libc::WNOHANG | if stopped { libc::WSTOPPED } else { libc::WEXITED };
            // SAFETY: as above.
            unsafe { libc::waitid(libc::P_PID, thread as libc::id_t, &mut info, take) };
        }
        if !stopped {
            return Ok((thread, Stop::Gone));
        }
        let stop = match (status & 0xff, status >> 8) {
            (libc::SIGTRAP, libc::PTRACE_EVENT_EXEC) => Stop::Exec,
            (_, libc::PTRACE_EVENT_STOP) => Stop::Interrupted,
            (signal, _) => Stop::Signal(signal),
        };
        return Ok((thread, stop));
    }
}

/// What a thread that stopped inside a blocked system call will return, and to where.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub struct Registers(libc::user_regs_struct);

#[cfg(target_arch = "x86_64")]
impl Registers {
    /// Reads the registers of a stopped thread.
    pub fn read(thread: i32) -> io::Result<Registers> {
        // SAFETY: all-zero registers are valid; the kernel fills exactly this type.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        // SAFETY: data points to the live local.
        checked_long(unsafe {
            libc::ptrace(libc::PTRACE_GETREGS, thread, 0usize, &mut registers)
        })?;
        Ok(Registers(registers))
    }

    /// The interrupted system call, if the kernel is about to restart one: its number, its arguments, and where it was
    /// made.
    pub fn interrupted(&self) -> Option<(i64, [u64; 6], u64)> {
        // ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK, and plain EINTR
        // (epoll).
        let result = self.0.rax as i64;
        let number = self.0.orig_rax as i64;
        let arguments = [self.0.rdi, self.0.rsi, self.0.rdx, self.0.r10, self.0.r8, self.0.r9];
        (matches!(result, -516..=-512 | -4) && number >= 0)
            .then_some((number, arguments, self.0.rip))
    }

    /// In a call of `select`: where its sets of descriptors are and the time that is left, and how many bytes each has.
    pub fn sets(&self) -> impl Iterator<Item = (u64, usize)> {
        let bytes = (self.0.rdi as u32 as usize).div_ceil(64) * 8;
        let sets = [self.0.rsi, self.0.rdx, self.0.r10].map(|address| (address, bytes));
        let all = sets.into_iter().chain([(self.0.r8, 16)]);
        all.filter(|(address, _)| *address != 0)
    }

    /// Makes the interrupted call return `result`.
    pub fn force(mut self, thread: i32, result: i64) -> io::Result<()> {
        self.0.rax = result as u64;
        self.0.orig_rax = u64::MAX; // "in no system call": nothing is restarted
        self.write(thread)
    }

    /// The same, before an instruction that makes this system call.
    fn at(mut self, instruction: u64, number: i64, arguments: [u64; 3]) -> Registers {
        self.0.rip = instruction;
        self.0.rax = number as u64;
        self.0.orig_rax = u64::MAX;
        [self.0.rdi, self.0.rsi, self.0.rdx] = arguments;
        self
    }

    fn write(&self, thread: i32) -> io::Result<()> {
        // SAFETY: data points to the live registers.
        checked_long(unsafe { libc::ptrace(libc::PTRACE_SETREGS, thread, 0usize, &self.0) })
            .map(drop)
    }
}
