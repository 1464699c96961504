//! A thread, and what the kernel has booked for it.
//!
//! Its files stay open between looks: reading one costs half a microsecond to three, opening it several. A file of a
//! thread that has ended gives an error, never the data of another thread that got its number.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::FileExt,
};

use crate::timers::{Blocked, Wait};

/// What the kernel has booked for a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sample {
    /// The kernel's letter for its state, when it was last asked for; or [`DUMPS`]; or `S` for a parent that waits for
    /// its child as in vfork(2).
    pub state: u8,
    pub work: Booked,
}

/// What a thread has done: equal values, it has not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Booked {
    /// Nanoseconds on a processor.
    pub runtime: u64,
    /// How often it was put on a processor.
    pub slices: u64,
}

/// A blocked call and since when it is known: its entry was not later than that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub call: Blocked,
    /// A moment of the subject's monotonic clock.
    pub since: i64,
    slices: u64,
}

/// One thread.
#[derive(Debug)]
pub(crate) struct Thread {
    pub number: i32,
    pub process: i32,
    /// When it was made, in ticks of the kernel (10 ms).
    pub made: u64,
    pub name: String,
    /// Whether the kernel made it, to work on an `io_uring` of the process: it runs no code of the program.
    pub of_a_ring: bool,
    /// The latest sample.
    pub sample: Sample,
    /// The call that it was last seen blocked in.
    pub blocked: Option<Seen>,
    stat: File,
    schedstat: File,
    syscall: File,
    children: File,
}

/// Why no sample could be taken: a thread has ended, threads come and go, or another error.
#[derive(Debug)]
pub(crate) enum Missed {
    Gone,
    Moving,
    Error(io::Error),
}

impl From<io::Error> for Missed {
    fn from(error: io::Error) -> Missed {
        match error.raw_os_error() {
            Some(libc::ESRCH | libc::ENOENT) => Missed::Gone,
            _ => Missed::Error(error),
        }
    }
}

impl Thread {
    pub fn open(process: i32, number: i32) -> Result<Thread, Missed> {
        let file = |name: &str| File::open(format!("/proc/{process}/task/{number}/{name}"));
        let stat = file("stat")?;
        // A file that is missing while the thread is there is missing on this kernel.
        let needed = |name, option: &str| {
            file(name).map_err(|error| match stat.read_at(&mut [0; 8], 0) {
                Ok(1..) if error.kind() == io::ErrorKind::NotFound => {
                    let reason = format!("this kernel has no /proc/PID/task/TID/{name} ({option})");
                    Missed::Error(io::Error::other(reason))
                }
                _ => Missed::from(error),
            })
        };
        let (schedstat, syscall, children) = (
            needed("schedstat", "CONFIG_SCHED_INFO")?,
            needed("syscall", "CONFIG_HAVE_ARCH_TRACEHOOK")?,
            needed("children", "CONFIG_PROC_CHILDREN")?,
        );
        let (name, of_a_ring) = (String::new(), false);
        let (sample, blocked) = (Sample::default(), None);
        let made = made(text(&stat, &mut [0; 512])?);
        let mut thread = Thread {
            number,
            process,
            made,
            name,
            of_a_ring,
            sample,
            blocked,
            stat,
            schedstat,
            syscall,
            children,
        };
        thread.sample.work = thread.booked()?;
        thread.look()?;
        Ok(thread)
    }

