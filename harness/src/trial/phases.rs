//! How the real time of a trial is spent.

use std::time::{Duration, Instant};

/// Real time of a trial by what it was spent on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Phases {
    /// The cluster is brought to the trial's start: a fork, or what the trial before made is removed.
    pub reset: Duration,
    /// Up to the first perturbation, without waiting for settled worlds; all of it in an undisturbed run.
    pub prefix: Duration,
    /// From the first perturbation on, without waiting for settled worlds.
    pub disturbed: Duration,
    /// Waiting for settled worlds.
    pub settle: Duration,
}

/// Takes the time of one trial.
pub struct Watch {
    phases: Phases,
    since: Instant,
    disturbed: bool,
    settling: bool,
}

impl Watch {
    /// The cluster is open; since `began` it was brought there. Whether the trial starts after a perturbation.
    pub fn opened(began: Instant, disturbed: bool) -> Watch {
        let since = Instant::now();
        let phases = Phases { reset: since - began, ..Phases::default() };
        Watch { phases, since, disturbed, settling: false }
    }

    /// A perturbation is carried out.
    pub fn disturbed(&mut self) {
        self.turn();
        self.disturbed = true;
    }

    /// The wait for a settled world begins, or is over.
    pub fn settling(&mut self, settling: bool) {
        self.turn();
        self.settling = settling;
    }

    /// The trial is over.
    pub fn over(&mut self) -> Phases {
        self.turn();
        self.phases
    }

    fn turn(&mut self) {
        let now = Instant::now();
        let lap = now - std::mem::replace(&mut self.since, now);
        let Phases { prefix, disturbed, settle, .. } = &mut self.phases;
        *match (self.settling, self.disturbed) {
            (true, _) => settle,
            (false, true) => disturbed,
            (false, false) => prefix,
        } += lap;
    }
}
