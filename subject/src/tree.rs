//! The threads of a process tree, all of them.
//!
//! Threads and children are listed again only when some known thread has run since the last listing: nobody else could
//! have made new ones. And then only if their number shows that somebody came.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use crate::{
    member::Member,
    threads::{Booked, Missed, Thread},
};

/// The tree below one process.
#[derive(Debug)]
pub(crate) struct Tree {
    root: i32,
    pub threads: Vec<Thread>,
    pub members: BTreeMap<i32, Member>,
    listing: Listing,
    /// A thread that was seen to run, or to wait for a processor.
    pub waiting: Option<i32>,
}

/// What the latest listing is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Listing {
    /// It names everybody.
    Complete,
    /// Threads that it names have run since, and may have made others.
    Doubtful,
    /// Somebody has gone, or has another name.
    Void,
}

/// How often threads are listed in one look, at most, until nothing changes.
const LISTINGS: usize = 3;

impl Tree {
    pub fn new(root: i32) -> Tree {
        let (threads, members, listing) = (Vec::new(), BTreeMap::new(), Listing::Void);
        Tree { root, threads, members, listing, waiting: None }
    }

    /// A process that has used processor time since this was last asked. The cheap question with which a look begins, one
    /// call a process: most looks end here. That nobody ran is not known from it: what the machine below this one, or an
    /// interrupt, took away from a short run is in no account of time.
    pub fn worked(&mut self) -> Option<i32> {
        let mut first = None;
        for (process, member) in &mut self.members {
            if member.worked() {
                first = first.or(Some(*process));
            }
        }
        first
    }

    /// Processor time that its processes had used when that was last asked, in nanoseconds.
    pub fn used(&self) -> u64 {
        self.members.values().map(|member| member.used).sum()
    }

    /// The thread that was seen to wait for a processor, if it still does: on a busy machine many looks in a row find
    /// the same one.
    pub fn still_waiting(&mut self) -> Option<&Thread> {
        let number = self.waiting.take()?;
        let at = self.threads.binary_search_by_key(&number, |thread| thread.number).ok()?;
        let thread = &mut self.threads[at];
        let looked = thread.look();
        if !matches!(looked, Ok(false)) {
            self.listing = Listing::Void;
        }
        let waits = looked.is_ok() && thread.sample.state == b'R';
        self.waiting = waits.then_some(number);
        waits.then_some(&self.threads[at])
    }

    /// Which known thread has run since the latest sample, if one has; takes a sample.
    pub fn ran(&mut self) -> Result<Option<usize>, Missed> {
        let mut first = None;
        for (at, thread) in self.threads.iter_mut().enumerate() {
            match thread.booked() {
                Ok(work) if work == thread.sample.work => {}
                Ok(work) => {
                    thread.sample.work = work;
                    first = first.or(Some(at));
                }
                // It has ended: the next listing is without it.
                Err(Missed::Gone) => self.listing = Listing::Void,
                Err(missed) => return Err(missed),
            }
        }
        if first.is_some() {
            self.listing = self.listing.max(Listing::Doubtful);
        }
        Ok(first)
    }

    /// Samples the work of all threads, not their states. Afterwards `threads` is complete, provided that a second
    /// sample shows that none of them ran; if threads come and go too fast for that, the answer is
    /// [`Missed::Moving`].
    pub fn sample(&mut self) -> Result<(), Missed> {
        self.ran()?;
        if self.listing == Listing::Doubtful && self.is_all()? {
            self.listing = Listing::Complete;
        }
        for _ in 0..LISTINGS {
            if self.listing == Listing::Complete {
                return Ok(());
            }
            // A listing is complete if those known before it, sampled before it, are all there are
            // and did not run until they were sampled in it: whoever could have made more stood
            // still meanwhile.
            let before: Vec<_> =
                self.threads.iter().map(|thread| (thread.number, thread.sample.work)).collect();
            self.listing = Listing::Void;
            let gone = self.list()?;
            let same = |(thread, before): (&Thread, &(i32, Booked))| {
                thread.number == before.0 && thread.sample.work == before.1
            };
            let same =
                self.threads.len() == before.len() && self.threads.iter().zip(&before).all(same);
            if same && !gone {
                self.listing = Listing::Complete;
            }
        }
        if self.listing == Listing::Complete { Ok(()) } else { Err(Missed::Moving) }
    }

