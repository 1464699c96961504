//! Waiting until subjects are quiet.

use std::{io, time::Duration};

use trace::Flight;

use crate::{
    look::Look,
    process::{Exit, Process},
    sys::timer::Pace,
    why::{Timer, Why},
};

/// All subjects are quiet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quiet {
    /// Time to the next timer of any of them, by their clocks; `None`: there is none.
    pub deadline: Option<Duration>,
    /// All known timers, the next one first.
    pub timers: Vec<Timer>,
    /// How far their clocks were moved meanwhile, because they worked so long that time had to pass. Nearly always
    /// nothing.
    pub passed: Duration,
}

/// Quiet can't be reached or can't be known.
#[derive(Debug, thiserror::Error)]
pub enum NotQuiet {
    /// One of the subjects has ended.
    #[error("the subject has ended: {exit}")]
    Ended {
        /// Which of those that were passed, from 0.
        process: usize,
        /// How.
        exit: Exit,
    },
    /// Something is there that can't be seen through.
    #[error("{0}")]
    Unknown(Why),
    /// They work on and on.
    #[error("no quiet moment in {} s of processor time; {}", .0.as_secs(), .1.explained())]
    Working(Duration, Why),
    /// They are not asleep, but neither run nor get or send anything: they wait for what nobody here can give.
    #[error("no quiet moment, though it does nothing; {}", .0.explained())]
    Standstill(Why),
    /// No timer for the pace could be had.
    #[error("can't wait: {0}")]
    Pace(#[from] io::Error),
    /// A wait that was over could not be ended, or a clock not be moved.
    #[error("a thread that sleeps can't be made to notice the time: {0}")]
    Stuck(io::Error),
}

/// Pause after a look that found something under way: most work is done in a fraction of a millisecond, and a look at
/// a program that runs costs some microseconds.
const FIRST_PAUSE: Duration = Duration::from_micros(30);
/// So many short pauses before they grow.
const SHORT_PAUSES: u32 = 30;
/// Longest pause between two looks.
const LONGEST_PAUSE: Duration = Duration::from_millis(3);
/// An unknown that stays for so many looks is no passing one (a socket that was just being closed).
const UNKNOWN_LOOKS: u32 = 20;

/// Processor time, in nanoseconds, that subjects may use without a quiet moment before their clocks go on with it:
/// one that spins until some time has passed must come to its end. More than any runtime takes to start.
const WORK_IN_NO_TIME: u64 = 3_000_000_000;

/// How long to wait for quiet. None of it is real time: on a busy machine a JVM takes minutes to start.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Processor time that subjects may use without a quiet moment before they count as a loop.
    pub work: Duration,
    /// So many looks in a row at subjects that are not quiet and yet neither run nor get or send anything. On a busy
    /// machine looks come more seldom, just as the subject's turns do.
    pub idle_looks: u32,
}

impl Default for Patience {
    /// A minute of each, if the machine is not busy.
    fn default() -> Patience {
        Patience { work: Duration::from_secs(60), idle_looks: 20_000 }
    }
}

/// Waits until all the processes are quiet at one moment: all of them twice in a row, with nobody
/// having run and nothing having passed through the proxy in between, and with all ready tasks of
/// this runtime having had their turn. The pauses between looks are only a pace: what decides is
/// what a look finds.
pub async fn quiet(
    processes: &mut [&mut Process],
    flight: &dyn Fn() -> Flight,
) -> Result<Quiet, NotQuiet> {
    quiet_within(processes, flight, Patience::default()).await
}

