//! Notes what a subject does that nobody can follow from outside: timers that no blocked call and no file shows, and
//! connections that leave its network namespace by the file system. Nothing is forbidden; it is named, so that no claim
//! is made about it.
//!
//! The seccomp filter that tells of execs tells of these too; the report names them.

use std::{fs::File, os::unix::fs::FileExt, path::Path};

use crate::{
    clock::Clock,
    sys::seccomp::{self, Report},
};

/// Whether a report is of such a call, of which note was taken then.
pub fn note(report: Report, clock: &Clock) -> bool {
    let spot = match report.number {
        seccomp::TIMERFD_CREATE => {
            clock.look_for_timer_files();
            return true;
        }
        seccomp::CONNECT => {
            let path = unix_path(report);
            let path = path.filter(|path| is_there(report.thread, path));
            path.map(|path| format!("the Unix socket {path}: what answers there is not waited for"))
        }
        seccomp::ALARM | seccomp::SETITIMER | seccomp::TIMER_SETTIME => {
            Some("a timer that sends it a signal (alarm, setitimer, timer_settime): it goes off in real time".into())
        }
        seccomp::SETSOCKOPT => Some(
            "a time limit of a socket (SO_RCVTIMEO, SO_SNDTIMEO): it ends in real time".to_owned(),
        ),
        seccomp::IOCTL => Some(
            "a terminal of its own (openpty, pexpect): what was written to one end may not yet have come out of the other"
                .to_owned(),
        ),
        seccomp::IO_URING_SETUP => {
            Some("io_uring: timers in it go off in real time".to_owned())
        }
        _ => return false,
    };
    if let Some(spot) = spot {
        clock.is_blind_for(spot);
    }
    true
}

/// The path of a `sockaddr_un`; none for another family, or a name that is no path (abstract ones end at the network
/// namespace).
fn unix_path(report: Report) -> Option<String> {
    let [_, address, length, ..] = report.arguments;
    let mut bytes = vec![0; usize::try_from(length).ok()?.clamp(2, 110)];
    let memory = File::open(format!("/proc/{}/mem", report.thread)).ok()?;
    memory.read_exact_at(&mut bytes, address).ok()?;
    let family = libc::c_int::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
    let path = bytes[2..].split(|byte| *byte == 0).next().filter(|path| !path.is_empty())?;
    (family == libc::AF_UNIX).then(|| String::from_utf8_lossy(path).into_owned())
}

/// A library that looks for a service that is not there (nscd) talks to nobody.
fn is_there(thread: i32, path: &str) -> bool {
    let base = if path.starts_with('/') { "root" } else { "cwd" };
    Path::new(&format!("/proc/{thread}/{base}/{path}")).exists()
}
