//! The thread that starts a subject and stays with it.
//!
//! Two things in Linux belong to a thread and not to a process: a tracee to the thread that traces
//! it, and "kill the child when the parent dies" to the thread that made the child. So each subject
//! gets one small thread of its own that lives as long as the subject does. It sleeps, except when
//! some process of the tree is about to exec: then it lets the exec happen, stops the new program
//! before its first instruction, and sets its clock; or reads a clock around the vDSO; or does what can't be followed.

mod blind;
mod clocks;

use std::{
    ffi::CString,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    sync::{Arc, mpsc},
};

use crate::{
    clock::Clock,
    launch::{Isolation, Launch, StartError},
    mounts,
    sys::{
        descriptor, guard, namespace,
        processors::Processors,
        seccomp::{self, Report},
        spawn::{self, Mount, Plan},
        trace::{self, Stop},
        wait,
    },
};

/// What the keeper hands over.
pub(crate) struct Kept {
    pub pid: i32,
    pub pidfd: OwnedFd,
    pub listener: Option<OwnedFd>,
    pub diagnosis: Option<OwnedFd>,
    pub outgoing: Vec<OwnedFd>,
}

/// All that is needed in the thread, owned.
struct Prepared {
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    dir: CString,
    namespaces: bool,
    users: Option<(CString, CString)>,
    port: u16,
    mounts: Vec<Mount>,
    processors: Option<Processors>,
    fixed_addresses: bool,
    input: OwnedFd,
    output: OwnedFd,
}

/// Starts the program and returns when it stands at, or has passed, its first instruction.
pub(crate) fn start(
    launch: &Launch,
    program: &Path,
    output: OwnedFd,
    clock: Arc<Clock>,
) -> Result<Kept, StartError> {
    let prepared = prepare(launch, program, output)?;
    let path = program.to_owned();
    let (say, hear) = mpsc::sync_channel(1);
    let thread = std::thread::Builder::new()
        .name("trommel-keeper".into())
        .stack_size(128 * 1024)
        .spawn(move || keep(prepared, &clock, &say))
        .map_err(StartError::refused("start a thread"))?;
    match hear.recv() {
        Ok(Ok(kept)) => Ok(kept),
        Ok(Err((step, source))) => {
            let _ = thread.join();
            Err(explain(step, source, path))
        }
        Err(_) => Err(StartError::Refused {
            step: "start the subject",
            source: io::Error::other("its keeper thread panicked"),
        }),
    }
}

fn explain(step: &'static str, source: io::Error, program: std::path::PathBuf) -> StartError {
    let reason = match source.raw_os_error() {
        _ if step != "exec" => return StartError::Refused { step, source },
        Some(libc::ENOENT) => "the interpreter that it names does not exist".to_owned(),
        Some(libc::ENOEXEC) => {
            "it is no program for this machine and names no interpreter".to_owned()
        }
        _ => source.to_string(),
    };
    StartError::NotExecutable { program, reason }
}

fn prepare(launch: &Launch, program: &Path, output: OwnedFd) -> Result<Prepared, StartError> {
    let text = |what, bytes: &[u8]| CString::new(bytes).map_err(|_| StartError::Nul(what));
    let absolute = |path: &Path| {
        std::path::absolute(path).map_err(StartError::refused("read the working folder"))
    };
    let namespaces = launch.isolation == Isolation::Namespaces;
    let mounts = match &launch.service_account {
        Some(_) if !namespaces => return Err(StartError::NeedsNamespaces),
        Some(folder) => mounts::service_account(folder)
            .map_err(StartError::refused("read the service-account folder"))?,
        None => Vec::new(),
    };
    let users = (namespaces && !wait::is_root()).then(|| {
        let (user, group) = wait::identity();
        let map = |id| CString::new(format!("{id} {id} 1\n")).expect("digits hold no NUL");
        (map(user), map(group))
    });
    let environment = launch
        .env
        .iter()
        .map(|(key, value)| text("the environment", format!("{key}={value}").as_bytes()));
    let null = std::fs::File::open("/dev/null").map_err(StartError::refused("open /dev/null"))?;
    Ok(Prepared {
        program: text("the command", absolute(program)?.as_os_str().as_bytes())?,
        arguments: launch
            .command
            .iter()
            .map(|word| text("the command", word.as_bytes()))
            .collect::<Result<_, _>>()?,
        environment: environment.collect::<Result<_, _>>()?,
        dir: text("the working folder", absolute(&launch.dir)?.as_os_str().as_bytes())?,
        namespaces,
        users,
        port: launch.port,
        mounts,
        processors: launch.determinism.processors.map(Processors::some),
        fixed_addresses: launch.determinism.fixed_addresses,
        input: descriptor::above_standard(null.into())
            .map_err(StartError::refused("open /dev/null"))?,
        output: descriptor::above_standard(output).map_err(StartError::refused("make a pipe"))?,
    })
}

