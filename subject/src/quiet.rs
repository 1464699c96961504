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
}

/// Pause after the first look that found something under way.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
/// Longest pause between two looks.
const LONGEST_PAUSE: Duration = Duration::from_millis(2);
/// An unknown that stays for so many looks is no passing one (a socket that was just being closed).
const UNKNOWN_LOOKS: u32 = 20;

/// Waits until all the processes are quiet at one moment: all of them twice in a row, with nobody
/// having run and nothing having passed through the proxy in between, and with all ready tasks of
/// this runtime having had their turn. The pauses between looks are only a pace: what decides is
/// what a look finds.
pub async fn quiet(
    processes: &mut [&mut Process],
    flight: &dyn Fn() -> Flight,
) -> Result<Quiet, NotQuiet> {
    let pace = Pace::new()?;
    let (mut pause, mut unknown, mut activity) = (FIRST_PAUSE, 0, flight().activity);
    let mut before: Option<(Flight, Vec<u64>)> = None;
    loop {
        let now = flight();
        match look_at_all(processes, &now)? {
            Ok(found) => {
                let work = processes.iter().map(|process| process.work()).collect();
                let state = Some((now, work));
                if state == before {
                    return Ok(found);
                }
                (before, unknown) = (state, 0);
                tokio::task::yield_now().await;
                continue;
            }
            Err(Look::Unknown(why)) if unknown >= UNKNOWN_LOOKS => {
                return Err(NotQuiet::Unknown(why));
            }
            Err(Look::Unknown(_)) => unknown += 1,
            Err(_) => unknown = 0,
        }
        before = None;
        if now.activity != activity {
            (activity, pause) = (now.activity, FIRST_PAUSE);
        }
        // The other tasks of this runtime, and the subject, go on meanwhile.
        pace.rest(pause).await?;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
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
    Ok(Ok(Quiet { deadline: all.first().map(|timer| timer.remaining), timers: all }))
}