    /// Whether the known threads, who are alive, are all there are: every child is known, and every process has as many
    /// threads as are known of it.
    fn is_all(&self) -> Result<bool, Missed> {
        let (mut children, mut counts) = (Vec::new(), BTreeMap::new());
        for thread in &self.threads {
            thread.children(&mut children)?;
            *counts.entry(thread.process).or_insert(0u64) += 1;
        }
        children.push(self.root);
        if !BTreeSet::from_iter(&children).into_iter().eq(self.members.keys()) {
            return Ok(false);
        }
        for (process, member) in &self.members {
            let known = counts.get(process).copied().unwrap_or(0);
            // An exec ends all threads but one, so where several live on there was none.
            if member.threads()? != known || known == 1 && !member.is_as_before() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Asks for all states, and returns the first thread that does not sleep as `asleep` has it, by its process and state,
    /// or has another name: its timers may have been misjudged.
    pub fn awake(&mut self, asleep: impl Fn(i32, u8) -> bool) -> Result<Option<&Thread>, Missed> {
        for at in 0..self.threads.len() {
            let thread = &mut self.threads[at];
            let renamed = thread.look()?;
            if renamed {
                self.listing = Listing::Void;
            }
            if thread.sample.state == b'R' {
                self.waiting = Some(thread.number);
            }
            if renamed || !asleep(thread.process, thread.sample.state) {
                return Ok(Some(&self.threads[at]));
            }
        }
        Ok(None)
    }

    /// The first process.
    pub fn root(&self) -> i32 {
        self.root
    }

    /// Whether all its threads are known, as of the latest sample but for who has run since.
    pub fn is_listed(&self) -> bool {
        self.listing == Listing::Complete
    }

    /// How many threads were stopped when they were last looked at.
    pub fn stopped(&self) -> usize {
        self.threads.iter().filter(|thread| thread.sample.state == b'T').count()
    }

    /// After an error: list anew next time.
    pub fn distrust(&mut self) {
        self.listing = Listing::Void;
    }

    /// Whether somebody went while it was listed. Whose children went elsewhere then, or what was made meanwhile, is
    /// not in this listing.
    fn list(&mut self) -> Result<bool, Missed> {
        let mut gone = false;
        let mut known: BTreeMap<i32, Thread> =
            self.threads.drain(..).map(|thread| (thread.number, thread)).collect();
        let mut members = std::mem::take(&mut self.members);
        let mut processes = vec![self.root];
        let mut at = 0;
        while let Some(&process) = processes.get(at) {
            at += 1;
            let first = self.threads.len();
            match threads_of(process, &mut known, &mut processes, &mut self.threads) {
                Err(Missed::Gone) if process != self.root => {
                    gone = true;
                    continue;
                }
                other => gone |= other?,
            }
            let threads = self.threads[first..].iter().map(|thread| thread.number);
            match Member::read(process, threads, members.remove(&process)) {
                Ok(mut member) => {
                    member.notice(&self.threads[first..]);
                    self.members.insert(process, member);
                }
                Err(Missed::Gone) if process != self.root => {}
                Err(missed) => return Err(missed),
            }
        }
        self.threads.sort_by_key(|thread| thread.number);
        Ok(gone)
    }
}

/// Appends the threads of one process, sampled, and its children; whether a thread went meanwhile.
fn threads_of(
    process: i32,
    known: &mut BTreeMap<i32, Thread>,
    processes: &mut Vec<i32>,
    threads: &mut Vec<Thread>,
) -> Result<bool, Missed> {
    let (first, mut gone) = (threads.len(), false);
    for entry in fs::read_dir(format!("/proc/{process}/task"))? {
        let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let mut thread = match known.remove(&number) {
            Some(thread) if thread.process == process => thread,
            _ => match Thread::open(process, number) {
                Err(Missed::Gone) => {
                    gone = true;
                    continue;
                }
                other => other?,
            },
        };
        match thread.booked() {
            Ok(work) => thread.sample.work = work,
            Err(Missed::Gone) => match Thread::open(process, number) {
                Ok(other) => thread = other, // the number was given to a new thread
                Err(Missed::Gone) => {
                    gone = true;
                    continue;
                }
                Err(missed) => return Err(missed),
            },
            Err(missed) => return Err(missed),
        }
        threads.push(thread);
    }
    for thread in &threads[first..] {
        thread.children(processes)?;
    }
    Ok(gone)
}
