//! Checks side by side: as many at once as the machine has processors and two more, because some of them wait for
//! real programs or real time. Each is printed as a whole when it ends, so that outputs don't mix.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    thread,
};

use crate::{report::Report, run::Output};

/// A check that can run beside others.
pub struct Job<'a> {
    /// What it is called.
    pub name: String,
    /// Whether it needs the judge, and so waits until that is built (see [`Job::judge`]).
    pub needs_judge: bool,
    /// Whether it is what builds the judge.
    pub judge: bool,
    /// Carries it out.
    pub run: Box<dyn FnOnce(&mut Output) -> Report + Send + 'a>,
}

impl<'a> Job<'a> {
    /// A check that needs nothing.
    pub fn new(
        name: impl Into<String>,
        run: impl FnOnce(&mut Output) -> Report + Send + 'a,
    ) -> Job<'a> {
        Job { name: name.into(), needs_judge: false, judge: false, run: Box::new(run) }
    }

    /// The same, begun only after the judge was built.
    #[must_use]
    pub fn needing_judge(self, needs_judge: bool) -> Job<'a> {
        Job { needs_judge, ..self }
    }
}

struct Queue<'a> {
    waiting: Vec<Job<'a>>,
    judge_is_built: bool,
    ended: Vec<Report>,
}

impl<'a> Queue<'a> {
    /// The first that can begin.
    fn next(&mut self) -> Option<Job<'a>> {
        let ready = |job: &Job<'_>| self.judge_is_built || !job.needs_judge;
        let first = self.waiting.iter().position(ready)?;
        Some(self.waiting.remove(first))
    }
}

/// Runs them all, those first that stand first. What they came to is in the order in which they ended.
pub fn side_by_side(jobs: Vec<Job<'_>>) -> Vec<Report> {
    let lanes = thread::available_parallelism().map_or(1, usize::from) + 2;
    let judge_is_built = !jobs.iter().any(|job| job.judge);
    let queue = Mutex::new(Queue { waiting: jobs, judge_is_built, ended: Vec::new() });
    let changed = Condvar::new();
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| lane(&queue, &changed));
        }
    });
    queue.into_inner().unwrap_or_else(PoisonError::into_inner).ended
}

fn lane(queue: &Mutex<Queue<'_>>, changed: &Condvar) {
    let mut held = queue.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let Some(job) = held.next() else {
            if held.waiting.is_empty() {
                return;
            }
            held = changed.wait(held).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        drop(held);
        println!("... {} begins", job.name);
        let is_judge = job.judge;
        let mut output = Output::kept();
        let report = (job.run)(&mut output);
        output.print(&job.name, report.took);
        held = queue.lock().unwrap_or_else(PoisonError::into_inner);
        // Built or not: those that need it say what it is that they lack.
        held.judge_is_built |= is_judge;
        held.ended.push(report);
        changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::Counts;

    fn job<'a>(name: &str, order: &'a Mutex<Vec<String>>) -> Job<'a> {
        let own = name.to_owned();
        Job::new(name, move |_| {
            order.lock().unwrap().push(own.clone());
            let counts = Counts { passed: 1, ..Counts::default() };
            Report { name: own, counts, ..Report::default() }
        })
    }

    #[test]
    fn all_run_and_the_judge_comes_before_those_that_need_it() {
        let order = Mutex::new(Vec::new());
        let jobs = vec![
            job("compares", &order).needing_judge(true),
            Job { judge: true, ..job("judge", &order) },
            job("other", &order),
        ];
        assert_eq!(side_by_side(jobs).len(), 3);
        let order = order.into_inner().unwrap();
        let at = |name: &str| order.iter().position(|other| other == name).unwrap();
        assert!(at("judge") < at("compares"), "{order:?}");
    }

    #[test]
    fn without_a_judge_to_build_nothing_waits_for_it() {
        let order = Mutex::new(Vec::new());
        side_by_side(vec![job("compares", &order).needing_judge(true)]);
        assert_eq!(*order.lock().unwrap(), ["compares"]);
    }
}