type Answer = Result<Kept, (&'static str, io::Error)>;

/// The thread's life.
fn keep(prepared: Prepared, clock: &Clock, say: &mpsc::SyncSender<Answer>) {
    let traced = clock.is_ours();
    let plan = Plan {
        program: &prepared.program,
        arguments: &prepared.arguments,
        environment: &prepared.environment,
        dir: &prepared.dir,
        namespaces: prepared.namespaces,
        users: prepared.users.clone(),
        port: prepared.port,
        mounts: &prepared.mounts,
        processors: prepared.processors,
        fixed_addresses: prepared.fixed_addresses,
        input: prepared.input.as_fd(),
        output: prepared.output.as_fd(),
        traced,
    };
    if plan.namespaces && plan.users.is_none() {
        let _ = namespace::enter_template(); // only makes looks cheaper
    }
    let child = match spawn::spawn(&plan) {
        Ok(child) => child,
        Err(problem) => return drop(say.send(Err(problem))),
    };
    guard::watch_over(child.pidfd.as_fd());
    drop(prepared); // our copy of the pipe's write end: the reader must see its end
    if traced {
        first_exec(child.pid, clock);
    }
    let execs = match child.execs {
        Ok(execs) if traced => Some(execs),
        Ok(_) => None,
        Err(error) => {
            clock.first_program_only(format!("the kernel does not report execs ({error})"));
            None
        }
    };
    let end = child.pidfd.try_clone();
    let pid = child.pid;
    let spawn::Child { pidfd, listener, diagnosis, outgoing, .. } = child;
    let _ = say.send(Ok(Kept { pid, pidfd, listener, diagnosis, outgoing }));
    if let Ok(end) = end {
        watch(pid, &end, execs, clock);
    }
}

/// The program stands at the end of its first exec.
fn first_exec(pid: i32, clock: &Clock) {
    let stopped = trace::wait_any(pid);
    if matches!(stopped, Ok((_, Stop::Signal(_) | Stop::Exec)))
        && let Some(error) = patch(pid, clock)
    {
        clock.give_up(format!("its clock can't be set: {error}"));
    }
}

/// Patches the program that stands at the end of its exec and lets it go; why that failed. One that was killed
/// meanwhile is no failure.
fn patch(pid: i32, clock: &Clock) -> Option<io::Error> {
    let patched = clock.patch(pid);
    let is_there = trace::detach(pid, 0).is_ok();
    patched.err().filter(|_| is_there)
}

/// Serves the reports until the first process has ended.
fn watch(pid: i32, end: &OwnedFd, execs: Option<OwnedFd>, clock: &Clock) {
    let mut execs = execs;
    loop {
        let mut fds = vec![end.as_fd()];
        fds.extend(execs.as_ref().map(AsFd::as_fd));
        match descriptor::wait_readable(&fds) {
            Ok(ready) if ready[0].readable || ready[0].closed => return,
            Ok(ready) if ready.get(1).is_some_and(|execs| !execs.readable) => {
                execs = None; // closed: the last process with the filter is gone
                continue;
            }
            Ok(_) => {}
            Err(_) => return,
        }
        let Some(listener) = &execs else { return };
        match seccomp::receive(listener.as_fd()) {
            Ok(Some(report)) if clocks::is_reading(report) => {
                if let Err(error) = clocks::answer(listener.as_fd(), report, clock) {
                    clock.give_up(format!("a reading of a clock could not be answered: {error}"));
                }
            }
            Ok(Some(report)) if blind::note(report, clock) => {
                // One that died meanwhile needs no answer; any other problem shows at the next report.
                let _ = seccomp::proceed(listener.as_fd(), report);
            }
            Ok(Some(report)) => later_exec(pid, listener, report, clock),
            Ok(None) => {}
            Err(_) => execs = None,
        }
    }
}

/// A thread of the tree is about to exec: attach, let it go on, and set the clock of the new
/// program, or let go of the thread if the exec failed (a search along PATH fails often).
fn later_exec(first: i32, listener: &OwnedFd, report: Report, clock: &Clock) {
    let attached = trace::seize(report.thread);
    if attached.is_ok() {
        // It fails if the thread has just been killed, which the wait below will tell.
        let _ = trace::interrupt(report.thread);
    }
    if let Err(error) = seccomp::proceed(listener.as_fd(), report) {
        clock.first_program_only(format!("a report of an exec could not be answered: {error}"));
    }
    if let Err(error) = attached {
        return clock
            .first_program_only(format!("a program could not be stopped at exec: {error}"));
    }
    // Also for one that is dead by now: until its tracer has heard of it, its parent does not.
    loop {
        match trace::wait_any(first) {
            Ok((pid, Stop::Exec)) => {
                if let Some(error) = patch(pid, clock) {
                    clock.first_program_only(format!(
                        "the clock of a program can't be set: {error}"
                    ));
                }
                return;
            }
            Ok((pid, Stop::Interrupted)) => return drop(trace::detach(pid, 0)),
            Ok((pid, Stop::Signal(signal))) => drop(trace::proceed(pid, signal)),
            Ok((_, Stop::Gone)) | Err(_) => return,
        }
    }
}
