//! Waiting until subjects are quiet.
//!
//! **No limit in real time.** A subject is given up when it has used half a minute of processor time without a quiet
//! moment, or stands still in what nobody here can give ([`Patience`]). A machine that is busy only makes it late.
//! That its disk answers, or takes a core dump, is waited for as long as it lasts.

use std::{io, time::Duration};

use trace::Flight;

use crate::{
    at_rest::Look,
    process::{Exit, Process},
    sys::timer::Pace,
    why::{Timer, Why},
};

/// All subjects are quiet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quiet {
    /// Time to the next timer of any of them, by their clocks; `None`: there is none.
    pub deadline: Option<Duration>,
    /// All known timers of each, the next one first.
    pub timers: Vec<Vec<Timer>>,
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
    /// Half a minute of work; a minute of doing nothing, if the machine is not busy.
    fn default() -> Patience {
        Patience { work: Duration::from_secs(30), idle_looks: 20_000 }
    }
}

/// A process, and what is under way between it and its server: processes in namespaces of their own have connections
/// with the same ports, so each has its own account of them.
pub struct Watched<'a> {
    process: &'a mut Process,
    flight: Box<dyn Fn() -> Flight + 'a>,
}

impl<'a> Watched<'a> {
    /// A process, and what its server says whenever it is asked.
    pub fn new(process: &'a mut Process, flight: impl Fn() -> Flight + 'a) -> Watched<'a> {
        Watched { process, flight: Box::new(flight) }
    }
}

