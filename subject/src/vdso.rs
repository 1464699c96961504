//! Where the clock functions are in the vDSO, and the code that replaces them.
//!
//! The vDSO is a small shared library that the kernel maps into every process; all language
//! runtimes read the clock through it, static Go included. We overwrite the entries of its three
//! clock functions, in the subject's private copy (`forced.rs` where the kernel forbids that by file), by jumps to a stub that asks the kernel, divides
//! by 1024 and adds a number. There are two such numbers, in nanoseconds: *wall* for the clocks that
//! tell the date, and *steady* for monotonic and boot time, which only grows. CPU-time clocks are
//! left alone.
//!
//! **Why divided.** A subject's time is to pass while everything waits, in jumps, and to stand still
//! while something works: else what a controller does would depend on how fast this machine is.
//! A clock that really stood still would hang programs that spin until it moves and be new to those
//! that divide by an elapsed time, so it creeps: 10 ms of work take 10 µs. What that costs: a wait with
//! a *relative* time-out that the kernel ends while other threads work ends early by the subject's clock.
//! Event loops (Go, tokio, asyncio, libuv) read the clock and wait again; a bare `poll` or `nanosleep`
//! beside a busy thread believes it.
//!
//! The stub lies in the unused end of the last page of the vDSO if it fits there, else over
//! `clock_gettime` itself. Cost: a clock reading becomes a system call (some 100 ns instead of 25).
//! A program that goes around the vDSO, by a raw system call, is answered by its keeper (`keeper/clocks.rs`). Who could
//! notice: one that uses `rdtsc` as a clock, or measures the cost of reading the time.

mod stub;

use std::{fs, io, os::unix::fs::FileExt, sync::OnceLock};

use crate::timers::Now;
use stub::{MARK, Stub, WORDS};

/// How much slower than the machine's a subject's clock runs while it works: 2 to this power.
const SLOWDOWN: u8 = 10;
/// How far a subject's steady clocks are ahead of the machine's if its date is the machine's, in nanoseconds: a day. The
/// kernel ends a wait with an absolute deadline by its own clock; as long as that is behind, only we end it.
pub const HEAD_START: i64 = 86_400 * 1_000_000_000;
/// How far they are ahead at least, whatever its date is.
const LEAST_AHEAD: i64 = HEAD_START / 24;

/// How a process's clocks follow from the machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offsets {
    /// They are the machine's.
    Real,
    /// The machine's, but for the date.
    Ahead {
        /// For `CLOCK_REALTIME` and its kin, in nanoseconds.
        wall: i64,
    },
    /// The machine's, slowed down, plus these nanoseconds.
    Virtual {
        /// For `CLOCK_REALTIME` and its kin.
        wall: i64,
        /// For `CLOCK_MONOTONIC`, `CLOCK_BOOTTIME` and their kin; never shrinks.
        steady: i64,
    },
}

impl Offsets {
    /// Clocks that nearly stand, at `ahead` beyond the machine's date `now` and a steady time beyond its own.
    ///
    /// The steady clocks go with the date: a restart is no reboot, so for a program that is started where another one's
    /// date had come to, they go on too. Only in a world whose date lies more than [`HEAD_START`] behind the machine's
    /// they begin anew with each start.
    pub fn standing(now: Now, ahead: i64) -> Offsets {
        let steady = HEAD_START.saturating_add(ahead).max(LEAST_AHEAD);
        Offsets::Virtual {
            wall: now.wall + ahead - (now.wall >> SLOWDOWN),
            steady: now.steady + steady - (now.steady >> SLOWDOWN),
        }
    }

    /// What the subject's clocks show when the machine's show `now`.
    pub fn shown(self, now: Now) -> Now {
        match self {
            Offsets::Real => now,
            Offsets::Ahead { wall } => Now { wall: now.wall + wall, ..now },
            Offsets::Virtual { wall, steady } => Now {
                wall: (now.wall >> SLOWDOWN) + wall,
                steady: (now.steady >> SLOWDOWN) + steady,
            },
        }
    }

    /// How much slower they run than the machine's: 2 to this power.
    fn slowdown(self) -> u8 {
        match self {
            Offsets::Virtual { .. } => SLOWDOWN,
            Offsets::Real | Offsets::Ahead { .. } => 0,
        }
    }

    /// The same, moved forward; real clocks can't be.
    pub fn moved(self, nanoseconds: i64) -> Offsets {
        match self {
            Offsets::Real | Offsets::Ahead { .. } => self,
            Offsets::Virtual { wall, steady } => {
                Offsets::Virtual { wall: wall + nanoseconds, steady: steady + nanoseconds }
            }
        }
    }
}

/// What a subject's clock, named by its id, shows now; none if it is none of ours (processor time).
pub fn shown_by(clock: u64, offsets: Offsets) -> Option<i64> {
    let is_one_of = |clocks: u32| clock < 32 && clocks >> clock & 1 == 1;
    let machine = |clock| crate::sys::time::read(clock as libc::clockid_t);
    let shown = |machine| offsets.shown(Now { wall: machine, steady: machine });
    match (is_one_of(stub::WALL_CLOCKS), is_one_of(stub::STEADY_CLOCKS)) {
        (true, _) => Some(shown(machine(clock)).wall),
        (_, true) => Some(shown(machine(clock)).steady),
        _ => None,
    }
}

