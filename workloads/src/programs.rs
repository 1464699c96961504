//! The workload's programs while they run, seen from outside: whoever lets time pass has to know whether they wait.
//!
//! A program lives in this machine's time, so what it waits for can't be read from it. Seen is only whether any of its
//! threads runs: a thread that sleeps waits for an answer, a change, a child, or until some real time has passed. A
//! process that left its parent is not seen.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::{Arc, Mutex, PoisonError},
};

/// Programs that run now.
#[derive(Debug, Clone, Default)]
pub struct Programs(Arc<Mutex<BTreeSet<u32>>>);

/// All threads of all programs, at a moment at which each of them slept. Equal at two moments: none of them ran in
/// between. Without threads: no program runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asleep {
    /// What the kernel has booked for each thread (proc(5), `schedstat`).
    booked: BTreeMap<u32, String>,
}

impl Asleep {
    /// Whether there is a program at all.
    pub fn is_somebody(&self) -> bool {
        !self.booked.is_empty()
    }
}

impl Programs {
    /// Looks at all of them; none if one of their threads runs or comes or goes, or can't be seen.
    pub fn asleep(&self) -> Option<Asleep> {
        let mut asleep = Asleep::default();
        let mut processes: Vec<u32> = self.roots().iter().copied().collect();
        while let Some(process) = processes.pop() {
            processes.extend(look(process, &mut asleep.booked)?);
        }
        Some(asleep)
    }

    /// Lists a program as long as what is returned lives.
    pub(crate) fn list(&self, process: Option<u32>) -> Listed {
        self.roots().extend(process);
        Listed { programs: self.clone(), process }
    }

    fn roots(&self) -> std::sync::MutexGuard<'_, BTreeSet<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A program among those that run.
pub(crate) struct Listed {
    programs: Programs,
    process: Option<u32>,
}

impl Drop for Listed {
    fn drop(&mut self) {
        if let Some(process) = self.process {
            self.programs.roots().remove(&process);
        }
    }
}

/// Adds what is booked for the threads of a process that sleeps; its children.
fn look(process: u32, booked: &mut BTreeMap<u32, String>) -> Option<Vec<u32>> {
    let mut children = Vec::new();
    for entry in fs::read_dir(format!("/proc/{process}/task")).ok()? {
        let folder = entry.ok()?.path();
        let thread: u32 = folder.file_name()?.to_str()?.parse().ok()?;
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        // The name, in parentheses, may hold anything.
        let state = stat.rsplit_once(')')?.1.trim_start().chars().next()?;
        if !matches!(state, 'S' | 'T' | 't') {
            return None;
        }
        booked.insert(thread, fs::read_to_string(folder.join("schedstat")).ok()?);
        let listed = fs::read_to_string(folder.join("children")).ok()?;
        let numbers = listed.split_whitespace().filter_map(|number| number.parse().ok());
        children.extend(numbers.filter(|child| !is_zombie(*child)));
    }
    Some(children)
}

/// Whether a process has ended and waits for its parent to notice: it does nothing more.
fn is_zombie(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader},
        process::{Child, Command, Stdio},
    };

    use super::*;

    /// A shell that has come to saying `here`.
    fn shell(script: &str) -> Child {
        let mut command = Command::new("/bin/sh");
        let command = command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "here\n");
        child
    }

    fn end(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// A shell that waits for its child, which waits for input that nobody sends: it gets there.
    #[test]
    fn one_that_waits_is_asleep_with_its_children() {
        let programs = Programs::default();
        let child = shell("echo here; cat; :");
        let listed = programs.list(Some(child.id()));
        let asleep = loop {
            match (programs.asleep(), programs.asleep()) {
                (Some(first), Some(second)) if first == second && first.booked.len() == 2 => {
                    break first;
                }
                _ => std::thread::yield_now(),
            }
        };
        assert!(asleep.booked.contains_key(&child.id()));
        drop(listed);
        let none = programs.asleep().expect("nobody runs");
        assert!(!none.is_somebody(), "it is listed no more");
        end(child);
    }

    #[test]
    fn one_that_works_is_not() {
        let programs = Programs::default();
        let child = shell("echo here; while :; do :; done");
        let _listed = programs.list(Some(child.id()));
        assert!((0..1000).all(|_| programs.asleep().is_none()));
        end(child);
    }

    #[test]
    fn one_that_has_ended_is_not() {
        let programs = Programs::default();
        let mut child = shell("echo here");
        let _listed = programs.list(Some(child.id()));
        child.wait().unwrap();
        assert_eq!(programs.asleep(), None);
    }
}
