//! Waiting for programs of the workload: scripts and commands, which live in this machine's time.
//!
//! While one of them works, no time passes in the world, as while anything else works. One that asks nothing and
//! sleeps waits for something (`kubectl wait` for a change, a loop for its next look), and what it waits for may come
//! after a timer of the controller's: so time passes then, to the next timer, again and again. No longer than the
//! operation's timeout: what a program on a real cluster had not seen by then, it would not see. The program itself
//! may take as long by this machine's clock, as ever.
//!
//! What that costs: how much time passes between two looks of a program that looks, sleeps and looks again depends on
//! this machine. One that watches, as `kubectl wait` does, wakes at the change that it waits for, and before the next
//! jump.

use std::time::Duration;

use trace::{Flight, Time};
use workloads::{Asleep, Programs};

use super::{Going, Trial, trigger::stopped};

/// So many looks in a row, with nobody having run and nothing having moved in between, show that a program waits, and
/// not only for what is on its way through this process.
const LOOKS: u32 = 3;

/// The first pause before a look at programs, and the longest. It decides nothing but how late one is seen to sleep.
const PAUSE: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(16);

/// Looks so far that found programs waiting.
#[derive(Default)]
struct Waiting {
    in_a_row: u32,
    seen: Option<Still>,
}

/// What stays the same while nothing happens.
#[derive(PartialEq)]
struct Still {
    asleep: Asleep,
    between: Flight,
    activity: u64,
}

impl Waiting {
    /// Another look; whether there were enough that saw the same.
    fn saw(&mut self, still: Option<Still>) -> bool {
        let same = still.is_some() && self.seen == still;
        self.in_a_row = if same { self.in_a_row + 1 } else { 0 };
        self.seen = still;
        self.in_a_row >= LOOKS
    }
}

impl Trial<'_> {
    /// Waits for `work`, of which these programs are a part; at most so much of the world's time passes.
    #[allow(clippy::disallowed_methods)] // a pause between looks: how late one is seen to sleep
    pub(super) async fn accompany<T>(
        &mut self,
        programs: &Programs,
        most: Duration,
        work: impl Future<Output = T>,
    ) -> Going<T> {
        let mut work = std::pin::pin!(work);
        let until = self.began().plus(most);
        let (mut waiting, mut pause) = (Waiting::default(), PAUSE);
        loop {
            let stop = tokio::select! {
                biased;
                () = stopped(&mut self.armed) => true,
                done = &mut work => return Ok(done),
                () = tokio::time::sleep(pause) => false,
            };
            if stop {
                // A perturbation's moment came while programs run.
                self.crash().await?;
            } else if self.asks() {
                self.quiet().await?;
            } else if programs.asleep().is_some_and(|asleep| asleep.is_somebody())
                && self.setup.virtual_time()
            {
                // The controller goes first, then what is built in.
                let deadline = self.quiet().await?.deadline;
                let enough = waiting.saw(self.still(programs));
                if enough && self.go_on(deadline, until).await? {
                    waiting = Waiting::default();
                }
                if waiting.in_a_row < LOOKS {
                    pause = PAUSE;
                    continue;
                }
            } else {
                waiting = Waiting::default();
            }
            pause = (pause * 3 / 2).min(PAUSE_MAX);
        }
    }

    /// The moment, if programs sleep in it and have asked nothing that has no answer.
    fn still(&self, programs: &Programs) -> Option<Still> {
        let asleep = programs.asleep().filter(Asleep::is_somebody)?;
        let between = self.cluster.user_flight();
        let nothing = between.calls.is_empty() && self.cluster.undelivered() == 0;
        nothing.then(|| Still { asleep, between, activity: self.activity() })
    }

    /// Programs wait: what they wait for is the controller, if it is down, or time; whether anything came of it.
    async fn go_on(&mut self, deadline: Option<Duration>, until: Time) -> Going<bool> {
        if !self.members.subject_is_complete() {
            self.bring_up().await?;
            return Ok(true);
        }
        let left = until.since(self.cluster.now());
        match deadline {
            Some(deadline) if deadline <= left && !left.is_zero() => {
                // One that is due now needs no time to pass, only the process to run.
                self.pass(deadline.max(Duration::from_micros(1))).await?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_looks_that_saw_the_same_count() {
        let still = |activity| {
            Some(Still { asleep: Asleep::default(), between: Flight::default(), activity })
        };
        let check = |looks: &[Option<u64>], expect: bool| {
            let mut waiting = Waiting::default();
            let mut enough = false;
            for look in looks {
                enough = waiting.saw(look.and_then(still));
            }
            assert_eq!(enough, expect, "{looks:?}");
        };
        check(&[Some(1); 3], false);
        check(&[Some(1); 4], true);
        check(&[Some(1), Some(1), Some(2), Some(2), Some(2)], false);
        check(&[Some(1), Some(1), None, Some(1), Some(1), Some(1)], false);
        check(&[None; 9], false);
    }
}
