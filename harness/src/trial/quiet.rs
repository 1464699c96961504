//! Waiting: until quiet, until settled, until a condition holds. Time passes here and nowhere else.
//!
//! **The environment is slower than the controller and faster than the user.** The built-in controllers act when the
//! controller is quiet, one reconcile after the other, to their fixpoint; the user acts after that. Their writes are
//! places to kill the controller (`plans::Moment::Environment`), and what they have still to do is part of a world's
//! identity (`World::pending`). A killed controller is started again at once, on a world in which they have not
//! reacted, or when they are quiet.

use std::time::{Duration, Instant};

use trace::{Event, Settled, Time};

use oracles::judge::livelock::{
    COMMITS_WITHOUT_SETTLING, Cycle, REQUESTS_WITHOUT_QUIET, for_so_long,
};

use super::{
    Going, RunEnd, Stop, Trial, delivery_order::InTurn, members::Member, trigger::stopped,
    webhook_calls::Looks,
};
use crate::campaign::{
    interrupt,
    settle::{self, Wait},
};

/// Timers due this soon fire before the user does anything else. A subject's clock runs on while we look at
/// it: whether its one-millisecond queues come before or after a user's write would depend on how busy this
/// machine is. Below client-go's shortest poll (100 ms), far above the time that looking takes.
pub(crate) const AT_ONCE: Duration = Duration::from_millis(50);

/// How often to look whether something happened while real time passes. It decides nothing.
const PACE: Duration = Duration::from_millis(1);

/// Why a trial ends that may not take longer.
const OUT_OF_TIME: &str = "the time budget was used up";

/// What quiet found.
pub(super) struct Quiet {
    /// Time until the subject's next timer; none if nothing is pending.
    pub deadline: Option<Duration>,
    /// The timers, as sentences.
    pub timers: Vec<String>,
}

