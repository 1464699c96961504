//! Runs independent jobs on a few threads and gives their results back in the order of the jobs.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

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

#[cfg(test)]
mod tests {
    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        let jobs: Vec<u64> = (0..100).collect();
        let squares = super::map(4, &jobs, |job| job * job);
        assert_eq!(squares, jobs.iter().map(|job| job * job).collect::<Vec<_>>());
        assert_eq!(super::map(3, &[], |job: &u8| *job), Vec::<u8>::new());
    }
}
