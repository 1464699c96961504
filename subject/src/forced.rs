//! Setting clocks where the kernel lets nobody write over code by `/proc/PID/mem` (since Linux 6.12, the parameter
//! `proc_mem.force_override` and what a distribution made its default): the tracer of a stopped program may still do it,
//! word by word, by `ptrace`.
//!
//! Clocks are moved later, when nobody traces the program. So the mapping is made writable, by a system call that the
//! stopped program is led through before its first instruction: to such a mapping the file may write.

use std::{fs::File, io, os::unix::fs::FileExt};

use crate::{
    sys::trace,
    vdso::{Layout, Offsets},
};

/// Whether this is how the kernel answers who may not write over code.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EPERM | libc::EACCES))
}

/// Puts the clock functions into a process that this thread has stopped at the end of its exec.
#[cfg(target_arch = "x86_64")]
pub(crate) fn patch(
    layout: &Layout,
    pid: i32,
    memory: &File,
    base: u64,
    offsets: Offsets,
) -> io::Result<()> {
    layout.patch(memory, base, offsets, &|at, bytes| write(pid, memory, at, bytes))?;
    let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    // As a whole: the kernel lets nobody split this mapping.
    let arguments = [base, layout.size(), all as u64];
    let result = trace::call(pid, layout.entry(base), libc::SYS_mprotect, arguments)?;
    match i32::try_from(-result) {
        Ok(0) => Ok(()),
        Ok(error) => Err(io::Error::from_raw_os_error(error)),
        Err(_) => Err(io::Error::other("it could not be led through a system call")),
    }
}

/// Never reached: clocks can't be set on this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn patch(_: &Layout, _: i32, _: &File, _: u64, _: Offsets) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Writes over code, in whole words: those around the ends keep what else is in them.
fn write(pid: i32, memory: &File, at: u64, bytes: &[u8]) -> io::Result<()> {
    let begin = at - at % 8;
    let end = (at + bytes.len() as u64).next_multiple_of(8);
    let mut words = vec![0; (end - begin) as usize];
    memory.read_exact_at(&mut words, begin)?;
    let skip = (at - begin) as usize;
    words[skip..skip + bytes.len()].copy_from_slice(bytes);
    for (index, word) in words.chunks_exact(8).enumerate() {
        let word = u64::from_ne_bytes(word.try_into().expect("eight bytes"));
        trace::write(pid, begin + 8 * index as u64, word)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{io::Read, path::Path, sync::Arc};

    use super::*;
    use crate::{
        Isolation, Launch, Pace,
        clock::{Clock, ClockAbility},
        keeper,
        sys::descriptor,
    };

    /// A shell, stopped after the first exec, and the programs that it starts, stopped in theirs.
    #[test]
    fn clocks_can_be_set_and_moved_without_writing_over_code_by_file() {
        const DAYS: i64 = 400 * 86_400;
        let pace = Pace::Virtual { ahead: DAYS * 1_000_000_000 };
        let script = "grep -F '[vdso]' /proc/$$/maps; date +%s; grep -F '[vdso]' /proc/self/maps";
        let launch = Launch {
            command: ["sh", "-c", script].map(String::from).to_vec(),
            dir: "/".into(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            isolation: Isolation::None,
            clock: pace,
            port: 0,
            service_account: None,
            determinism: Default::default(),
        };
        let (read, write) = descriptor::pipe(false).unwrap();
        let clock = Arc::new(Clock::by_force(pace));
        let _kept = keeper::start(&launch, Path::new("/bin/sh"), write, clock.clone()).unwrap();
        let mut said = String::new();
        File::from(read).read_to_string(&mut said).unwrap();
        assert_eq!(clock.ability(), ClockAbility::Virtual, "{said}");
        let lines: Vec<&str> = said.lines().collect();
        let [.., date, last] = lines[..] else { panic!("{said}") };
        let here = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64;
        assert!((date.parse::<i64>().unwrap() - here - DAYS).abs() < 3_600, "{said}");
        for line in [lines[0], last] {
            assert!(line.contains(" rwxp "), "it can't be written to: {said}");
        }
    }
}