    /// Takes note of its state and of its name; whether it has another name by now.
    pub fn look(&mut self) -> Result<bool, Missed> {
        let mut buffer = [0; 512];
        let line = text(&self.stat, &mut buffer)?;
        let Some((name, rest)) = line.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')'))
        else {
            self.sample.state = b'?';
            return Ok(false);
        };
        let renamed = name != self.name;
        if renamed {
            name.clone_into(&mut self.name);
        }
        let (state, flags) = match state(rest) {
            (b'D', flags) if self.waits_for_its_child() => (b'S', flags),
            found => found,
        };
        self.of_a_ring = flags & OF_A_RING != 0;
        self.sample.state = state;
        Ok(renamed)
    }

    /// Whether it is a zombie by now: ended, and not yet waited for by its parent, who may never do so.
    pub fn has_ended(&mut self) -> bool {
        self.look().is_ok() && matches!(self.sample.state, b'Z' | b'X')
    }

    /// Whether a call that the keeper looks at first may still wait for that. Of these calls only `connect` waits for
    /// something else afterwards, and then the kernel says where (proc(5), `wchan`).
    pub fn waits_for_the_keeper(&self) -> bool {
        let place = self.place();
        !place.contains("wait_for_peer") && !place.contains("wait_for_connect")
    }

    /// Whether it can't be interrupted because it has lent its memory to a child (vfork(2)) that has not yet started its
    /// program. Such a wait is as any other for a child: it lasts until that one, which is looked at too, goes on.
    fn waits_for_its_child(&self) -> bool {
        matches!(&*self.place(), "kernel_clone" | "wait_for_vfork_done")
    }

    /// Where in the kernel it waits (proc(5), `wchan`); empty or `0` where the kernel does not say.
    fn place(&self) -> String {
        let place = format!("/proc/{}/task/{}/wchan", self.process, self.number);
        fs::read_to_string(place).unwrap_or_default()
    }

    /// Whether it was stopped when it was last looked at, and is.
    pub fn is_still_stopped(&mut self) -> bool {
        if self.sample.state == b'T' {
            let _ = self.look(); // what was seen stands for one that is gone
        }
        self.sample.state == b'T'
    }

    /// Costs a quarter of [`Thread::look`].
    pub fn booked(&self) -> Result<Booked, Missed> {
        let mut buffer = [0; 64];
        let line = text(&self.schedstat, &mut buffer)?;
        let mut fields =
            line.split_ascii_whitespace().map(|field| field.parse::<u64>().unwrap_or(0));
        Ok(Booked { runtime: fields.next().unwrap_or(0), slices: fields.nth(1).unwrap_or(0) })
    }

    /// The call that it was last seen blocked in, if it has not run since: then it is in it still.
    pub fn parked(&self) -> Option<Seen> {
        self.blocked.filter(|seen| seen.slices == self.sample.work.slices)
    }

    /// The call in which it is blocked.
    pub fn syscall(&self, memory: &File) -> Option<Blocked> {
        let mut buffer = [0; 256];
        crate::timers::blocked(text(&self.syscall, &mut buffer).ok()?, memory)
    }

    /// Notes the call that it is blocked in at `now` of the subject's monotonic clock; what is
    /// known of it. A call that the kernel restarted (after a stop) is the one that was seen
    /// before, if that is one that it restarts like this.
    pub fn waits(&mut self, call: Blocked, now: i64) -> Seen {
        let slices = self.sample.work.slices;
        let seen = match self.blocked {
            Some(seen) if seen.call == call && seen.slices == slices => seen,
            Some(seen) if call.wait == Wait::Restarted && seen.call.is_restarted() => {
                Seen { slices, ..seen }
            }
            _ => Seen { call, since: now, slices },
        };
        self.blocked = Some(seen);
        seen
    }

    /// Whether it has not run since it was seen in this call.
    pub fn stands(&self, seen: Seen) -> bool {
        self.booked().is_ok_and(|work| work.slices == seen.slices)
    }

    /// Appends the processes that it has made, or been given.
    pub fn children(&self, processes: &mut Vec<i32>) -> Result<(), Missed> {
        let (mut buffer, mut all) = ([0; 1024], Vec::new());
        loop {
            let count = self.children.read_at(&mut buffer, all.len() as u64)?;
            if count == 0 {
                break;
            }
            all.write_all(&buffer[..count])?;
        }
        let list = String::from_utf8_lossy(&all);
        processes
            .extend(list.split_ascii_whitespace().filter_map(|number| number.parse::<i32>().ok()));
        Ok(())
    }
}

/// `PF_IO_WORKER` of the kernel's `sched.h`.
const OF_A_RING: u64 = 0x10;
/// `PF_DUMPCORE`, likewise.
const WRITES_A_DUMP: u64 = 0x200;
/// Our letter for the state of a thread that writes its process's memory to a file or a program (core(5)). The kernel
/// shows it as any other sleep while it waits for those, and the other threads as idle.
pub(crate) const DUMPS: u8 = b'C';

/// The letter for a thread's state, and its flags, from what follows the name in a `stat` file.
fn state(rest: &str) -> (u8, u64) {
    let mut fields = rest.split_ascii_whitespace();
    let letter = fields.next().and_then(|field| field.bytes().next()).unwrap_or(b'?');
    let flags = fields.nth(5).and_then(|field| field.parse().ok()).unwrap_or(0);
    match letter {
        b'Z' | b'X' => (letter, flags),
        _ if flags & WRITES_A_DUMP != 0 => (DUMPS, flags),
        _ => (letter, flags),
    }
}

/// The 22nd field of a `stat` file; its second, the name in parentheses, may hold anything.
fn made(stat: &str) -> u64 {
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    fields.split_ascii_whitespace().nth(19).and_then(|field| field.parse().ok()).unwrap_or(0)
}

fn text<'a>(file: &File, buffer: &'a mut [u8]) -> Result<&'a str, Missed> {
    let count = file.read_at(buffer, 0)?;
    // Thread names may hold any bytes; the fields that we read are after them.
    match std::str::from_utf8(&buffer[..count]) {
        Ok(_) => {}
        Err(_) => {
            buffer[..count].iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?')
        }
    }
    std::str::from_utf8(&buffer[..count]).map_err(|error| Missed::Error(io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_understood() {
        let check = |letter: char, flags: u64, expect: u8| {
            let rest = format!(" {letter} 1 4711 4711 0 -1 {flags} 2880 6538 0 0 4 1");
            assert_eq!(state(&rest), (expect, flags), "{rest}");
        };
        check('S', 0x40_0100, b'S');
        check('R', 0x40_0100, b'R');
        check('S', 0x40_4050, b'S'); // of a ring
        check('S', 0x40_0300, DUMPS);
        check('D', 0x40_0300, DUMPS);
        check('Z', 0x40_0304, b'Z');
        assert_eq!(state(""), (b'?', 0));
    }
}
