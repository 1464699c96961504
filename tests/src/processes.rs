//! Processes of this machine, and waiting for their end.

use std::{fs, time::Duration};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};

/// A limit against hanging for ever: what is still there then counts as a survivor.
const LIMIT: Duration = Duration::from_secs(30);

/// Processes whose command line or environment contains `text`, except this one. Zombies have neither.
pub fn naming(text: &str) -> Vec<Pid> {
    let me = std::process::id().to_string();
    let entries = fs::read_dir("/proc").expect("/proc is there").flatten();
    let numbers = entries.filter_map(|entry| {
        let number = entry.file_name().into_string().ok()?;
        let mentions = |file: &str| {
            let bytes = fs::read(entry.path().join(file)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains(text)
        };
        (number != me && (mentions("environ") || mentions("cmdline"))).then_some(number)
    });
    numbers.filter_map(|number| Pid::from_raw(number.parse().ok()?)).collect()
}

/// Waits until each of these has ended; gives back those that have not.
pub fn outlived(pids: Vec<Pid>) -> Vec<Pid> {
    pids.into_iter().filter(|pid| !ends(*pid)).collect()
}

/// A process's descriptor becomes readable at its end: no asking again and again.
fn ends(pid: Pid) -> bool {
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
    let limit = Timespec { tv_sec: LIMIT.as_secs() as i64, tv_nsec: 0 };
    poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit)).is_ok_and(|ready| ready == 1)
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader, Write},
        process::{Child, Command, Stdio},
    };

    use super::*;

    /// A process that ends with this one: it reads a pipe of ours.
    ///
    /// It has answered, so it is the new program. `spawn` itself returns when the old one is gone, which is a moment
    /// before Linux shows the new one's environment.
    fn start(mark: &str) -> (Child, Pid) {
        let mut command = Command::new("cat");
        command.env("MARK", mark).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("cat starts");
        child.stdin.as_mut().expect("piped").write_all(b"hello\n").expect("cat reads");
        let mut answer = String::new();
        let output = child.stdout.as_mut().expect("piped");
        BufReader::new(output).read_line(&mut answer).expect("cat writes");
        let pid = Pid::from_child(&child);
        (child, pid)
    }

    #[test]
    fn a_process_is_found_by_its_environment_and_its_end_is_seen() {
        let mark = format!("a-mark-of-{}", std::process::id());
        let (mut child, pid) = start(&mark);
        assert_eq!(naming(&mark), [pid]);
        child.kill().expect("a child can be killed");
        // Not yet reaped: an end is an end.
        assert_eq!(outlived(vec![pid]), []);
        child.wait().expect("a child can be waited for");
        assert_eq!(naming(&mark), []);
        assert_eq!(outlived(vec![pid]), []);
    }
}
