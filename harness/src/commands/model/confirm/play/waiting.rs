//! How a player waits: for a step's moment, for quiet, and until nothing more comes.

use std::time::Duration;

use trace::Time;

use super::{
    After, Ending, Over, Player, Running, STABLE, Step,
    watchdog::{Watchdog, write},
};

/// Timers come late by at most this.
const LATE_MAX: Duration = Duration::from_secs(2);

impl Player<'_> {
    /// Waits for the moment of a step.
    pub(super) async fn wait_for(&mut self, step: &Step) -> Result<(), Over> {
        if let Some(at) = step.at {
            let due = self.began.1.plus(at.0);
            self.due = due;
            loop {
                let deadline = self.quiet().await?;
                let left = due.since(self.server.now());
                if left.is_zero() {
                    return Ok(());
                }
                self.pass(self.jump(deadline).min(left))?;
            }
        }
        match step.after {
            Some(After::Stable) => self.stable(STABLE).await,
            Some(After::Previous) | None => self.quiet().await.map(drop),
        }
    }

    /// Waits until nothing was written for so long.
    pub(super) async fn stable(&mut self, silence: Duration) -> Result<(), Over> {
        while let Some(left) = self.silence_left(silence).await? {
            self.pass(left)?;
        }
        Ok(())
    }

    /// Waits until a node that is drained is empty; false if nothing was written for so long.
    pub(super) async fn drained(&mut self, silence: Duration) -> Result<bool, Over> {
        while self.drain.is_going() {
            match self.silence_left(silence).await? {
                Some(left) if self.drain.is_going() => self.pass(left)?,
                Some(_) => break,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// The same behind the last step, unless it is enough before.
    pub(super) async fn rest(&mut self, silence: Duration) -> Result<Ending, Over> {
        let mut asked_at = None;
        while let Some(left) = self.silence_left(silence).await? {
            let revision = self.server.revision();
            if asked_at.replace(revision) != Some(revision)
                && (self.enough)(&self.so_far(Ending::Enough))
            {
                return Ok(Ending::Enough);
            }
            self.pass(left)?;
        }
        Ok(Ending::Settled)
    }

    /// Waits until all are quiet. Unless nothing was written for so long: the time to the next timer, or to then.
    async fn silence_left(&mut self, silence: Duration) -> Result<Option<Duration>, Over> {
        let deadline = self.quiet().await?;
        let left = silence.checked_sub(self.silence()).filter(|left| !left.is_zero());
        Ok(left.map(|left| self.jump(deadline).min(left)))
    }

    /// How long nothing was written.
    fn silence(&self) -> Duration {
        self.server.now().since(self.last_write().max(self.stepped.1))
    }

    /// How much time passes, if the next timer is due then.
    fn jump(&self, deadline: Option<Duration>) -> Duration {
        deadline.unwrap_or(Duration::MAX).max((self.silence() / 20).min(LATE_MAX))
    }

    fn last_write(&self) -> Time {
        let last = self.recorder.with(|history| {
            let mut latest = history.records.iter().rev();
            latest.find(|record| write(&record.event).is_some()).map(|record| record.at)
        });
        last.unwrap_or(Time(i64::MIN))
    }

    /// Waits until nothing can happen unless time passes; how long until something does.
    pub(super) async fn quiet(&mut self) -> Result<Option<Duration>, Over> {
        loop {
            let quiet = self.programs_quiet().await?;
            self.following.catch_up();
            let before = (self.server.revision(), self.activity());
            self.server.run_environment_and_call().await?;
            self.metrics.tell(self.server.now()).await?;
            self.drain.go_on(self.server.now()).await?;
            if (self.server.revision(), self.activity()) != before {
                continue;
            }
            let now = self.server.now();
            let timers = self.server.next_timer().into_iter().chain(self.server.next_watch_end());
            let timers = timers
                .map(|due| due.since(now))
                .chain(self.metrics.due(now))
                .chain(self.drain.due(now));
            let deadline = timers.chain(quiet.deadline).min();
            // One that is due now needs no time to pass, only the program to run.
            return Ok(deadline.map(|deadline| deadline.max(Duration::from_micros(1))));
        }
    }

    async fn programs_quiet(&mut self) -> Result<subject::Quiet, Over> {
        let limits = Watchdog::of(self);
        if let Some(over) = limits.over() {
            return Err(Over::Ends(over));
        }
        let server = self.server.clone();
        let mut watched: Vec<_> =
            self.programs.iter_mut().map(|program| program.watched(&server)).collect();
        let quiet = tokio::select! {
            biased;
            over = limits.exceeded() => return Err(Over::Ends(over)),
            quiet = subject::quiet(&mut watched) => quiet,
        };
        drop(watched);
        quiet.map_err(|why| {
            Over::Ends(Ending::Broken(match why {
                subject::NotQuiet::Ended { process, exit } => self.programs[process].ended(&exit),
                why => why.to_string(),
            }))
        })
    }

    fn activity(&self) -> u64 {
        self.programs.iter().map(Running::activity).sum()
    }

    /// Lets time pass, for all of them.
    fn pass(&mut self, duration: Duration) -> Result<(), Over> {
        self.server.advance_to(self.server.now().plus(duration));
        for program in &mut self.programs {
            program.advance(duration)?;
        }
        self.following.catch_up();
        Ok(())
    }
}
