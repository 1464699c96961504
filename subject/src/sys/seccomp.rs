//! Learning of every `exec` of a process tree, of every reading of a clock that goes around the vDSO, and of what
//! can't be seen from outside later (timers that no blocked call shows, connections to others): a seccomp filter that
//! reports these calls to us before they happen and lets everything else through unseen (one table look-up a system
//! call). It is inherited by all children.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd},
};

use super::{checked, checked_long};

/// The folder number of the one `execveat` that is let through unreported: our own first exec.
pub const FIRST_EXEC: i32 = -0x7472;

/// What the clock stub puts into the sixth argument, which `clock_gettime` has not: such calls are not reported.
pub const STUB_CALL: u32 = 0x7472_6d6c;

const NOTIFY: u32 = 0x7fc0_0000;
const ALLOW: u32 = 0x7fff_0000;
const FLAG_SPEC_ALLOW: u64 = 1 << 2;
const FLAG_NEW_LISTENER: u64 = 1 << 3;
/// From the moment that we took the report, only a deadly signal can wake the caller before our
/// answer (Linux 5.19).
const FLAG_WAIT_KILLABLE: u64 = 1 << 5;
const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
const EXECVE: u32 = 59;
const EXECVEAT: u32 = 322;
/// `time` on x86-64.
pub const TIME: i64 = 201;
/// `gettimeofday` on x86-64.
pub const GETTIMEOFDAY: i64 = 96;
/// `clock_gettime` on x86-64.
pub const CLOCK_GETTIME: i64 = 228;
/// `connect` on x86-64.
pub const CONNECT: i64 = 42;
/// `timerfd_create` on x86-64.
pub const TIMERFD_CREATE: i64 = 283;
/// `alarm` on x86-64.
pub const ALARM: i64 = 37;
/// `setitimer` on x86-64.
pub const SETITIMER: i64 = 38;
/// `timer_settime` on x86-64.
pub const TIMER_SETTIME: i64 = 223;
/// `io_uring_setup`.
pub const IO_URING_SETUP: i64 = 425;
/// `setsockopt` on x86-64; reported for time limits only.
pub const SETSOCKOPT: i64 = 54;
/// `ioctl` on x86-64; reported for the unlocking of a new terminal only.
pub const IOCTL: i64 = 16;
/// `TIOCSPTLCK`: with it `unlockpt(3)` makes a new terminal ready for use.
const UNLOCK_TERMINAL: u32 = 0x4004_5431;
/// Calls that are reported whatever their arguments are.
const ALWAYS: [i64; 8] =
    [EXECVE as i64, TIME, CONNECT, TIMERFD_CREATE, ALARM, SETITIMER, TIMER_SETTIME, IO_URING_SETUP];

/// Whether calls of this number may be reported: they block until we have answered.
///
/// Of calls that are reported for some arguments only, all but `ioctl` never block for anything else; `second` is the
/// second argument.
pub fn is_reported(number: i64, second: u64) -> bool {
    let by_arguments = [i64::from(EXECVEAT), GETTIMEOFDAY, CLOCK_GETTIME, SETSOCKOPT];
    let terminal = number == IOCTL && second as u32 == UNLOCK_TERMINAL;
    ALWAYS.contains(&number) || by_arguments.contains(&number) || terminal
}

/// One report.
#[derive(Debug, Clone, Copy)]
pub struct Report {
    id: u64,
    /// The calling thread, numbered as we see it.
    pub thread: i32,
    /// System call number.
    pub number: i64,
    /// Its arguments.
    pub arguments: [u64; 6],
}

const fn instruction(code: u32, yes: u8, no: u8, operand: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: yes, jf: no, k: operand }
}

const fn load(offset: u32) -> libc::sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset)
}

/// Loads the lower half of an argument.
const fn argument(number: u32) -> libc::sock_filter {
    load(16 + 8 * number)
}

/// Compares; jumps are counted from the next instruction.
const fn equal(operand: u32, yes: usize, no: usize) -> libc::sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, yes as u8, no as u8, operand)
}

/// Where the conditions on arguments begin, and what the program ends in.
const CONDITIONS: usize = 3 + ALWAYS.len();
const REPORT: usize = CONDITIONS + 19;
const PASS: usize = REPORT + 1;

