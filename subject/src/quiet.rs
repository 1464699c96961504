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
const LONGEST_PAUSE: Duration = Duration::from_millis(2);
/// An unknown that stays for so many looks is no passing one (a socket that was just being closed).
const UNKNOWN_LOOKS: u32 = 20;

/// Processor time, in nanoseconds, that subjects may use without a quiet moment before their clocks go on with it:
/// one that spins until some time has passed must come to its end. More than any runtime takes to start.
const WORK_IN_NO_TIME: u64 = 3_000_000_000;

/// Waits until all the processes are quiet at one moment: all of them twice in a row, with nobody
/// having run and nothing having passed through the proxy in between, and with all ready tasks of
/// this runtime having had their turn. The pauses between looks are only a pace: what decides is
/// what a look finds.
pub async fn quiet(
    processes: &mut [&mut Process],
    flight: &dyn Fn() -> Flight,
) -> Result<Quiet, NotQuiet> {
    let pace = Pace::new()?;
    let (mut pause, mut pauses) = (FIRST_PAUSE, 0);
    let (mut unknown, mut activity) = (0, flight().activity);
    let mut work = Work { booked: runtime(processes), used: 0, passed: 0 };
    loop {
        let now = flight();
        match look_at_all(processes, &now)? {
            Ok(mut found) => {
                tokio::task::yield_now().await;
                if flight() == now && processes.iter_mut().all(|process| process.still()) {
                    found.passed = Duration::from_nanos(work.passed);
                    return Ok(found);
                }
                unknown = 0;
                continue;
            }
            Err(Look::Unknown(why)) if unknown >= UNKNOWN_LOOKS => {
                return Err(NotQuiet::Unknown(why));
            }
            Err(Look::Unknown(_)) => unknown += 1,
            Err(Look::Busy(Why::Due(_))) => {
                let mut all = processes.iter_mut();
                all.try_for_each(|process| process.end_due_waits()).map_err(NotQuiet::Stuck)?;
                unknown = 0;
            }
            Err(_) => unknown = 0,
        }
        work.go_on(processes, &now)?;
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
    /// What their threads were charged at the latest look.
    booked: u64,
    used: u64,
    passed: u64,
}

impl Work {
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

/// One look at each; the first that is not quiet stops the round.
fn look_at_all(
    processes: &mut [&mut Process],
    flight: &Flight,
) -> Result<Result<Quiet, Look>, NotQuiet> {
    let mut all = Vec::new();
    for (number, process) in processes.iter_mut().enumerate() {
        match process.look(flight) {
            Look::Quiet { timers, .. } => all.extend(timers),
            Look::Unknown(Why::Ended(exit)) => {
                return Err(NotQuiet::Ended { process: number, exit });
            }
            other => return Ok(Err(other)),
        }
    }
    all.sort_by_key(|timer| timer.remaining);
    let deadline = all.first().map(|timer| timer.remaining);
    Ok(Ok(Quiet { deadline, timers: all, passed: Duration::ZERO }))
}
