//! How to start one incarnation of a subject, and what a start gives.

use std::{
    io,
    net::TcpListener,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use crate::{dial::Dialer, process::Process};

/// How far a subject is separated from this machine and from other subjects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Own PID, mount and network namespaces (and a user namespace where we are not root): parallel
    /// subjects may all bind `:8080`, nothing survives, nothing but the proxy can be reached.
    Namespaces,
    /// A plain process group on the machine's own network, for machines that allow no namespaces.
    /// Subjects that bind fixed ports can't run in parallel, and a grandchild that leaves the group
    /// may outlive us.
    None,
}

/// What to start. Nothing is inherited: environment and folder are as given here.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Program and arguments. A program with a slash is relative to `dir`; without, it is looked
    /// for in `PATH` of `env`.
    pub command: Vec<String>,
    /// Working folder.
    pub dir: PathBuf,
    /// The complete environment.
    pub env: Vec<(String, String)>,
    /// Separation from the machine.
    pub isolation: Isolation,
    /// How its clocks run, from its first instruction on.
    pub clock: Pace,
    /// Port of the listener on 127.0.0.1 inside the subject's network namespace; 0 takes a free
    /// one. Without namespaces a free port is always used: ask the listener.
    pub port: u16,
    /// Folder shown to the subject as `/var/run/secrets/kubernetes.io/serviceaccount` (needs
    /// namespaces).
    pub service_account: Option<PathBuf>,
    /// What of its own dice is taken away from it.
    pub determinism: Determinism,
}

/// How a subject's clocks run. `ahead`: nanoseconds by which its date is ahead of the machine's at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// They are the machine's, untouched.
    Untouched,
    /// As the machine's, with another date, so that a world may be of another time.
    Real {
        /// Not negative: a wait until a date that has passed on the machine would be over at once.
        ahead: i64,
    },
    /// They stand nearly still, and move on by [`crate::Process::advance`].
    Virtual {
        /// See above.
        ahead: i64,
    },
}

/// What a subject would do differently from start to start by itself, and need not. With the default it runs as it
/// would anywhere. Hash seeds and the like are a matter of its environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Determinism {
    /// It may run on this many processors only (sched_setaffinity(2)), of those that the starting thread may use.
    pub processors: Option<u32>,
    /// Memory is laid out alike at each start (personality(2), `ADDR_NO_RANDOMIZE`).
    pub fixed_addresses: bool,
}

/// A started subject.
#[derive(Debug)]
pub struct Started {
    /// The process tree.
    pub process: Process,
    /// Bound on 127.0.0.1 where the subject can reach it; accept from it in this process. It does
    /// not block.
    pub listener: TcpListener,
    /// Calls what the subject itself listens on.
    pub dialer: Dialer,
    /// Read end of the pipe that is the subject's standard output and standard error. It does not
    /// block.
    pub output: OwnedFd,
}

/// Why nothing was started. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// `command` is empty.
    #[error("the subject's command is empty")]
    EmptyCommand,
    /// There is no such program.
    #[error("{} does not exist{}", program.display(), hint(searched))]
    Missing {
        /// What was asked for, resolved against the folder.
        program: PathBuf,
        /// The folders of PATH that were searched, if the name had no slash.
        searched: Option<String>,
    },
    /// The program exists but can't be executed.
    #[error("{} can't be executed: {reason}", program.display())]
    NotExecutable {
        /// The resolved path.
        program: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The working folder is no folder.
    #[error("the working folder {} is not a folder", .0.display())]
    NoFolder(PathBuf),
    /// A string holds a NUL byte.
    #[error("{0} contains a NUL byte")]
    Nul(&'static str),
    /// The service-account folder can't be shown without namespaces.
    #[error("a service-account folder can only be mounted with namespaces")]
    NeedsNamespaces,
    /// The machine refused one step.
    #[error("can't {step}: {source}{}", advice(step, source))]
    Refused {
        /// What was tried.
        step: &'static str,
        /// The system's answer.
        source: io::Error,
    },
}

impl StartError {
    pub(crate) fn refused(step: &'static str) -> impl FnOnce(io::Error) -> StartError {
        move |source| StartError::Refused { step, source }
    }
}

fn hint(searched: &Option<String>) -> String {
    searched.as_ref().map(|path| format!(" (searched PATH {path})")).unwrap_or_default()
}

fn advice(step: &str, source: &io::Error) -> &'static str {
    let denied = matches!(source.raw_os_error(), Some(libc::EPERM | libc::EACCES));
    if denied && step.contains("namespace") {
        "; run as root, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, \
         kernel.apparmor_restrict_unprivileged_userns=0), or choose no isolation"
    } else {
        ""
    }
}

/// Finds the program as a shell would, and checks that it can be executed, before anything else
/// happens.
pub(crate) fn resolve(launch: &Launch) -> Result<PathBuf, StartError> {
    let name =
        launch.command.first().filter(|name| !name.is_empty()).ok_or(StartError::EmptyCommand)?;
    if !launch.dir.is_dir() {
        return Err(StartError::NoFolder(launch.dir.clone()));
    }
    if name.contains('/') {
        let program = launch.dir.join(name);
        executable(&program)?;
        return Ok(program);
    }
    let path =
        launch.env.iter().rev().find(|(key, _)| key == "PATH").map(|(_, value)| value.clone());
    let path = path.unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".to_owned());
    let mut first_problem = None;
    for folder in path.split(':') {
        let program = launch.dir.join(folder).join(name);
        match executable(&program) {
            Ok(()) => return Ok(program),
            Err(StartError::Missing { .. }) => {}
            Err(problem) => first_problem = first_problem.or(Some(problem)),
        }
    }
    Err(first_problem
        .unwrap_or(StartError::Missing { program: PathBuf::from(name), searched: Some(path) }))
}

fn executable(program: &Path) -> Result<(), StartError> {
    use std::os::unix::fs::PermissionsExt;
    let refuse = |reason: String| StartError::NotExecutable { program: program.to_owned(), reason };
    match std::fs::metadata(program) {
        Ok(data) if data.is_dir() => Err(refuse("it is a folder".into())),
        Ok(data) if data.permissions().mode() & 0o111 == 0 => {
            Err(refuse("it has no execute permission".into()))
        }
        Ok(_) => Ok(()),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Err(StartError::Missing { program: program.to_owned(), searched: None })
        }
        Err(error) => Err(refuse(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(command: &str, path: &str) -> Launch {
        Launch {
            command: vec![command.into()],
            dir: "/".into(),
            env: vec![("PATH".into(), path.into())],
            isolation: Isolation::None,
            clock: Pace::Untouched,
            port: 0,
            service_account: None,
            determinism: Determinism::default(),
        }
    }

    fn check(command: &str, path: &str, expect: &str) {
        let said = match resolve(&launch(command, path)) {
            Ok(program) => program.display().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said, expect, "{command} with PATH {path}");
    }

    #[test]
    fn programs_are_found_as_a_shell_would() {
        check("sh", "/nowhere:/bin", "/bin/sh");
        check("bin/sh", "", "/bin/sh");
        check("", "/bin", "the subject's command is empty");
        check("/no/such", "", "/no/such does not exist");
        check("no-such", "/bin", "no-such does not exist (searched PATH /bin)");
        check("/etc/passwd", "", "/etc/passwd can't be executed: it has no execute permission");
        check("/etc", "", "/etc can't be executed: it is a folder");
        check("passwd", "/etc:/no", "/etc/passwd can't be executed: it has no execute permission");
    }
}