/// The same with a patience of the caller's.
pub async fn quiet_within(
    processes: &mut [&mut Process],
    flight: &dyn Fn() -> Flight,
    patience: Patience,
) -> Result<Quiet, NotQuiet> {
    let pace = Pace::new()?;
    let (mut pause, mut pauses) = (FIRST_PAUSE, 0);
    let (mut unknown, mut activity) = (0, flight().activity);
    let mut work = Work::since(processes, patience);
    loop {
        let now = flight();
        let seen = look_at_all(processes, &now)?;
        unknown = if matches!(seen, Seen::Unknown(_)) { unknown + 1 } else { 0 };
        let (why, again) = match seen {
            Seen::Quiet(mut found) => {
                tokio::task::yield_now().await;
                if flight() == now && processes.iter_mut().all(|process| process.still()) {
                    found.passed = Duration::from_nanos(work.passed);
                    return Ok(found);
                }
                (Why::Changed, true)
            }
            Seen::Unknown(why) if unknown > UNKNOWN_LOOKS => return Err(NotQuiet::Unknown(why)),
            Seen::Unknown(why) => (why, false),
            Seen::Busy(why) => (why, false),
        };
        if matches!(why, Why::Due(_)) {
            let mut all = processes.iter_mut();
            all.try_for_each(|process| process.end_due_waits()).map_err(NotQuiet::Stuck)?;
        }
        work.go_on(processes, &now)?;
        work.bounded(now.activity, why)?;
        if again {
            continue;
        }
        if now.activity != activity {
            (activity, pause, pauses) = (now.activity, FIRST_PAUSE, 0);
        }
        // The other tasks of this runtime, and the subject, go on meanwhile.
        pace.rest(pause).await?;
        pauses += 1;
        if pauses > SHORT_PAUSES {
            pause = (pause * 3 / 2).min(LONGEST_PAUSE);
        }
    }
}

/// What subjects did since the last quiet moment, in nanoseconds.
struct Work {
    patience: Patience,
    /// What their threads were charged at the latest look.
    booked: u64,
    used: u64,
    passed: u64,
    /// What had been done when it was last seen that nothing had, and in how many looks in a row.
    idle: (u64, u64, u32),
}

impl Work {
    fn since(processes: &[&mut Process], patience: Patience) -> Work {
        Work { patience, booked: runtime(processes), used: 0, passed: 0, idle: (0, 0, 0) }
    }

    /// Whether they may still become quiet. Errors: they loop, or wait for what nobody here can give.
    fn bounded(&mut self, activity: u64, why: Why) -> Result<(), NotQuiet> {
        let (used, seen, looks) = self.idle;
        // One that could run waits for a processor only.
        let waits_here = matches!(why, Why::Runs { state: 'R', .. });
        let stands = (used, seen) == (self.booked, activity) && !waits_here;
        let looks = if stands { looks + 1 } else { 0 };
        self.idle = (self.booked, activity, looks);
        let used = Duration::from_nanos(self.used);
        if used > self.patience.work {
            return Err(NotQuiet::Working(used, why));
        }
        if looks > self.patience.idle_looks {
            return Err(NotQuiet::Standstill(why));
        }
        Ok(())
    }

    /// Lets the time of further work pass if there was too much; never while a request is under way.
    fn go_on(&mut self, processes: &mut [&mut Process], flight: &Flight) -> Result<(), NotQuiet> {
        let booked = runtime(processes);
        let step = booked.saturating_sub(self.booked);
        (self.booked, self.used) = (booked, self.used + step);
        let moves = processes.iter().all(|process| process.has_virtual_clock());
        if self.used <= WORK_IN_NO_TIME || step == 0 || !flight.calls.is_empty() || !moves {
            return Ok(());
        }
        self.passed += step;
        let by = Duration::from_nanos(step);
        processes.iter_mut().try_for_each(|process| process.advance(by)).map_err(NotQuiet::Stuck)
    }
}

fn runtime(processes: &[&mut Process]) -> u64 {
    processes.iter().map(|process| process.runtime()).sum()
}

/// What a look at all of them found.
enum Seen {
    Quiet(Quiet),
    Busy(Why),
    Unknown(Why),
}

/// One look at each; the first that is not quiet stops the round.
fn look_at_all(processes: &mut [&mut Process], flight: &Flight) -> Result<Seen, NotQuiet> {
    let mut all = Vec::new();
    for (number, process) in processes.iter_mut().enumerate() {
        match process.look(flight) {
            Look::Quiet { timers, .. } => all.extend(timers),
            Look::Unknown(Why::Ended(exit)) => {
                return Err(NotQuiet::Ended { process: number, exit });
            }
            Look::Busy(why) => return Ok(Seen::Busy(why)),
            Look::Unknown(why) => return Ok(Seen::Unknown(why)),
        }
    }
    all.sort_by_key(|timer| timer.remaining);
    let deadline = all.first().map(|timer| timer.remaining);
    Ok(Seen::Quiet(Quiet { deadline, timers: all, passed: Duration::ZERO }))
}