/// What to write where, relative to the start of the vDSO. The same for all processes of one
/// kernel.
#[derive(Debug)]
pub struct Layout {
    header: Vec<u8>,
    stub: (u64, Vec<u8>),
    /// Where in the stub's code it says by how much it divides.
    slowdown: usize,
    /// Where in the stub's code it enters the kernel.
    system_call: usize,
    jumps: Vec<(u64, [u8; 5])>,
    words: u64,
    size: u64,
}

impl Layout {
    /// The layout for this kernel, or why there is none. Worked out once.
    pub fn of_this_kernel() -> Result<&'static Layout, &'static str> {
        static LAYOUT: OnceLock<Result<Layout, &'static str>> = OnceLock::new();
        LAYOUT.get_or_init(Layout::find).as_ref().map_err(|reason| *reason)
    }

    fn find() -> Result<Layout, &'static str> {
        if !cfg!(target_arch = "x86_64") {
            return Err("the clock stub is written for x86-64 only");
        }
        let image = own_image().map_err(|_| "this kernel maps no vDSO")?;
        let functions = functions(&image).ok_or("the vDSO of this kernel has an unknown form")?;
        layout(&image, &functions)
    }

    /// Whether the process whose vDSO starts at `base` has this kernel's vDSO (a 32-bit program has
    /// another).
    fn fits(&self, memory: &fs::File, base: u64) -> io::Result<bool> {
        let mut header = [0; 64];
        memory.read_exact_at(&mut header, base)?;
        Ok(header[..] == self.header[..])
    }

    /// Whether the stub is there.
    pub fn is_patched(&self, memory: &fs::File, base: u64) -> io::Result<bool> {
        let mut mark = [0; 8];
        memory.read_exact_at(&mut mark, base + self.words + 16)?;
        Ok(u64::from_le_bytes(mark) == MARK)
    }

    /// Puts the stub in, by what writes bytes at an address. The process must stand still.
    pub fn patch(
        &self,
        memory: &fs::File,
        base: u64,
        offsets: Offsets,
        write: &dyn Fn(u64, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        if !self.fits(memory, base)? {
            return Err(io::Error::other("it is no 64-bit program of this kernel"));
        }
        let (at, code) = &self.stub;
        let mut code = code.clone();
        let words = (self.words - at) as usize;
        code[words..words + 16].copy_from_slice(&encode(offsets));
        code[self.slowdown] = offsets.slowdown();
        write(base + at, &code)?;
        self.jumps.iter().try_for_each(|(at, jump)| write(base + at, jump))
    }

    /// In a patched process, where an instruction is that enters the kernel.
    pub fn entry(&self, base: u64) -> u64 {
        base + self.stub.0 + self.system_call as u64
    }

    /// How many bytes of a process are its vDSO.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Changes the offsets of a patched process. Both words are aligned and written by one call,
    /// each as a whole; callers change them only while the process is quiet, so that nobody reads
    /// in between.
    pub fn set(&self, memory: &fs::File, base: u64, offsets: Offsets) -> io::Result<()> {
        memory.write_all_at(&encode(offsets), base + self.words)
    }
}

fn encode(offsets: Offsets) -> [u8; 16] {
    let (wall, steady) = match offsets {
        Offsets::Virtual { wall, steady } => (wall, steady),
        Offsets::Ahead { wall } => (wall, 0),
        Offsets::Real => (0, 0), // never written: real clocks are not patched
    };
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&wall.to_le_bytes());
    bytes[8..].copy_from_slice(&steady.to_le_bytes());
    bytes
}

/// Start of the vDSO in a process, from the vector that the kernel gave it at exec.
pub fn base(auxv: &[u8]) -> Option<u64> {
    const AT_SYSINFO_EHDR: u64 = 33;
    auxv.chunks_exact(16)
        .find(|pair| number(pair, 0) == Some(AT_SYSINFO_EHDR))
        .and_then(|pair| number(pair, 8))
}

fn own_image() -> io::Result<Vec<u8>> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"));
    let range =
        line.and_then(|line| line.split(' ').next()).and_then(|range| range.split_once('-'));
    let address = |text| u64::from_str_radix(text, 16).map_err(io::Error::other);
    let (low, high) = range.ok_or_else(|| io::Error::other("no vDSO"))?;
    let (low, high) = (address(low)?, address(high)?);
    let mut image = vec![0; (high - low) as usize];
    fs::File::open("/proc/self/mem")?.read_exact_at(&mut image, low)?;
    Ok(image)
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Names, offsets and sizes of the dynamic symbols, and the end of what is used of the image.
struct Functions {
    symbols: Vec<(String, u64, u64)>,
    used: u64,
}