impl Trial<'_> {
    /// Waits until nothing can happen unless we send input or time passes. Carries out every perturbation
    /// whose moment comes meanwhile.
    pub(super) async fn quiet(&mut self) -> Going<Quiet> {
        let mut looks = Looks::default();
        let mut limits = Limits::new(self);
        loop {
            if self.members.nobody_runs() {
                self.cluster.caught_up().await;
                self.run_environment().await?;
                return Ok(Quiet { deadline: self.environment_deadline(), timers: vec![] });
            }
            match self.wait(&mut limits).await {
                Waited::Stopped => {
                    self.crash().await?;
                    limits = Limits::new(self);
                }
                Waited::Quiet(Ok(mut quiet)) => {
                    self.following.catch_up();
                    if self.next_in_turn() || self.start_next_replica().await? {
                        continue;
                    }
                    if self.asks() {
                        self.look_again(&mut looks, quiet.deadline).await?;
                        continue;
                    }
                    let activity = self.activity();
                    self.cluster.caught_up().await;
                    if self.activity() != activity {
                        continue;
                    }
                    // The environment is slower than the subject, faster than the user.
                    let revision = self.cluster.revision();
                    self.react().await?;
                    if self.observe().await? || self.cluster.revision() != revision {
                        continue;
                    }
                    if self.members.manager.is_some() {
                        quiet.timers.pop();
                    }
                    let timers = quiet.timers.iter().flatten().map(ToString::to_string).collect();
                    let deadlines = quiet.deadline.into_iter().chain(self.environment_deadline());
                    let deadline = deadlines.min();
                    if self.attend_to_standing(deadline) {
                        continue;
                    }
                    return Ok(Quiet { deadline, timers });
                }
                Waited::Quiet(Err(why)) => self.not_quiet(why).await?,
                Waited::Exceeded(why) => self.at_the_limit(&mut limits, &why)?,
            }
        }
    }

    /// The subject does not become quiet. What stands ends first, for no cluster keeps caches behind, or events back, for
    /// as long; if nothing does, or no time is left, the trial is over.
    pub(super) fn at_the_limit(&mut self, limits: &mut Limits, why: &str) -> Going<()> {
        let in_time = self.until.is_none_or(|until| Instant::now() < until);
        if in_time && self.end_standing() {
            *limits = Limits::new(self);
            return Ok(());
        }
        let why = format!("{why}; {}{}", self.why_busy(), self.cycle());
        Err(Stop(RunEnd::NeverSettled(why)))
    }

    /// Lets the next thing come to the subject, where they come one at a time; `false` if nothing waits.
    pub(super) fn next_in_turn(&mut self) -> bool {
        self.in_turn.as_mut().is_some_and(InTurn::next)
    }

    /// One of the programs has ended, which is to be dealt with; or the wait is over.
    pub(super) async fn not_quiet(&mut self, why: subject::NotQuiet) -> Going<()> {
        match why {
            subject::NotQuiet::Ended { process, exit } => match self.members.who().get(process) {
                Some(Member::Replica(replica)) => self.subject_exited(*replica, exit).await,
                _ => Err(self.manager_exited(&exit)),
            },
            // It is we who can't look.
            subject::NotQuiet::Unknown(subject::Why::Unreadable(_))
            | subject::NotQuiet::Pace(_) => Err(Stop::broken(why)),
            // What stands may be why.
            _ if self.end_standing() => Ok(()),
            why => Err(Stop(RunEnd::NeverSettled(format!("{why}{}", self.cycle())))),
        }
    }

    /// Waits until the programs are quiet, or something has to be done before. Requests that wait for a webhook of the
    /// subject don't count: it may be asleep ([`Trial::asks`]).
    pub(super) async fn wait(&mut self, limits: &mut Limits) -> Waited {
        if let Some(why) = limits.over() {
            return Waited::Exceeded(why);
        }
        let Trial { members, cluster, armed, hooks, .. } = self;
        let mut watched = members.watched(&**cluster, hooks.as_ref());
        tokio::select! {
            biased;
            () = stopped(armed) => Waited::Stopped,
            quiet = subject::quiet(&mut watched) => Waited::Quiet(quiet),
            why = limits.exceeded() => Waited::Exceeded(why),
        }
    }

    /// Lets the built-in controllers act until they are quiet, or one makes the write after which the subject is
    /// to be killed: nothing of the subject passes in between.
    async fn react(&mut self) -> Going<()> {
        if self.awaited_write.is_none() {
            return self.run_environment().await;
        }
        let mut seen = self.recorder.with(|history| history.records.len());
        for _ in 0..cluster::REQUESTS_WITHOUT_REST {
            if !self.step_environment().await? {
                return Ok(());
            }
            // It is none if the subject died meanwhile.
            let Some(counter) = &mut self.awaited_write else { return Ok(()) };
            let reached = self.recorder.with(|history| {
                let new = &history.records[seen..];
                seen = history.records.len();
                new.iter().any(|record| match &record.event {
                    Event::Commit(commit) => counter.committed(commit),
                    _ => false,
                })
            });
            if reached {
                self.proxy.gate().close();
                return self.crash().await;
            }
        }
        Err(Stop(RunEnd::NeverSettled("the built-in controllers don't come to rest".to_owned())))
    }

    /// Looks what controllers wrote that are only observed, and kills the subject if the awaited write is among it. Whether
    /// anything came of it.
    async fn observe(&mut self) -> Going<bool> {
        let Some(awaited) = &mut self.observed_write else { return Ok(false) };
        if !awaited.has_come() {
            return Ok(awaited.lets_go());
        }
        self.proxy.gate().close();
        self.crash().await?;
        Ok(true)
    }

    /// Lets the built-in controllers act until they are quiet.
    pub(super) async fn run_environment(&mut self) -> Going<()> {
        let Some(server) = self.cluster.server() else { return Ok(()) };
        let ran = self.attend(async move { server.run_environment_and_call().await }).await?;
        ran.map_err(|restless| Stop(RunEnd::NeverSettled(restless.to_string())))
    }

    /// Lets them send one request; whether they had one.
    async fn step_environment(&mut self) -> Going<bool> {
        let Some(server) = self.cluster.server() else { return Ok(false) };
        let step = async move { server.step_environment_and_call().await };
        Ok(self.attend(step).await?.is_some())
    }

    /// Time until the cluster does something by itself: a built-in controller acts, a watch ends. Controllers that nobody
    /// here can look at may act until the world has not changed for two seconds.
    fn environment_deadline(&mut self) -> Option<Duration> {
        if self.cluster.acts_by_itself() {
            let silence = settle::REAL.min(self.waits.at_a_step.horizon);
            let left = silence.saturating_sub(self.undisturbed_for());
            return (!left.is_zero()).then_some(left);
        }
        self.cluster.next_timer().map(|due| due.since(self.cluster.now()))
    }

    /// Quiet, and nothing is due at once, nor the first work of a subject that was started again: the moment at which a
    /// user acts.
    pub(super) async fn calm(&mut self) -> Going<()> {
        let mut began = self.cluster.now();
        loop {
            let deadline = self.quiet().await?.deadline;
            let passed = self.cluster.now().since(began);
            let standing = self.standing_time();
            match deadline {
                // Without a timer nothing would come of it but the end of what stands.
                None if !standing.is_zero() && passed < standing => self.pass(standing).await?,
                Some(deadline) if !standing.is_zero() => {
                    // Not to just before a timer: whether that comes before the end of what stands would be chance.
                    let near = deadline <= standing + AT_ONCE;
                    let time = if near { deadline } else { standing };
                    self.pass(time.max(Duration::from_micros(1))).await?;
                    began = self.cluster.now();
                }
                Some(deadline) if deadline <= self.first_work_left() => {
                    self.pass(deadline.max(Duration::from_micros(1))).await?;
                    began = self.cluster.now();
                }
                Some(deadline) if passed + deadline <= AT_ONCE => {
                    // One that is due now needs no time to pass, only the process to run.
                    self.pass(deadline.max(Duration::from_micros(1))).await?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Waits until all is quiet and the store has not changed for the horizon, with everything up. Replicas that are still
    /// down by plan come up when the others have done what they can.
    pub(super) async fn settle(&mut self, end: bool) -> Going<()> {
        self.watch.settling(true);
        let settled = self.settle_timed(end).await;
        self.watch.settling(false);
        settled
    }

    async fn settle_timed(&mut self, end: bool) -> Going<()> {
        if !self.members.subject_is_down() && !self.members.subject_is_complete() {
            self.rest(end).await?;
        }
        self.bring_up().await?;
        let pending = self.rest(end).await?;
        let state = self.cluster.settled_state();
        let (cursor, revision) = (self.cursor, self.cluster.revision());
        self.recorder.record(Event::Settled(Settled { cursor, end, revision, pending, state }));
        Ok(())
    }

    /// Waits until the store has not changed for the horizon; the timers that are pending then.
    async fn rest(&mut self, end: bool) -> Going<Vec<String>> {
        let Wait { horizon, jumps: jumps_max } =
            if end { self.waits.at_the_end } else { self.waits.at_a_step };
        let mut jumps = 0;
        let commits_before = self.commits.look(&self.recorder).count;
        let began = self.cluster.now();
        let pending = loop {
            let quiet = self.quiet().await?;
            let since = self.undisturbed_for();
            let commits = self.commits.count - commits_before;
            if commits > COMMITS_WITHOUT_SETTLING
                || self.cluster.now().since(began) > self.waits.at_most
            {
                let passed = for_so_long(self.cluster.now().since(began));
                return Err(Stop(RunEnd::NeverSettled(format!(
                    "the store went on changing: {commits} commits in {passed} of its own time{}",
                    self.cycle(),
                ))));
            }
            match quiet.deadline {
                Some(deadline) if since + deadline <= horizon && jumps < jumps_max => {
                    self.pass(deadline).await?;
                    jumps += 1;
                }
                // A horizon of real time must really pass where a timer is near; otherwise nothing can
                // happen before it is over.
                // What is judged now is judged without what lasts.
                _ if self.end_standing() => jumps = 0,
                _ => break quiet.timers,
            }
        };
        if (1..jumps_max).contains(&jumps) && self.setup.virtual_time() {
            // All trials that waited here end at the same moment, whatever their timers' exact phases.
            let left = horizon.saturating_sub(self.undisturbed_for());
            self.pass(left).await?;
        }
        Ok(pending)
    }

    /// Lets time pass until then by the world's clock, stopping at each of the subject's timers.
    pub(super) async fn pass_until(&mut self, until: Time) -> Going<()> {
        loop {
            let quiet = self.quiet().await?;
            let left = until.since(self.cluster.now());
            if left.is_zero() {
                return Ok(());
            }
            self.pass(quiet.deadline.unwrap_or(left).min(left)).await?;
        }
    }

    /// Lets time pass. With virtual time: a jump of every clock. With real time: waits, but no longer than
    /// until something happens.
    pub(super) async fn pass(&mut self, duration: Duration) -> Going<()> {
        if duration.is_zero() {
            return Ok(());
        }
        let from = self.cluster.now();
        if self.setup.virtual_time() {
            self.cluster.advance_to(from.plus(duration));
            for process in self.members.processes() {
                process.advance(duration).map_err(Stop::broken)?;
            }
            self.following.catch_up();
        } else {
            let activity = self.activity();
            let changed = async {
                let mut pace = tokio::time::interval(PACE);
                while self.activity() == activity {
                    pace.tick().await;
                }
            };
            // The only real wait of the project: a subject's timer on a machine without virtual time.
            let began = Instant::now();
            drop(tokio::time::timeout(duration, changed).await);
            self.cluster.advance_to(from.plus(began.elapsed().min(duration)));
        }
        self.recorder.record(Event::Clock { from });
        Ok(())
    }

    /// What the subject does again and again, if it does.
    fn cycle(&self) -> String {
        let cycle = self.recorder.with(|history| Cycle::of(history, 0));
        cycle.map(|cycle| format!("; {cycle}")).unwrap_or_default()
    }

    /// World time since the last step, start, or commit that is no bookkeeping.
    fn undisturbed_for(&mut self) -> Duration {
        let last = self.commits.look(&self.recorder).last;
        let since = last.unwrap_or(Time(i64::MIN)).max(self.disturbed_at);
        self.cluster.now().since(since)
    }
}

pub(super) enum Waited {
    Stopped,
    Quiet(Result<subject::Quiet, subject::NotQuiet>),
    Exceeded(String),
}

/// A bound on the way to one quiet moment, so that a hot loop ends the trial and not the patience of the user; also one
/// whose answers come one at a time, with a wait for each. What a subject does by itself is bounded in `subject::quiet`.
pub(super) struct Limits {
    recorder: trace::Recorder,
    /// Records that were looked at.
    seen: usize,
    /// Requests among those that are new.
    requests: usize,
    until: Option<Instant>,
    /// Connections that this process had refused before the trial.
    refused: u64,
}

impl Limits {
    pub(super) fn new(trial: &Trial<'_>) -> Limits {
        let recorder = trial.recorder.clone();
        let seen = recorder.with(|history| history.records.len());
        Limits { recorder, seen, requests: 0, until: trial.until, refused: trial.refused }
    }

    /// Why it is over, if it is.
    fn over(&mut self) -> Option<String> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Some(OUT_OF_TIME.to_owned());
        }
        // Undisturbed runs wait for long, and nothing is lost with them.
        if self.until.is_some() && interrupt::asked() {
            return Some("interrupted".to_owned());
        }
        if proxy::accepting::refused() > self.refused {
            return Some(proxy::accepting::shortage());
        }
        let seen = self.seen;
        let (records, new) = self.recorder.with(|history| {
            let new = history.records.get(seen..).unwrap_or_default();
            let calls = new.iter().filter(|record| matches!(record.event, Event::Call(_)));
            (history.records.len(), calls.count())
        });
        (self.seen, self.requests) = (records, self.requests + new);
        (self.requests > REQUESTS_WITHOUT_QUIET)
            .then(|| format!("{} requests without a quiet moment: a hot loop", self.requests))
    }

    /// Ends when a limit is exceeded; checked ten times a second, which decides nothing else.
    async fn exceeded(&mut self) -> String {
        let mut pace = tokio::time::interval(Duration::from_millis(100));
        loop {
            pace.tick().await;
            if let Some(why) = self.over() {
                return why;
            }
        }
    }
}
