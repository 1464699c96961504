//! What this machine allows, for `trommel doctor`: each ability is tried on a tiny program, none is
//! guessed.

use std::{fs, path::PathBuf};

use trace::Flight;

use crate::{
    at_rest::Look,
    clock::ClockAbility,
    launch::{Isolation, Launch, StartError, Started},
    process,
    sockets::Sockets,
    why::Why,
};

/// One ability of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// What it is.
    pub name: &'static str,
    /// What was seen to work; or why it does not.
    pub result: Result<String, String>,
    /// What is lost without it.
    pub without: &'static str,
    /// What to do about it.
    pub fix: &'static str,
}

impl Capability {
    /// Whether it works.
    pub fn works(&self) -> bool {
        self.result.is_ok()
    }
}

/// Everything that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// PID, mount and network namespaces.
    pub namespaces: Capability,
    /// The kernel's books about threads.
    pub books: Capability,
    /// Questions about sockets.
    pub sockets: Capability,
    /// Stopping at exec and replacing the clock functions.
    pub clock: Capability,
    /// Moving the clock of a program that sleeps.
    pub jump: Capability,
}

impl Capabilities {
    /// All of them, in the order in which they depend on each other.
    pub fn all(&self) -> [&Capability; 5] {
        [&self.namespaces, &self.books, &self.sockets, &self.clock, &self.jump]
    }

    /// The best isolation that works here.
    pub fn isolation(&self) -> Isolation {
        if self.namespaces.works() { Isolation::Namespaces } else { Isolation::None }
    }
}

/// A program that every Linux has, and that sleeps.
const SLEEPER: &str = "sleep";
/// For how long, in seconds: far longer than the probe waits.
const SLEEP_SECONDS: u64 = 3600;
/// How often the sleeper is looked at, at most, and the pause between two looks in milliseconds: half a minute, which
/// only a machine without the ability ever needs. A busy one may take seconds to let a program sleep or end.
const LOOKS: u32 = 6_000;
const PAUSE: i32 = 5;
/// After so many looks that show it asleep though its time has come, it is not going to wake.
const OVERSLEPT: u32 = 200;

