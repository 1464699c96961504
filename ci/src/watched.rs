//! A command whose output is read while it runs, and that can't keep us waiting for ever.
//!
//! Two things once made a run hang until a machine was taken away from it, with nothing said: a test that never
//! ended, and a process that a failed test left behind, which held the pipe that its output went to.

use std::{
    io::Read,
    os::fd::AsFd,
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use anyhow::{Context, bail};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open},
};

/// How a command ended.
#[derive(Debug)]
pub enum Ended {
    /// By itself, and nothing that it started still holds its output.
    With(ExitStatus),
    /// By itself, but a process that it left behind still holds its output.
    LeavingProcesses,
    /// It was still running at the deadline, and was killed.
    Late,
}

impl Ended {
    /// The exit status of a command that ended as commands should.
    ///
    /// # Errors
    /// When it left a process behind or was killed.
    pub fn status(self) -> anyhow::Result<ExitStatus> {
        match self {
            Ended::With(status) => Ok(status),
            Ended::LeavingProcesses => bail!("a process that it left behind holds its output"),
            Ended::Late => bail!("killed: the time for all of it was over"),
        }
    }
}

/// Held while a command is started: from its fork to its exec it has the pipes of those that run already, and would
/// count as left behind by one that ends just then.
static STARTING: Mutex<()> = Mutex::new(());

fn nothing_is_started() -> MutexGuard<'static, ()> {
    STARTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a command and gives each line of its stdout to `line`, until it ends or the deadline comes.
///
/// With a deadline it gets a process group of its own, so that what it started can be killed too. Without one it
/// stays in ours, where a terminal's Ctrl-C reaches it.
///
/// # Errors
/// When the command can't be started or waited for.
pub fn run(
    mut command: Command,
    deadline: Option<Instant>,
    line: impl FnMut(&str),
) -> anyhow::Result<Ended> {
    if deadline.is_some() {
        command.process_group(0);
    }
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdout(Stdio::piped());
    let started = {
        let _alone = nothing_is_started();
        command.spawn()
    };
    let mut child = started.with_context(|| format!("cannot start {program}"))?;
    let complete = read(&mut child, deadline, line)?;
    match complete {
        Some(true) => Ok(Ended::With(child.wait()?)),
        Some(false) => {
            child.wait()?;
            Ok(Ended::LeavingProcesses)
        }
        None => {
            // The group's leader is our child and not reaped, so its number is still its own.
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            child.kill()?;
            child.wait()?;
            Ok(Ended::Late)
        }
    }
}

/// Reads until the child has ended. Whether its output ended with it; `None` when the deadline came first.
fn read(
    child: &mut Child,
    deadline: Option<Instant>,
    mut line: impl FnMut(&str),
) -> anyhow::Result<Option<bool>> {
    let mut output = child.stdout.take().context("stdout is piped")?;
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let (mut pending, mut chunk) = (Vec::new(), vec![0; 1 << 16]);
    let mut open = true;
    let ended = loop {
        let mut watched = vec![PollFd::new(&process, PollFlags::IN)];
        if open {
            watched.push(PollFd::from_borrowed_fd(output.as_fd(), PollFlags::IN));
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let left = left.map(|left| Timespec::try_from(left).expect("hours fit"));
        match poll(&mut watched, left.as_ref()) {
            Ok(0) => break None,
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let (dead, readable) =
            (!watched[0].revents().is_empty(), open && !watched[1].revents().is_empty());
        if readable {
            let count = output.read(&mut chunk)?;
            open = count > 0;
            pending.extend_from_slice(&chunk[..count]);
            while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                let whole: Vec<u8> = pending.drain(..=end).collect();
                line(&String::from_utf8_lossy(&whole[..end]));
            }
        } else if dead && (!open || is_left_open(&output)?) {
            // All that it wrote before its end has been read; an open pipe is somebody else's.
            break Some(!open);
        }
    };
    if !pending.is_empty() {
        line(&String::from_utf8_lossy(&pending));
    }
    Ok(ended)
}

/// Whether somebody else holds the pipe's other end and has written nothing.
fn is_left_open(output: &impl AsFd) -> anyhow::Result<bool> {
    let _alone = nothing_is_started();
    let mut watched = [PollFd::from_borrowed_fd(output.as_fd(), PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    loop {
        match poll(&mut watched, Some(&now)) {
            Ok(ready) => return Ok(ready == 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, stdin: Stdio, deadline: Option<Instant>) -> (Ended, Vec<String>) {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(stdin);
        let mut lines = Vec::new();
        let ended = run(command, deadline, |line| lines.push(line.to_owned())).unwrap();
        (ended, lines)
    }

    #[test]
    fn all_lines_and_the_status() {
        let (ended, lines) = shell("echo one; echo; printf two; exit 3", Stdio::null(), None);
        assert!(matches!(ended, Ended::With(status) if status.code() == Some(3)));
        assert_eq!(lines, ["one", "", "two"]);
    }

    #[test]
    fn output_may_end_before_the_command_does() {
        let (ended, lines) = shell("echo one; exec >&-; exit 3", Stdio::null(), None);
        assert!(matches!(ended, Ended::With(status) if status.code() == Some(3)));
        assert_eq!(lines, ["one"]);
    }

    /// What is left behind here reads from a pipe of this test, so it ends with the test.
    #[test]
    fn what_is_left_behind_holds_nobody_up() {
        let (theirs, ours) = std::io::pipe().unwrap();
        // A shell gives /dev/null to what it starts in the background, but only as its descriptor 0.
        let (ended, lines) = shell("exec 3<&0; cat <&3 & echo started", theirs.into(), None);
        assert!(matches!(ended, Ended::LeavingProcesses));
        assert_eq!(lines, ["started"]);
        drop(ours);
    }

    #[test]
    fn what_is_late_is_killed_with_all_that_it_started() {
        let (mut theirs, ours) = std::io::pipe().unwrap();
        let mut command = Command::new("sh");
        // Both the shell and its child hold this pipe's end until they are dead.
        command.args(["-c", "sleep infinity & sleep infinity"]).stderr(ours);
        let ended = run(command, Some(Instant::now()), |_| ()).unwrap();
        assert!(matches!(ended, Ended::Late));
        assert_eq!(theirs.read(&mut [0]).unwrap(), 0);
    }
}
