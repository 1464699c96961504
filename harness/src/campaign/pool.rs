//! Runs independent jobs on a few threads and gives their results back in the order of the jobs.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
};

/// Places for what runs side by side, whichever part of a campaign asks for it.
pub struct Slots {
    free: Mutex<usize>,
    freed: Condvar,
    taken: AtomicU64,
}

/// A place that is taken until this is dropped.
pub struct Slot<'s>(&'s Slots);

impl Slots {
    /// So many, at least one.
    pub fn new(count: usize) -> Slots {
        Slots { free: Mutex::new(count.max(1)), freed: Condvar::new(), taken: AtomicU64::new(0) }
    }

    /// Takes one, as soon as one is free.
    pub fn take(&self) -> Slot<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let none = |free: &mut usize| *free == 0;
        let mut free = self.freed.wait_while(free, none).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        self.taken.fetch_add(1, Ordering::Relaxed);
        Slot(self)
    }

    /// How often one was taken so far.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

/// Applies `work` to every job on `workers` threads. The results are in the order of `jobs`, so that what
/// follows does not depend on which thread was faster.
pub fn map<Job: Sync, Done: Send>(
    workers: usize,
    jobs: &[Job],
    work: impl Fn(&Job) -> Done + Sync,
) -> Vec<Done> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Done)>> = Mutex::new(Vec::with_capacity(jobs.len()));
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { return };
                    let result = work(job);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Where jobs come from and their results go, where what comes next depends on what came out.
pub trait Work {
    /// What is to be done.
    type Job: Send;
    /// What came out.
    type Done: Send;
    /// The next job, if there is one now. Asked again after each result.
    fn next(&mut self) -> Option<Self::Job>;
    /// Takes a result. They come in the order of their jobs.
    fn take(&mut self, done: Self::Done);
}

/// Carries out jobs on `workers` threads, never more than `ahead` beyond the oldest whose result was not taken. There is
/// no batch that threads wait for, and still which job follows which result does not depend on which thread was faster:
/// each result that is taken makes room for one job.
pub fn stream<W: Work>(
    workers: usize,
    ahead: usize,
    work: &mut W,
    carry_out: impl Fn(W::Job) -> W::Done + Sync,
) {
    let (jobs, inbox) = mpsc::channel::<(u64, W::Job)>();
    let (outbox, results) = mpsc::channel::<(u64, std::thread::Result<W::Done>)>();
    let inbox = Mutex::new(inbox);
    std::thread::scope(|scope| {
        for _ in 0..workers.max(1) {
            let (inbox, outbox, carry_out) = (&inbox, outbox.clone(), &carry_out);
            scope.spawn(move || {
                loop {
                    let job = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((number, job)) = job else { return };
                    // One that panics must not leave the others waiting.
                    let done = catch_unwind(AssertUnwindSafe(|| carry_out(job)));
                    if outbox.send((number, done)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(outbox);
        let (mut begun, mut taken, mut early) = (0, 0, BTreeMap::new());
        loop {
            while begun - taken < ahead as u64
                && let Some(job) = work.next()
            {
                // Threads live until `jobs` is dropped.
                drop(jobs.send((begun, job)));
                begun += 1;
            }
            if begun == taken {
                break;
            }
            while !early.contains_key(&taken) {
                let Ok((number, done)) = results.recv() else { return };
                early.insert(number, done);
            }
            match early.remove(&taken) {
                Some(Ok(done)) => work.take(done),
                Some(Err(panic)) => {
                    drop(jobs);
                    resume_unwind(panic);
                }
                None => unreachable!("it was waited for"),
            }
            taken += 1;
        }
        drop(jobs);
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{Slots, Work, stream};

    #[test]
    fn never_more_run_side_by_side_than_there_are_places() {
        let slots = Slots::new(2);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        super::map(8, &[(); 200], |()| {
            let _slot = slots.take();
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::yield_now();
            now.fetch_sub(1, Ordering::SeqCst);
        });
        assert!((1..=2).contains(&most.into_inner()));
    }

    /// Each number below ten leads to two more; what was taken, in order.
    #[derive(Default)]
    struct Growing {
        waiting: std::collections::VecDeque<u64>,
        taken: Vec<u64>,
    }

    impl Work for Growing {
        type Job = u64;
        type Done = u64;
        fn next(&mut self) -> Option<u64> {
            self.waiting.pop_front()
        }
        fn take(&mut self, done: u64) {
            self.taken.push(done);
            if done < 10 {
                self.waiting.extend([2 * done, 2 * done + 1]);
            }
        }
    }

    #[test]
    fn the_order_of_a_stream_does_not_depend_on_threads() {
        let order = |workers| {
            let mut work = Growing { waiting: [1].into(), ..Growing::default() };
            // The first takes longest.
            stream(workers, 4, &mut work, |job| {
                let spin = if job.is_multiple_of(3) { 100_000 } else { 1 };
                (0..spin).for_each(|_| std::hint::spin_loop());
                job
            });
            work.taken
        };
        let one = order(1);
        assert_eq!(one, (1..20).collect::<Vec<_>>());
        assert_eq!((order(2), order(7)), (one.clone(), one));
    }

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        let jobs: Vec<u64> = (0..100).collect();
        let squares = super::map(4, &jobs, |job| job * job);
        assert_eq!(squares, jobs.iter().map(|job| job * job).collect::<Vec<_>>());
        assert_eq!(super::map(3, &[], |job: &u8| *job), Vec::<u8>::new());
    }
}