/// Waits until all the processes are quiet at one moment: a look at each found nothing, and when all ready tasks of this
/// runtime have had their turn, nobody has run and nothing has passed through the proxy since. The pauses between looks are only a pace: what decides is
/// what a look finds.
pub async fn quiet(watched: &mut [Watched<'_>]) -> Result<Quiet, NotQuiet> {
    quiet_within(watched, Patience::default()).await
}

/// The same with a patience of the caller's.
pub async fn quiet_within(
    watched: &mut [Watched<'_>],
    patience: Patience,
) -> Result<Quiet, NotQuiet> {
    let pace = Pace::new()?;
    let (mut pause, mut pauses, mut rested) = (FIRST_PAUSE, 0, false);
    let (mut unknown, mut activity) = (0, moved(&flights(watched)));
    let mut work = Work::since(watched, patience);
    loop {
        let now = flights(watched);
        let seen = look_at_all(watched, &now)?;
        unknown = if matches!(seen, Seen::Unknown(_)) { unknown + 1 } else { 0 };
        let (why, again) = match seen {
            Seen::Quiet(found) => {
                tokio::task::yield_now().await;
                let still = watched.iter_mut().try_for_each(|one| one.process.still());
                match still {
                    Ok(()) if flights(watched) == now => return Ok(found),
                    Err(Look::Busy(why @ Why::Runs { .. })) => (why, false),
                    _ => (Why::Changed, true),
                }
            }
            Seen::Unknown(why) if unknown > UNKNOWN_LOOKS => return Err(NotQuiet::Unknown(why)),
            Seen::Unknown(why) => (why, false),
            // That somebody worked since the look before says nothing of now, if that was long ago: one that waits for a
            // millisecond again and again, as Go does for the rest of a time-out, always has. One that ran for most of
            // the pause works, and no look tells more.
            Seen::Busy(why @ Why::Works { .. }) => {
                (why, rested && pause > FIRST_PAUSE && work.recent(watched) < pause / 2)
            }
            Seen::Busy(why) => (why, false),
        };
        rested = false;
        if matches!(why, Why::Due(_)) {
            let mut all = watched.iter_mut();
            all.try_for_each(|one| one.process.end_due_waits()).map_err(NotQuiet::Stuck)?;
        }
        work.go_on(watched, &now)?;
        work.bounded(moved(&now), why)?;
        if again {
            continue;
        }
        if moved(&now) != activity {
            (activity, pause, pauses) = (moved(&now), FIRST_PAUSE, 0);
        }
        // The other tasks of this runtime, and the subject, go on meanwhile.
        pace.rest(pause).await?;
        rested = true;
        pauses += 1;
        if pauses > SHORT_PAUSES {
            pause = (pause * 3 / 2).min(LONGEST_PAUSE);
        }
    }
}

fn flights(watched: &[Watched<'_>]) -> Vec<Flight> {
    watched.iter().map(|one| (one.flight)()).collect()
}

/// How much has moved between them and their servers.
fn moved(flights: &[Flight]) -> u64 {
    flights.iter().map(|flight| flight.activity).sum()
}

/// What subjects did since the last quiet moment, in nanoseconds.
struct Work {
    patience: Patience,
    /// What their threads were charged at the latest look.
    booked: u64,
    used: u64,
    /// What had been done when it was last seen that nothing had, and in how many looks in a row.
    idle: (u64, u64, u32),
}

impl Work {
    fn since(watched: &[Watched<'_>], patience: Patience) -> Work {
        Work { patience, booked: runtime(watched), used: 0, idle: (0, 0, 0) }
    }

    /// Whether they may still become quiet. Errors: they loop, or wait for what nobody here can give.
    fn bounded(&mut self, activity: u64, why: Why) -> Result<(), NotQuiet> {
        let (used, seen, looks) = self.idle;
        // One that could run waits for a processor only, one that can't be interrupted for the disk, one that dumps its
        // memory for whoever takes it: however slow this machine is, they go on.
        let waits_here = matches!(why, Why::Runs { state: 'R' | 'D' | 'C', .. });
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

    /// Processor time that they used between the latest look and the one before.
    fn recent(&self, watched: &[Watched<'_>]) -> Duration {
        Duration::from_nanos(runtime(watched).saturating_sub(self.booked))
    }

    /// Lets the time of further work pass if there was too much; never while a request is under way.
    fn go_on(&mut self, watched: &mut [Watched<'_>], flights: &[Flight]) -> Result<(), NotQuiet> {
        let booked = runtime(watched);
        let step = booked.saturating_sub(self.booked);
        (self.booked, self.used) = (booked, self.used + step);
        let moves = watched.iter().all(|one| one.process.has_virtual_clock());
        let waited_for = flights.iter().any(|flight| !flight.calls.is_empty());
        if self.used <= WORK_IN_NO_TIME || step == 0 || waited_for || !moves {
            return Ok(());
        }
        let by = Duration::from_nanos(step);
        watched.iter_mut().try_for_each(|one| one.process.advance(by)).map_err(NotQuiet::Stuck)
    }
}

fn runtime(watched: &[Watched<'_>]) -> u64 {
    watched.iter().map(|one| one.process.runtime()).sum()
}

/// What a look at all of them found.
enum Seen {
    Quiet(Quiet),
    Busy(Why),
    Unknown(Why),
}

/// One look at each; the first that is not quiet stops the round.
fn look_at_all(watched: &mut [Watched<'_>], flights: &[Flight]) -> Result<Seen, NotQuiet> {
    let mut all = Vec::new();
    for (number, (one, flight)) in watched.iter_mut().zip(flights).enumerate() {
        match one.process.first_look(flight) {
            Look::Quiet { mut timers, .. } => {
                timers.sort_by_key(|timer| timer.remaining);
                all.push(timers);
            }
            Look::Unknown(Why::Ended(exit)) => {
                return Err(NotQuiet::Ended { process: number, exit });
            }
            Look::Busy(why) => return Ok(Seen::Busy(why)),
            Look::Unknown(why) => return Ok(Seen::Unknown(why)),
        }
    }
    let deadline = all.iter().flatten().map(|timer| timer.remaining).min();
    Ok(Seen::Quiet(Quiet { deadline, timers: all }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever waits for a controller that spins is told within half a minute of its work.
    #[test]
    fn one_that_spins_is_told_soon() {
        assert!(Patience::default().work <= Duration::from_secs(30));
    }

    /// Looks twice as often as there is patience for at one that does nothing.
    fn check(state: char, stands: bool) {
        let patience = Patience { idle_looks: 50, ..Patience::default() };
        let mut work = Work::since(&[], patience);
        let why = || Why::Runs { thread: 1, name: "one".into(), state };
        let looked = (0..100).try_for_each(|_| work.bounded(7, why()));
        assert_eq!(matches!(looked, Err(NotQuiet::Standstill(_))), stands, "{state}: {looked:?}");
    }

    #[test]
    fn a_slow_machine_is_no_standstill() {
        check('R', false);
        check('D', false);
        check('C', false);
        check('T', true);
    }
}
