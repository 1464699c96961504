//! A process of the tree: its program, its memory, its clock functions.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
};

use crate::{
    runtime::{Runtime, is_sign_of_a_virtual_machine},
    sys::time,
    threads::{Missed, Thread},
    vdso::{self, Layout},
};

/// One process of the tree.
#[derive(Debug)]
pub(crate) struct Member {
    process: i32,
    pub runtime: Runtime,
    /// Processor time that it had used when it was last asked for, in nanoseconds.
    pub used: u64,
    /// Its threads, as a folder.
    tasks: File,
    /// The oldest thread of each name.
    first_of_names: BTreeMap<String, i32>,
    /// Where the code of its executable file is mapped, in one piece.
    code: (u64, u64),
    /// Whether its calls have other numbers and other structures than ours.
    is_32_bit: bool,
    /// Whether its clock functions have been seen to be ours.
    is_patched: bool,
    pub memory: File,
    /// Start of its vDSO, if it has one.
    pub vdso: Option<u64>,
    /// The vector of its exec: full of random addresses, so it tells one program from the next.
    auxv: Vec<u8>,
}

impl Member {
    /// Reads it through the first of its threads that is alive: the one that began may have ended before the others.
    pub fn read(
        process: i32,
        threads: impl Iterator<Item = i32>,
        mut known: Option<Member>,
    ) -> Result<Member, Missed> {
        for thread in threads {
            let folder = format!("/proc/{process}/task/{thread}");
            match fs::read(format!("{folder}/auxv")) {
                Ok(auxv) if auxv.is_empty() => continue,
                Ok(auxv) => return Member::open(process, &folder, auxv, known.take()),
                Err(error) => match Missed::from(error) {
                    Missed::Gone => continue,
                    other => return Err(other),
                },
            }
        }
        Err(Missed::Gone)
    }

    fn open(
        process: i32,
        folder: &str,
        auxv: Vec<u8>,
        known: Option<Member>,
    ) -> Result<Member, Missed> {
        if let Some(member) = known
            && member.auxv == auxv
            && member.is_there()
        {
            return Ok(member);
        }
        let memory = File::options().read(true).write(true).open(format!("{folder}/mem"))?;
        let exe = format!("{folder}/exe");
        let name = fs::read_link(&exe).unwrap_or_default();
        let maps = fs::read_to_string(format!("{folder}/maps")).unwrap_or_default();
        let name = name.to_string_lossy();
        let runtime = Runtime::detect(Path::new(&exe), &name, &maps);
        let (first_of_names, code) = (BTreeMap::new(), code(&maps, &name));
        let (is_32_bit, is_patched, vdso) = (is_32_bit(&exe), false, vdso::base(&auxv));
        let tasks = File::open(format!("/proc/{process}/task"))?;
        let used = time::of_process(process);
        Ok(Member {
            process,
            runtime,
            used,
            tasks,
            first_of_names,
            code,
            is_32_bit,
            is_patched,
            memory,
            vdso,
            auxv,
        })
    }

    /// Whether it has used processor time since that was last asked for.
    pub fn worked(&mut self) -> bool {
        let used = time::of_process(self.process);
        std::mem::replace(&mut self.used, used) != used
    }

    /// How many threads it has: the kernel counts them as it does the folders in one (`proc_task_getattr`), itself and the
    /// one above included.
    pub fn threads(&self) -> Result<u64, Missed> {
        Ok(self.tasks.metadata()?.nlink().saturating_sub(2))
    }

    /// Whether it still runs the program that it did.
    pub fn is_as_before(&self) -> bool {
        fs::read(format!("/proc/{}/auxv", self.process)).is_ok_and(|auxv| auxv == self.auxv)
    }

    /// Takes note of its threads. A virtual machine shows by their names, also where its launcher has another name than
    /// usual and had not yet loaded it when it was first looked at.
    pub fn notice(&mut self, threads: &[Thread]) {
        if self.runtime == Runtime::Other
            && threads.iter().any(|thread| is_sign_of_a_virtual_machine(&thread.name))
        {
            self.runtime = Runtime::Jvm;
        }
        if self.runtime != Runtime::Jvm {
            return;
        }
        let mut threads: Vec<_> = threads.iter().collect();
        threads.sort_by_key(|thread| (thread.made, thread.number));
        for thread in threads.into_iter().rev() {
            self.first_of_names.insert(thread.name.clone(), thread.number);
        }
    }

    /// Whether no older thread has the name of this one.
    pub fn first_of_the_name(&self, number: i32) -> bool {
        self.first_of_names.values().any(|first| *first == number)
    }

    /// Whether this address is in the program itself, not in a library.
    pub fn is_own_code(&self, address: u64) -> bool {
        (self.code.0..self.code.1).contains(&address)
    }

    /// Why its blocked calls say nothing about when they end, if so; `is_virtual`: by clocks that are not the machine's.
    pub fn unreadable(&mut self, is_virtual: bool) -> Option<&'static str> {
        if self.is_32_bit {
            return Some("is a 32-bit program");
        }
        if !is_virtual || self.is_patched {
            return None;
        }
        // One without clock functions of that kind asks the kernel, and its keeper answers. One that is gone waits no more.
        self.is_patched = self.vdso.is_none_or(|base| match Layout::of_this_kernel() {
            Ok(layout) => layout.is_patched(&self.memory, base).unwrap_or(true),
            Err(_) => true,
        });
        (!self.is_patched).then_some("lives in real time, as its clock could not be set")
    }

    /// Whether its memory is that of a living program. After an exec the old memory is gone, and where addresses are
    /// fixed, nothing else tells.
    fn is_there(&self) -> bool {
        self.vdso.is_none_or(|at| matches!(self.memory.read_at(&mut [0], at), Ok(1)))
    }
}

/// Whether an executable file is of the class `ELFCLASS32` (elf(5)): for i386, or for x32, whose call numbers differ too.
fn is_32_bit(exe: &str) -> bool {
    let mut head = [0; 5];
    let read = File::open(exe).and_then(|file| file.read_exact_at(&mut head, 0));
    read.is_ok() && head == *b"\x7fELF\x01"
}

/// From the first to the last executable page of the file of this name.
fn code(maps: &str, name: &str) -> (u64, u64) {
    let of_it = |line: &&str| line.ends_with(name) && line.contains(" r-xp ");
    let range = |line: &str| {
        let (from, to) = line.split_once(' ')?.0.split_once('-')?;
        Some((u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?))
    };
    let ranges = maps.lines().filter(of_it).filter_map(range);
    ranges.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1))).unwrap_or((0, 0))
}