/// Tries each ability on a tiny program. Takes some milliseconds.
pub fn probe() -> Capabilities {
    let isolated = Sleeper::start(Isolation::Namespaces);
    let namespaces = match &isolated {
        Ok(_) => Ok("own PID, mount and network namespaces".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let sleeper = isolated.or_else(|_| Sleeper::start(Isolation::None));
    let (books, clock, jump) = match sleeper {
        Ok(Sleeper { mut started, traced: Ok(()) }) => {
            (books(&mut started), clock(&started), jump(&mut started))
        }
        Ok(Sleeper { mut started, traced: Err(why) }) => {
            (books(&mut started), Err(why.clone()), Err(why))
        }
        Err(error) => (Err(error.to_string()), Err(error.to_string()), Err(error.to_string())),
    };
    Capabilities {
        namespaces: Capability {
            name: "namespaces",
            result: namespaces,
            without: "trials run one after the other, and a subject that is killed may leave processes behind",
            fix: "run as root, or allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1 \
                  kernel.apparmor_restrict_unprivileged_userns=0; in a container: --privileged or \
                  --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined",
        },
        books: Capability {
            name: "thread accounting",
            result: books,
            without: "quiet can't be known: Trommel can't run",
            fix: "use a kernel with CONFIG_SCHED_INFO, CONFIG_PROC_CHILDREN and CONFIG_HAVE_ARCH_TRACEHOOK (all distributions), \
                  and sysctl -w kernel.yama.ptrace_scope=1 or lower",
        },
        sockets: Capability {
            name: "socket diagnosis",
            result: sockets(),
            without: "quiet can't be known: Trommel can't run",
            fix: "modprobe tcp_diag inet_diag",
        },
        clock: Capability {
            name: "virtual clock",
            result: clock,
            without: "the subject lives in real time: timers are waited for, and every trial runs from the beginning",
            fix: "use Linux 5.19 or newer on x86-64; allow ptrace (--cap-add SYS_PTRACE, \
                  kernel.yama.ptrace_scope=1 or lower)",
        },
        jump: Capability {
            name: "time jump",
            result: jump,
            without: "the subject lives in real time: timers are waited for, and every trial runs from the beginning",
            fix: "the same as for the virtual clock",
        },
    }
}

/// The tiny program, started as well as the machine allows.
struct Sleeper {
    started: Started,
    /// Or why not: then its clock is the machine's. Campaigns run there as well.
    traced: Result<(), String>,
}

impl Sleeper {
    fn start(isolation: Isolation) -> Result<Sleeper, StartError> {
        match start(isolation, crate::Pace::Virtual { ahead: 0 }) {
            Ok(started) => Ok(Sleeper { started, traced: Ok(()) }),
            Err(error) => match start(isolation, crate::Pace::Untouched) {
                Ok(started) => Ok(Sleeper { started, traced: Err(error.to_string()) }),
                Err(_) => Err(error),
            },
        }
    }
}

fn start(isolation: Isolation, clock: crate::Pace) -> Result<Started, StartError> {
    process::start(&Launch {
        command: vec![SLEEPER.into(), SLEEP_SECONDS.to_string()],
        dir: PathBuf::from("/"),
        env: Vec::new(),
        isolation,
        clock,
        port: 0,
        service_account: None,
        determinism: Default::default(),
    })
}

/// Looks until the sleeper sleeps and its timer is known.
fn books(started: &mut Started) -> Result<String, String> {
    for _ in 0..LOOKS {
        match started.process.look(&Flight::default()) {
            Look::Quiet { timers, .. } => match timers.first() {
                Some(timer) => return Ok(format!("seen to be quiet: {timer}")),
                None => return Err("a sleeping program shows no timer".into()),
            },
            Look::Unknown(why) => return Err(why.to_string()),
            Look::Busy(_) => drop(started.process.ends_within(PAUSE)),
        }
    }
    Err("a sleeping program is never seen to sleep".into())
}

fn sockets() -> Result<String, String> {
    // A connection of our own must be found with its counters.
    let found = (|| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let client = std::net::TcpStream::connect(address)?;
        let pair = trace::SocketPair {
            local: address,
            peer: client.local_addr()?,
            sent_bytes: 0,
            received_bytes: 0,
        };
        let mut sockets = Sockets::here()?;
        sockets.read_some(address, &[pair])?;
        Ok::<_, std::io::Error>(sockets.found.len())
    })();
    match found {
        Ok(2) => Ok("connections and their counters can be read".into()),
        Ok(_) => Err("the kernel does not find a connection that exists".into()),
        Err(error) => Err(error.to_string()),
    }
}

fn clock(started: &Started) -> Result<String, String> {
    match started.process.clock() {
        ClockAbility::Virtual => {
            Ok("set before the first instruction, in every program that is started".into())
        }
        ClockAbility::FirstProgram(reason) => {
            Ok(format!("set in the first program only: {reason}"))
        }
        ClockAbility::Real(reason) => Err(reason),
    }
}

/// The sleeper must end at once when its clock is moved to the end of its sleep.
fn jump(started: &mut Started) -> Result<String, String> {
    let pid = started.process.pid();
    let hour = std::time::Duration::from_secs(SLEEP_SECONDS);
    started.process.advance(hour).map_err(|error| error.to_string())?;
    let mut overslept = 0;
    for _ in 0..LOOKS {
        if started.process.ends_within(PAUSE) {
            return Ok(format!("a sleep of {SLEEP_SECONDS} s ended at once"));
        }
        let due = matches!(started.process.look(&Flight::default()), Look::Busy(Why::Due(_)));
        if due {
            started.process.end_due_waits().map_err(|error| error.to_string())?;
        }
        overslept = if due { overslept + 1 } else { 0 };
        if overslept > OVERSLEPT {
            break;
        }
    }
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    Err(format!(
        "a program goes on sleeping though its time has come (system call {})",
        call.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On the machine that runs the tests, nothing but namespaces may be missing.
    #[test]
    fn this_machine_can_do_it() {
        let found = probe();
        for capability in found.all() {
            assert!(
                capability.works(),
                "{}: {:?}; {}",
                capability.name,
                capability.result,
                capability.fix
            );
        }
    }
}
