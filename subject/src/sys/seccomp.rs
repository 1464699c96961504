//! Learning of every `exec` of a process tree, and of every reading of a clock that goes around the vDSO: a
//! seccomp filter that reports these calls to us before they happen and lets everything else through unseen (one
//! table look-up a system call). It is inherited by all children.

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

/// Installs the filter in the calling thread; the number of the report descriptor or an error
/// number. Called in the forked child: allocates nothing.
pub(super) fn install() -> Result<i32, i32> {
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let answer = |action| instruction(libc::BPF_RET | libc::BPF_K, 0, 0, action);
    let low_half_of = |argument: u32| instruction(load, 0, 0, 16 + 8 * argument);
    let mut program = [
        instruction(load, 0, 0, 4), // architecture
        instruction(equal, 0, 13, AUDIT_ARCH_X86_64),
        instruction(load, 0, 0, 0), // number
        instruction(equal, 10, 0, EXECVE),
        instruction(equal, 9, 0, TIME as u32),
        instruction(equal, 0, 2, EXECVEAT),
        low_half_of(0), // the folder
        instruction(equal, 7, 6, FIRST_EXEC as u32),
        instruction(equal, 0, 2, GETTIMEOFDAY as u32),
        low_half_of(0), // null: only the time zone is asked for
        instruction(equal, 4, 3, 0),
        instruction(equal, 0, 3, CLOCK_GETTIME as u32),
        low_half_of(5),
        instruction(equal, 1, 0, STUB_CALL),
        answer(NOTIFY),
        answer(ALLOW),
    ];
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