/// The filter.
const fn program() -> [libc::sock_filter; PASS + 1] {
    const ANSWER: u32 = libc::BPF_RET | libc::BPF_K;
    const C: usize = CONDITIONS;
    let mut program = [instruction(ANSWER, 0, 0, ALLOW); PASS + 1];
    program[0] = load(4); // architecture
    program[1] = equal(AUDIT_ARCH_X86_64, 0, PASS - 2);
    program[2] = load(0); // number
    let mut at = 3;
    while at < C {
        program[at] = equal(ALWAYS[at - 3] as u32, REPORT - at - 1, 0);
        at += 1;
    }
    program[C] = equal(EXECVEAT, 0, 2);
    program[C + 1] = argument(0); // the folder
    program[C + 2] = equal(FIRST_EXEC as u32, PASS - C - 3, REPORT - C - 3);
    program[C + 3] = equal(GETTIMEOFDAY as u32, 0, 2);
    program[C + 4] = argument(0); // null: only the time zone is asked for
    program[C + 5] = equal(0, PASS - C - 6, REPORT - C - 6);
    program[C + 6] = equal(CLOCK_GETTIME as u32, 0, 2);
    program[C + 7] = argument(5);
    program[C + 8] = equal(STUB_CALL, PASS - C - 9, REPORT - C - 9);
    program[C + 9] = equal(SETSOCKOPT as u32, 0, 6);
    program[C + 10] = argument(1); // the level
    program[C + 11] = equal(libc::SOL_SOCKET as u32, 0, PASS - C - 12);
    program[C + 12] = argument(2); // the option: with seconds of 32 bits or of 64
    program[C + 13] = equal(20, REPORT - C - 14, 0); // SO_RCVTIMEO_OLD
    program[C + 14] = equal(66, REPORT - C - 15, 0); // SO_RCVTIMEO_NEW
    program[C + 15] = equal(21, REPORT - C - 16, PASS - C - 16); // SO_SNDTIMEO_OLD
    program[C + 16] = equal(IOCTL as u32, 0, PASS - C - 17);
    program[C + 17] = argument(1);
    program[C + 18] = equal(UNLOCK_TERMINAL, REPORT - C - 19, PASS - C - 19);
    program[REPORT] = instruction(ANSWER, 0, 0, NOTIFY);
    program
}

/// Installs the filter in the calling thread; the number of the report descriptor or an error
/// number. Called in the forked child: allocates nothing.
pub(super) fn install() -> Result<i32, i32> {
    let mut program = const { program() };
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    let flags = FLAG_SPEC_ALLOW | FLAG_NEW_LISTENER | FLAG_WAIT_KILLABLE;
    let call = || {
        // SAFETY: `filter` points to a live program; the kernel copies it.
        checked_long(unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &filter)
        })
        .map_err(|error| error.raw_os_error().unwrap_or(libc::EINVAL))
    };
    let number = match call() {
        Err(libc::EACCES) => {
            // Without CAP_SYS_ADMIN the kernel wants the promise that exec gives no new rights.
            // SAFETY: no pointers.
            unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
            call()?
        }
        other => other?,
    };
    Ok(number as i32)
}

const RECEIVE: libc::c_ulong = 0xc050_2100;
const SEND: libc::c_ulong = 0xc018_2101;

/// Takes the next report; `None` if the caller died meanwhile.
pub fn receive(listener: BorrowedFd<'_>) -> io::Result<Option<Report>> {
    // SAFETY: all-zero is what the kernel asks for.
    let mut notification: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the size is coded in the request number and equals that of the live local.
    match checked(unsafe { libc::ioctl(listener.as_raw_fd(), RECEIVE as _, &mut notification) }) {
        Ok(_) => Ok(Some(Report {
            id: notification.id,
            thread: notification.pid as i32,
            number: i64::from(notification.data.nr),
            arguments: notification.data.args,
        })),
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Lets the reported call go on. A caller that died meanwhile is no error.
pub fn proceed(listener: BorrowedFd<'_>, report: Report) -> io::Result<()> {
    send(listener, report, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32)
}

/// Makes the reported call return this, without being carried out.
pub fn answer(listener: BorrowedFd<'_>, report: Report, value: i64) -> io::Result<()> {
    send(listener, report, value, 0)
}

fn send(listener: BorrowedFd<'_>, report: Report, val: i64, flags: u32) -> io::Result<()> {
    let mut answer = libc::seccomp_notif_resp { id: report.id, val, error: 0, flags };
    // SAFETY: as in `receive`.
    match checked(unsafe { libc::ioctl(listener.as_raw_fd(), SEND as _, &mut answer) }) {
        Err(error) if error.raw_os_error() != Some(libc::ENOENT) => Err(error),
        _ => Ok(()),
    }
}