impl Functions {
    fn get(&self, name: &str) -> Option<(u64, u64)> {
        self.symbols.iter().find(|(known, ..)| known == name).map(|(_, at, size)| (*at, *size))
    }
}

fn functions(image: &[u8]) -> Option<Functions> {
    let headers = number(image, 32)? as usize;
    let count = u16::from_le_bytes(image.get(56..58)?.try_into().ok()?) as usize;
    let (mut start, mut used, mut dynamic) = (None, 0, None);
    for header in (0..count).map(|i| headers + 56 * i) {
        match half(image, header)? {
            1 => {
                start = start
                    .or(Some(number(image, header + 16)?.checked_sub(number(image, header + 8)?)?));
                used = used.max(number(image, header + 8)? + number(image, header + 40)?);
            }
            2 => dynamic = Some(number(image, header + 8)? as usize),
            _ => {}
        }
    }
    let (start, mut at) = (start?, dynamic?);
    let (mut strings, mut symbols) = (None, None);
    loop {
        match (number(image, at)?, number(image, at + 8)?) {
            (0, _) => break,
            (5, value) => strings = Some(value.checked_sub(start)? as usize),
            (6, value) => symbols = Some(value.checked_sub(start)? as usize),
            _ => {}
        }
        at += 16;
    }
    let (strings, first) = (strings?, symbols?);
    let mut found = Vec::new();
    // The string table follows the symbol table directly in every vDSO.
    for at in (first..strings.checked_sub(23)?.max(first)).step_by(24) {
        let name = image.get(strings + half(image, at)? as usize..)?;
        let name = name.split(|byte| *byte == 0).next()?;
        let offset = number(image, at + 8)?.checked_sub(start);
        if let Some(offset) = offset {
            found.push((
                String::from_utf8_lossy(name).into_owned(),
                offset,
                number(image, at + 16)?,
            ));
        }
    }
    // The section headers come after what is mapped for use, but nobody reads them at run time.
    Some(Functions { symbols: found, used })
}

fn layout(image: &[u8], functions: &Functions) -> Result<Layout, &'static str> {
    let clock = functions.get("__vdso_clock_gettime").ok_or("the vDSO has no clock_gettime")?;
    let stub = Stub::assemble();
    let tail = functions.used.next_multiple_of(16);
    let room = (image.len() as u64).saturating_sub(tail);
    let at = if room >= stub.code.len() as u64 {
        tail
    } else if clock.1 >= stub.code.len() as u64 + 16 {
        (clock.0 + 5).next_multiple_of(16)
    } else {
        return Err("the vDSO of this kernel has no room for the clock stub");
    };
    let mut jumps = vec![(clock.0, jump(clock.0, at + stub.clock_gettime))];
    for (name, entry) in [("__vdso_gettimeofday", stub.gettimeofday), ("__vdso_time", stub.time)] {
        match functions.get(name) {
            Some((from, size)) if size >= 5 => jumps.push((from, jump(from, at + entry))),
            Some(_) => return Err("a clock function of the vDSO is too short to be replaced"),
            None => {} // then the C library asks the other function
        }
    }
    let words = at + (stub.code.len() - WORDS) as u64;
    let header = image[..64].to_vec();
    let Stub { code, slowdown, system_call, .. } = stub;
    Ok(Layout {
        header,
        slowdown,
        system_call,
        stub: (at, code),
        jumps,
        words,
        size: image.len() as u64,
    })
}

fn jump(from: u64, to: u64) -> [u8; 5] {
    let distance = (to as i64 - (from as i64 + 5)) as i32;
    let mut code = [0xe9, 0, 0, 0, 0];
    code[1..].copy_from_slice(&distance.to_le_bytes());
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// A program is started, an hour passes for it in a minute of the machine's, and it is started again.
    #[test]
    fn no_clock_goes_back_at_a_restart() {
        let begin = Now { wall: 1_790_000_000 * SECOND, steady: 4_000 * SECOND };
        let end = Now { wall: begin.wall + 60 * SECOND, steady: begin.steady + 60 * SECOND };
        for ahead in [-22 * 3_600, 0, 86_400, 400 * 86_400] {
            let first = Offsets::standing(begin, ahead * SECOND).moved(3_600 * SECOND).shown(end);
            let again = Offsets::standing(end, first.wall - end.wall).shown(end);
            let difference = |one: i64, other: i64| (one - other).abs();
            assert!(difference(again.wall, first.wall) < 10, "{ahead}: {first:?} {again:?}");
            assert!(difference(again.steady, first.steady) < 10, "{ahead}: {first:?} {again:?}");
        }
    }

    #[test]
    fn steady_clocks_are_ahead_of_the_machines_at_any_date() {
        let now = Now { wall: 1_790_000_000 * SECOND, steady: 7 * SECOND };
        for ahead in [-1_000 * HEAD_START, -HEAD_START, 0, 4_000 * HEAD_START] {
            let shown = Offsets::standing(now, ahead).shown(now);
            assert!(shown.steady >= now.steady + LEAST_AHEAD, "{ahead}: {shown:?}");
        }
    }
}
