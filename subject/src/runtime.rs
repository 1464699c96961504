//! Which language runtime a program has: it decides which of its blocked threads say something
//! about its timers.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

use crate::timers::Blocked;

/// The runtime of a program, from its executable file and the libraries that it has mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// Go: the thread in `epoll_pwait` waits for the next timer of all; timed futex waits of Go code are the runtime's
    /// own upkeep, and so are the sleeps of its monitor ([`crate::monitors`]).
    Go,
    /// CPython: every timed wait counts.
    CPython,
    /// A Java virtual machine: timed waits count, except those of threads that are known to be
    /// upkeep.
    Jvm,
    /// Node: the event loop's `epoll_wait` counts, like any other wait.
    Node,
    /// Anything else (Rust with tokio, C, shells, …): every timed wait counts.
    Other,
}

/// The longest part of an executable that is searched for marks, in bytes.
const HEAD_BYTES: usize = 4096;

impl Runtime {
    /// Looks at the executable at `path` (such as `/proc/PID/exe`), whose name is `name`, and at
    /// the names of mapped files.
    pub fn detect(path: &Path, name: &str, maps: &str) -> Runtime {
        let base = name.rsplit('/').next().unwrap_or(name);
        if base == "java" || maps.contains("/libjvm.so") {
            Runtime::Jvm
        } else if maps.contains("/libpython3")
            || base.starts_with("python")
            || base.starts_with("pypy")
        {
            Runtime::CPython
        } else if base == "node" || base == "nodejs" {
            Runtime::Node
        } else if File::open(path).and_then(|file| is_go(&file)).unwrap_or(false) {
            Runtime::Go
        } else {
            Runtime::Other
        }
    }

    /// Whether it rounds the time-outs of its waits down, and waits for the rest in a second call.
    pub fn rounds_down(self) -> bool {
        self == Runtime::Go
    }

    /// Whether the thread's timed wait is upkeep of the runtime that causes nothing outside; `first` says that no older
    /// thread of the process has its name, `own` that the call was made in the program itself, not in a library.
    pub(crate) fn is_upkeep(self, thread: &str, first: bool, call: Blocked, own: bool) -> bool {
        match self {
            // Go waits with time-outs for nothing but its own ends; what C libraries wait for is the program's.
            Runtime::Go => call.call == "futex" && own,
            Runtime::Jvm => is_of_the_virtual_machine(thread, first),
            _ => false,
        }
    }
}

/// Names (cut to 15 bytes by the kernel) of threads of the HotSpot virtual machine that wait with time-outs of their
/// own. Those that only wait for ever are not among them.
const JVM_UPKEEP: [&str; 6] = [
    "VM Periodic Tas",
    "VM Thread",
    "G1 Service",
    "Monitor Deflati",
    "Common-Cleaner",
    "ZDirector",
];

/// The same, of which there are several, some with a number, as in `GC Thread#3`.
const JVM_WORKERS: [&str; 13] = [
    "GC Thread",
    "G1 Main Marker",
    "G1 Conc",
    "G1 Refine",
    "G1 Young RemSet",
    "ZDriverMinor",
    "ZDriverMajor",
    "ZDriver",
    "ZStat",
    "ZUncommitter",
    "Shenandoah Cont",
    "C1 CompilerThre",
    "C2 CompilerThre",
];

/// Whether it is a thread of the virtual machine itself. Those of which there is one are made before the program begins:
/// a later one of that name is the program's.
fn is_of_the_virtual_machine(thread: &str, first: bool) -> bool {
    let name = match thread.rsplit_once('#') {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => thread,
    };
    JVM_WORKERS.contains(&name) || first && JVM_UPKEEP.contains(&name)
}

/// Whether a thread of this name shows that its process is a Java virtual machine, whatever its launcher is called.
pub(crate) fn is_sign_of_a_virtual_machine(thread: &str) -> bool {
    thread == "VM Periodic Tas" || thread == "VM Thread"
}

/// Go's linker writes a section `.go.buildinfo` and one named `.gopclntab`; the names of sections
/// survive stripping.
fn is_go(file: &File) -> io::Result<bool> {
    let mut head = [0; 64];
    file.read_exact_at(&mut head, 0)?;
    if head[..5] != *b"\x7fELF\x02" {
        return Ok(false);
    }
    let word = |bytes: &[u8], at: usize| {
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default())
    };
    let half = |bytes: &[u8], at: usize| {
        u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap_or_default())
    };
    let (sections, size) = (word(&head, 40), half(&head, 58) as usize);
    let (count, names) = (half(&head, 60) as usize, half(&head, 62) as usize);
    if sections == 0 || size < 64 || names >= count {
        return Ok(false);
    }
    let mut table = vec![0; 64];
    file.read_exact_at(&mut table, sections + (names * size) as u64)?;
    let (offset, length) = (word(&table, 24), (word(&table, 32) as usize).min(HEAD_BYTES));
    let mut strings = vec![0; length];
    file.read_exact_at(&mut strings, offset)?;
    Ok(strings
        .split(|byte| *byte == 0)
        .any(|name| name == b".go.buildinfo" || name == b".gopclntab"))
}
